"""What a process, the machine and the disk spent: read from the kernel, never estimated."""

import os
import platform
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from bench.build import BenchError

CPUCLOCK_SCHED = 2  # linux/posix-timers.h
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
FLUSH_BYTES = 512


def cpu_ns(pid: int) -> int:
    """User and system time of all threads, dead ones too.

    It is utime + stime of /proc/PID/stat, which counts in ticks of 10 ms: too coarse for a round of
    half a second. The process's CPU clock has the same sum in nanoseconds.
    """
    try:
        return time.clock_gettime_ns((~pid << 3) | CPUCLOCK_SCHED)
    except OSError:
        raise BenchError(f"process {pid} is gone") from None


def machine_busy_ns() -> int:
    """What all cores did, kernel workers and interrupts too; not idle, waiting or stolen time."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _, _, irq, softirq = (int(field) for field in fields[:7])
    return (user + nice + system + irq + softirq) * 1_000_000_000 // TICKS_PER_S


@dataclass(frozen=True, slots=True)
class Spent:
    """Between two looks: wall time, the broker's CPU, the machine's without the generator's."""

    wall_s: float
    broker_us: float
    beside_us: float


@dataclass(frozen=True, slots=True)
class Look:
    wall_ns: int
    broker_ns: int
    generator_ns: int
    machine_ns: int

    @classmethod
    def at(cls, broker_pid: int, generator_pid: int) -> "Look":
        machine, generator = machine_busy_ns(), cpu_ns(generator_pid)
        return cls(time.monotonic_ns(), cpu_ns(broker_pid), generator, machine)

    def until(self, later: "Look") -> Spent:
        machine = later.machine_ns - self.machine_ns
        generator = later.generator_ns - self.generator_ns
        return Spent(
            wall_s=(later.wall_ns - self.wall_ns) / 1e9,
            broker_us=(later.broker_ns - self.broker_ns) / 1e3,
            beside_us=max(0, machine - generator) / 1e3,
        )


@dataclass(frozen=True, slots=True)
class Memory:
    """RSS counts shared pages whole, PSS its share of them."""

    rss_mib: float
    pss_mib: float


def memory(pid: int) -> Memory:
    sizes = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, _, rest = line.partition(":")
        sizes[name] = int(rest.split()[0]) / 1024
    return Memory(sizes["Rss"], sizes["Pss"])


def fdatasync_p50_us(folder: Path, count: int) -> float:
    """F: the median of flushing one small append, the price of a promise on this disk today."""
    path = folder / "fdatasync-probe"
    fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    try:
        times = []
        for _ in range(count):
            os.write(fd, bytes(FLUSH_BYTES))
            start = time.perf_counter_ns()
            os.fdatasync(fd)
            times.append(time.perf_counter_ns() - start)
    finally:
        os.close(fd)
        path.unlink()
    return statistics.median(times) / 1e3


def file_system(folder: Path) -> str:
    """The type of file system that holds a folder, by its longest mount point."""
    found, kind = "", "unknown"
    for line in Path("/proc/mounts").read_text().splitlines():
        _, point, mounted, *_ = line.split()
        inside = folder.resolve().is_relative_to(point)
        if inside and len(point) >= len(found):
            found, kind = point, mounted
    return kind


def machine() -> dict[str, str]:
    """Where a run took place, in words for the page."""
    cpu = "unknown"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
            break
    memory_kib = int(Path("/proc/meminfo").read_text().split()[1])
    return {
        "CPU": f"{cpu}, {os.cpu_count()} cores",
        "Memory": f"{memory_kib / (1 << 20):.0f} GiB",
        "Kernel": f"{platform.system()} {platform.release()}",
    }
