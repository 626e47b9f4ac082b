"""What a GPU answered, as it is kept in the repository, and what makes it from the output of `run`.

`python -m tests.tools.engine.arithmetic.record RAW FOLDER`. One file a family: a line of JSON, then the kept results of every form, in order, xz over all.
"""

import argparse
import hashlib
import json
import lzma
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tests.tools.engine.arithmetic.inputs import EDGES, TOTAL, inputs
from tests.tools.engine.arithmetic.run import APPROXIMATE, KEPT_APPROXIMATE, PIECE, WORD, Launch, checksums, launches_of

Row = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Record:
    """Results of one family."""

    rows: dict[str, Row]
    """The kept results of each form."""
    digests: dict[str, str]
    """Of all its results; only where there is one right result."""


def kept(family: str) -> npt.NDArray[np.int64]:
    """Which inputs' results are kept."""
    if family in APPROXIMATE:
        return np.concatenate([np.arange(320), np.arange(EDGES, KEPT_APPROXIMATE, 16)])
    return np.arange(EDGES)


def ambiguous(kinds: tuple[str, ...]) -> npt.NDArray[np.bool_]:
    """Inputs with several f64 NaNs: which of them survives depends on the order in which ptxas puts the sources."""
    nans = [
        np.isnan(column.view(np.float64)) for column, kind in zip(inputs(kinds), kinds, strict=True) if kind == "f64"
    ]
    return np.sum(nans, axis=0) > 1 if nans else np.zeros(TOTAL, dtype=np.bool_)


def digest(sums: list[int], kinds: tuple[str, ...]) -> str:
    """Of the checksums of all pieces without an ambiguous result."""
    clear = ~ambiguous(kinds).reshape(-1, PIECE).any(axis=1)
    return hashlib.blake2b(np.array(sums, dtype="<u4")[clear].tobytes(), digest_size=6).hexdigest()


def digest_of(row: Row, kinds: tuple[str, ...]) -> str:
    """Of all results of a form with such inputs."""
    return digest(checksums(row), kinds)


def launches(family: str) -> dict[str, Launch]:
    """By the name of the form."""
    return {name: launch for launch in launches_of(family) for name in launch.names}


def make(raw: Path, family: str, device: str) -> bytes:
    """The file of a family."""
    index = kept(family)
    with np.load(raw / f"{family}.npz") as rows:
        by_name = launches(family)
        names = [name for name in rows.files if name in by_name]
        body = b"".join(np.ascontiguousarray(rows[name][index]).tobytes() for name in names)
    sums = json.loads((raw / f"{family}.json").read_text())
    digests = {} if family in APPROXIMATE else {name: digest(sums[name], by_name[name].inputs) for name in names}
    header = {"device": device, "family": family, "names": names, "digests": list(digests.values())}
    return lzma.compress(json.dumps(header).encode() + b"\n" + body, preset=9)


def load(path: Path) -> Record:
    """Reads such a file."""
    header, _, body = lzma.decompress(path.read_bytes()).partition(b"\n")
    about = json.loads(header)
    by_name, count = launches(about["family"]), kept(about["family"]).size
    rows: dict[str, Row] = {}
    at = 0
    for name in about["names"]:
        word = WORD[by_name[name].width]
        rows[name] = np.frombuffer(body, dtype=word, count=count, offset=at)
        at += rows[name].nbytes
    return Record(rows, dict(zip(about["names"], about["digests"], strict=False)))


def main() -> None:
    """Makes all files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("raw", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="NVIDIA H200, driver 580, CUDA 13.0")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for source in sorted(given.raw.glob("*.npz")):
        (given.folder / f"{source.stem}.xz").write_bytes(make(given.raw, source.stem, given.device))


if __name__ == "__main__":
    main()
