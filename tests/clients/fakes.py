"""A bench that knows what the planted faults say of every program an edit book can reach: trials without a compiler."""

from dataclasses import dataclass, field

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.kernels.editbook import applicable, apply
from cudanalyst.kernels.problem import Problem
from cudanalyst.resources.attribution.planted import RUNGS
from cudanalyst.tools.compile import CompileResult, Diagnostic
from cudanalyst.tools.result import Place
from cudanalyst.tools.source import Source
from tests.server.fakes import ON, FakeBench

DEPTH = 3
"""Edits from a start."""
CATALOGUE = Catalogue.from_environment({})
TOP = 3


def reachable(problem: Problem) -> dict[str, int]:
    """Rungs (0 does not compile, 1 compiles, 2 passes, 3 is fast) of every source within `DEPTH` edits of a start."""
    found: dict[str, int] = {problem.baseline: 2}
    faults = {fault.id: fault for fault in problem.faults}
    for start in problem.starts:
        frontier = [(start.source, frozenset(start.faults), TOP)]
        for _ in range(DEPTH + 1):
            following = []
            for source, left, limit in frontier:
                rung = min([limit, *(RUNGS[faults[one].level] for one in left)])
                if found.setdefault(source, rung) != rung or source in {one for one, *_ in following}:
                    continue
                for edit in applicable(problem, source):
                    broken = TOP if edit.breaks is None else RUNGS[edit.breaks]
                    remaining = left - {*edit.fixes, *edit.silences}
                    following.append((apply(edit, source) or source, remaining, min(limit, broken)))
            frontier = following
    return found


@dataclass
class PlantedBench(FakeBench):
    """Judges by the planted faults; a source that no edit leads to is judged as `FakeBench` would."""

    judged: list[str] = field(default_factory=list)
    """Candidates that were run."""

    def __post_init__(self) -> None:
        self._rungs = {name: reachable(CATALOGUE.problem(name)) for name in ("transpose", "reduction", "matmul")}

    def rung(self, source: Source) -> int:
        return self._rungs.get(source.problem or "", {}).get(source.text, 2)

    async def compile(self, source: Source, progress):
        if self.rung(source) == 0:
            error = Diagnostic(severity="error", text="expected a ';'", place=Place(file="candidate.cu", line=1))
            return CompileResult(status="failed", summary="Does not compile.", measured_on=ON, diagnostics=(error,))
        return await super().compile(source, progress)

    async def run(self, source: Source, request, progress):
        self.judged.append(source.id)
        rung = self.rung(source)
        words = {0: "// BROKEN", 1: "// WRONG", 2: "", 3: "// FAST"}[rung]
        return await super().run(source.model_copy(update={"text": f"{source.text}\n{words}"}), request, progress)
