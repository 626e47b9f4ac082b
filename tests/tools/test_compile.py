import pytest

from cudanalyst.kernels.problem import Parameter, Problem, Tolerance, Work
from cudanalyst.tools.compile import MAX_SHOWN, NO_SOLVE, Diagnostic, KernelResources, Occupancy, compile_source
from cudanalyst.tools.result import MeasuredOn, Place
from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.gpu import GpuToolchain
from cudanalyst.tools.toolchain.protocol import Build

pytestmark = pytest.mark.anyio

PROBLEM = Problem(
    id="scale", title="t", description="d", sizes={"test": ({"n": 4},)}, tolerance=Tolerance(), work=Work(bytes_moved="8*n"), baseline="b",
    parameters=(Parameter(name="y", dtype="f32", role="out", shape=("n",)), Parameter(name="n", dtype="i32", role="scalar", value="n")),
)  # fmt: skip


class Answers(GpuToolchain):
    """Gives a build that was made before."""

    def __init__(self, **fields):
        super().__init__()
        self._fields = fields

    async def build(self, source):
        fields = {"status": "failed", "duration_s": 1.0, "measured_on": MeasuredOn(toolchain="cpu"), **self._fields}
        return Build(source_id=source.id, **fields)


def error(text, line=None):
    return Diagnostic(severity="error", text=text, place=Place(file="candidate.cu" if line else None, line=line))


def kernel(**fields):
    defaults = {
        "name": "k(float*)", "symbol": "_Z1kPf", "registers": 40, "shared_bytes": 0, "stack_bytes": 0, "spill_store_bytes": 0,
        "spill_load_bytes": 0, "constant_bytes": 0, "barriers": 0,
    }  # fmt: skip
    return KernelResources(**{**defaults, **fields})


async def result_of(problem=None, **fields):
    return await compile_source(Source(text="x", problem="scale"), problem, Answers(**fields))


async def test_the_first_error_is_in_the_summary_with_its_place():
    result = await result_of(diagnostics=(Diagnostic(severity="warning", text="w"), error("bad", 3), error("worse", 5)))
    assert result.status == "failed"
    assert result.summary == "Does not compile: bad at candidate.cu:3 (1 more error). Fix the first error first."
    assert [d.severity for d in result.diagnostics] == ["error", "error", "warning"]


async def test_a_missing_solve_gets_the_problems_signature():
    result = await result_of(PROBLEM, diagnostics=(error(NO_SOLVE),))
    assert 'define extern "C" int solve(float* y, int n, cudaStream_t stream)' in result.diagnostics[0].text


async def test_many_diagnostics_are_bounded_and_said():
    result = await result_of(diagnostics=tuple(error(f"e{i}") for i in range(MAX_SHOWN + 5)))
    assert len(result.diagnostics) == MAX_SHOWN
    assert result.truncated is not None
    assert (result.truncated.shown, result.truncated.total) == (MAX_SHOWN, MAX_SHOWN + 5)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"spill_store_bytes": 8, "spill_load_bytes": 12}, "spills registers (8 B stored and 12 B loaded"),
        ({"stack_bytes": 400}, "keeps 400 B a thread in local memory"),
        ({"uses_double": True}, "double precision"),
        (
            {
                "occupancy": (
                    Occupancy(block_threads=1024, blocks_per_sm=0, warps_per_sm=0, fraction=0, limiter="registers"),
                )
            },
            "cannot be launched: one block needs more registers",
        ),
    ],
)
async def test_what_costs_time_is_in_the_summary(fields, says):
    result = await result_of(status="compiled", kernels=(kernel(**fields),))
    assert result.summary.startswith("Compiled 1 kernel.")
    assert says in result.summary


async def test_a_clean_kernel_needs_no_words():
    assert (await result_of(status="compiled", kernels=(kernel(),))).summary == "Compiled 1 kernel."


async def test_unavailable_says_why():
    result = await compile_source(Source(text="x"), None, GpuToolchain(environment={"PATH": ""}))
    assert result.status == "unavailable"
    assert result.reason
    assert result.reason in result.summary
