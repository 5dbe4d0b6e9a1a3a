"""Which names a topic may have, and which two cannot live side by side."""

from typing import Final

TOPIC_NAME_CHARS_MAX: Final = 249
_LEGAL: Final = dict.fromkeys("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def why_invalid(name: str) -> str | None:
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > TOPIC_NAME_CHARS_MAX:
        return f"it is longer than {TOPIC_NAME_CHARS_MAX} characters"
    if any(char not in _LEGAL for char in name):
        return f"'{name}' has a character other than ASCII letters, digits, '.', '_' and '-'"
    return None


def collision_key(name: str) -> str:
    """Metric names turn periods into underscores, so Kafka keeps such pairs apart."""
    return name.replace(".", "_")
