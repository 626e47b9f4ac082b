"""How well modelled times rank kernel variants: against times measured on an H200, beside a bytes and flops roofline.

    python benchmarks/modelled.py [--sizes 0 1] [--folder PATH] [--problems NAME ...] [--fit] [--json PATH] [--verbose]

Profiles each variant of `benchmarks/variants` on the CPU engine (counts are kept in the folder: minutes the first time) and models its time for an H200. The model's coefficients
are fitted on one half of the problems (those whose name's hash is even) and judged on the other; `--fit` also refits on many random halves. Measured times are warm ones of
`benchmarks/recorded/h200-driver580-cuda13.0/variants.json.gz`.
"""

import argparse
import asyncio
import gzip
import hashlib
import itertools
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.stats import spearmanr

sys.path.insert(0, str(Path(__file__).parent / "variants"))
import builds

from cudanalyst.tools.counts import parse_profiles
from cudanalyst.tools.devices import load_device
from cudanalyst.tools.engine.build import cache_directory, install_engine
from cudanalyst.tools.model.counted import parse_statements
from cudanalyst.tools.model.kernel import KernelCode, kernels_of
from cudanalyst.tools.model.predict import Basis, Coefficients, basis, combine, shape
from cudanalyst.tools.toolchain.disassembly import cubins, find_nvdisasm
from cudanalyst.tools.toolchain.discovery import find_toolkit

RECORDED = Path(__file__).parent / "recorded" / "h200-driver580-cuda13.0" / "variants.json.gz"
DIFFERENT = 1.3
"""Pairs whose times differ less say nothing."""
FASTER = 1.12
DEVICE = load_device("h200")

Key = tuple[str, str, int]


@dataclass(frozen=True)
class Variant:
    """One variant at one size."""

    key: Key
    measured_us: float
    parts: tuple[Basis, ...]
    """Of its kernels."""
    roofline_us: float
    traffic_us: float = 0.0
    """The roofline with the sectors requested in place of the distinct bytes."""

    def modelled_us(self, coefficients: Coefficients) -> float:
        return sum(combine(part, coefficients).us for part in self.parts)


@dataclass(frozen=True)
class Score:
    """How well times rank variants of the same problem and size."""

    spearman: dict[tuple[str, int], float]
    right: int
    pairs: int

    @property
    def median(self) -> float:
        return float(np.median(list(self.spearman.values()))) if self.spearman else float("nan")

    @property
    def share(self) -> float:
        return self.right / self.pairs if self.pairs else float("nan")


def is_fitted_on(problem: str) -> bool:
    """Whether a problem is of the half that coefficients are fitted on."""
    return hashlib.sha256(problem.encode()).digest()[0] % 2 == 0


def score(variants: Sequence[Variant], times: Mapping[Key, float]) -> Score:
    """Judges times against the measured ones."""
    groups: dict[tuple[str, int], list[Variant]] = {}
    for one in variants:
        groups.setdefault((one.key[0], one.key[2]), []).append(one)
    spearman, right, pairs = {}, 0, 0
    for group, members in groups.items():
        if len(members) < 4:
            continue
        found = spearmanr([times[one.key] for one in members], [one.measured_us for one in members])[0]
        spearman[group] = 0.0 if np.isnan(found) else float(found)
        for a, b in itertools.combinations(members, 2):
            true, said = a.measured_us / b.measured_us, times[a.key] / times[b.key]
            if max(true, 1 / true) > DIFFERENT:
                pairs += 1
                right += said > FASTER if true > 1 else said < 1 / FASTER
    return Score(spearman, right, pairs)


def fit(variants: Sequence[Variant]) -> Coefficients:
    """The coefficients with the least mean error of the logarithm."""
    start = Coefficients()
    names = [field.name for field in fields(Coefficients)]
    measured = np.array([one.measured_us for one in variants])

    def coefficients(x: np.ndarray) -> Coefficients:
        values = {
            name: float(getattr(start, name) * np.exp(np.clip(v, -1.5, 1.5))) for name, v in zip(names, x, strict=True)
        }
        return Coefficients(**values)

    def loss(x: np.ndarray) -> float:
        chosen = coefficients(x)
        said = np.array([one.modelled_us(chosen) for one in variants])
        error = np.abs(np.log(said / measured))
        return float(np.minimum(error, 1.0).mean() + 0.05 * (x**2).sum())

    result = minimize(
        loss, np.zeros(len(names)), method="Nelder-Mead", options={"maxfev": 900, "xatol": 1e-3, "fatol": 1e-5}
    )
    return coefficients(result.x)


