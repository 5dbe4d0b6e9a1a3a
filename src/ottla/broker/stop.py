"""A clean stop: everything that recovery would have to find out is written down. Blocking."""

from ottla.broker.node import Node
from ottla.errors import DiskError
from ottla.storage.checkpoints import (
    CLEAN_SHUTDOWN,
    LOG_START_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_CHECKPOINT,
    encode_clean_shutdown,
    encode_offsets,
    write_atomic,
)
from ottla.storage.durable import MARKS_FILE
from ottla.storage.jobs import overwrite_file
from ottla.storage.journal import JOURNAL_FILE, empty_journal


def stop_cleanly(node: Node) -> bool:
    """Whether the directory could be left clean. If not, the next start recovers."""
    if node.is_storage_offline or not node.is_quiet:
        # What is still under way may fail, and nobody would hear of it.
        return False
    disk = node.state.disk
    partitions = node.hosting.all_partitions()
    try:
        for file in node.journal.covered_files():
            disk.sync(file)
        for log in (*[partition.log for partition in partitions], node.metadata.log):
            job = log.close_job()
            if job is not None:
                job.run(disk)
        # Everything is in its place now. Kafka knows nothing of a journal.
        if disk.exists(JOURNAL_FILE):
            file = disk.open(JOURNAL_FILE)
            empty_journal(disk, file)
            disk.close(file)
        recovery_points = encode_offsets({p.partition: p.log.end_offset for p in partitions})
        starts = encode_offsets({p.partition: p.log.start_offset for p in partitions})
        high_watermarks = encode_offsets({p.partition: p.log.end_offset for p in partitions})
        write_atomic(disk, RECOVERY_POINT_CHECKPOINT, recovery_points)
        write_atomic(disk, LOG_START_CHECKPOINT, starts)
        write_atomic(disk, REPLICATION_CHECKPOINT, high_watermarks)
        marks = node.state.marks
        marks.set_recovery_points(recovery_points)
        overwrite_file(disk, MARKS_FILE, marks.encode())
        broker = node.image.brokers.get(node.node_id)
        epoch = -1 if broker is None else broker.epoch
        write_atomic(disk, CLEAN_SHUTDOWN, encode_clean_shutdown(epoch))
    except DiskError as error:
        node.report("error", f"could not stop cleanly: {error.why}")
        return False
    return True
