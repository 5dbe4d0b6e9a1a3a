"""Ids and nonces from the operating system."""

import secrets
import uuid


class SystemEntropy:
    def uuid(self) -> bytes:
        return uuid.uuid4().bytes

    def session_id(self) -> int:
        return secrets.randbelow(2**31 - 1) + 1
