"""What a configuration key is, and how Kafka reads, checks and prints its values.

The keys themselves stand in `config_table.py` (Kafka's facts) and `config_effects.py` (what they
do here). Named tuples instead of structs: the command line imports this for every command, and
importing msgspec or dataclasses would cost more than everything else here.
"""

import math
import re
from collections.abc import Callable
from enum import Enum, IntEnum
from typing import NamedTuple

from ottla.errors import ErrorCode, Refused

Value = bool | int | float | str | tuple[str, ...] | None

# Java's String.trim(): Python's strip() would also take a no-break space, which Kafka refuses.
_TRIMMED = "".join(map(chr, range(33)))
_SHOWN_CHARS_MAX = 100
# Compiled when the first double is read: few commands read any.
_DECIMAL = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?"
_HEXADECIMAL = r"[+-]?0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?"


class ConfigType(IntEnum):
    """Numbered as DescribeConfigs sends them."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class ConfigSource(IntEnum):
    """Where a value comes from, as DescribeConfigs numbers it; a smaller number wins."""

    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5


class Effect(Enum):
    """What setting a key does here (DESIGN D11). A key without a class is unknown."""

    EFFECTIVE = "effective"
    NO_EFFECT_HERE = "accepted, no effect here"
    NOT_YET = "accepted, not yet effective"
    # As NOT_YET, but to ignore it would lose data or drop a protection that was asked for.
    REFUSED_YET = "refused until it is built"


class Update(Enum):
    """How a running broker's value may be changed."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class Range(NamedTuple):
    low: float | None = None
    high: float | None = None
    also: float | None = None

    def fault(self, value: Value) -> str:
        assert isinstance(value, int | float)
        # Written so that NaN passes, as it does with Kafka.
        low = self.low is not None and value < self.low
        high = self.high is not None and value > self.high
        return f"it must be {self}" if (low or high) and value != self.also else ""

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            bound = f"at least {self.low}" if self.high is None else f"at most {self.high}"
        else:
            bound = f"from {self.low} to {self.high}"
        return bound if self.also is None else f"{bound}, or {self.also}"


class OneOf(NamedTuple):
    values: tuple[str, ...]
    ignore_case: bool = False

    def fault(self, value: Value) -> str:
        assert isinstance(value, str)
        found = value.upper() if self.ignore_case else value
        return "" if found in self.values else f"it must be {self}"

    def __str__(self) -> str:
        return f"one of {', '.join(self.values)}"


class ListOf(NamedTuple):
    """A list whose repetitions count once; any entries where `values` is empty."""

    values: tuple[str, ...] = ()
    may_be_empty: bool = True

    def fault(self, value: Value) -> str:
        assert isinstance(value, tuple)
        if not value:
            return "" if self.may_be_empty else "it must not be empty"
        if "" in value:
            return "its entries must not be empty"
        strange = [entry for entry in value if self.values and entry not in self.values]
        return f"its entries must be {self}" if strange else ""

    def __str__(self) -> str:
        entries = f"of {', '.join(self.values)}" if self.values else "any entries"
        return entries if self.may_be_empty else f"{entries}, at least one"


class ListForm(Enum):
    """Lists whose entries have a form of their own; `alone` may stand as the only entry."""

    REPLICAS = ("partition:broker", r"([0-9]+:[0-9]+)?", "*")
    VOTERS = ("id@host:port", r"[0-9]+@(\[[^\]]+\]|[^:@]+):[0-9]+", None)
    SERVERS = ("host:port", r"(\[[^\]]+\]|[^:@]+):[0-9]+", None)

    def __init__(self, form: str, entry: str, alone: str | None) -> None:
        self.form = form
        self.entry = entry
        self.alone = alone

    def fault(self, value: Value) -> str:
        assert isinstance(value, tuple)
        fits = value == (self.alone,) or all(re.fullmatch(self.entry, entry) for entry in value)
        return "" if fits else f"it must be {self}"

    def __str__(self) -> str:
        return f"{self.form},…" if self.alone is None else f"{self.form},… or {self.alone}"


class NonEmpty(NamedTuple):
    def fault(self, value: Value) -> str:
        return "" if value else "it must not be empty"

    def __str__(self) -> str:
        return "not empty"


Valid = Range | OneOf | ListOf | ListForm | NonEmpty


