import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.tools.toolchain.occupancy import SM_LIMITS, occupancy


@pytest.mark.parametrize(
    ("capability", "threads", "registers", "shared", "blocks", "limiter"),
    [
        # Nsight Compute on an H200: 256 threads, 32 registers; then 1024 threads with 8 KB.
        (90, 256, 32, 0, 8, "warps"),
        (90, 1024, 32, 8192, 2, "warps"),
        # Register allocation is per warp in units of 256, within four partitions.
        (90, 256, 40, 0, 6, "registers"),
        (90, 128, 33, 0, 12, "registers"),
        (90, 256, 255, 0, 1, "registers"),
        (90, 1024, 65, 0, 0, "registers"),
        (90, 1024, 64, 0, 1, "registers"),
        (80, 256, 64, 0, 4, "registers"),
        (75, 256, 64, 0, 4, "warps"),
        (86, 256, 32, 0, 6, "warps"),
        # 1 KB a block belongs to the system from 8.0 on.
        (80, 128, 32, 48 * 1024, 3, "shared_memory"),
        (80, 128, 32, 163 * 1024, 1, "shared_memory"),
        (80, 128, 32, 163 * 1024 + 1, 0, "shared_memory"),
        (90, 128, 32, 227 * 1024, 1, "shared_memory"),
        (86, 128, 32, 49 * 1024, 2, "shared_memory"),
        (86, 128, 32, 50 * 1024, 1, "shared_memory"),
        (75, 128, 32, 32 * 1024, 2, "shared_memory"),
        # Small blocks are limited by their number.
        (90, 32, 16, 0, 32, "blocks"),
        (86, 32, 16, 0, 16, "blocks"),
        (89, 32, 16, 0, 24, "blocks"),
        (75, 32, 16, 0, 16, "blocks"),
        (89, 1024, 32, 0, 1, "warps"),
    ],
)
def test_occupancy_is_that_of_the_calculator(capability, threads, registers, shared, blocks, limiter):
    row = occupancy(capability, threads, registers, shared)
    assert row is not None
    assert (row.blocks_per_sm, row.limiter) == (blocks, limiter)
    assert row.warps_per_sm == blocks * -(-threads // 32)
    assert row.fraction == row.warps_per_sm / SM_LIMITS[capability].warps


def test_an_architecture_without_known_limits_is_not_guessed():
    assert occupancy(121, 256, 32, 0) is None


def test_a_block_that_no_launch_takes_has_no_occupancy():
    assert occupancy(90, 1025, 32, 0) is None


@given(
    st.sampled_from(sorted(SM_LIMITS)),
    st.integers(1, 1024),
    st.integers(0, 300),
    st.integers(0, 300_000),
    st.integers(0, 2000),
)
def test_using_more_never_gives_more_blocks(capability, threads, registers, shared, more):
    base = occupancy(capability, threads, registers, shared)
    assert base is not None
    assert 0 <= base.fraction <= 1
    for row in (
        occupancy(capability, threads, registers + 8, shared),
        occupancy(capability, threads, registers, shared + more),
    ):
        assert row is not None
        assert row.blocks_per_sm <= base.blocks_per_sm
