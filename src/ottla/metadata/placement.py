"""Where a new partition's replicas go."""

from ottla.errors import ErrorCode, Refused


def place_replicas(
    brokers: list[int], partitions: int, replication_factor: int, start: int
) -> list[list[int]]:
    """Leaders in turn, followers on the brokers after them.

    Racks come with the cluster; with one broker there is nothing to choose.
    """
    if replication_factor > len(brokers):
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {replication_factor} time(s): The target "
            f"replication factor of {replication_factor} cannot be reached because only "
            f"{len(brokers)} broker(s) are registered.",
        )
    return [
        [brokers[(start + index + copy) % len(brokers)] for copy in range(replication_factor)]
        for index in range(partitions)
    ]
