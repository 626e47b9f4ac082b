"""Tables of trials and numbers: what is written reads back the same, with its data dictionary."""

import builtins
import csv
import io
import json

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from cudanalyst.errors import Unavailable
from cudanalyst.resources.attribution.plan import AnalysisPlan, Claim
from cudanalyst.resources.export.numbers import number_table
from cudanalyst.resources.export.tables import Column, Table, dictionary, to_csv, to_json, to_json_lines, to_parquet
from cudanalyst.resources.export.trials import trial_table
from cudanalyst.resources.report.bundle import table_files
from cudanalyst.resources.trial_rows import TrialRow
from tests.resources.report.experiments import report, rows


@pytest.fixture(scope="module")
def data():
    """A small experiment with what spoils trials, two generations and a claim."""
    plan = AnalysisPlan(
        levels=("passed", "score_modelled"), claims=(Claim(name="helps", kind="positive", players=("analyzer",)),)
    )
    trials = rows(problems=2, generations=(0, 3), regimes=("P+F", "RF"), repeats=2, spoiled=2, sentinels=True)
    return report(trials, plan)


@pytest.fixture(scope="module")
def table(data):
    return trial_table(data.rows)


def read_back(table, content):
    frame = parquet.read_table(io.BytesIO(content))
    return [tuple(row[name] for name in frame.column_names) for row in frame.to_pylist()]


def test_every_field_of_a_trial_has_a_described_column(table):
    names = {column.name for column in table.columns}
    whole = {name for name in TrialRow.model_fields if name not in {"no_op", "evidence_tokens"}}
    assert whole <= names
    assert {"has_analyzer", "has_profiler", "no_op_compiled", "evidence_tokens_debugger"} <= names
    assert all(len(column.meaning) > 8 and column.meaning.endswith(".") for column in table.columns)
    assert len(names) == len(table.columns)


def test_units_and_allowed_values_are_told(table):
    columns = {column.name: column for column in table.columns}
    assert columns["evaluate_s"].unit == "seconds"
    assert columns["opened_at"].unit == "seconds since 1970-01-01 UTC"
    assert columns["modelled_speedup"].unit == "ratio"
    assert "PT" in columns["regime"].allowed
    assert set(columns["base_status_before"].allowed) == {"compile_failed", "crashed", "wrong", "passed"}
    for row in table.rows:
        for column, cell in zip(table.columns, row, strict=True):
            assert cell is None or not column.allowed or cell in column.allowed


def test_a_trial_becomes_a_row_that_says_the_same(data, table):
    names = [column.name for column in table.columns]
    for trial, row in zip(data.rows, table.rows, strict=True):
        cells = dict(zip(names, row, strict=True))
        assert cells["coalition"] == ("+".join(trial.coalition) or "none")
        assert cells["has_analyzer"] == ("analyzer" in trial.coalition)
        assert cells["passed"] == trial.passed
        assert cells["no_op_compiled"] == trial.no_op.get("compiled")
        assert cells["evidence_tokens_profiler"] == trial.evidence_tokens.get("profiler")


def test_parquet_reads_back_with_types_and_the_dictionary_in_its_fields(table):
    content = to_parquet(table)
    assert read_back(table, content) == list(table.rows)
    schema = parquet.read_schema(io.BytesIO(content))
    field = schema.field("evaluate_s")
    assert field.metadata[b"unit"] == b"seconds"
    assert field.metadata[b"meaning"].startswith(b"Time of evaluating")
    assert json.loads(schema.field("regime").metadata[b"allowed"])[0] == "NP+NF"
    assert str(schema.field("passed").type) == "bool"
    assert to_parquet(table) == content


def test_pandas_reads_parquet_and_csv_alike(table, tmp_path):
    (tmp_path / "t.parquet").write_bytes(to_parquet(table))
    (tmp_path / "t.csv").write_bytes(to_csv(table))
    one, other = (
        pd.read_parquet(tmp_path / "t.parquet"),
        pd.read_csv(tmp_path / "t.csv", keep_default_na=False, na_values=[""]),
    )
    assert list(one.columns) == list(other.columns)
    assert one.shape == other.shape == (len(table.rows), len(table.columns))
    shares = [
        frame[frame.passed.notna()].groupby("coalition").passed.apply(lambda x: x.astype(bool).mean())
        for frame in (one, other)
    ]
    pd.testing.assert_series_equal(*shares)
    assert "none" in shares[0].index


def test_json_lines_hold_every_column_in_each_line(table):
    lines = to_json_lines(table).decode().splitlines()
    assert len(lines) == len(table.rows)
    assert list(json.loads(lines[0])) == [column.name for column in table.columns]


def test_without_pyarrow_the_error_says_what_to_install(table, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **more):
        if name.partition(".")[0] == "pyarrow":
            raise ImportError(name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(Unavailable, match=r"cudanalyst\[science\]"):
        to_parquet(table)
    assert to_csv(table)


CELLS = {
    "string": st.none()
    | st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda text: "\x00" not in text),
    "integer": st.none() | st.integers(-(2**63), 2**63 - 1),
    "number": st.none() | st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.none() | st.booleans(),
}


@st.composite
def tables(draw):
    kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=4))
    columns = tuple(Column(name=f"c{k}", type=kind, meaning="Any.") for k, kind in enumerate(kinds))
    made = draw(st.lists(st.tuples(*(CELLS[kind] for kind in kinds)), max_size=5))
    return Table(name="any", title="Any", columns=columns, rows=tuple(made))


