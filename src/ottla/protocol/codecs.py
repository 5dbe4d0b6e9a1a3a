"""The compiled codecs, or what serves where nothing was compiled (DESIGN D7).

OTTLA_KERNEL=python in the environment forces the pure ones: the module then refuses its import.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import msgspec

T = TypeVar("T", bound=msgspec.Struct)

if TYPE_CHECKING:
    CODECS = "compiled"
    DIGEST = ""
    why = ""

    def find(kind: str, message: type[msgspec.Struct], version: int) -> object | None: ...

    def header_parser(
        header: type[T], headers: dict[int, tuple[int, int]], pure: Callable[[memoryview], T]
    ) -> Callable[[memoryview], T]: ...

else:
    try:
        from ottla.protocol._codecs import DIGEST, find, header_parser

        CODECS = "compiled"
        why = ""
    except ImportError as error:
        CODECS = "python"
        DIGEST = ""
        why = str(error)

        def find(kind, message, version):
            return None

        def header_parser(header, headers, pure):
            return pure
