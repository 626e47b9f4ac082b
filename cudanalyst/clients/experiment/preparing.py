"""What is settled before a run's first trial: whether it may begin, its checkpoints, and how many trials each planner has."""

from collections import Counter
from collections.abc import Mapping, Sequence

from cudanalyst.clients.experiment.folder import Place
from cudanalyst.clients.experiment.journal import Began, Induced
from cudanalyst.clients.experiment.watch import RunOptions
from cudanalyst.errors import BadRequest
from cudanalyst.resources.design.cells import cells_of
from cudanalyst.resources.design.lock import digest_of
from cudanalyst.resources.design.models import Backbone, CheckpointEntry, Design
from cudanalyst.values import content_id


def check_ready(place: Place, design: Design, options: RunOptions, past: tuple[object, ...]) -> None:
    """Refuses a run that would not be the one that was begun, or that a confirmatory design forbids.

    Raises:
        BadRequest: The text says what to do.
    """
    began = next((one for one in reversed(past) if isinstance(one, Began)), None)
    answered = bool(past)
    if answered and not options.resume:
        raise BadRequest(
            f"{place.folder} holds a run of this experiment already. Go on with it: `cudanalyst experiment resume {place.file}`; "
            "or copy the file under another name to run it anew."
        )
    if not answered and options.resume:
        raise BadRequest(f"{nothing_begun(place)} Begin with `cudanalyst experiment run {place.file}`.")
    if began is not None and began.design != design.id:
        raise BadRequest(
            f"{place.file} was changed since its run began, or another version of this package reads it otherwise (it was design "
            f"{began.design} and is {design.id} now), so its answers belong to another experiment. Undo the change, or copy the "
            "file under another name and run that."
        )
    if began is not None and began.url is None and options.url is None and not (place.store / "store.sqlite").exists():
        raise BadRequest(
            f"The store of this run, {place.store}, is gone, and its trials with it. Restore it from a copy, or name it with "
            f"--store; or remove {place.folder} to begin anew (every answer would then be paid for again)."
        )
    if began is not None and (began.url is None) != (options.url is None):
        where = f"on the server at {began.url}" if began.url is not None else f"in {place.store}"
        raise BadRequest(f"The trials of this run are {where}. Go on with: {place.resumption()}")
    locked = place.locked()
    if design.kind == "confirmatory" and locked is None:
        raise BadRequest(f"A confirmatory experiment is locked first: `cudanalyst experiment lock {place.file}`.")
    if locked is not None and locked.digest != digest_of(design):
        raise BadRequest(
            f"{place.file} was changed after it was locked ({place.lock}). Undo the change; or remove the lock, lock the new "
            "design and say so in the report."
        )


def nothing_begun(place: Place) -> str:
    """That no run is known, and what may be left of one whose journal was removed."""
    if (place.store / "store.sqlite").exists():
        return (
            f"{place.journal} is gone, so nothing is known of a run, though {place.store} holds what a server kept (`cudanalyst "
            f"attribution --store {place.store}`). Restore the journal to go on."
        )
    return f"Nothing was begun in {place.folder}."


def hash_of(design: Design, backbone: Backbone) -> str:
    """Names all that a backbone's states follow from: itself, and the agents that it asks."""
    agent = design.planner(backbone.agent)
    return content_id("bbn", backbone, agent, design.coder_of(agent))


def entries_of(design: Design, induced: Mapping[str, Sequence[Induced]]) -> tuple[CheckpointEntry, ...]:
    """The checkpoints of an experiment: a state that several backbones froze is one, and belongs to the first.

    Raises:
        BadRequest: A backbone froze nothing but what others did.
    """
    owners: dict[str, Backbone] = {}
    for backbone in design.backbones:
        for made in induced[backbone.id]:
            owners.setdefault(made.checkpoint, backbone)
        if backbone not in owners.values():
            first = owners[induced[backbone.id][0].checkpoint].id
            raise BadRequest(
                f"backbone {backbone.id} froze only states that {first} froze too. Give it another start, or later generations."
            )
    return tuple(
        CheckpointEntry(id=checkpoint, backbone=backbone.id, operator=backbone.operator)
        for checkpoint, backbone in owners.items()
    )


def trials_by_planner(design: Design, checkpoints: int) -> dict[str, int]:
    """How many trials each planner has."""
    plain, first = cells_of(design), cells_of(design, sentinels=True)
    count = Counter({planner.name: 0 for planner in design.planners})
    for cell in plain:
        count[cell.planner] += design.repeats * checkpoints
    for cell in first[len(plain) :]:
        count[cell.planner] += design.repeats
    return dict(count)
