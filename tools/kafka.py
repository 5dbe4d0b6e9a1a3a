"""Apache Kafka 4.3 on this machine: the arbiter of our answers and the opponent of our bench.

Jars come from Maven on first use, into a cache outside the checkout (`OTTLA_CACHE`, else
`~/.cache/ottla`), because Kafka's files may not lie in this repository.
"""

import argparse
import base64
import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

KAFKA_VERSION = "4.3.0"
SLF4J_VERSION = "1.7.36"
READY_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
START_ATTEMPTS = 3
LOG_NAME = "kafka-server.log"
PROPERTIES_NAME = "kafka-server.properties"

ARTIFACTS = (
    ("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
    ("org.apache.kafka", "kafka-tools", KAFKA_VERSION),
    ("org.slf4j", "slf4j-simple", SLF4J_VERSION),
)

# What Kafka's own start script gives its broker, with a garbage collector that has room to work.
BROKER_JVM_FLAGS = (
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)
TOOL_JVM_FLAGS = (
    "-Xmx512M",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
)

TOOL_CLASSES = {
    cls.rpartition(".")[2]: cls
    for cls in (
        "kafka.admin.ConfigCommand",
        "kafka.tools.StorageTool",
        "org.apache.kafka.tools.BrokerApiVersionsCommand",
        "org.apache.kafka.tools.ConsoleProducer",
        "org.apache.kafka.tools.ConsumerPerformance",
        "org.apache.kafka.tools.DeleteRecordsCommand",
        "org.apache.kafka.tools.DumpLogSegments",
        "org.apache.kafka.tools.FeatureCommand",
        "org.apache.kafka.tools.GetOffsetShell",
        "org.apache.kafka.tools.LogDirsCommand",
        "org.apache.kafka.tools.MetadataQuorumCommand",
        "org.apache.kafka.tools.ProducerPerformance",
        "org.apache.kafka.tools.TopicCommand",
        "org.apache.kafka.tools.TransactionsCommand",
        "org.apache.kafka.tools.VerifiableProducer",
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    )
}

# Runs before Java in its own process: the kernel then ends Java when we die, however we die.
# `preexec_fn` would do the same, but it may not be used where threads run.
DIE_WITH_PARENT = (
    "import ctypes, os, signal, sys\n"
    "if sys.platform == 'linux':\n"
    "    ctypes.CDLL(None).prctl(1, signal.SIGKILL)\n"
    "    if os.getppid() != int(sys.argv[1]):\n"
    "        sys.exit(1)\n"
    "os.execvp(sys.argv[2], sys.argv[2:])\n"
)


class KafkaError(Exception):
    """Kafka could not be had or could not be started; the message says what to do."""


def cache_dir() -> Path:
    return Path(os.environ.get("OTTLA_CACHE") or Path.home() / ".cache" / "ottla")


def jars() -> Path:
    """The folder that holds every jar of Kafka; downloads them the first time."""
    libs = cache_dir() / "kafka" / "libs"
    if _is_complete(libs):
        return libs
    libs.mkdir(parents=True, exist_ok=True)
    with (libs.parent / "download.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_complete(libs):
            _download(libs)
    return libs


def _is_complete(libs: Path) -> bool:
    return all((libs / f"{name}-{version}.jar").exists() for _, name, version in ARTIFACTS)


def _download(libs: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise KafkaError(
            f"Apache Kafka {KAFKA_VERSION} is not in {libs}, and there is no mvn to fetch it: "
            "install Maven (apt install maven, brew install maven)"
        )
    with tempfile.TemporaryDirectory(dir=libs.parent, prefix="download-") as scratch:
        folder = Path(scratch)
        (folder / "pom.xml").write_text(_pom())
        arrived = folder / "jars"
        command = [maven, "-B", "-f", str(folder / "pom.xml"), "dependency:copy-dependencies"]
        _run_with_progress([*command, f"-DoutputDirectory={arrived}"])
        # Those that say "complete" move last, so that a download cut short is seen as one.
        marks = [f"{name}-{version}.jar" for _, name, version in ARTIFACTS]
        for jar in sorted(arrived.glob("*.jar"), key=lambda path: (path.name in marks, path.name)):
            jar.replace(libs / jar.name)
    if not _is_complete(libs):
        raise KafkaError(f"Maven ended well, but {libs} still lacks Kafka's jars")


def _pom() -> str:
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
        f"<version>{version}</version></dependency>"
        for group, name, version in ARTIFACTS
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>ottla</groupId><artifactId>kafka-jars</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )


def _run_with_progress(command: list[str]) -> None:
    print(f"Fetching Apache Kafka {KAFKA_VERSION} by Maven, once (about 90 MB)", file=sys.stderr)
    lines: list[str] = []
    files = 0
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as maven:
        assert maven.stdout is not None
        for line in maven.stdout:
            lines.append(line)
            if "Downloaded from" in line or "Copying" in line:
                files += 1
                print(f"\r  {files} files", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    if maven.returncode != 0:
        raise KafkaError("Maven could not fetch Kafka:\n" + "".join(lines[-20:]))


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if found is None or not Path(found).exists():
        raise KafkaError(
            "Kafka needs Java 17 or later, and there is no java: "
            "install a runtime (apt install openjdk-17-jre-headless) or set JAVA_HOME"
        )
    return found


def _environment() -> dict[str, str]:
    # Two bindings of one logging facade make Java complain on every start.
    found = (jar for jar in sorted(jars().glob("*.jar")) if not jar.name.startswith("slf4j-nop"))
    return os.environ | {"CLASSPATH": os.pathsep.join(str(jar) for jar in found)}


def _tool_command(cls: str, args: tuple[str, ...]) -> list[str]:
    return [_java(), *TOOL_JVM_FLAGS, TOOL_CLASSES.get(cls, cls), *args]


def run_tool(
    cls: str, *args: str, stdin: str | None = None, timeout_s: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run one of Kafka's command-line classes, by its full name or one of `TOOL_CLASSES`."""
    return subprocess.run(
        _tool_command(cls, args),
        env=_environment(),
        input=stdin if stdin is not None else "",
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


@dataclass(slots=True)
class KafkaBroker:
    """One running combined node."""

    process: "subprocess.Popen[bytes]"
    port: int
    data_dir: Path

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def log(self) -> Path:
        return self.data_dir / LOG_NAME

    def stop(self) -> None:
        """Shut down cleanly, so that the directory may be opened by anybody."""
        self.process.terminate()
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise KafkaError(f"Kafka did not stop in {STOP_TIMEOUT_S:.0f} s: {self.log}") from None

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def kafka_broker(
    properties: dict[str, str] | None = None,
    *,
    data_dir: Path | None = None,
    format: bool = True,
    heap: str = "1G",
    port: int | None = None,
) -> Iterator[KafkaBroker]:
    """A single node that is its own quorum, ready to serve; `properties` override ours.

    Without `data_dir` the data is thrown away at the end. With `format=False` the directory must
    hold a node's data already, Kafka's or Ottla's.
    """
    given = data_dir is not None
    folder = data_dir or Path(tempfile.mkdtemp(prefix="ottla-kafka-"))
    folder.mkdir(parents=True, exist_ok=True)
    broker: KafkaBroker | None = None
    try:
        broker = _start(properties or {}, folder, format=format, heap=heap, port=port)
        yield broker
        if given and broker.process.poll() is None:
            broker.stop()
    finally:
        if broker is not None and broker.process.poll() is None:
            broker.kill()
        if not given:
            shutil.rmtree(folder, ignore_errors=True)


def _start(
    properties: dict[str, str], folder: Path, *, format: bool, heap: str, port: int | None
) -> KafkaBroker:
    config = folder / PROPERTIES_NAME
    for attempt in range(1, START_ATTEMPTS + 1):
        # Another process may take a free port between our look and Kafka's bind.
        client_port, controller_port = port or _free_port(), _free_port()
        settings = _settings(folder, client_port, controller_port) | properties
        config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        if format and attempt == 1:
            _format(config)
        broker = _launch(folder, config, heap, client_port)
        try:
            _wait_until_ready(broker)
        except KafkaError:
            broker.kill()
            text = broker.log.read_text(errors="replace")
            if attempt == START_ATTEMPTS or "Address already in use" not in text:
                raise
        except BaseException:
            broker.kill()
            raise
        else:
            return broker
    raise AssertionError("unreachable")


def _settings(folder: Path, client_port: int, controller_port: int) -> dict[str, str]:
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller_port}",
        "listeners": f"PLAINTEXT://127.0.0.1:{client_port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{client_port},"
        f"CONTROLLER://127.0.0.1:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": str(folder),
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _random_uuid() -> str:
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):  # the command line would take it for an option
            return text


def _format(config: Path) -> None:
    done = run_tool(
        "StorageTool", "format", "--standalone", "-t", _random_uuid(), "-c", str(config)
    )
    if done.returncode != 0:
        raise KafkaError(f"Kafka would not format its directory:\n{done.stdout}{done.stderr}")


def _launch(folder: Path, config: Path, heap: str, port: int) -> KafkaBroker:
    java = [_java(), f"-Xmx{heap}", f"-Xms{heap}", *BROKER_JVM_FLAGS]
    shim = [sys.executable, "-I", "-S", "-c", DIE_WITH_PARENT, str(os.getpid())]
    with (folder / LOG_NAME).open("wb") as log:
        process = subprocess.Popen(
            [*shim, *java, "kafka.Kafka", str(config)],
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    return KafkaBroker(process, port, folder)


def _wait_until_ready(broker: KafkaBroker) -> None:
    deadline = time.monotonic() + READY_TIMEOUT_S
    while not is_ready("127.0.0.1", broker.port):
        if broker.process.poll() is not None:
            raise KafkaError(f"Kafka ended while starting:\n{_tail(broker.log)}")
        if time.monotonic() > deadline:
            raise KafkaError(
                f"Kafka was not ready in {READY_TIMEOUT_S:.0f} s:\n{_tail(broker.log)}"
            )
        time.sleep(0.02)


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-30:])


def is_ready(host: str, port: int) -> bool:
    """True once it answers ApiVersions and names a broker in Metadata (it is not fenced)."""
    try:
        with socket.create_connection((host, port), timeout=5) as connection:
            api_versions = _ask(connection, struct.pack(">hhih", 18, 0, 1, -1))
            if len(api_versions) < 6 or api_versions[4:6] != b"\0\0":
                return False
            metadata = _ask(connection, struct.pack(">hhihi", 3, 1, 2, -1, 0))
            return len(metadata) >= 8 and int(struct.unpack_from(">i", metadata, 4)[0]) > 0
    except OSError:
        return False


def _ask(connection: socket.socket, request: bytes) -> bytes:
    connection.sendall(struct.pack(">i", len(request)) + request)
    size = struct.unpack(">i", _read_exactly(connection, 4))[0]
    return _read_exactly(connection, size)


def _read_exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise ConnectionError("closed")
        parts += part
    return bytes(parts)


def _start_in_the_foreground(port: int) -> int:
    print("Starting Apache Kafka", KAFKA_VERSION, flush=True)
    with kafka_broker(port=port) as broker:
        print(f"Ready at {broker.bootstrap}, data in {broker.data_dir}; Ctrl-C ends it", flush=True)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            broker.process.wait()
    return 0


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.kafka", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start", help="run a broker until Ctrl-C; its data is not kept")
    start.add_argument("--port", type=int, default=9092)
    tool = commands.add_parser("tool", help="run one of Kafka's command-line classes")
    tool.add_argument("cls", metavar="CLASS", help=", ".join(TOOL_CLASSES))
    tool.add_argument("args", nargs=argparse.REMAINDER)
    options = parser.parse_args(argv)
    try:
        if options.command == "start":
            return _start_in_the_foreground(options.port)
        command = _tool_command(options.cls, tuple(options.args))
        return subprocess.run(command, env=_environment(), check=False).returncode
    except KafkaError as trouble:
        print(trouble, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
