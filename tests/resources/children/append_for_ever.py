"""Appends events and blobs, and acknowledges each on standard output once the store has."""

import sys
from pathlib import Path

from cudanalyst.resources.events import PlanRecorded
from cudanalyst.resources.store import Scope, Store

folder, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = Store.open(folder)
index = 0
while count < 0 or index < count:
    blob = store.put(f"{name} {index}".encode() * 300)
    events = [PlanRecorded(plan=f"{name} {index} {part}", blob=blob) for part in range(3)]
    store.append_many(Scope("ada", name, name), events)
    sys.stdout.write(f"{index} {blob}\n")
    sys.stdout.flush()
    index += 1
