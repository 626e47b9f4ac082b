"""The profiler's evidence where it was measured on a GPU."""

from cudanalyst.resources.render import render_profiler
from cudanalyst.tools.hardware import MeasuredOccupancy
from cudanalyst.tools.profile import Insight, KernelProfile, LineProfile, ProfileResult
from cudanalyst.tools.result import MeasuredOn


def test_measured_figures_are_told_as_measured():
    line = LineProfile(
        file="candidate.cu", line=7, warp_instructions=5, samples=60, sample_share=0.6, stalls={"global_memory_latency": 0.9}, local_accesses=3
    )  # fmt: skip
    kernel = KernelProfile(
        name="k", launches=1, grid=(1, 1, 1), block=(32, 1, 1), warp_instructions=None, instruction_mix={}, lane_efficiency=None,
        global_bytes=None, sectors_per_request=None, shared_conflict_ratio=None, bound="dram", share=1.0, duration_us=12.5,
        sol={"dram": 0.83, "l2": 0.4}, stalls={"global_memory_latency": 0.95}, measured_occupancy=MeasuredOccupancy(achieved=0.5), lines=(line,),
    )  # fmt: skip
    insight = Insight(
        kind="memory_latency", message="m", kernel="k", metric="share", value=0.9, remedy="r", estimated_gain=1.5
    )
    result = ProfileResult(
        status="profiled", summary="s", measured_on=MeasuredOn(toolchain="gpu"), level="sass", kernels=(kernel,), insights=(insight,), duration_us=12.5
    )  # fmt: skip
    text = render_profiler("cand_1", result).model_dump_json()
    for told in (
        "counted in SASS instructions", "measured 12.5 us under the profiler", "Estimated gain: 1.5 x", "share of peak dram 83%, l2 40%",
        "achieved occupancy 50%", "warps: global_memory_latency 95%", "60% of the samples (global_memory_latency 90%)", "3 accesses to local memory",
        "100 % of the measured time",
    ):  # fmt: skip
        assert told in text
    assert "modelled" not in text.lower()
    assert "None" not in text
