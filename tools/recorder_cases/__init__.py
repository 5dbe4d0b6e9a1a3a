"""The tables of questions, by the configuration that the asked broker runs with."""

from dataclasses import dataclass, field

from tools.recorder_cases import (
    compression,
    configs,
    damaged,
    fetch,
    fetch_sessions,
    framing,
    idempotence,
    list_offsets,
    metadata,
    produce,
    strict,
    topics,
    versions,
)
from tools.recorder_cases.model import Case


@dataclass(frozen=True, slots=True)
class Profile:
    name: str
    cases: tuple[Case, ...]
    properties: dict[str, str] = field(default_factory=dict)


PROFILES = (
    Profile(
        "default",
        (
            *versions.CASES,
            *framing.CASES,
            *damaged.CASES,
            *metadata.CASES,
            *topics.CASES,
            *configs.CASES,
            *produce.CASES,
            *compression.CASES,
            *idempotence.CASES,
            *fetch.CASES,
            *fetch_sessions.CASES,
            *list_offsets.CASES,
        ),
    ),
    Profile("strict", strict.CASES, strict.PROPERTIES),
)
