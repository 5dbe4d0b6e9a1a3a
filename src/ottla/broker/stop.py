"""A clean stop: everything that recovery would have to find out is written down. Blocking."""

from ottla.broker.checkpointing import offsets_of
from ottla.broker.node import Node
from ottla.errors import DiskError
from ottla.storage.checkpoints import CLEAN_SHUTDOWN, encode_clean_shutdown, write_atomic
from ottla.storage.journal import JOURNAL_FILE, empty_journal


def stop_cleanly(node: Node) -> bool:
    """Whether the directory could be left clean. If not, the next start recovers."""
    if node.is_storage_offline or not node.is_quiet:
        # What is still under way may fail, and nobody would hear of it.
        return False
    disk = node.state.disk
    partitions = node.hosting.all_partitions()
    try:
        for log in (*[partition.log for partition in partitions], node.metadata.log):
            job = log.close_job()
            if job is not None:
                job.run(disk)
            log.recovery_point = log.end_offset
        disk.sync_all()
        # Everything is in its place now. Kafka knows nothing of a journal.
        if disk.exists(JOURNAL_FILE):
            file = disk.open(JOURNAL_FILE)
            empty_journal(disk, file)
            disk.close(file)
        offsets_of(partitions, node.state.marks).run(disk)
        broker = node.image.brokers.get(node.node_id)
        epoch = -1 if broker is None else broker.epoch
        write_atomic(disk, CLEAN_SHUTDOWN, encode_clean_shutdown(epoch))
    except DiskError as error:
        node.report("error", f"could not stop cleanly: {error.why}")
        return False
    return True
