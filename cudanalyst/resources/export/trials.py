"""One row per trial, with a data dictionary that is read off the row's own model."""

from collections.abc import Sequence
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from cudanalyst.resources.export.tables import Cell, Column, ColumnType, Table
from cudanalyst.resources.trial_rows import TrialRow

NONE: Final = "none"
"""The empty coalition; an empty cell would be a missing value."""
_TYPES: Final[dict[type, ColumnType]] = {str: "string", bool: "boolean", int: "integer", float: "number"}
_UNITS: Final = (
    ("_speedup", "ratio"), ("speedup", "ratio"), ("_tokens", "tokens"), ("_at", "seconds since 1970-01-01 UTC"),
    ("_s", "seconds"), ("horizon", "planner steps"), ("generation", "generations"), ("attempts", "attempts"),
)  # fmt: skip
_MEANING: Final = {
    "experiment": "Handle of the experiment.",
    "trial": "Handle of the trial: one planner, one frozen state, one coalition of evidence, one outcome.",
    "problem": "Problem that the frozen state belongs to.",
    "checkpoint": "The frozen state, by its content's hash.",
    "coalition": "Components whose evidence was assigned, sorted and joined by +; 'none' for no evidence.",
    "players": "Components whose effect the experiment asks for, joined by +.",
    "regime": "Whether a plan was made (P, NP) and on what: full, summarised or no evidence (F, S, NF), dummy plan (DP), "
    "evidence of another state (RF), plan of another planner (PT).",
    "planner": "Who planned.",
    "coder": "Who wrote the candidate.",
    "operator": "How the state was induced.",
    "generation": "Generation of the frozen state.",
    "block": "Block of the design: holds every coalition once, close in time.",
    "repeat": "Which repeat of the same cell.",
    "order": "Position within the block, drawn at random.",
    "seed": "Seed handed to the planner.",
    "horizon": "Steps from the frozen state to the outcome.",
    "state": "How far the trial is.",
    "contaminated": "Withheld evidence could have been seen: kept, left out of primary estimates.",
    "contamination": "Why it is contaminated.",
    "planner_failure": "Why the planner gave no candidate: a failure at every level, not a missing value.",
    "attempts": "How often it was handed out.",
    "reused_from": "Trial of another experiment whose outcome stands here.",
    "base_status_before": "Status of the frozen state, which every planner is told.",
    "base_status_after": "Status of the candidate; empty without an outcome and where there is no candidate.",
    "compiled": "Success level: the candidate compiles.",
    "passed": "Success level: it gives correct results; implies compiled.",
    "improved": "It stands higher than the frozen state.",
    "regressed": "It stands lower than the frozen state.",
    "candidate": "Handle of the candidate, by its content's hash.",
    "prompt_hash": "Hash of the whole prompt.",
    "input_tokens": "Tokens read by the models, as the client told.",
    "output_tokens": "Tokens written by the models, as the client told.",
    "plan_s": "Time of planning, as the client told.",
    "code_s": "Time of coding, as the client told.",
    "evaluate_s": "Time of evaluating the candidate; 0 where another trial's verdict of the same source was shared.",
    "device_s": "Time on a GPU.",
    "submitted_at": "When the candidate was submitted.",
    "evaluated_at": "When the outcome was known.",
}


def trial_table(rows: Sequence[TrialRow]) -> Table:
    """All trials, flat: text, whole numbers, numbers and booleans only, so that data frames read it as it is.

    Beside the fields of `TrialRow` there is a column `has_<component>` per component (assigned or not), and the dictionaries
    of a row become columns `no_op_<level>` and `evidence_tokens_<component>`.
    """
    columns: list[Column] = []
    cells: list[list[Cell]] = [[] for _ in rows]
    for name, field in TrialRow.model_fields.items():
        keys = _keys(name, rows)
        for key in keys:
            columns.append(_column(name, key, field.annotation, field.description))
            for row, made in zip(rows, cells, strict=True):
                made.append(_cell(row, name, key))
        if name == "coalition":
            for player in _players(rows):
                meaning = f"Whether evidence of {player} was assigned."
                columns.append(Column(name=f"has_{player}", type="boolean", meaning=meaning))
                for row, made in zip(rows, cells, strict=True):
                    made.append(player in row.coalition)
    return Table(
        name="trials",
        title="One row per trial",
        columns=tuple(columns),
        rows=tuple(tuple(made) for made in cells),
    )


def _players(rows: Sequence[TrialRow]) -> list[str]:
    return sorted({player for row in rows for player in (*row.players, *row.coalition)})


def _keys(name: str, rows: Sequence[TrialRow]) -> list[str | None]:
    """Keys of a dictionary field over all rows; one column for every other field."""
    if get_origin(TrialRow.model_fields[name].annotation) is not dict:
        return [None]
    return sorted({key for row in rows for key in getattr(row, name)})


def _column(name: str, key: str | None, annotation: Any, described: str | None) -> Column:
    kind, allowed = _kind(annotation)
    meaning = _MEANING.get(name) or described or ""
    if key is not None:
        said = {
            "no_op": f"Whether the frozen state already met the level {key}.",
            "evidence_tokens": f"Estimated tokens of the evidence of {key}; empty where it was not delivered.",
        }
        meaning = said.get(name, f"{meaning} ({key})")
    unit = next((unit for ending, unit in _UNITS if name.endswith(ending)), None) if kind != "string" else None
    return Column(
        name=name if key is None else f"{name}_{key}",
        type=kind,
        meaning=" ".join(meaning.split()),
        unit=unit,
        allowed=allowed,
    )


def _kind(annotation: Any) -> tuple[ColumnType, tuple[str, ...]]:
    """Type of a column's cells, and the only values that they take."""
    origin = get_origin(annotation)
    if origin in {Union, UnionType}:
        (annotation,) = (one for one in get_args(annotation) if one is not NoneType)
        origin = get_origin(annotation)
    if origin is dict:
        return _kind(get_args(annotation)[1])
    if origin is Literal:
        return "string", tuple(map(str, get_args(annotation)))
    if origin is tuple:
        return "string", ()
    return _TYPES[annotation], ()


def _cell(row: TrialRow, name: str, key: str | None) -> Cell:
    value = getattr(row, name)
    if key is not None:
        found: Cell = value.get(key)
        return found
    if isinstance(value, tuple):
        return "+".join(value) or NONE
    plain: Cell = value
    return plain
