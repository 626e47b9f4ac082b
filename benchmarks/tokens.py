"""How much a model reads: every tool definition together, and the largest default answer to each call of the demo.

Tokens are estimated as characters of compact JSON over 3.5, which is cautious for code and numbers.
"""

import argparse
import json
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import anyio
from rich.console import Console
from rich.table import Table

from cudanalyst.clients.agent import ScriptedAgent
from cudanalyst.clients.connection import Connection, stdio_server
from cudanalyst.clients.options import PLAYERS, PROBLEMS
from cudanalyst.clients.scripted import ScriptedPlanner
from cudanalyst.clients.trials import run_experiment
from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.server.bounds import compact_json
from cudanalyst.tools.text import CHARACTERS_A_TOKEN

DEFINITIONS_LIMIT, RESULT_LIMIT = 7_000, 2_000
RECORDED: dict[str, list[int]] = defaultdict(list)


def tokens(value: object) -> int:
    return round(len(compact_json(value)) / CHARACTERS_A_TOKEN)


async def recorded(self: Connection, tool: str, arguments: dict[str, object]) -> dict[str, Any]:
    """The connection's call with default detail, its answer's size noted."""
    arguments = {name: value for name, value in arguments.items() if name != "detail"}
    data: dict[str, Any] = await ORIGINAL(self, tool, arguments)
    RECORDED[tool].append(tokens(data))
    return data


ORIGINAL = Connection._structured
Connection._structured = recorded  # type: ignore[method-assign]


async def measure() -> int:
    catalogue = Catalogue.from_environment({})
    planner = ScriptedPlanner(catalogue.problem)
    with tempfile.TemporaryDirectory() as store:
        async with stdio_server(Path(store)) as connection:
            listed = await connection._client.list_tools()
            definitions = tokens(
                [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed.tools]
            )
            checkpoints = []
            for name in PROBLEMS:
                problem = catalogue.problem(name)
                for start in problem.starts:
                    steps = await ScriptedAgent(connection, planner, lambda _tool, _words: None).walk(
                        problem, start, 1, 1
                    )
                    checkpoints.append(steps[0].checkpoint)
            await run_experiment(
                connection,
                planner,
                checkpoints,
                PLAYERS,
                repeats=1,
                seed=1,
                started=lambda _experiment: None,
                report=lambda _submitted, _judged: None,
            )
    return definitions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    as_json = parser.parse_args().json
    definitions = anyio.run(measure)
    largest = {tool: max(sizes) for tool, sizes in RECORDED.items()}
    if as_json:
        print(
            json.dumps(
                {"definitions": definitions, "largest_result": largest, "limits": [DEFINITIONS_LIMIT, RESULT_LIMIT]}
            )
        )
        return
    table = Table(title=f"Tokens ({CHARACTERS_A_TOKEN} characters each)")
    for column in ("what", "tokens", "limit"):
        table.add_column(column, justify="left" if column == "what" else "right")
    table.add_row("all tool definitions", str(definitions), str(DEFINITIONS_LIMIT))
    for tool, size in sorted(largest.items(), key=lambda item: -item[1]):
        table.add_row(f"largest answer of {tool} ({len(RECORDED[tool])} calls)", str(size), str(RESULT_LIMIT))
    Console().print(table)


if __name__ == "__main__":
    main()
