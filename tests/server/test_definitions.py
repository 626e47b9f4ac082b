"""The published definitions: sizes, annotations, order, and a snapshot of each."""

import json
import os
import re
from pathlib import Path

import jsonschema
import pytest

from cudanalyst.server.app import INSTRUCTIONS
from cudanalyst.server.catalogue import CATALOGUE
from cudanalyst.server.commands.tools import BEGIN, END, table, updated
from cudanalyst.server.schema import estimated_tokens
from cudanalyst.server.surface import running
from cudanalyst.tools.result import ToolResult
from tests.server.conftest import connected
from tests.server.fakes import CANDIDATE, PROGRAM

pytestmark = pytest.mark.anyio
SNAPSHOTS = Path(__file__).parent / "snapshots"
UPDATE = "CUDANALYST_UPDATE_SNAPSHOTS"


@pytest.fixture
async def definitions(application):
    async with connected(application) as client:
        return [
            tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in (await client.list_tools()).tools
        ]


async def test_every_definition_equals_its_snapshot(definitions):
    """Set CUDANALYST_UPDATE_SNAPSHOTS=1 to accept a change."""
    if os.environ.get(UPDATE):
        for old in SNAPSHOTS.glob("*.json"):
            old.unlink()
        for definition in definitions:
            path = SNAPSHOTS / f"{definition['name']}.json"
            path.write_text(json.dumps(definition, indent=2, ensure_ascii=False) + "\n", "utf-8")
    kept = {path.stem: json.loads(path.read_text("utf-8")) for path in SNAPSHOTS.glob("*.json")}
    assert kept == {definition["name"]: definition for definition in definitions}, f"accept a change with {UPDATE}=1"


async def test_all_definitions_together_are_short(definitions):
    assert sum(map(estimated_tokens, definitions)) < 7000
    assert len(definitions) <= 20


async def test_names_are_plain_and_the_order_is_the_catalogues(definitions):
    names = [definition["name"] for definition in definitions]
    assert names == [entry.name for entry in CATALOGUE]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z][a-z0-9_]{2,40}", name) for name in names)


async def test_every_tool_declares_what_a_client_may_assume(definitions):
    for definition in definitions:
        assert {"readOnlyHint", "openWorldHint"} <= set(definition["annotations"])
        assert definition["annotations"]["readOnlyHint"] or "destructiveHint" in definition["annotations"]
        assert definition["title"]
        assert len(definition["description"]) > 40


async def test_schemas_are_valid_and_closed_to_unknown_arguments(definitions):
    for definition in definitions:
        jsonschema.Draft202012Validator.check_schema(definition["inputSchema"])
        jsonschema.Draft202012Validator.check_schema(definition["outputSchema"])
        assert definition["inputSchema"]["additionalProperties"] is False
        assert {"summary", "status"} <= set(definition["outputSchema"]["required"])


async def test_what_is_sent_is_true_to_the_published_schema(application, definitions):
    schemas = {definition["name"]: definition["outputSchema"] for definition in definitions}
    calls = [
        ("compile", {"source": PROGRAM}),
        ("compile", {"source": "// BROKEN"}),
        ("run", {"source": CANDIDATE, "problem": "vector_add"}),
        ("debug", {"source": PROGRAM}),
        ("analyze", {"source": PROGRAM}),
        ("profile", {"source": PROGRAM}),
        ("device_info", {}),
        ("list_problems", {}),
        ("get_problem", {"problem": "matmul"}),
    ]
    async with connected(application) as client:
        for tool, arguments in calls:
            answer = await client.call_tool(tool, arguments)
            jsonschema.validate(answer.structured_content, schemas[tool])
            assert answer.structured_content["summary"]


def test_instructions_fit():
    assert len(INSTRUCTIONS) < 2048


@pytest.mark.parametrize("entry", [entry for entry in CATALOGUE if entry.outlives], ids=lambda entry: entry.name)
def test_a_tool_that_may_take_long_can_say_that_it_runs_on(entry):
    class Handed:
        id = "job_1"

    result = running(entry.result, Handed())
    assert (result.status, result.job) == ("running", "job_1")
    assert not isinstance(result, ToolResult) or result.measured_on.toolchain == "none"


def test_the_readmes_table_is_brought_up_to_date_between_its_marks():
    text = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    new = updated(text)
    assert new == f"before\n{BEGIN}\n{table()}\n{END}\nafter\n"
    assert updated(new) == new
    assert updated("no marks") is None
    assert all(f"`{entry.name}`" in new for entry in CATALOGUE)
