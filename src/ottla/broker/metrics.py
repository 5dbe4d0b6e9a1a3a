"""Figures about this node, for `stats` of the control pipe and later for the metrics page."""

from dataclasses import asdict, dataclass


@dataclass(slots=True)
class Metrics:
    requests: int = 0
    parked: int = 0
    malformed_frames: int = 0
    storage_errors: int = 0

    def as_dict(self) -> dict[str, int]:
        return asdict(self)
