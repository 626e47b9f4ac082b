"""What Nsight Compute 2025.3.1 wrote on an H200 about the kernels of probe.cu (here), of a plain stream alone (one_*.csv.gz), of all of them in one program and nine passes (nine*), and of two matrix products (gemm_*.csv)."""

import gzip
import json
from pathlib import Path

import pytest

from cudanalyst.tools.toolchain.ncu.report import Report, parse_report

DATA = Path(__file__).parent / "data" / "ncu-2025.3.1"


@pytest.fixture(scope="session")
def recorded():
    """A report by metric set; a log or page by file name."""

    def read(name: str) -> Report | str:
        if name.endswith(".csv.gz"):
            return gzip.decompress((DATA / name).read_bytes()).decode()
        if "." in name:
            return (DATA / name).read_text("utf-8")
        return parse_report(json.loads(gzip.decompress((DATA / f"{name}.json.gz").read_bytes())))

    return read
