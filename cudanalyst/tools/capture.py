"""Keeps the head and the tail of a stream of any length, and knows how long it was."""

from dataclasses import dataclass

from cudanalyst.tools.text import clean


def _printable(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    return clean(text, len(text))


@dataclass(frozen=True)
class Captured:
    """What was kept of a stream. `tail` follows `head` directly unless bytes between them were dropped."""

    head: bytes
    tail: bytes
    total: int
    """Bytes that the stream had in all."""

    @property
    def dropped(self) -> int:
        """Bytes between head and tail that were not kept."""
        return self.total - len(self.head) - len(self.tail)

    @property
    def text(self) -> str:
        """Head and tail as printable text; invalid UTF-8 is replaced, and a gap is said."""
        if not self.dropped:
            return _printable(self.head + self.tail)
        gap = f"\n[... {self.dropped} bytes left out ...]\n"
        return _printable(self.head) + gap + _printable(self.tail)


class Capture:
    """Collects a stream in bounded memory."""

    def __init__(self, keep: int) -> None:
        """Keeps `keep` bytes: half from the head and half from the tail."""
        self._head_room = keep // 2
        self._tail_room = keep - keep // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Takes the next bytes."""
        self.total += len(data)
        room = self._head_room - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > 2 * self._tail_room + (64 << 10):  # trim seldom: each trim copies
            del self._tail[: len(self._tail) - self._tail_room]

    def captured(self) -> Captured:
        """What is kept so far."""
        tail = self._tail[-self._tail_room :] if self._tail_room else b""
        return Captured(head=bytes(self._head), tail=bytes(tail), total=self.total)