def load_code(nvdisasm: Path, library: Path, folder: Path) -> dict[str, KernelCode]:
    """The kernels of a variant's library; kept in the folder."""
    kept = folder / "code" / f"{library.parent.name}.{library.stem}.pickle"
    if kept.exists():
        return pickle.loads(kept.read_bytes())
    found: dict[str, KernelCode] = {}
    for image in cubins(library.read_bytes()):
        cubin = folder / "image.cubin"
        cubin.write_bytes(image)
        done = subprocess.run([nvdisasm, "-gp", "-hex", "-c", cubin], capture_output=True, text=True, check=True)
        found |= kernels_of(image, done.stdout)
    kept.parent.mkdir(exist_ok=True)
    kept.write_bytes(pickle.dumps(found))
    return found


def load_counts(
    driver: Path, built: builds.Built, name: str, size: int, folder: Path, library: Path, timeout_s: float
) -> list[dict[str, Any]] | None:
    """The report of one call of a variant on the engine; kept in the folder. None where it takes too long."""
    kept = folder / "counts" / f"{built.problem}.{name}.{size}.json.gz"
    if kept.exists():
        return json.loads(gzip.decompress(kept.read_bytes()))
    kept.parent.mkdir(exist_ok=True)
    report = folder / f"report.{os.getpid()}.jsonl"
    report.unlink(missing_ok=True)
    environment = {
        **os.environ, "CUDANALYST_MODE": "profile", "CUDANALYST_REPORT": str(report), "LD_LIBRARY_PATH": str(library),
    }  # fmt: skip
    argv = [str(driver), "run", str(size), str(built.library), str(built.variants[name])]
    try:
        subprocess.run(argv, env=environment, capture_output=True, check=True, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return None
    records = [json.loads(line) for line in report.read_text().splitlines()]
    found = [record for record in records if record["type"] in {"profile", "profile_instructions"}]
    kept.write_bytes(gzip.compress(json.dumps(found).encode()))
    return found


def roofline_us(report: Sequence[Mapping[str, Any]], *, traffic: bool = False) -> float:
    """Bytes over bandwidth or operations over their peak, whichever takes longer."""
    total = 0.0
    for counts in parse_profiles(report)[0]:
        moved = 32 * counts.global_sectors if traffic else counts.unique_bytes
        bytes_us = moved / (DEVICE.dram_gb_per_s * 1e3)
        flops_us = 64 * counts.mix.get("fp32", 0) / (DEVICE.tflops("fp32") * 1e6)
        doubles_us = 64 * counts.mix.get("fp64", 0) / (DEVICE.tflops("fp64") * 1e6)
        total += max(bytes_us, flops_us + doubles_us)
    return total


def collect(options: argparse.Namespace) -> list[Variant]:
    """Builds, profiles and simulates the variants."""
    toolkit = asyncio.run(find_toolkit())
    engine = asyncio.run(install_engine(cuda_include=toolkit.include))
    nvdisasm = find_nvdisasm(os.environ, (toolkit.root,))
    if nvdisasm is None:
        raise SystemExit("nvdisasm was not found")
    folder: Path = options.folder
    compilers = builds.Compilers(toolkit.nvcc, toolkit.include, engine.library_dir)
    driver, all_built = builds.build(compilers, folder, options.problems)
    recorded = json.loads(gzip.decompress(RECORDED.read_bytes()))["variants"]
    measured = {(row["problem"], row["variant"], row["size"]): row["warm_us"] for row in recorded}
    found = []
    for built in all_built:
        for name, size in itertools.product(sorted(built.variants), options.sizes):
            if (key := (built.problem, name, size)) not in measured:
                continue
            report = load_counts(driver, built, name, size, folder, engine.library_dir, options.timeout)
            if report is None:
                print(f"{built.problem} {name} {size}: left out, it takes the engine more than {options.timeout:g} s")
                continue
            codes = load_code(nvdisasm, built.variants[name], folder)
            parts = []
            for counts in parse_statements(report):
                code = codes[counts.symbol]
                shaped = shape(counts, code.code, code.lines, cold=False, l2_bytes=DEVICE.l2_bytes)
                parts.append(basis(shaped, DEVICE, code.registers))
            found.append(
                Variant(key, measured[key], tuple(parts), roofline_us(report), roofline_us(report, traffic=True))
            )
    return found


def said(title: str, chosen: Score, error: float | None = None) -> str:
    """One line of the table."""
    of = "" if error is None else f", median error {100 * (np.exp(error) - 1):.0f} %"
    return f"{title:44} Spearman {chosen.median:6.3f}   pairs right {100 * chosen.share:5.1f} % of {chosen.pairs}{of}"


def main() -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--problems", nargs="*", default=[])
    parser.add_argument("--folder", type=Path, default=cache_directory() / "variants")
    parser.add_argument("--timeout", type=float, default=120.0)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    variants = collect(options)
    halves = (
        [one for one in variants if is_fitted_on(one.key[0])],
        [one for one in variants if not is_fitted_on(one.key[0])],
    )
    report: dict[str, Any] = {"variants": len(variants), "sizes": options.sizes}
    print(f"{len(variants)} variants; fitted on {', '.join(sorted({one.key[0] for one in halves[0]}))}")
    choices = {"as shipped": Coefficients()}
    if options.fit:
        choices["fitted here"] = fit(halves[0])
        print("fitted:", choices["fitted here"])
    for name, chosen in choices.items():
        for half, of in (("the half fitted on", halves[0]), ("the other half", halves[1]), ("all", variants)):
            times = {one.key: one.modelled_us(chosen) for one in of}
            found = score(of, times)
            error = float(np.median([abs(np.log(times[one.key] / one.measured_us)) for one in of])) if of else 0.0
            print(said(f"model, {name}: {half}", found, error))
            report[f"{name}: {half}"] = {"spearman": found.median, "pairs": found.share, "error": error}
    for half, of in (("the other half", halves[1]), ("all", variants)):
        for name, kind in (("distinct bytes", "roofline_us"), ("sectors requested", "traffic_us")):
            found = score(of, {one.key: getattr(one, kind) for one in of})
            print(said(f"roofline of {name}: {half}", found))
            report[f"roofline of {name}: {half}"] = {"spearman": found.median, "pairs": found.share}
    if options.fit:
        report["splits"] = splits(variants, options.splits)
    if options.verbose:
        for one in variants:
            us = one.modelled_us(choices.get("fitted here", Coefficients()))
            parts = "; ".join(combine(part, choices.get("fitted here", Coefficients())).bound for part in one.parts)
            print(
                f"{one.key[0]:14} {one.key[1]:18} {one.key[2]} measured {one.measured_us:9.4g} modelled {us:9.4g} us  x{us / one.measured_us:.2f}  {parts}"
            )
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


def splits(variants: Sequence[Variant], count: int) -> dict[str, float]:
    """Fits on random halves of the problems, judges on the others."""
    names = sorted({one.key[0] for one in variants})
    draw = np.random.default_rng(5)
    medians, shares = [], []
    for _ in range(count):
        chosen = set(draw.permutation(names)[: len(names) // 2])
        fitted = fit([one for one in variants if one.key[0] in chosen])
        rest = [one for one in variants if one.key[0] not in chosen]
        found = score(rest, {one.key: one.modelled_us(fitted) for one in rest})
        medians.append(found.median)
        shares.append(found.share)
    print(
        f"{count} random halves, judged on the others: Spearman {np.mean(medians):.3f} (least {min(medians):.3f}), pairs right {100 * np.mean(shares):.1f} % (least {100 * min(shares):.1f} %)"
    )
    return {
        "spearman_mean": float(np.mean(medians)),
        "spearman_least": min(medians),
        "pairs_mean": float(np.mean(shares)),
        "pairs_least": min(shares),
    }


if __name__ == "__main__":
    raise SystemExit(main())
