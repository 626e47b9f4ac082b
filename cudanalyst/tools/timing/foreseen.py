"""Contents of comparisons that are to come, made in threads while something else is compiled, verified or timed."""

from collections.abc import Sequence
from typing import Final

from cudanalyst.kernels.extent import is_large
from cudanalyst.tools.timing.audit import FRESH_SETS_LESS
from cudanalyst.tools.timing.contents import HostContents
from cudanalyst.tools.timing.replayed import SETS
from cudanalyst.tools.toolchain.protocol import ComparisonRequest

AHEAD: Final = 2
"""Sizes whose contents are made beforehand: some hundred MiB each where they are largest."""
NUMBERS: Final = 2 * SETS - FRESH_SETS_LESS
"""Contents that nearly every comparison needs: of all sets, and the fresh ones of the audit's first round."""


def host_contents(request: ComparisonRequest) -> HostContents | None:
    """Contents that this process makes; None for a size that is too large for that."""
    if is_large(request.problem, request.sizes):
        return None
    return HostContents(request.problem, request.sizes, request.secret, request.expected)


class Foreseen:
    """What was begun, until a comparison takes it."""

    def __init__(self) -> None:
        """Begins nothing."""
        self._begun: dict[tuple[bytes, str], HostContents] = {}

    def begin(self, requests: Sequence[ComparisonRequest]) -> None:
        """Begins with the first ones."""
        for request in requests[:AHEAD]:
            contents = host_contents(request)
            if contents is not None and _key(request) not in self._begun:
                self._begun[_key(request)] = contents
                contents.begin(range(NUMBERS))

    def take(self, request: ComparisonRequest) -> HostContents | None:
        """What was begun for a request, for the caller to forget."""
        return self._begun.pop(_key(request), None)

    async def close(self) -> None:
        """Drops what nobody has taken."""
        left, self._begun = list(self._begun.values()), {}
        for contents in left:
            await contents.forget()


def _key(request: ComparisonRequest) -> tuple[bytes, str]:
    return request.secret, f"{request.problem.id} {sorted(request.sizes.items())}"
