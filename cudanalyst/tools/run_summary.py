"""What `run` says in a sentence or two, the most important first."""

from cudanalyst.tools.evaluation import Evaluated, spell
from cudanalyst.tools.speedup import Speedup
from cudanalyst.tools.text import count_of
from cudanalyst.tools.verdicts import CaseResult, CaseStatus


def summarise(status: CaseStatus, evaluated: Evaluated, speedup: Speedup) -> str:
    """The verdict, its first reason, and what to do next."""
    if status == "passed":
        return _passed_text(evaluated, speedup)
    cases = evaluated.cases
    failed = [case for case in cases if case.status == status]
    # A size that is shown tells more than one that is not.
    first = next((case for case in failed if case.sizes is not None), failed[0])
    word, advice = {
        "wrong": ("Wrong", "Next: debug, then compare the index arithmetic at that size."),
        "crashed": ("Crashed", "Next: debug names the access."),
        "timed_out": ("Timed out", "Next: debug tells an endless loop from a deadlock."),
        "contract_violation": (
            "Contract violation",
            "A candidate writes all of its outputs and nothing else, on the given stream.",
        ),
    }[status]
    where = f" for {spell(first.sizes)}" if first.sizes is not None else ""
    tried = [case for case in cases if case.status != "not_run"]
    return f"{word}: {first.message or status}{where} ({_share(len(failed), len(tried), failed)}). {advice}"


def _share(failed: int, tried: int, cases: list[CaseResult]) -> str:
    only_hidden = all(case.sizes is None for case in cases)
    hint = "; all shown sizes are right, so look at odd and uneven sizes" if only_hidden else ""
    return f"{failed} of {count_of(tried, 'case')}{hint}"


def _passed_text(evaluated: Evaluated, speedup: Speedup) -> str:
    cases = evaluated.cases
    ratios = [case.error_ratio for case in cases if case.error_ratio is not None]
    error = f", largest error {max(ratios):.2g} of the tolerance" if ratios else ""
    hidden = ", held-out sizes among them" if any(case.sizes is None for case in cases) else ""
    text = f"Passed: {count_of(len(cases), 'case')}{hidden}{error}."
    if evaluated.deterministic is False:
        text += " Equal inputs gave results that differ in the last places (not deterministic)."
    if speedup.us is None:
        return text + (f" No modelled time: {speedup.note}." if speedup.note else "")
    known = [size for size in evaluated.modelled if size.us is not None]
    text += f" Modelled (not measured) {speedup.us:.3g} us on {evaluated.device} at {spell(known[-1].sizes)}"
    if speedup.ratio is None or speedup.baseline_us is None:
        return f"{text}; {speedup.note}."
    over = f", geometric mean over {len(known)} sizes" if len(known) > 1 else ""
    return f"{text}; {speedup.ratio:.2f} times the baseline's speed{over}. Next: profile says what bounds it."
