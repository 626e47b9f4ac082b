"""LLM4AD logs: `samples/samples_1~200.json` with every program and its score, `population/pop_N.json` with each generation.

The layout is that of LLM4AD's profilers (EoH, MCTS-AHD and their kin): a sample has `sample_order`, `function`, `score` and,
by method, `algorithm` and `program`. A log says nothing of parents, so there is no lineage. Of `run_log.txt` only the
names of method and model are read: it also holds keys.
"""

import re
from pathlib import Path
from typing import Any, Final

from cudanalyst.errors import BadRequest
from cudanalyst.resources.imports.reading import MAX_TEXT, Fields, Reader, kept
from cudanalyst.resources.imports.run import ImportedProgram, ImportedRun

LOG_HEAD_BYTES: Final = 200_000
MAX_SAMPLES: Final = 100_000
_METHOD: Final = re.compile(r"^.*  - Method: ([A-Za-z0-9_]{1,60})\s*$", re.MULTILINE)
_MODEL: Final = re.compile(r"^.*  - _?model(?:_name)?: ([A-Za-z0-9_./:@-]{1,100})\s*$", re.MULTILINE)
_GENERATION: Final = re.compile(r"pop_([0-9]{1,6})\.json")


def read_llm4ad(path: Path) -> ImportedRun:
    """Reads the log folder of one run.

    Raises:
        BadRequest: It is no such folder, or a file of it is malformed; the text names file and field.
    """
    folder = _log_folder(path)
    reader = Reader(folder)
    generations, claimed = _generations(reader, folder / "population")
    programs: dict[str, ImportedProgram] = {}
    for file in reader.list(folder / "samples", "samples_*.json"):
        if file.name == "samples_best.json":
            continue  # its rows are in the others too
        for index, value in enumerate(_rows(reader, file)):
            _add(programs, f"{reader.name(file)}: [{index}]", value, generations)
            if len(programs) > MAX_SAMPLES:
                raise BadRequest(f"{reader.name(file)}: more than {MAX_SAMPLES} programs; import a shorter run.")
    sampled = {one.code for one in programs.values()}
    for text, (where, generation, claims) in claimed.items():
        if text not in sampled:
            key = f"population {generation}: {where.rpartition('[')[2].rstrip(']')}"
            programs[key] = ImportedProgram(key=key, code=text, generation=generation, claims=claims, found_in=where)
    if not programs:
        raise BadRequest(
            f"{folder.name}: neither samples/ nor population/ holds a program. Give the log folder of a run."
        )
    log = reader.head(folder / "run_log.txt", LOG_HEAD_BYTES) or ""
    method, model = _METHOD.search(log), _MODEL.search(log)
    writer = None if model is None else model.group(1)
    ordered = sorted(programs.values(), key=lambda one: (one.generation, one.found_in, one.key))
    scored = [one for one in ordered if isinstance(one.claims.get("score"), float)]
    notes = ["LLM4AD logs no parents: programs come without a lineage."]
    if not generations:
        notes.append("There is no population/: every program counts as generation 0.")
    return ImportedRun(
        system="llm4ad",
        programs=tuple(one.model_copy(update={"model": writer}) for one in ordered),
        best=max(scored, key=_score).key if scored else None,
        method=None if method is None else method.group(1),
        notes=tuple(notes),
    )


def _log_folder(path: Path) -> Path:
    if not path.is_dir():
        raise BadRequest(
            f"{path}: no folder. Give the log folder of an LLM4AD run, which holds samples/ and population/."
        )
    for folder in (path, path.parent):
        if (folder / "samples").is_dir() or (folder / "population").is_dir():
            return folder.resolve()
    raise BadRequest(f"{path}: holds neither samples/ nor population/. Give the log folder of one run.")


Claimed = tuple[str, int, dict[str, float | str | bool | None]]


def _generations(reader: Reader, folder: Path) -> tuple[dict[str, int], dict[str, Claimed]]:
    """By text of a program: the first generation whose population holds it, and what stands of it there."""
    numbered = sorted(
        (int(found.group(1)), file)
        for file in reader.list(folder, "pop_*.json")
        if (found := _GENERATION.fullmatch(file.name)) is not None
    )
    first: dict[str, int] = {}
    claimed: dict[str, Claimed] = {}
    for generation, file in numbered:
        for index, value in enumerate(_rows(reader, file)):
            where = f"{reader.name(file)}: [{index}]"
            text, claims = _read(where, value)
            first.setdefault(text, generation)
            claimed.setdefault(text, (where, generation, claims))
    return first, claimed


def _rows(reader: Reader, file: Path) -> list[Any]:
    rows = reader.json(file)
    if not isinstance(rows, list):
        raise BadRequest(f"{reader.name(file)}: must be a list of programs.")
    return rows


def _read(where: str, value: Any) -> tuple[str, dict[str, float | str | bool | None]]:
    fields = Fields(where, value)
    program = fields.text_or_none("program")
    text = fields.text("program") if program is not None and program.strip() else fields.text("function")
    return text, _claims(value)


def _claims(value: Any) -> dict[str, float | str | bool | None]:
    """Score and the run's own words; several scores become `score_0`, `score_1`, ..."""
    score = value.get("score")
    if isinstance(score, list):
        return kept({f"score_{k}": one for k, one in enumerate(score)} | {"algorithm": value.get("algorithm")})
    return kept({"score": score, "algorithm": value.get("algorithm")})


def _add(programs: dict[str, ImportedProgram], where: str, value: Any, generations: dict[str, int]) -> None:
    text, claims = _read(where, value)
    key = f"sample {Fields(where, value).count('sample_order')}"[:MAX_TEXT]
    if key in programs and programs[key].code != text:
        raise BadRequest(f"{where}: sample_order: is also that of {programs[key].found_in}.")
    function = value.get("function")
    generation = generations.get(text, generations.get(function, 0) if isinstance(function, str) else 0)
    programs[key] = ImportedProgram(key=key, code=text, generation=generation, claims=claims, found_in=where)


def _score(program: ImportedProgram) -> float:
    score = program.claims.get("score")
    return score if isinstance(score, float) else float("-inf")
