"""Every bound of this broker that is not a Kafka config, with its reason (DESIGN D10)."""

from typing import Final

# A turn serves one connection this far, then the others: one pipelining client must not take its
# neighbours' latency from 0.02 to 133 ms.
FRAMES_PER_TURN_MAX: Final = 16
TURN_BYTES_OUT_MAX: Final = 1 << 20
RECEIVE_BUFFER_BYTES: Final = 256 << 10
# Of a file, read and sent with what stands around it: below, one `sendfile` costs more than that.
COPIED_SLICE_BYTES_MAX: Final = 16 << 10

# Of one request other than Produce. Such a frame may hold nothing but empty names, at 120 ms of
# decoding a MiB: 100 MiB, which Kafka takes, would stop the loop for 12 seconds. So much hold a
# Metadata request of 100,000 topics, a Fetch of 100,000 partitions, CreateTopics of 30,000.
REQUEST_BYTES_MAX: Final = 8 << 20

# Elements of all lists of one request, and tagged fields: a tenth of a second to read.
# A Fetch that names 100,000 topics with a partition each has 200,000.
REQUEST_ENTRIES_MAX: Final = 250_000

# Memory for requests that have not arrived whole, where `queued.max.request.bytes` sets none: Kafka
# has no limit then. Over it, a request that fits into one small read still passes.
QUEUED_REQUEST_BYTES_MAX: Final = 256 << 20
SMALL_REQUEST_BYTES: Final = 16 << 10

# Half a request, or an answer that its client does not take, is given up when less than this moved
# for so long. Kafka waits for ten minutes.
REQUEST_STALL_MS: Final = 30_000
REQUEST_PROGRESS_BYTES: Final = 4096
OUTPUT_STALL_MS: Final = 30_000

# Beyond this a client that does not read is not read from either.
SEND_QUEUE_BYTES_MAX: Final = 4 << 20

# Parked requests that run again within one turn; the rest wait for the next.
WAKE_UPS_PER_TURN_MAX: Final = 64

# Of all fetch sessions together: Kafka bounds their number alone, and each may name any number of
# partitions, of topics with names of 32 KiB that need not exist.
SESSION_BYTES_MAX: Final = 64 << 20
SESSION_PARTITION_BYTES: Final = 500

# Of one request, before others are served: a search by time decodes a batch, a resource has
# hundreds of rows.
SEARCHES_PER_TURN_MAX: Final = 4
RESOURCES_PER_TURN_MAX: Final = 2

# Requests of one connection whose replies wait. Stock clients keep at most five in flight.
SLOTS_PER_CONNECTION_MAX: Final = 1024

# Lines that are said once each: a client that makes up group names must not fill memory.
REPORTED_ONCE_MAX: Final = 1000

# What is kept of what a connection's client calls itself.
SOFTWARE_CHARACTERS_MAX: Final = 200

# Of a line in the log: names in it may be a client's, of 32 KiB each.
REPORT_CHARACTERS_MAX: Final = 500

# Descriptors that log files may not take from connections.
DESCRIPTORS_KEPT_FOR_CONNECTIONS: Final = 256

# Descriptors of segments that are not written any more, of all logs together. Opening one again
# takes a hop to a thread; each that is open keeps some kilobytes of the kernel's memory.
FOLLOWED_SEGMENTS_OPEN_MAX: Final = 4096

# The listener rests this long when the process is out of descriptors.
LISTENER_REST_MS: Final = 100
