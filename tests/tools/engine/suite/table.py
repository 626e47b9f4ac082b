"""What compute-sanitizer says of the suite beside the engine, as tables: `python3 -m tests.tools.engine.suite.table`. The first stands in `docs/engine.md`."""

import gzip
import json
import re
from pathlib import Path
from typing import Any, Final

from tests.tools.engine.suite.record import SUITE, cases_of

CORRECT: Final = SUITE / "recorded" / "correct-h200-cuda13.0-sanitizer2025.3-ncu2025.3.json.gz"
FAULTS: Final = SUITE / "recorded" / "faults-h200-cuda13.0-sanitizer2025.3.json.gz"
TOOLS: Final = ("memcheck", "racecheck", "initcheck", "synccheck")
FALSE_ALARMS: Final = {
    "pipeline_of_three_stages": "takes the last arrival at a pipeline's own barrier, which nobody has to wait for, for a missing wait",
    "pipeline_with_roles": "the same",
    "copy_completes_on_a_barrier": "the same, of the arrival that `cuda::memcpy_async` makes",
    "cp_async_fills_with_zeros": "counts 16 bytes read where `cp.async` is told to read 4 and to fill up with zeros",
    "named_barriers_hand_over": "does not see that `bar.arrive` orders what came before it",
    "tile_of_four_warps": "does not see the barriers by which a tile wider than a warp synchronises, in the toolkit's own header",
    "structures_with_padding": "reports the padding that is copied with its structure; so does the engine, which follows no values",
    "messages_at_every_scope": "does not see release and acquire in shared memory",
}
"""Alarms of compute-sanitizer about correct programs, and why they are none."""


def read(record: Path) -> dict[str, Any]:
    """The cases of a record; none where there is no record."""
    return dict(json.loads(gzip.decompress(record.read_bytes()))["cases"]) if record.exists() else {}


def alarms(said: dict[str, Any]) -> list[tuple[str, str, int | None]]:
    """Tool, kind and line of all that the tools found in a case."""
    return [(tool, kind, line) for tool in TOOLS if isinstance(said.get(tool), list) for kind, line, _ in said[tool]]


def of_correct() -> list[str]:
    """The rows of correct programs that compute-sanitizer finds fault with."""
    rows = ["| correct program | compute-sanitizer 2025.3 on an H200 | why it is none |", "|---|---|---|"]
    for case, said in read(CORRECT).items():
        found = sorted({f"{tool}: {kind}" for tool, kind, _ in alarms(said)})
        if found:
            rows.append(f"| `{case}` | {', '.join(found)} | {FALSE_ALARMS[case]} |")
    return rows


def of_faults() -> list[str]:
    """A row for each family of faults: how many, and those that compute-sanitizer has nothing to say of."""
    seen = read(FAULTS)
    rows = ["| family | faults | found by compute-sanitizer too | by the engine alone |", "|---|---|---|---|"]
    for path in sorted((SUITE / "faults").glob("*.cu")):
        marked = set(re.findall(r"// FAULT(?:-OR)? (\w+) ", path.read_text()))
        faults = [case for case in cases_of(path) if case in marked and case in seen]
        missed = [case for case in faults if not alarms(seen[case])]
        names = ", ".join(f"`{case}`" for case in missed) or "none"
        if faults:
            rows.append(f"| {path.stem} | {len(faults)} | {len(faults) - len(missed)} | {names} |")
    return rows


def section() -> str:
    """What the document says of the correct programs."""
    correct = sum(len(cases_of(path)) for path in (SUITE / "correct").glob("*.cu"))
    return "\n".join(
        [
            f"`tests/tools/engine/suite/correct` holds {correct} programs that are correct but tricky. The engine finds nothing in them but what the table says, with several orders of warps, and what they print is what an",
            "H200 printed, byte for byte (two files of them know their results themselves). compute-sanitizer raised an alarm about these:",
            "",
            *of_correct(),
            "",
            "`python3 -m tests.tools.engine.suite.table` prints this, and for each family of faults those of which compute-sanitizer has nothing to say.",
        ]
    )


if __name__ == "__main__":
    print("\n".join([section(), "", *of_faults()]))  # noqa: T201
