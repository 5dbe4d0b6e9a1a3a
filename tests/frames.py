"""Splitting a stream into frames, for tests that stand at the other end of it."""

from ottla.protocol.frame import SIZE_BYTES, frame_size


def complete_frames(view: memoryview) -> tuple[list[memoryview], int]:
    """The whole frames at the start of `view`, without their sizes, and the bytes they took."""
    frames = []
    at, filled = 0, len(view)
    while filled - at >= SIZE_BYTES:
        end = at + SIZE_BYTES + frame_size(view, at)
        if end > filled:
            break
        frames.append(view[at + SIZE_BYTES : end])
        at = end
    return frames, at
