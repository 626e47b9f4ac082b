"""What `run` says in a sentence or two, the most important first."""

from typing import Final

from cudanalyst.tools.evaluation import Evaluated, spell
from cudanalyst.tools.speedup import Speedup
from cudanalyst.tools.text import count_of
from cudanalyst.tools.timed import Timed
from cudanalyst.tools.timing.models import FAST_THRESHOLD
from cudanalyst.tools.verdicts import CaseResult, CaseStatus

_REFUSALS: Final = frozenset(
    {
        "cudaErrorInvalidValue",
        "cudaErrorInvalidConfiguration",
        "cudaErrorInvalidResourceHandle",
        "cudaErrorInvalidDeviceFunction",
        "cudaErrorInvalidPitchValue",
        "cudaErrorInvalidSymbol",
        "cudaErrorInvalidMemcpyDirection",
        "cudaErrorInvalidClusterSize",
        "cudaErrorCooperativeLaunchTooLarge",
        "cudaErrorLaunchOutOfResources",
        "cudaErrorNotSupported",
    }
)
"""Errors of calls that did nothing, where there is no access to be found."""


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
        "crashed": ("Crashed", _after_a_crash(evaluated.cuda_error)),
        "timed_out": ("Timed out", "Next: debug tells an endless loop from a deadlock."),
        "contract_violation": (
            "Contract violation",
            "A candidate writes all of its outputs and nothing else, on the given stream.",
        ),
    }[status]
    where = f" for {spell(first.sizes)}" if first.sizes is not None else ""
    tried = [case for case in cases if case.status != "not_run"]
    text = f"{word}: {first.message or status}{where} ({_share(len(failed), len(tried), failed)})."
    if evaluated.difference is not None:
        text += f" {_nondeterministic(evaluated)}"
    return f"{text} {advice}"


def _after_a_crash(cuda_error: str | None) -> str:
    if cuda_error is None:
        return "Next: look at the host code; debug runs it with checks."
    if cuda_error in _REFUSALS:
        return "Next: change the call that is named; nothing of it was executed."
    return "Next: debug names the access."


def _nondeterministic(evaluated: Evaluated) -> str:
    seen = evaluated.difference
    if seen is None:
        return "Equal inputs gave different results (not deterministic)."
    place = f"{seen.output}[{','.join(map(str, seen.index))}]"
    where = f" for {spell(seen.sizes)}" if seen.sizes else ""
    return f"Not deterministic: on the same input {place} was {seen.first_text}, then {seen.second_text}{where}."


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
    if evaluated.left_out:
        text += f" {count_of(evaluated.left_out, 'large size')} left out: {evaluated.left_out_because}."
    if evaluated.native_because is not None:
        text += f" Its host code ran natively, which is not forgery-proof ({evaluated.native_because})."
    if evaluated.deterministic is False:
        text += f" {_nondeterministic(evaluated)}"
    if evaluated.timed.sizes:
        return f"{text} {_measured_text(evaluated.timed)}"
    if speedup.us is None:
        return text + (f" No modelled time: {speedup.note}." if speedup.note else "")
    known = [size for size in evaluated.modelled if size.us is not None]
    text += f" Modelled (not measured) {speedup.us:.3g} us on {evaluated.device} at {spell(known[-1].sizes)}"
    if speedup.ratio is None or speedup.baseline_us is None:
        return f"{text}; {speedup.note}."
    over = f", geometric mean over {len(known)} sizes" if len(known) > 1 else ""
    return f"{text}; {speedup.ratio:.2f} times the baseline's speed{over}. Next: profile says what bounds it."


def _measured_text(timed: Timed) -> str:
    """What was measured; a modelled time says less and is left to its own fields."""
    odd = next((one for one in timed.sizes if one.verdict == "suspicious"), None)
    if odd is not None:
        return f"Its timing at {spell(odd.sizes)} is suspicious, so it does not count as fast: {odd.notes[0]}."
    missing = next((one for one in timed.sizes if one.verdict is None and one.mode == timed.mode), None)
    last = timed.largest
    if missing is not None or last is None or last.us is None or timed.speedup is None or timed.speedup_min is None:
        reason = missing.reason if missing is not None else "there is no eval size"
        where = f" at {spell(missing.sizes)}" if missing is not None else ""
        return f"Not timed against the baseline{where}: {reason}."
    count = sum(one.mode == timed.mode for one in timed.sizes)
    over = f" (geometric mean of {count} sizes, least {timed.speedup_min:.2f})" if count > 1 else ""
    text = f"Measured ({timed.mode}) {last.us:.3g} us at {spell(last.sizes)}: {timed.speedup:.2f} times the baseline's speed{over}"
    open_sizes = [one for one in timed.sizes if one.verdict == "inconclusive"]
    if open_sizes:
        least = max(one.resolvable or 0.0 for one in open_sizes)
        text += (
            f"; inconclusive at {spell(open_sizes[0].sizes)}, where differences below {100 * least:.2g} % do not show"
        )
    if timed.fast:
        return f"{text}; it counts as fast."
    return f"{text}; fast begins at {FAST_THRESHOLD} at every size. Next: profile says what bounds it."
