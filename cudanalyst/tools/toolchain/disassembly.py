"""From a built binary to its kernels' machine code: the cubin is cut out of the binary, and nvdisasm reads it."""

import struct
import sysconfig
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cudanalyst.errors import Unavailable
from cudanalyst.tools.model.kernel import KernelCode, kernels_of, retargeted_ptx
from cudanalyst.tools.sass import Decoded, SassKernel, decode, view
from cudanalyst.tools.toolchain.confine import Confinement
from cudanalyst.tools.toolchain.discovery import find_tool
from cudanalyst.tools.toolchain.paths import PathNames, shown_file
from cudanalyst.tools.toolchain.protocol import Build

REMEDY: Final = "pip install nvidia-cuda-nvdisasm, or put a CUDA toolkit's bin folder on PATH"
MOST_KERNELS: Final = 50
_ELF: Final = b"\x7fELF\x02\x01"
_EM_CUDA: Final = 190
_HEADER: Final = 64
_ABI_WITH_ARCH: Final = 8
"""From this ABI version on the flags of the ELF header hold the architecture in their second byte."""
_MOST_BYTES: Final = 256 << 20
_TIMEOUT_S: Final = 30.0
_LISTING_BYTES: Final = 96 << 20
_MEMORY: Final = 4 << 30


def find_nvdisasm(environment: Mapping[str, str], roots: Iterable[Path] = ()) -> Path | None:
    """The nvdisasm of PATH, of the given toolkits or CUDA_HOME, or of the wheel `nvidia-cuda-nvdisasm`."""
    if (found := find_tool("nvdisasm", environment)) is not None:
        return found
    homes = [Path(environment[name]) for name in ("CUDA_HOME", "CUDA_PATH") if environment.get(name)]
    sites = [Path(sysconfig.get_path(name)) / "nvidia" / "cu13" for name in ("purelib", "platlib")]
    for root in (*roots, *homes, *sites):
        if (path := root / "bin" / "nvdisasm").is_file():
            return path
    return None


def cubins(data: bytes) -> tuple[bytes, ...]:
    """The CUDA ELF images in a cubin, an object, a library or an executable whose fat binary is not compressed."""
    images = []
    at = data.find(_ELF)
    while at >= 0:
        size = _image_bytes(data[at : at + _HEADER], len(data) - at)
        if size:
            images.append(data[at : at + size])
        at = data.find(_ELF, at + (size or 1))
    return tuple(images)


def _image_bytes(header: bytes, most: int) -> int | None:
    """Bytes of the CUDA ELF image behind a header; None where it is none."""
    if len(header) < _HEADER or struct.unpack_from("<H", header, 18)[0] != _EM_CUDA:
        return None
    program, section = struct.unpack_from("<QQ", header, 32)
    entry_sizes = struct.unpack_from("<HHHH", header, 54)
    end = max(program + entry_sizes[0] * entry_sizes[1], section + entry_sizes[2] * entry_sizes[3])
    return end if _HEADER <= end <= most else None


def architecture(image: bytes) -> str:
    """The architecture that a cubin is for, e.g. `sm_90`."""
    flags = struct.unpack_from("<I", image, 48)[0]
    number = flags >> 8 & 0xFF if image[8] >= _ABI_WITH_ARCH else flags & 0xFF
    return f"sm_{number}"


