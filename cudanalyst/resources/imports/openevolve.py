"""OpenEvolve checkpoints: a folder `checkpoint_N` with `metadata.json` and one file a program under `programs/`.

The layout is that of OpenEvolve's `ProgramDatabase.save`: each program has `id`, `code`, `language`, `parent_id`,
`generation`, `iteration_found`, `metrics` and `metadata`. Its pickles, embeddings, prompts and artifacts are not read.
"""

from pathlib import Path
from typing import Any, Final

from cudanalyst.errors import BadRequest
from cudanalyst.resources.imports.reading import MAX_TEXT, Fields, Reader, newest
from cudanalyst.resources.imports.run import ImportedProgram, ImportedRun

LANGUAGES: Final = frozenset({"", "c", "c++", "cpp", "cu", "cuda", "text", "unknown"})
"""Languages whose programs may be CUDA C++; OpenEvolve guesses the name from the first program's text."""


def read_openevolve(path: Path) -> ImportedRun:
    """Reads one checkpoint; of an output folder with several, the newest.

    Raises:
        BadRequest: It is no checkpoint, or a file of it is malformed; the text names file and field.
    """
    folder = _checkpoint(path)
    reader = Reader(folder)
    metadata = Fields("metadata.json", reader.json(folder / "metadata.json"))
    files = reader.list(folder / "programs", "*.json")
    if not files:
        raise BadRequest(f"{folder.name}: programs: holds no program (*.json). Give a folder checkpoint_N.")
    programs: dict[str, ImportedProgram] = {}
    for file in files:
        program = _program(reader.name(file), reader.json(file))
        if program.key in programs:
            raise BadRequest(f"{program.found_in}: id: {program.key!r} is also in {programs[program.key].found_in}.")
        programs[program.key] = program
    orphans = [one.key for one in programs.values() if one.parent is not None and one.parent not in programs]
    programs |= {key: programs[key].model_copy(update={"parent": None}) for key in orphans}
    best = metadata.text_or_none("best_program_id")
    notes = [
        "Only what OpenEvolve still had in its database at the checkpoint is here; programs that it dropped are not."
    ]
    if orphans:
        notes.append(
            f"{len(orphans)} programs name a parent that is no longer in the checkpoint: their lineage begins there."
        )
    if best is not None and best not in programs:
        notes.append("metadata.json names a best program that is not in the checkpoint.")
        best = None
    run = ImportedRun(
        system="openevolve",
        programs=tuple(sorted(programs.values(), key=lambda one: (one.generation, one.key))),
        best=best,
        method="MAP-Elites with islands",
        notes=tuple(notes),
    )
    for one in run.programs:
        run.ancestors(one.key)  # says now where parents go round in a circle
    return run


def _checkpoint(path: Path) -> Path:
    if not path.is_dir():
        raise BadRequest(f"{path}: no folder. Give an OpenEvolve folder checkpoint_N, or its output folder.")
    if (path / "metadata.json").is_file() or (path / "programs").is_dir():
        return path.resolve()
    for holder in (path / "checkpoints", path):
        if holder.is_dir() and (found := newest(holder.iterdir(), "checkpoint_")) is not None:
            return found.resolve()
    raise BadRequest(f"{path}: holds neither metadata.json nor checkpoints/checkpoint_N. Give a folder checkpoint_N.")


def _program(name: str, value: Any) -> ImportedProgram:
    fields = Fields(name, value)
    language = (fields.text_or_none("language") or "").strip().lower()
    if language not in LANGUAGES:
        raise BadRequest(f"{name}: language: is {language[:40]!r}; only CUDA C++ can be frozen here.")
    metadata = fields.part("metadata")
    llm = None if metadata is None else metadata.part("llm")
    key = fields.text("id")
    if len(key) > MAX_TEXT:
        raise BadRequest(f"{name}: id: has {len(key)} characters; at most {MAX_TEXT} are taken.")
    model = None if llm is None else llm.text_or_none("model")
    return ImportedProgram(
        key=key,
        code=fields.text("code"),
        generation=fields.count("generation", 0),
        parent=fields.text_or_none("parent_id"),
        model=None if model is None else model[:MAX_TEXT],
        claims=fields.claims("metrics"),
        found_in=name,
    )
