"""The handler that begins a session: session_start."""

from functools import partial
from typing import Annotated

from pydantic import Field, ValidationError

from cudanalyst.errors import BadRequest
from cudanalyst.kernels.problem import Component
from cudanalyst.resources.answers import SessionResult
from cudanalyst.resources.randomised.draws import LEAST, MOST, RandomisedDelivery
from cudanalyst.server.call import Call
from cudanalyst.server.ledger import in_thread
from cudanalyst.server.services import Group

Randomise = Annotated[
    dict[Component, float], Field(description="Opt in: chance, 0.2 to 0.8, that a candidate's feedback offers each")
]


class SessionTools(Group):
    """Handler of sessions."""

    async def session_start(self, call: Call, randomise: Randomise = {}) -> SessionResult:  # noqa: B006 - read only
        """Begins a session, with randomised delivery where it is asked for."""
        design = None
        if randomise:
            try:
                design = RandomisedDelivery(propensities=randomise)
            except ValidationError as error:
                message = error.errors()[0]["msg"].removeprefix("Value error, ")
                raise BadRequest(message) from error
        start = partial(self.services.store.start_session, begun_in=call.scope.session)
        handle = await in_thread(start, call.owner, None, design)
        summary = f"Session {handle}: pass it as `session` in every call."
        if design is not None:
            names = ", ".join(f"{name} {chance:g}" for name, chance in sorted(randomise.items()))
            summary += (
                f" Delivery is randomised ({names}; within {LEAST} to {MOST}): for each candidate some feedback is withheld by "
                "chance, its base status never. Work as you would; `attribution` tells what helped."
            )
        return SessionResult(
            status="started", summary=summary, session=handle, randomise=dict(design.propensities) if design else {}
        )
