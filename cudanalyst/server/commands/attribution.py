"""`cudanalyst attribution`: what helped, in a session, in all sessions, or in an experiment that has ended."""

from typing import Annotated

import typer
from rich.console import Console

from cudanalyst.errors import BadRequest, CudanalystError
from cudanalyst.resources.answers import AttributionResult, concise_attribution
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.store import Scope, Store
from cudanalyst.server.assembly import LOCAL_OWNER
from cudanalyst.server.commands.session import JsonOption, StoreOption, fail, opened_store


def attribution_command(
    handle: Annotated[
        str | None, typer.Argument(metavar="[SESSION|EXPERIMENT]", help="Handle; without one, all sessions together.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Every level, every decision and every note.")] = False,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Say which feedback helped: observed in ordinary use, by design where delivery was randomised or in an experiment.

    Exit status: 0 told, 2 could not be done.
    """
    from cudanalyst.server.commands.showing import show_attribution  # with it come statistics, half a second of imports

    try:
        with opened_store(store) as opened:
            found = _found(opened, handle)
    except CudanalystError as error:
        fail(str(error))
    if as_json:
        typer.echo((found if full else concise_attribution(found)).model_dump_json(indent=2))
        return
    show_attribution(found, Console(highlight=False), full=full)


def _found(store: Store, handle: str | None) -> AttributionResult:
    from cudanalyst.server.attributing import attribution_of
    from cudanalyst.server.observing import attribution_of_all, attribution_of_session

    experiments = Experiments(store)
    if handle is not None and handle.startswith("exp_"):
        progress = experiments.progress(LOCAL_OWNER, handle)
        if not progress.ended:
            done = progress.evaluated + progress.infrastructure_failed
            message = (
                f"The experiment has not ended: {done} of {progress.trials} trials are done. Until then only the session that "
                "started it is told, by the tool `attribution`."
            )
            raise BadRequest(message)
        return attribution_of(experiments, LOCAL_OWNER, handle)
    if handle is None:
        return attribution_of_all(experiments, Scope(LOCAL_OWNER))
    return attribution_of_session(experiments, store.scope(LOCAL_OWNER, handle), handle)


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command("attribution", rich_help_panel="Information")(attribution_command)
