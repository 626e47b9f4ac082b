"""What users install: the built wheel, not the checkout."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "cudanalyst"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, timeout=120)
    return next(folder.glob("cudanalyst-*.whl"))


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        str(path.relative_to(ROOT))
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")
    }
    assert {Path(name).suffix for name in wanted} >= {".py", ".toml", ".cu", ".cpp", ".hpp", ".css", ".j2"}
    assert wanted <= held


def test_the_wheel_works_from_another_folder(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    program = (
        "import cudanalyst, os\n"
        "from pathlib import Path\n"
        "from cudanalyst.kernels.catalogue import Catalogue\n"
        "from cudanalyst.tools.engine import build\n"
        "assert Path(cudanalyst.__file__).is_relative_to(Path(os.environ['PYTHONPATH']))\n"
        "assert (Path(build.__file__).parent / 'src' / 'engine.hpp').is_file()\n"
        "print(*Catalogue.from_environment({}).ids)\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={"PYTHONPATH": str(tmp_path / "site")},
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert {"vector_add", "matmul", "softmax", "reduction", "transpose", "stencil2d", "histogram"} <= set(
        done.stdout.split()
    )


def test_the_wheel_declares_its_licence_and_command(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    metadata = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    commands = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
    assert "License-Expression: Apache-2.0" in archive.read(metadata).decode()
    assert "cudanalyst = cudanalyst.cli:main" in archive.read(commands).decode()
