"""ApiVersions, and versions and keys that nobody has."""

from tools.recorder_cases.model import Call, Case, Patch

CLIENT = {"client_software_name": "recorder", "client_software_version": "1.0"}


def _software(name: str, version: str) -> Call:
    body = {"client_software_name": name, "client_software_version": version}
    return Call("api_versions", 3, body)


def _beyond(version: int, body: dict[str, str] | bytes) -> Call:
    """A version that Kafka 4.3 does not have: its answer comes in the form of version 0."""
    return Call("api_versions", version, body, answer_version=0)


CASES = (
    *(Case(f"api versions v{v}", (Call("api_versions", v, {}),)) for v in (0, 1, 2)),
    *(Case(f"api versions v{v}", (Call("api_versions", v, CLIENT),)) for v in (3, 4)),
    Case("api versions above the largest, v5", (_beyond(5, b"\x09recorder\x041.0\0"),)),
    Case("api versions above the largest, v99, no body", (_beyond(99, b""),)),
    Case("api versions with a negative version", (_beyond(-1, b""),)),
    Case("api versions v0 with a body", (Call("api_versions", 0, b"\1\2\3\4"),)),
    Case("api versions v3 without a body", (Call("api_versions", 3, b""),)),
    Case("api versions v3, no software name", (_software("", "1.0"),)),
    Case("api versions v3, no software version", (_software("recorder", ""),)),
    Case("api versions v3, a space in the software name", (_software("a b", "1.0"),)),
    Case("api versions v3, a slash in the software name", (_software("a/b", "1.0"),)),
    Case("api versions v3, a name that ends in a dash", (_software("recorder-", "1.0"),)),
    Case("api versions v3, a plus in the software version", (_software("recorder", "1+2"),)),
    Case("api versions v3, a letter that is not ASCII", (_software("récorder", "1.0"),)),
    Case(
        "api versions v3, an unknown tagged field is skipped",
        (Call("api_versions", 3, CLIENT, (Patch(-1, b"\x01\x63\x02hi"),)),),
    ),
    Case(
        "api versions twice on one connection",
        (Call("api_versions", 3, CLIENT), Call("api_versions", 0, {})),
    ),
)
