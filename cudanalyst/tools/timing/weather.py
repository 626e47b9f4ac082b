"""What of a device's state while it was timed is told with a comparison."""

from cudanalyst.tools.timing.foreign import foreign_contexts
from cudanalyst.tools.timing.models import Conditions


def weather(conditions: Conditions, own_contexts: int, *, mig: bool | None) -> list[str]:
    """What about the device a reader should know."""
    notes = []
    if conditions.steady is False:
        notes.append("the clock had not settled when timing began")
    if mig:
        notes.append("the GPU is split (MIG): what runs in other parts is felt here")
    moments = (conditions.before, conditions.between, conditions.after)
    others = foreign_contexts(moments[1:], own_contexts)
    if others > 0:
        notes.append(f"{others} other process{'es' if others > 1 else ''} had a context on the GPU")
    reasons = sorted({reason for moment in moments[1:] for reason in moment.throttle_reasons or () if reason != "idle"})
    if reasons:
        notes.append("the clock was held down: " + ", ".join(reasons))
    return notes
