"""Which calls of `solve` are made on which contents: pure planning, in the parent process.

Seeds. Every random choice comes from `HMAC-SHA256(secret, labels)`, where the secret is the server's and the labels are
problem, candidate, size group, sizes and seed index. The same evaluation is therefore repeatable by whoever holds the secret, while a
candidate can neither predict its inputs nor meet those of another candidate. Inputs of profiled runs leave the candidate
out of the labels: baseline and candidates are modelled on the same data.

One process makes the calls of one size, on the same buffers, in shuffled order: each seed once, and the first seed twice.
Stale results kept by pointer, by shape or by count of calls then meet other inputs. Outputs hold poison before each call;
the two calls on the same input get different poison, so that an element which is not written differs between them or from
the reference, whatever its type.
"""

import hashlib
import hmac
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cudanalyst.kernels.inputs import (
    Inputs,
    PoisonPattern,
    distribution_count,
    make_inputs,
    nbytes_of,
    poison,
    scalar_of,
)
from cudanalyst.kernels.problem import Problem, SizeGroup, SizeSet
from cudanalyst.tools import oracle
from cudanalyst.tools.toolchain.protocol import BufferSpec, Call, CandidateRequest, ScalarSpec

GUARD_BYTES: Final = 4096
PATTERN_BYTES: Final = 64


def derive(secret: bytes, *labels: str) -> bytes:
    """32 bytes that only the holder of the secret can foretell; labels are length-prefixed."""
    message = b"".join(len(data).to_bytes(4, "big") + data for data in (label.encode() for label in labels))
    return hmac.new(secret, message, hashlib.sha256).digest()


def derive_seed(secret: bytes, *labels: str) -> int:
    """A 63-bit seed, from `derive`."""
    return int.from_bytes(derive(secret, *labels)[:8], "big") >> 1


@dataclass(frozen=True)
class PlannedCall:
    """One call, and what only the parent knows of it."""

    seed_index: int
    inputs: Inputs
    uploads: Mapping[str, bytes]
    """By buffer: contents without guards, poison in outputs."""
    guard: bytes
    """Contents of each guard zone; empty where there is none."""


@dataclass(frozen=True)
class PlannedProcess:
    """The calls of one process: one size, buffers reused."""

    problem: Problem
    group: SizeGroup
    sizes: SizeSet
    request: CandidateRequest
    calls: tuple[PlannedCall, ...]

    @property
    def seed_indices(self) -> tuple[int, ...]:
        """The seeds, each once, in order."""
        return tuple(sorted({call.seed_index for call in self.calls}))


@dataclass(frozen=True)
class Limits:
    """Bounds of one process."""

    timeout_s: float
    max_warp_instructions: int | None = None


def seeds_for(problem: Problem) -> int:
    """Input sets per size: one for each distribution of the problem's inputs, between two and four."""
    return min(max(distribution_count(problem), 2), 4)


def parameters_of(problem: Problem) -> tuple[BufferSpec | ScalarSpec, ...]:
    """The parameters of `solve` as the runner wants them."""
    specs: list[BufferSpec | ScalarSpec] = []
    for parameter in problem.parameters:
        if parameter.role == "scalar":
            specs.append(ScalarSpec(name=parameter.name, ctype=oracle.SCALAR_TYPES[parameter.dtype]))
        else:
            specs.append(BufferSpec(name=parameter.name, dtype=parameter.dtype, role=parameter.role))
    return tuple(specs)


def plan_verification(
    problem: Problem,
    group: SizeGroup,
    sizes: SizeSet,
    *,
    labels: tuple[str, ...],
    seeds: int,
    secret: bytes,
    limits: Limits,
) -> PlannedProcess:
    """Calls that test whether a candidate is right at one size: every seed, the first one twice, shuffled."""
    base = (problem.id, *labels, group, _spell(sizes))
    order: list[tuple[int, PoisonPattern]] = [*((index, 0) for index in range(seeds)), (0, 1)]
    random.Random(derive_seed(secret, *base, "order")).shuffle(order)  # noqa: S311 - the seed is what is secret
    inputs = [make_inputs(problem, sizes, derive(secret, *base, "inputs"), index) for index in range(seeds)]
    calls = tuple(
        _call(
            problem,
            sizes,
            inputs[index],
            seed_index=index,
            key=derive(secret, *base, "guard", str(index), str(turn)),
            pattern=turn,
        )
        for index, turn in order
    )
    return _process(problem, group, sizes, calls, limits)


