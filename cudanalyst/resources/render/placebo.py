"""What stands for a component that could not report: fixed, neutral, as long as real evidence, silent about the cause."""

from typing import Final

from cudanalyst.kernels.problem import Component
from cudanalyst.resources.evidence import Evidence
from cudanalyst.resources.render.text import build

_TEXTS: Final[dict[Component, tuple[str, tuple[str, ...]]]] = {
    "compiler": (
        "compiler: general notes",
        (
            (
                "scope: this component works on translation units as a whole. For each of them it is able to state messages with "
                "their severity, code and position, and for each kernel the use of registers, shared memory and stack."
            ),
            (
                "units: sizes are given in bytes for one thread or one block, as the name says; occupancy is the share of the warps "
                "that one multiprocessor can hold, for one stated block size."
            ),
            "order: statements stand with the most important first, and each carries a number by which a plan can cite it.",
            "use: these notes are the same for every program and hold nothing about the one at hand.",
        ),
    ),
    "analyzer": (
        "analyzer: general notes",
        (
            (
                "scope: this component works on source text alone. It is able to state kernels and launches, loops and their "
                "nesting, shared arrays, barriers, atomics, and how the index of an access depends on the thread."
            ),
            (
                "units: strides are counted in elements between neighbouring threads; lines are those of the submitted text; a "
                "confidence is one of high, medium and low."
            ),
            "order: statements stand with the most important first, and each carries a number by which a plan can cite it.",
            "use: these notes are the same for every program and hold nothing about the one at hand.",
        ),
    ),
    "debugger": (
        "debugger: general notes",
        (
            (
                "scope: this component has four checks. memcheck concerns addresses, racecheck concerns accesses to shared data "
                "without order between them, initcheck concerns reads before any write, synccheck concerns barriers."
            ),
            (
                "units: a statement may name a kernel, a line, the first thread and block, an allocation with an offset in bytes, and "
                "the number of times that it was met."
            ),
            "order: statements stand with the most important first, and each carries a number by which a plan can cite it.",
            "use: these notes are the same for every program and hold nothing about the one at hand.",
        ),
    ),
    "profiler": (
        "profiler: general notes",
        (
            (
                "scope: this component counts work by kernel and by line. It is able to state instructions by class, requests and "
                "32-byte sectors of global memory, wavefronts of shared memory, and which resource bounds a kernel."
            ),
            (
                "units: instructions are counted for whole warps; ratios stand over the least that a request needs; modelled times "
                "are in microseconds for a named device and are no measurements."
            ),
            "order: statements stand with the most important first, and each carries a number by which a plan can cite it.",
            "use: these notes are the same for every program and hold nothing about the one at hand.",
        ),
    ),
}


def placebo(component: Component, candidate: str) -> Evidence:
    """A component's fixed text, marked structural; the mark itself is never shown to a planner."""
    heading, statements = _TEXTS[component]
    return build(component, candidate, heading, statements).model_copy(update={"structural": True})
