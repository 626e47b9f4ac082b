"""Waits for a GPU, says so, and holds it until standard input ends; every step is a line in a log that all processes share."""

import asyncio
import os
import random
import sys
from pathlib import Path

from cudanalyst.tools.gpu.lease import Leases, Mode

MODES: tuple[Mode, ...] = ("exclusive", "shared")


async def main() -> None:
    folder, log, uuids, rounds, hold_s, mode = (
        Path(sys.argv[1]),
        sys.argv[2],
        sys.argv[3].split(","),
        int(sys.argv[4]),
        float(sys.argv[5]),
        sys.argv[6],
    )
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def say(what: str) -> None:
        os.write(descriptor, f"{os.getpid()} {what}\n".encode())

    leases = Leases(folder)
    for _ in range(rounds):
        chosen = random.choice(MODES) if mode == "either" else mode
        async with leases.hold(uuids, wait_s=60, ahead=lambda ahead: say(f"waits {ahead}"), mode=chosen) as lease:
            say(f"holds {lease.uuid} {lease.mode}")
            if hold_s < 0:
                await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
            else:
                await asyncio.sleep(hold_s)
            say(f"leaves {lease.uuid}")


asyncio.run(main())
