"""Nsight Compute's CSV pages to a report: the fallback where the `ncu-report` package is missing. Pure.

`raw` has a row of names, a row of units and a row a launch; `source` has a table of machine instructions a launch, without source
lines. Columns come and go between versions: they are found by name, and what is missing is not measured.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from typing import Final

from cudanalyst.errors import Unavailable
from cudanalyst.tools.toolchain.ncu.names import SOURCE, STALLS
from cudanalyst.tools.toolchain.ncu.report import MOST_ACTIONS, Action, Instruction, Report, base_units, number

MOST_INSTRUCTIONS: Final = 100_000
_EXTENT: Final = re.compile(r"^\(?\s*(\d+),\s*(\d+),\s*(\d+)\s*\)?$")
_STALL: Final = re.compile(r"^stall_(\w+)$")
_CAST: Final = re.compile(r"\((?:unsigned )?(?:bool|char|short|int|long|long long)\)")
_ADDRESS: Final = re.compile(r"^(?:0x)?[0-9a-f]+$", re.IGNORECASE)


def parse_pages(raw: str, source: str = "") -> Report:
    """Joins the two pages.

    ncu 2025.3 prints each launch's table of the source page several times, and spells names otherwise there (`k<(int)32>` for `k<32>`):
    tables belong to launches by their order, if the number of tables is a multiple of that of launches and the names agree.

    Args:
        raw: `--page raw`.
        source: `--page source`; empty where it was not asked for.

    Raises:
        Unavailable: The raw page has no table.
    """
    actions = list(_actions(raw))
    tables = list(_tables(source))
    copies, rest = divmod(len(tables), len(actions)) if actions else (0, 0)
    for index, action in enumerate(actions):
        if not copies or rest:
            break
        name, instructions = tables[index * copies]
        if _CAST.sub("", name) == _CAST.sub("", action.name):
            actions[index] = action.model_copy(update={"instructions": tuple(instructions)})
    return Report(reader="csv", actions=tuple(actions))


def _rows(text: str) -> Iterator[list[str]]:
    # ncu's own notices stand before the table; a line of them is no row of it.
    lines = (line for line in text.splitlines() if not line.startswith("=="))
    try:
        yield from csv.reader(lines)
    except csv.Error as error:
        raise Unavailable(f"the CSV of Nsight Compute is broken: {error}") from error


def _actions(raw: str) -> Iterator[Action]:
    rows = _rows(raw)
    header = next((row for row in rows if "Kernel Name" in row), None)
    if header is None:
        raise Unavailable("Nsight Compute printed no table of counters")
    units = next(rows, [])
    for taken, row in enumerate(rows):
        if taken >= MOST_ACTIONS:
            return
        fields = dict(zip(header, row, strict=False))
        grid, block = _extent(fields.get("Grid Size")), _extent(fields.get("Block Size"))
        if len(row) < len(header) or grid is None or block is None:
            continue
        metrics = {
            name: base_units(value, unit)
            for name, unit, text in zip(header, units, row, strict=False)
            if "__" in name or name.islower()
            if (value := number(text)) is not None
        }
        yield Action(name=fields["Kernel Name"], grid=grid, block=block, metrics=metrics)


def _extent(text: str | None) -> tuple[int, int, int] | None:
    match = _EXTENT.match(text or "")
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def _tables(source: str) -> Iterator[tuple[str, list[Instruction]]]:
    name: str | None = None
    header: list[str] | None = None
    found: list[Instruction] = []
    first = 0
    taken = 0
    for row in _rows(source):
        if row and row[0] == "Kernel Name":
            if name is not None:
                yield name, found
            name, header, found = (row[1] if len(row) > 1 else ""), None, []
        elif name is not None and header is None and "Source" in row:
            header = row
        elif header is not None and len(row) == len(header) and taken < MOST_INSTRUCTIONS:
            fields = dict(zip(header, row, strict=True))
            address = fields.get("Address", "")
            if not _ADDRESS.match(address):
                continue
            taken += 1
            first = int(address, 16) if not found else first
            found.append(_instruction(int(address, 16) - first, fields))
    if name is not None:
        yield name, found


def _instruction(offset: int, fields: Mapping[str, str]) -> Instruction:
    values = {}
    for ours, names in SOURCE.items():
        value = next((value for name in names if (value := number(fields.get(name, ""))) is not None), None)
        if value is not None:
            values[ours] = value
    stalls: dict[str, int] = {}
    for name, text in fields.items():
        if (match := _STALL.match(name)) and (count := number(text)):
            word = STALLS.get(match[1], match[1])
            stalls[word] = stalls.get(word, 0) + int(count)
    return Instruction(offset=max(0, offset), text=fields["Source"].strip(), values=values, stalls=stalls)
