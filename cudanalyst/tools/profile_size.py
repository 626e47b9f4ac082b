"""At which size `profile` looks at a candidate: a pure choice."""

from typing import Final

from cudanalyst.errors import BadRequest
from cudanalyst.kernels.extent import buffer_bytes, is_large
from cudanalyst.kernels.problem import Problem, SizeGroup, SizeSet
from cudanalyst.tools.speedup import feasible_sizes

MOST_BYTES: Final = 32 << 20
"""Of all buffers, for a size that is chosen: the host draws the inputs of a profile, and takes half a minute for those of the largest sizes."""


def profile_size(
    problem: Problem, wanted: SizeSet | None, budget_warp_instructions: float, *, on_gpu: bool
) -> tuple[SizeGroup, SizeSet]:
    """The size that was asked for; else the largest eval size that can be profiled soon.

    On the CPU engine that is one within the budget of warp instructions. On a GPU it is one whose buffers take `MOST_BYTES` at most.

    Raises:
        BadRequest: The problem has no such size, or only a GPU runs it.
    """
    if wanted is None:
        if on_gpu:
            soon = [sizes for sizes in problem.sizes.get("eval", ()) if buffer_bytes(problem, sizes) <= MOST_BYTES]
            if not soon:
                return "test", problem.sizes["test"][0]
            return "eval", max(soon, key=lambda sizes: buffer_bytes(problem, sizes))
        feasible = feasible_sizes(problem, budget_warp_instructions)
        return feasible[-1] if feasible else ("test", problem.sizes["test"][0])
    for group in ("test", "eval"):
        if wanted in problem.sizes.get(group, ()):
            if is_large(problem, wanted) and not on_gpu and buffer_bytes(problem, wanted) > MOST_BYTES:
                raise BadRequest(
                    f"only a GPU runs {wanted}: the CPU engine samples blocks, but data beyond {MOST_BYTES >> 20} MiB take too long to prepare; "
                    "use a smaller size, or leave the size out"
                )
            return group, wanted
    known = "; ".join(str(sizes) for group in ("test", "eval") for sizes in problem.sizes.get(group, ()))
    raise BadRequest(f"problem {problem.id} has no sizes {wanted}; use one of: {known}")


def why_this_size(problem: Problem, sizes: SizeSet) -> str | None:
    """Why a chosen size is not the problem's largest; None where it is."""
    left = [other for other in problem.sizes.get("eval", ()) if buffer_bytes(problem, other) > MOST_BYTES]
    if not left or buffer_bytes(problem, sizes) > MOST_BYTES:
        return None
    return f"larger ones, above {MOST_BYTES >> 20} MiB, take the host too long to prepare"
