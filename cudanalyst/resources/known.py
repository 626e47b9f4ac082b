"""What was read or written lately, so that it need not be asked of the disk again."""

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Known(Generic[K, V]):
    """The latest few of things that never change once they are there. Safe for any number of threads."""

    def __init__(self, size: int) -> None:
        """Remembers `size` of them."""
        self._size = size
        self._items: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """What is known under a key."""
        with self._lock:
            if key not in self._items:
                return None
            self._items.move_to_end(key)
            return self._items[key]

    def add(self, key: K, value: V) -> V:
        """Remembers a value, which it returns, and forgets the one that was not asked for the longest."""
        with self._lock:
            self._items[key] = value
            self._items.move_to_end(key)
            if len(self._items) > self._size:
                self._items.popitem(last=False)
        return value
