"""The compiled codecs, or none where nothing was compiled (DESIGN D7).

OTTLA_KERNEL=python in the environment forces the pure ones: the module then refuses its import.
"""

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:

    def find(kind: str, message: type[msgspec.Struct], version: int) -> object | None: ...

    CODECS = "compiled"
    DIGEST = ""
    why = ""
else:
    try:
        from ottla.protocol._codecs import DIGEST, find

        CODECS = "compiled"
        why = ""
    except ImportError as error:
        CODECS = "python"
        DIGEST = ""
        why = str(error)

        def find(kind, message, version):
            return None
