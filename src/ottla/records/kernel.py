"""The record kernel: what Cython compiled, or its plain twin where nothing was compiled (D7).

OTTLA_KERNEL=python in the environment forces the twin: the compiled one then refuses its import.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.records import kernel_twin as implementation

    KERNEL = "compiled"
    why = ""
else:
    try:
        from ottla.records import _kernel as implementation

        KERNEL = "compiled"
        why = ""
    except ImportError as error:
        from ottla.records import kernel_twin as implementation

        KERNEL = "python"
        why = str(error)

batch_spans = implementation.batch_spans
check_produced = implementation.check_produced
decode_records = implementation.decode_records
encode_records = implementation.encode_records
find_batch = implementation.find_batch
find_record = implementation.find_record
scan_records = implementation.scan_records
