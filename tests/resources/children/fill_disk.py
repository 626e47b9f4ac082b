"""Fills a small disk with blobs and events, then checks that what was acknowledged is there."""

import sys
from pathlib import Path

from cudanalyst.errors import StoreError
from cudanalyst.resources.events import SessionStarted
from cudanalyst.resources.store import Scope, Store

folder = Path(sys.argv[1])
store = Store.open(folder / "store")
scope = Scope("ada", "s", "s")


def until_full(what, write):
    done = []
    while True:
        try:
            done.append(write(len(done)))
        except StoreError as error:
            sys.stdout.write(f"{what}: {error}\n")
            return done


ballast = folder / "ballast"
ballast.write_bytes(bytes(200_000))
blobs = until_full("blob", lambda i: store.put(str(i).encode() * 20_000))
assert not list(folder.rglob(".partial-*"))
events = until_full("event", lambda i: store.append(scope, SessionStarted(client=str(i) + "x" * 20_000)))
for blob in blobs:
    store.blob(blob)
assert [recorded.seq for recorded in store.events("ada")] == events
ballast.unlink()
store.append(scope, SessionStarted(client="after"))
store.close()
with Store.open(folder / "store") as again:
    assert len(again.events("ada")) == len(events) + 1
sys.stdout.write("all acknowledged are there; writing works again\n")