@settings(max_examples=40)
@given(tables())
@example(
    Table(
        name="any",
        title="Any",
        columns=(Column(name="c0", type="string", meaning="Any."),),
        rows=(("=",), ("'=",), ("''",)),
    )
)
def test_any_table_reads_back_from_csv_json_and_parquet(table):
    parse = {
        "string": lambda text: text.removeprefix("'"),
        "integer": int,
        "number": float,
        "boolean": {"true": True, "false": False}.get,
    }
    kinds = [column.type for column in table.columns]
    header, *lines = csv.reader(io.StringIO(to_csv(table).decode(), newline=""))
    assert header == [column.name for column in table.columns]
    back = [
        tuple(None if cell == "" else parse[kind](cell) for kind, cell in zip(kinds, line, strict=True))
        for line in lines
        if line
    ]
    assert back == list(table.rows)
    names = [column.name for column in table.columns]
    objects = json.loads(to_json(table))["rows"]
    assert [tuple(one.get(name) for name in names) for one in objects] == list(table.rows)
    assert [tuple(json.loads(line).values()) for line in to_json_lines(table).decode().split("\n")[:-1]] == list(
        table.rows
    )
    assert read_back(table, to_parquet(table)) == list(table.rows)


def test_what_has_no_number_is_an_empty_cell_everywhere():
    table = Table(
        name="t",
        title="T",
        columns=(Column(name="x", type="number", meaning="X."), Column(name="s", type="string", meaning="S.")),
        rows=((float("nan"), "a"), (float("inf"), "\ud800")),
    )
    assert to_csv(table) == b"x,s\r\n,a\r\n,?\r\n"
    assert json.loads(to_json(table))["rows"] == [{"s": "a"}, {"s": "?"}]
    assert read_back(table, to_parquet(table)) == [(None, "a"), (None, "?")]


@pytest.fixture(scope="module")
def numbers(data):
    return number_table(data.analysis).records()


def number(numbers, **wanted):
    return [one for one in numbers if all(one[name] == value for name, value in wanted.items())]


def test_every_value_effect_and_interval_of_the_analysis_is_a_row(data, numbers):
    for part in data.analysis.slices:
        where = {
            "level": part.level,
            "generation": part.generation,
            "regime": part.condition.regime,
            "problem": None,
            "stratum": None,
            "scale": part.scale,
        }
        for value in part.values:  # noqa: PD011 - no data frame
            found = number(
                numbers, estimand="v", statistic="estimate", players="+".join(value.coalition) or "none", **where
            )
            assert [(one["low"], one["high"], one["target"]) for one in found] == [
                (i.low, i.high, i.target) for i in value.intervals
            ]
            assert {one["value"] for one in found} == {value.value}
        for effect in part.effects:
            found = number(
                numbers,
                part="effect",
                estimand=effect.index,
                statistic="estimate",
                players="+".join(effect.players) or "none",
                **where,
            )
            assert len(found) == max(1, len(effect.intervals))
            assert {one["value"] for one in found} == {effect.value}


def test_numbers_of_every_part_are_there(data, numbers):
    parts = {one["part"] for one in numbers}
    assert {"count", "value", "effect", "contrast", "slope", "family", "claim", "heterogeneity", "drift"} <= parts
    (told,) = number(numbers, estimand="excluded: contaminated")
    assert told["value"] == data.analysis.exclusions.contaminated == 2


@pytest.mark.parametrize(("form", "endings"), [("parquet", {"parquet"}), ("csv", {"csv"}), ("json", {"json", "jsonl"})])
def test_an_export_of_tables_brings_its_dictionary(data, form, endings):
    files = table_files(data, form)
    package = json.loads(files["datapackage.json"])
    assert {name.rpartition(".")[2] for name in files} == endings | {"json"}
    assert {one["path"] for one in package["resources"]} == set(files) - {"datapackage.json"}
    for resource in package["resources"]:
        assert all(field["description"] for field in resource["schema"]["fields"])
    trials = next(one for one in package["resources"] if one["name"] == "trials")
    assert {
        "name": "evaluate_s",
        "type": "number",
        "description": "Time of evaluating the candidate; 0 where another trial's verdict of the same source was shared.",
        "unit": "seconds",
    } in trials["schema"]["fields"]
    assert table_files(data, form) == files


def test_a_dictionary_names_allowed_values_as_constraints():
    column = Column(name="a", type="string", meaning="A.", allowed=("x", "y"))
    made = json.loads(dictionary([Table(name="t", title="T", columns=(column,), rows=())], {"t": "t.csv"}, title="All"))
    assert made["resources"][0]["schema"]["fields"] == [
        {"name": "a", "type": "string", "description": "A.", "constraints": {"enum": ["x", "y"]}}
    ]


@pytest.mark.parametrize("name", ["=HYPERLINK(1)", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_no_name_of_a_planner_or_a_model_is_a_formula_in_a_spreadsheet(name):
    trials = [one.model_copy(update={"planner": name, "model": name}) for one in rows(problems=1, repeats=1)]
    written = to_csv(trial_table(trials)).decode()
    for record in csv.DictReader(io.StringIO(written, newline="")):
        assert (record["planner"], record["model"]) == (f"'{name}", f"'{name}")
        assert not any(cell.startswith(tuple("=+@\t\r")) for cell in record.values())
