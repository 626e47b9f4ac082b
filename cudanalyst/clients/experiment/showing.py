"""What the commands print: examples, and how a run ended."""

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from cudanalyst.clients.experiment.folder import Place
from cudanalyst.clients.experiment.watch import Ended
from cudanalyst.resources.design.models import Design


def show_examples(console: Console, designs: Mapping[str, Design]) -> None:
    """Lists designs with what they are for."""
    table = Table(box=None, pad_edge=False)
    for column in ("name", "kind", "regimes", "planners", "what it asks"):
        table.add_column(column, overflow="fold")
    for name, design in designs.items():
        table.add_row(
            f"[bold]{name}[/]",
            design.kind,
            ", ".join(design.regimes),
            ", ".join(one.name for one in design.planners),
            design.description,
        )
    console.print(table)
    console.print("Copy one: cudanalyst experiment new NAME", highlight=False)


def show_ended(console: Console, place: Place, ended: Ended) -> None:
    """Says how a run ended and what to do next."""
    spent, progress = ended.spent, ended.progress
    replayed = f", {ended.replayed} of them answered in earlier runs" if ended.replayed else ""
    console.print(
        f"{ended.submitted} trials answered by this run; {spent.calls:,} calls and {spent.tokens:,} tokens in all{replayed}.",
        highlight=False,
    )
    if progress is not None and progress.infrastructure_failed:
        console.print(
            f"[yellow]{progress.infrastructure_failed} trials have no outcome, because a service failed[/]",
            highlight=False,
        )
    if ended.how == "external":
        console.print(
            f"The trials that are left belong to {', '.join(ended.external)}. Give your agent an MCP server on the same store "
            f"(cudanalyst serve --store {place.store}) and this experiment: [bold]{ended.experiment}[/]. "
            f"How far it is: cudanalyst experiment status {place.file}",
            highlight=False,
            soft_wrap=True,
        )
        return
    if ended.how == "finished":
        console.print(f"Finished. Next: cudanalyst experiment report {place.file}", highlight=False, soft_wrap=True)
        return
    done = "" if progress is None else f" {progress.evaluated} of {progress.trials} trials are evaluated."
    console.print(f"[yellow]Stopped: {ended.reason}.[/]{done}", highlight=False, soft_wrap=True)
    if ended.reason is not None and ended.reason.startswith("budget"):
        console.print(
            "The budget belongs to the design. Report what there is, or copy the file with a larger budget and `reuse = true`.",
            highlight=False,
            soft_wrap=True,
        )
        return
    console.print(f"Go on with: {place.resumption()}", highlight=False, soft_wrap=True)