def plan_profile(problem: Problem, group: SizeGroup, sizes: SizeSet, secret: bytes, limits: Limits) -> PlannedProcess:
    """One call, on data that every candidate of the problem gets; poisoned and guarded, since it is verified too."""
    base = (problem.id, "profile", group, _spell(sizes))
    inputs = make_inputs(problem, sizes, derive(secret, *base, "inputs"))
    call = _call(problem, sizes, inputs, seed_index=0, key=derive(secret, *base, "guard"), pattern=1)
    return _process(problem, group, sizes, (call,), limits)


def plan_debug(problem: Problem, candidate: str, sizes: SizeSet, secret: bytes, limits: Limits) -> CandidateRequest:
    """One call on exact, separate allocations without guards or poison, which would blind the checks."""
    inputs = make_inputs(problem, sizes, derive(secret, problem.id, candidate, "debug", _spell(sizes)))
    buffers = {
        parameter.name: (
            nbytes_of(parameter, sizes),
            None if parameter.role == "out" else inputs.arrays[parameter.name].tobytes(),
        )
        for parameter in problem.parameters
        if parameter.role != "scalar"
    }
    return CandidateRequest(
        parameters=parameters_of(problem),
        sizes=sizes,
        calls=(Call(buffers=buffers, scalars=_scalars(problem, sizes)),),
        guard_bytes=0,
        timeout_s=limits.timeout_s,
        max_warp_instructions=limits.max_warp_instructions,
    )


def debug_sizes(problem: Problem) -> tuple[SizeSet, ...]:
    """The largest test size and the one with the most odd extents (the largest such): one where they coincide."""
    sizes = sorted(problem.sizes["test"], key=lambda size: -oracle.estimated_warp_instructions(problem, size))
    oddest = max(sizes, key=lambda size: sum(extent % 2 for extent in size.values()))
    return (sizes[0],) if oddest == sizes[0] else (sizes[0], oddest)


def _spell(sizes: SizeSet) -> str:
    return ",".join(f"{name}={extent}" for name, extent in sorted(sizes.items()))


def _scalars(problem: Problem, sizes: SizeSet) -> dict[str, int | float]:
    return {item.name: scalar_of(item, sizes) for item in problem.parameters if item.role == "scalar"}


def _call(
    problem: Problem, sizes: SizeSet, inputs: Inputs, *, seed_index: int, key: bytes, pattern: PoisonPattern
) -> PlannedCall:
    uploads = {
        parameter.name: (
            poison(parameter, sizes, pattern) if parameter.role == "out" else inputs.arrays[parameter.name]
        ).tobytes()
        for parameter in problem.parameters
        if parameter.role != "scalar"
    }
    noise = random.Random(key).randbytes(PATTERN_BYTES)  # noqa: S311 - the key is what is secret
    guard = noise * (GUARD_BYTES // PATTERN_BYTES)
    return PlannedCall(seed_index=seed_index, inputs=inputs, uploads=uploads, guard=guard)


def _process(
    problem: Problem, group: SizeGroup, sizes: SizeSet, calls: tuple[PlannedCall, ...], limits: Limits
) -> PlannedProcess:
    scalars = _scalars(problem, sizes)
    request = CandidateRequest(
        parameters=parameters_of(problem),
        sizes=sizes,
        calls=tuple(
            Call(
                buffers={name: (len(data), call.guard + data + call.guard) for name, data in call.uploads.items()},
                scalars=scalars,
                download=tuple(call.uploads),
            )
            for call in calls
        ),
        guard_bytes=GUARD_BYTES,
        timeout_s=limits.timeout_s,
        max_warp_instructions=limits.max_warp_instructions,
    )
    return PlannedProcess(problem=problem, group=group, sizes=sizes, request=request, calls=calls)
