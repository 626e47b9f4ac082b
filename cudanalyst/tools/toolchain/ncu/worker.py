"""Reads a report with NVIDIA's `ncu_report` package, in a process of its own: the package is native code, and reports are big.

Usage: `python -m cudanalyst.tools.toolchain.ncu.worker FD FOLDER` loads the package, waits for a byte on the inherited pipe, and then reads the report that
`FOLDER/request.json` names; `FOLDER/report.json` is `report.Report`. So it can start while ncu still works. A pipe that is closed without a byte ends it.
Exit status 3: no package.
"""

import contextlib
import ctypes
import json
import math
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from cudanalyst.tools.toolchain.ncu.names import SOURCE, STALL_PREFIX, STALLS

NO_PACKAGE: Final = 3
REQUEST: Final = "request.json"
ANSWER: Final = "report.json"
MOST_ACTIONS: Final = 200
_MESSAGE: Final = 600
_TITLE: Final = 120
_SIDES: Final = ("min.", "max.")
_SCOPES: Final = {1: "unit", 2: "kernel"}


_EXECUTED: Final = "executed"
_COUNTERS: Final = "libnvperf_host.so"


def read(package: Any, path: str, known: Mapping[str, Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """The report as plain values.

    Args:
        package: The imported `ncu_report`.
        path: Of the report.
        known: Kernels by symbol whose machine code whoever asks has already: `offsets` of what can be executed and of what is `idle` (padding). Where
            exactly those were counted, texts and lines are left out: the package takes half a second to begin with them.
    """
    context = package.load_report(path)
    device = None
    actions: list[dict[str, Any]] = []
    for index in range(context.num_ranges()):
        part = context.range_by_idx(index)
        for number in range(part.num_actions()):
            action = part.action_by_idx(number)
            if len(actions) < MOST_ACTIONS:
                actions.append(_action(action, known or {}))
            name = action.metric_by_name("device__attribute_display_name")
            device = device or (name.as_string() if name is not None else None)
    version = str(context.get_version()) if hasattr(context, "get_version") else ""
    return {"reader": f"ncu_report {version}".strip(), "device": device, "actions": actions}


def _action(action: Any, known: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    metrics: dict[str, float] = {}
    for name in action.metric_names():
        rollup = name.partition(".")[2]
        if (
            name.startswith("device__")
            or rollup.startswith(_SIDES)
            or (rollup in {"min", "max"} and not name.startswith("gpc__"))
        ):
            continue
        metric = action.metric_by_name(name)
        if metric is None or not metric.has_value():
            continue
        value = metric.value()
        if isinstance(value, (int, float)) and math.isfinite(value):
            metrics[name] = float(value)

    def extent(kind: str) -> list[int]:
        return [int(metrics.get(f"launch__{kind}_dim_{axis}", 0)) for axis in "xyz"]

    symbol = action.name(action.NameBase_MANGLED)
    return {
        "name": action.name(action.NameBase_DEMANGLED),
        "symbol": symbol,
        "grid": extent("grid"),
        "block": extent("block"),
        "metrics": metrics,
        "instructions": _instructions(action, known.get(symbol)),
        "rules": _rules(action),
    }


def _instructions(action: Any, known: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    by_pc: dict[int, dict[str, Any]] = {}

    def collect(metric_name: str, kind: str, key: str) -> bool:
        metric = action.metric_by_name(metric_name)
        if metric is None or not metric.has_correlation_ids():
            return False
        ids = metric.correlation_ids()
        for index in range(metric.num_instances()):
            value = metric.as_double(index)
            if math.isfinite(value) and (value or kind == "values"):
                entry = by_pc.setdefault(ids.as_uint64(index), {"values": {}, "stalls": {}})
                entry[kind][key] = entry[kind].get(key, 0) + (int(value) if kind == "stalls" else value)
        return True

    for ours, names in SOURCE.items():
        any(collect(name, "values", ours) for name in names if "__" in name or name.islower())
    for reason, word in STALLS.items():
        collect(STALL_PREFIX + reason, "stalls", word)
    first = min(by_pc, default=0)
    if known is not None and _same_code({pc - first for pc, one in by_pc.items() if _EXECUTED in one["values"]}, known):
        return [{"offset": pc - first, **by_pc[pc]} for pc in sorted(by_pc)]
    rows = []
    for pc in sorted(by_pc):
        place = action.source_info(pc)
        rows.append(
            {
                "offset": pc - first,
                "text": " ".join((action.sass_by_pc(pc) or "").split()),
                "file": place.file_name() if place else None,
                "line": int(place.line()) if place else None,
                **by_pc[pc],
            }
        )
    return rows


def _same_code(counted: set[int], known: Mapping[str, Any]) -> bool:
    """Whether executions were counted at exactly the instructions of a disassembly, but for padding."""
    executable = set(known["offsets"])
    return bool(executable) and executable <= counted <= executable | set(known["idle"])


def _rules(action: Any) -> list[dict[str, Any]]:
    rows = []
    for found in action.rule_results_as_dicts():
        message = found.get("rule_message") or {}
        if not message.get("message"):
            continue
        speedup = found.get("speedup_estimation") or {}
        rows.append(
            {
                "rule": str(found.get("rule_identifier", "")),
                "title": str(message.get("title") or found.get("name", ""))[:_TITLE],
                "message": str(message["message"])[:_MESSAGE],
                "speedup": speedup.get("speedup"),
                "scope": _SCOPES.get(int(speedup.get("type", 0))),
            }
        )
    return rows


def _load_ahead(folder: Path) -> None:
    """Loads the library that the package would load with the first launch, which takes 0.1 s."""
    with contextlib.suppress(OSError):  # without it the package says so itself, where it needs it
        ctypes.CDLL(str(folder / _COUNTERS))


def main(argv: list[str]) -> int:
    """Reads and writes; the exit status says whether the package was there."""
    try:
        import ncu_report  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError as error:
        sys.stderr.write(f"{error}\n")
        return NO_PACKAGE
    _load_ahead(Path(str(ncu_report.__file__)).parent)
    if not os.read(int(argv[1]), 1):
        return 0
    folder = Path(argv[2])
    request = json.loads((folder / REQUEST).read_text(encoding="utf-8"))
    found = read(ncu_report, request["report"], request["known"])
    (folder / ANSWER).write_text(json.dumps(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    status = main(sys.argv)
    sys.stderr.flush()
    os._exit(status)  # the answer is written, and unloading the package's libraries takes as long as reading a launch
