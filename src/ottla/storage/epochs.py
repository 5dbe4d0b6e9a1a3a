"""Where each leader epoch of one log begins (KIP-101, KIP-279, KIP-320).

A follower finds by it where its log parts from the leader's; a consumer, whether what it read is
still there.
"""

from bisect import bisect_left, bisect_right

from ottla.storage.checkpoints import decode_lines, decode_number, encode_lines

LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


class LeaderEpochs:
    """Epochs and their start offsets, both strictly rising."""

    __slots__ = ("_epochs", "_start_offsets", "dirty", "latest_epoch")

    def __init__(self) -> None:
        self._epochs: list[int] = []
        self._start_offsets: list[int] = []
        # Looked at for each append.
        self.latest_epoch = UNDEFINED_EPOCH
        # The entries are not those of the last checkpoint.
        self.dirty = False

    def __len__(self) -> int:
        return len(self._epochs)

    def entries(self) -> list[tuple[int, int]]:
        return list(zip(self._epochs, self._start_offsets, strict=True))

    @property
    def previous_epoch(self) -> int:
        """The epoch before the latest."""
        return self._epochs[-2] if len(self._epochs) > 1 else UNDEFINED_EPOCH

    def take_dirty(self) -> bool:
        """Are there changes that no checkpoint has? The caller writes one now."""
        dirty, self.dirty = self.dirty, False
        return dirty

    def assign(self, epoch: int, start_offset: int) -> None:
        """Let an epoch begin; entries that contradict it were of a leader whose log lost."""
        assert epoch >= 0
        assert start_offset >= 0
        epochs, starts = self._epochs, self._start_offsets
        if epochs and epoch == epochs[-1] and start_offset >= starts[-1]:
            return
        while epochs and (epochs[-1] >= epoch or starts[-1] >= start_offset):
            epochs.pop()
            starts.pop()
        epochs.append(epoch)
        starts.append(start_offset)
        self.latest_epoch = epoch
        self.dirty = True

    def start_offset_of(self, epoch: int) -> int:
        slot = bisect_left(self._epochs, epoch)
        if slot < len(self._epochs) and self._epochs[slot] == epoch:
            return self._start_offsets[slot]
        return UNDEFINED_OFFSET

    def epoch_for_offset(self, offset: int) -> int:
        slot = bisect_right(self._start_offsets, offset)
        return self._epochs[slot - 1] if slot else UNDEFINED_EPOCH

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """The largest epoch here up to the asked one, and where it ends.

        An epoch above all known ones is undefined. Below all known ones the answer is the asked
        epoch and the first start offset: those records are gone, and the asker continues there.
        """
        if epoch == UNDEFINED_EPOCH:
            return UNDEFINED_EPOCH, UNDEFINED_OFFSET
        if epoch == self.latest_epoch:
            return epoch, log_end_offset
        higher = bisect_right(self._epochs, epoch)
        if higher == len(self._epochs):
            return UNDEFINED_EPOCH, UNDEFINED_OFFSET
        return self._epochs[higher - 1] if higher else epoch, self._start_offsets[higher]

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget the epochs that begin at or after the new log end."""
        if end_offset < 0:
            return
        keep = bisect_left(self._start_offsets, end_offset)
        if keep < len(self._epochs):
            del self._epochs[keep:], self._start_offsets[keep:]
            self.latest_epoch = self._epochs[-1] if keep else UNDEFINED_EPOCH
            self.dirty = True

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget the epochs that end at or before the new log start.

        The one that holds it begins there from now on.
        """
        gone = bisect_right(self._start_offsets, start_offset) - 1
        if gone < 0 or (gone == 0 and self._start_offsets[0] == start_offset):
            return
        del self._epochs[:gone], self._start_offsets[:gone]
        self._start_offsets[0] = start_offset
        self.dirty = True

    def encode(self) -> bytes:
        return encode_lines(f"{epoch} {start}" for epoch, start in self.entries())

    @classmethod
    def decode(cls, data: bytes) -> "LeaderEpochs":
        epochs = cls()
        for epoch, start_offset in decode_lines(data, _parse_entry):
            epochs.assign(epoch, start_offset)
        epochs.dirty = False
        return epochs


def _parse_entry(fields: list[str]) -> tuple[int, int]:
    epoch, start_offset = map(decode_number, fields)
    return epoch, start_offset
