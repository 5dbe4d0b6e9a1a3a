"""What is measured: names, units and how they are written."""

from dataclasses import dataclass
from enum import StrEnum


class Figure(StrEnum):
    RATE = "rate"
    P50 = "p50_ms"
    P99 = "p99_ms"
    P999 = "p999_ms"
    CPU = "cpu_us"
    BUSY = "busy_us"
    READY = "ready_s"
    IDLE_RSS = "idle_rss_mib"
    IDLE_PSS = "idle_pss_mib"
    LOADED_RSS = "loaded_rss_mib"
    LOADED_PSS = "loaded_pss_mib"
    IDLE = "idle_percent"
    STALL = "stall_ms"


Figures = dict[Figure, float]


@dataclass(frozen=True, slots=True)
class Style:
    label: str
    decimals: int
    more_is_better: bool = False


STYLES: dict[Figure, Style] = {
    Figure.RATE: Style("rate", 0, more_is_better=True),
    Figure.P50: Style("p50 ms", 3),
    Figure.P99: Style("p99 ms", 3),
    Figure.P999: Style("p99.9 ms", 3),
    Figure.CPU: Style("CPU µs", 2),
    Figure.BUSY: Style("machine µs", 2),
    Figure.READY: Style("ready s", 2),
    Figure.IDLE_RSS: Style("idle RSS MiB", 0),
    Figure.IDLE_PSS: Style("idle PSS MiB", 0),
    Figure.LOADED_RSS: Style("loaded RSS MiB", 0),
    Figure.LOADED_PSS: Style("loaded PSS MiB", 0),
    Figure.IDLE: Style("% of a core", 2),
    Figure.STALL: Style("longest stall ms", 2),
}


def written(figure: Figure, value: float | None) -> str:
    return "-" if value is None else f"{value:,.{STYLES[figure].decimals}f}"
