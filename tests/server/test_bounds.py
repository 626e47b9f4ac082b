"""How much of a result is sent, and what is said of the rest."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.server.bounds import LIMITS, bounded, lean
from cudanalyst.tools.compile import CompileResult, Diagnostic
from cudanalyst.tools.result import MeasuredOn, Place
from tests.server.conftest import connected

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=2000),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text("abcdef", min_size=1), inner, max_size=6),
    max_leaves=60,
)


@pytest.mark.anyio
async def test_a_long_result_is_cut_counted_and_kept_whole_elsewhere(application, era):
    async with connected(application, era) as client:
        answer = await client.call_tool("compile", {"source": "// MANY"})
        data = answer.structured_content
        assert len(json.dumps(data)) < 6000
        cut = next(one for one in data["omitted"] if one["what"] == "diagnostics")
        assert cut["total"] == 1000
        assert cut["shown"] == len(data["diagnostics"])
        whole = json.loads((await client.read_resource(cut["resource"])).contents[0].text)
        assert len(whole["diagnostics"]) == 1000
        full = (await client.call_tool("compile", {"source": "// MANY", "detail": "full"})).structured_content
    assert len(data["diagnostics"]) < len(full["diagnostics"]) < 1000
    assert len(json.dumps(full)) < 45_000
    assert CompileResult.model_validate(data).status == "failed"


@given(JSON)
def test_any_result_fits_or_has_nothing_left_to_cut(value):
    data = {"summary": "s", "value": value, "more": [value]}
    before = json.dumps(data)
    after = bounded(json.loads(before), "concise")
    size = len(json.dumps(after, separators=(",", ":"), ensure_ascii=False))
    if len(json.dumps(data, separators=(",", ":"), ensure_ascii=False)) <= LIMITS["concise"]:
        assert after == data
    else:
        assert size < 2 * LIMITS["concise"] or "omitted" in after
        assert all(one["shown"] != one["total"] for one in after.get("omitted", ()))


def test_a_lean_result_parses_to_an_equal_one():
    result = CompileResult(
        status="failed",
        summary="x",
        measured_on=MeasuredOn(toolchain="none"),
        diagnostics=(Diagnostic(severity="error", text=""), Diagnostic(severity="note", text="t", place=Place(line=1))),
    )
    data = lean(result)
    assert CompileResult.model_validate(data) == result
    assert "reason" not in data
    assert "kernels" not in data
    assert "place" not in data["diagnostics"][0]