class ConfigKey(NamedTuple):
    name: str
    kind: ConfigType
    default: Value
    valid: Valid | None = None
    importance: str = "medium"
    update: Update = Update.READ_ONLY
    # Without a default, and Kafka will not start without a value.
    required: bool = False
    # DescribeConfigs is silent about it unless it is set.
    internal: bool = False
    # Keys of the broker that may give the value, the strongest first.
    synonyms: tuple[str, ...] = ()
    effect: Effect = Effect.NOT_YET
    about: str = ""

    @property
    def sensitive(self) -> bool:
        return self.kind is ConfigType.PASSWORD

    @property
    def read_only(self) -> bool:
        return self.update is Update.READ_ONLY


def invalid(why: str) -> Refused:
    return Refused(ErrorCode.INVALID_CONFIG, why)


def shown(text: str) -> str:
    """A value as a message may quote it: a client chooses its length, we choose ours."""
    return repr(text if len(text) <= _SHOWN_CHARS_MAX else text[:_SHOWN_CHARS_MAX] + "…")


def parse_value(key: ConfigKey, text: str) -> Value:
    """The value that `text` stands for; INVALID_CONFIG where Kafka refuses it."""
    value = _PARSERS[key.kind](text.strip(_TRIMMED))
    if value is None:
        problem = f"it must be {_EXPECTED[key.kind]}"
    else:
        if isinstance(key.valid, ListOf):
            assert isinstance(value, tuple)
            value = tuple(dict.fromkeys(value))
        problem = key.valid.fault(value) if key.valid is not None else ""
    if problem:
        quoted = "the value" if key.sensitive else shown(text)
        raise invalid(f"{key.name}: {quoted} is not valid, {problem}")
    return value


def format_value(key: ConfigKey, value: Value) -> str | None:
    """As DescribeConfigs prints it; None for a value that is not there."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    if key.kind is ConfigType.DOUBLE:
        return _format_double(float(value))
    return str(value)


def _parse_boolean(text: str) -> Value:
    return {"true": True, "false": False}.get(text.lower())


def _parse_whole(bits: int) -> Callable[[str], Value]:
    limit = 1 << (bits - 1)

    def parse(text: str) -> Value:
        digits = text[1:] if text[:1] in ("+", "-") else text
        # Enough digits for any leading zeros a person would write; int() is quadratic in them.
        if not digits.isdecimal() or len(digits) > _SHOWN_CHARS_MAX:
            return None
        value = int(text)
        return value if -limit <= value < limit else None

    return parse


def _parse_double(text: str) -> Value:
    sign, name = (text[:1], text[1:]) if text[:1] in ("+", "-") else ("", text)
    if name in ("NaN", "Infinity"):
        return float(sign + name)
    if re.fullmatch(_DECIMAL, text):
        return float(text.rstrip("fFdD"))
    if re.fullmatch(_HEXADECIMAL, text):
        return float.fromhex(text.rstrip("fFdD"))
    return None


def _parse_list(text: str) -> Value:
    return tuple(entry.strip(" \t\n\v\f\r") for entry in text.split(",")) if text else ()


def _parse_text(text: str) -> Value:
    return text


def _format_double(value: float) -> str:
    """Java's Double.toString(), which DescribeConfigs shows."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    for places in range(1, 18):
        text = f"{value:.{places}e}"
        if float(text) == value:
            break
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}E{int(exponent)}"


_PARSERS: dict[ConfigType, Callable[[str], Value]] = {
    ConfigType.BOOLEAN: _parse_boolean,
    ConfigType.STRING: _parse_text,
    ConfigType.INT: _parse_whole(32),
    ConfigType.SHORT: _parse_whole(16),
    ConfigType.LONG: _parse_whole(64),
    ConfigType.DOUBLE: _parse_double,
    ConfigType.LIST: _parse_list,
    ConfigType.CLASS: _parse_text,
    ConfigType.PASSWORD: _parse_text,
}

_EXPECTED = {
    ConfigType.BOOLEAN: "true or false",
    ConfigType.INT: "a whole number of 32 bits",
    ConfigType.SHORT: "a whole number of 16 bits",
    ConfigType.LONG: "a whole number of 64 bits",
    ConfigType.DOUBLE: "a number",
}