@dataclass(frozen=True)
class Disassembler:
    """How the machine code of a toolchain's builds is read. A cubin is untrusted, so nvdisasm is confined as a compiler is."""

    toolkit: Path
    """Root of the toolkit that made the builds; also a place where nvdisasm may be."""
    confinement: Confinement
    environment: Mapping[str, str]
    """For PATH and CUDA_HOME."""
    scratch: Path
    """Where builds are made."""

    async def kernels(self, build: Build) -> tuple[SassKernel, ...]:
        """The kernels of a build, counted as they stand.

        Raises:
            Unavailable: The tool or the machine code is missing, or the tool failed; the text says which and what to do.
        """
        names = self._names(build)
        resources = {entry.symbol: entry for entry in build.kernels}
        return tuple(
            view(
                symbol,
                instructions,
                name=entry.name if (entry := resources.get(symbol)) else None,
                spilled=bool(entry.spill_load_bytes or entry.spill_store_bytes) if entry else None,
                show_file=lambda path: shown_file(path, names),
            )
            for symbol, instructions in (await self.decoded(build)).items()
        )

    async def decoded(self, build: Build) -> dict[str, list[Decoded]]:
        """The instructions of each kernel by its symbol, at the lines of the submitted source that they were inlined to.

        Raises:
            Unavailable: As for `kernels`.
        """
        if build.binary is None:
            raise Unavailable(f"there is no machine code: the build's status is {build.status}")
        nvdisasm = find_nvdisasm(self.environment, (self.toolkit,))
        if nvdisasm is None:
            raise Unavailable(f"nvdisasm was not found, so there is no view of the machine code: {REMEDY}")
        # The image is what an executor loads; a library or a program carries the same code.
        files = [path for path in (build.image, build.binary) if path is not None]
        images = next((some for path in files if (some := cubins(path.read_bytes()[:_MOST_BYTES]))), ())
        if not images:
            raise Unavailable(
                "the binary holds no machine code for a GPU (only PTX, or it is compressed); build it for an sm_ target"
            )
        names = self._names(build)
        known = {entry.symbol for entry in build.kernels}
        found: dict[str, list[Decoded]] = {}
        for image in images:
            listing = await _listing(image, nvdisasm, self.confinement)
            for symbol, instructions in decode(listing, lambda path: shown_file(path, names) == names.own_file):
                if symbol not in found and (not known or symbol in known) and len(found) < MOST_KERNELS:
                    found[symbol] = instructions
        return found

    async def codes(self, build: Build, arch: str) -> dict[str, KernelCode]:
        """The kernels of a build as the model of time needs them, by symbol.

        Args:
            build: Of this toolchain.
            arch: Of the device to model for. Where that is another than the build's, the build's PTX is assembled for it.

        Raises:
            Unavailable: As for `kernels`, or the PTX uses what the device has not.
        """
        nvdisasm = find_nvdisasm(self.environment, (self.toolkit,))
        if nvdisasm is None:
            raise Unavailable(f"nvdisasm was not found, so no time is modelled: {REMEDY}")
        files = [path for path in (build.image, build.binary) if path is not None]
        images = next((some for path in files if (some := cubins(path.read_bytes()[:_MOST_BYTES]))), ())
        if not images:
            raise Unavailable("the binary holds no machine code for a GPU, so no time is modelled")
        found: dict[str, KernelCode] = {}
        for original in images:
            image = original if architecture(original) == arch else await self._assembled(original, arch)
            listing = await _listing(image, nvdisasm, self.confinement, ("-gp", "-hex", "-c"))
            for symbol, kernel in kernels_of(image, listing).items():
                found.setdefault(symbol, kernel)
        return found

    async def _assembled(self, image: bytes, arch: str) -> bytes:
        ptx, ptxas = retargeted_ptx(image, arch), self.toolkit / "bin" / "ptxas"
        if ptx is None:
            raise Unavailable("the machine code has no line information, so no time is modelled; build with -lineinfo")
        with tempfile.TemporaryDirectory(prefix="assembled-") as folder:
            work = Path(folder)
            (work / "image.ptx").write_text(ptx)
            process = await self.confinement.run(
                [ptxas, f"-arch={arch}", "-lineinfo", "image.ptx", "-o", "image.cubin"],
                work=work,
                readable=(self.toolkit,),
                env={"TMPDIR": folder},
                timeout_s=_TIMEOUT_S,
                memory_bytes=_MEMORY,
                purpose="compile",
            )
            if process.exit_status != 0 or not (work / "image.cubin").is_file():
                said = (process.stderr.text or process.stdout.text).strip().splitlines()[:1] or ["no message"]
                raise Unavailable(f"the kernels do not assemble for {arch}: {names_only(said[0])}")
            return (work / "image.cubin").read_bytes()

    def _names(self, build: Build) -> PathNames:
        own = "program.cu" if build.binary is not None and build.binary.name == "program" else "candidate.cu"
        return PathNames(own, {str(self.toolkit): "<toolkit>", str(self.scratch): "<work>"})


async def _listing(
    image: bytes, nvdisasm: Path, confinement: Confinement, options: tuple[str, ...] = ("-gi", "-c")
) -> str:
    with tempfile.TemporaryDirectory(prefix="sass-") as folder:
        work = Path(folder)
        (work / "image.cubin").write_bytes(image)
        process = await confinement.run(
            [nvdisasm, *options, "image.cubin"],
            work=work,
            readable=(nvdisasm.resolve().parent.parent,),
            env={"TMPDIR": folder},
            timeout_s=_TIMEOUT_S,
            memory_bytes=_MEMORY,
            purpose="compile",
            capture_bytes=_LISTING_BYTES,
            output_limit=_LISTING_BYTES,
        )
    if process.timed_out or process.output_limited:
        raise Unavailable(
            f"nvdisasm was stopped at its limit of {'time' if process.timed_out else 'output'}; profile a smaller source"
        )
    if process.exit_status != 0:
        how = process.signal or f"exit status {process.exit_status}"
        last = process.stderr.text.strip().splitlines()[-1:] or ["no message"]
        raise Unavailable(
            f"nvdisasm failed ({how}): {names_only(last[0])}; install the version of the toolkit that built the source"
        )
    return process.stdout.text


def names_only(text: str) -> str:
    """A tool's message without this machine's paths."""
    return PathNames("", {}).scrub(text)[:300]
