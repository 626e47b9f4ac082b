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

import numpy as np

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
    uploads: Mapping[str, bytes | memoryview]
    """By buffer: contents without guards, poison in outputs; those of timed calls have inputs only."""
    guard: bytes
    """Contents of each guard zone; empty where there is none."""
    poison: PoisonPattern = 1


@dataclass(frozen=True)
class PlannedProcess:
    """The calls of one process: one size, buffers reused."""

    problem: Problem
    group: SizeGroup
    sizes: SizeSet
    request: CandidateRequest
    calls: tuple[PlannedCall, ...]


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
    schedule = schedule_verification(problem, group, sizes, labels=labels, seeds=seeds, secret=secret)
    inputs = [make_inputs(problem, sizes, schedule[0].inputs_key, index) for index in range(seeds)]
    calls = tuple(
        _call(
            problem, sizes, inputs[one.seed_index], seed_index=one.seed_index, guard=one.guard_zone, pattern=one.poison
        )
        for one in schedule
    )
    return _process(problem, group, sizes, calls, limits)


@dataclass(frozen=True)
class ScheduledCall:
    """A call of a verification before its contents are made."""

    seed_index: int
    poison: PoisonPattern
    inputs_key: bytes
    """The seed of `make_inputs`, equal for all calls."""
    guard: bytes
    """The pattern that fills each guard zone."""

    @property
    def guard_zone(self) -> bytes:
        """Contents of one guard zone."""
        return self.guard * (GUARD_BYTES // PATTERN_BYTES)


def schedule_verification(
    problem: Problem, group: SizeGroup, sizes: SizeSet, *, labels: tuple[str, ...], seeds: int, secret: bytes
) -> tuple[ScheduledCall, ...]:
    """Which inputs each call gets, in order: every seed, the first one twice, shuffled."""
    base = (problem.id, *labels, group, _spell(sizes))
    order: list[tuple[int, PoisonPattern]] = [*((index, 0) for index in range(seeds)), (0, 1)]
    random.Random(derive_seed(secret, *base, "order")).shuffle(order)  # noqa: S311 - the seed is what is secret
    return tuple(
        ScheduledCall(
            seed_index=index,
            poison=turn,
            inputs_key=derive(secret, *base, "inputs"),
            guard=_noise(derive(secret, *base, "guard", str(index), str(turn))),
        )
        for index, turn in order
    )


def plan_timed(problem: Problem, secret: bytes, number: int, poison: PoisonPattern, inputs: Inputs) -> PlannedCall:
    """The call whose contents have a number: equal numbers hold equal inputs (`timed_inputs`), whatever the poison of outputs.

    Nothing is copied: uploads are views of the inputs, and outputs have none.
    """
    scheduled = schedule_timed(secret, number, poison)
    views = {
        item.name: np.ascontiguousarray(inputs.arrays[item.name]).reshape(-1).view(np.uint8).data
        for item in problem.parameters
        if item.role in {"in", "inout"}
    }
    return PlannedCall(number, inputs, views, scheduled.guard_zone, poison)


def timed_inputs(problem: Problem, sizes: SizeSet, secret: bytes, number: int) -> Inputs:
    """Draws the inputs of a number."""
    return make_inputs(problem, sizes, schedule_timed(secret, number, 0).inputs_key, number)


def schedule_timed(secret: bytes, number: int, poison: PoisonPattern) -> ScheduledCall:
    """The same before its contents are made."""
    guard = _noise(derive(secret, "guard", str(number)))
    return ScheduledCall(
        seed_index=number, poison=poison, inputs_key=derive(secret, "inputs", str(number)), guard=guard
    )


def plan_profile(problem: Problem, group: SizeGroup, sizes: SizeSet, secret: bytes, limits: Limits) -> PlannedProcess:
    """One call, on data that every candidate of the problem gets; poisoned and guarded, since it is verified too."""
    base = (problem.id, "profile", group, _spell(sizes))
    inputs = make_inputs(problem, sizes, derive(secret, *base, "inputs"))
    guard = _noise(derive(secret, *base, "guard")) * (GUARD_BYTES // PATTERN_BYTES)
    call = _call(problem, sizes, inputs, seed_index=0, guard=guard, pattern=1)
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
    problem: Problem, sizes: SizeSet, inputs: Inputs, *, seed_index: int, guard: bytes, pattern: PoisonPattern
) -> PlannedCall:
    uploads = {
        parameter.name: (
            poison(parameter, sizes, pattern) if parameter.role == "out" else inputs.arrays[parameter.name]
        ).tobytes()
        for parameter in problem.parameters
        if parameter.role != "scalar"
    }
    return PlannedCall(seed_index=seed_index, inputs=inputs, uploads=uploads, guard=guard, poison=pattern)


def _noise(key: bytes) -> bytes:
    return random.Random(key).randbytes(PATTERN_BYTES)  # noqa: S311 - the key is what is secret


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
