"""Physical floors: what no kernel can be faster than, and what honest kernels may be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.kernels.problem import Parameter, Problem, Tolerance, Work
from cudanalyst.tools.timing.floor import SHARE, Rates, below, floor_of
from cudanalyst.tools.timing.models import Floor

MB = 1 << 20
H200 = Rates(
    dram_gb_per_s=4300.0, l2_gb_per_s=5500.0, l2_bytes=60 * MB, capability=(9, 0), sm_count=132, clock_mhz=1980.0
)


def problem(flops: str = "n", dtype: str = "f32") -> Problem:
    return Problem(
        id="double", title="", description="", baseline="",
        parameters=(
            Parameter(name="x", dtype=dtype, role="in", shape=("n",)),
            Parameter(name="y", dtype=dtype, role="out", shape=("n",)),
        ),
        sizes={"test": ({"n": 1},)}, tolerance=Tolerance(), work=Work(bytes_moved="8*n", flops=flops),
    )  # fmt: skip


def test_warm_data_that_fits_the_l2_comes_from_there() -> None:
    floor = floor_of(problem(), {"n": MB}, "warm", H200, 4)
    assert floor == Floor(us=8 * MB / 5500e3, bound="l2")


def test_warm_data_that_does_not_fit_comes_from_dram_but_for_what_stays() -> None:
    n = 32 * MB
    floor = floor_of(problem(), {"n": n}, "warm", H200, 4)
    assert floor is not None
    assert floor.bound == "dram"
    assert 0.9 * 8 * n / 4300e3 < floor.us < 8 * n / 4300e3


def test_cold_calls_read_from_dram_and_may_leave_their_outputs_in_the_l2() -> None:
    floor = floor_of(problem(), {"n": MB}, "cold", H200, 4)
    assert floor == Floor(us=4 * MB / 4300e3, bound="dram")


@pytest.mark.parametrize(("dtype", "peak"), [("f32", 2048), ("f64", 256), ("f16", 4096), ("i8", 8192)])
def test_flops_count_at_the_fastest_type_that_could_do_them(dtype, peak) -> None:
    floor = floor_of(problem("1000000*n", dtype), {"n": 1000}, "warm", H200, 4)
    assert floor is not None
    assert floor.bound == "flops"
    assert floor.us == pytest.approx(1e9 / (peak * 132 * 1980))


def test_a_float32_product_by_tensor_cores_is_not_called_impossible() -> None:
    """Three TF32 products for one of float32 run at 165 of the 67 teraflops of plain float32."""
    flops = 2 * 4096**3
    floor = floor_of(problem(str(flops)), {"n": 4096**2}, "warm", H200, 4)
    assert not below(flops / 165e12 * 1e6, floor)
    assert below(flops / 2000e12 * 1e6, floor)


def test_what_is_not_known_of_a_device_gives_no_floor() -> None:
    assert floor_of(problem(), {"n": MB}, "warm", Rates(), 4) is None
    assert not below(1e-9, None)


@given(st.floats(0.01, 1e6))
def test_times_a_little_below_the_floor_are_let_pass(us) -> None:
    floor = Floor(us=us, bound="dram")
    assert not below(us, floor)
    assert not below(us * SHARE * 1.001, floor)
    assert below(us * SHARE * 0.999, floor)
