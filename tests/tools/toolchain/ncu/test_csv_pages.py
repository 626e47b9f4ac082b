"""The CSV pages of ncu, as the fallback reads them."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.errors import Unavailable
from cudanalyst.tools.toolchain.ncu.csv_pages import parse_pages
from cudanalyst.tools.toolchain.ncu.reduce import hardware_kernels
from cudanalyst.tools.toolchain.ncu.report import base_units, number
from tests.profile_pages import differences


@pytest.fixture(scope="module")
def kernels(recorded):
    return {
        k.name.partition("(")[0]: k
        for k in hardware_kernels(parse_pages(recorded("gemm_raw.csv"), recorded("gemm_source.csv")))
    }


def test_printed_pages_say_of_nine_kernels_what_the_package_says(recorded):
    """A kernel whose every warp stores once gives shared memory's counter exactly half of the wavefronts: rounding must not rename its unit."""
    printed = hardware_kernels(parse_pages(recorded("nine_raw.csv.gz"), recorded("nine_source.csv.gz")))
    exact = hardware_kernels(recorded("nine"))
    assert {kernel.name for kernel in printed} == {kernel.name for kernel in exact}
    assert len(printed) == 9
    assert not differences(printed, exact)


def test_multiples_of_units_and_separators_are_undone(kernels):
    naive = kernels["gemm_naive"]
    assert naive.duration_us == 2511
    assert naive.roofline.dram_bytes == pytest.approx(33_637_632 + 12_279_808)
    assert naive.sm_ghz == pytest.approx(1.977)
    assert naive.grid == (64, 256, 1)
    assert naive.block == (32, 8, 1)


def test_the_memory_table_has_the_recorded_figures(kernels):
    rows = {(row.path, row.operation): row for row in kernels["gemm_naive"].memory}
    load = rows["global", "load"]
    assert (load.requests, load.sectors) == (536_870_912, 1_342_177_280)
    assert load.sectors_per_request == 2.5
    assert load.hit_rate == pytest.approx(0.8743, abs=1e-4)
    assert rows["l2", "all"].hit_rate == pytest.approx(0.9904, abs=1e-4)
    tiled = {(row.path, row.operation): row for row in kernels["void gemm_tiled<32>"].memory}
    assert tiled["shared", "all"].sectors == 422_439_150
    assert tiled["shared", "all"].bank_conflicts == 2_259_233


def test_a_stream_recorded_today_reads_as_the_package_reads_it(recorded):
    """The same kernel in another run: what does not depend on the clock is equal, to the digits that ncu prints."""
    (by_csv,) = hardware_kernels(parse_pages(recorded("one_raw.csv.gz"), recorded("one_source.csv.gz")))
    by_package = {k.name: k for k in hardware_kernels(recorded("standard"))}[by_csv.name]
    assert by_csv.instruction_mix == by_package.instruction_mix
    assert by_csv.occupancy.theoretical == by_package.occupancy.theoretical
    assert set(by_csv.sol) == set(by_package.sol)
    caches = {"global", "shared", "l1"}
    assert [row for row in by_csv.memory if row.path in caches] == [
        row for row in by_package.memory if row.path in caches
    ]
    rows = {(row.path, row.operation): row for row in by_csv.memory}
    assert rows["l2", "load"].hit_rate == 0.0001
    assert rows["l2", "store"].hit_rate == 1.0  # counted in two passes: 100.2 %
    assert rows["l2", "all"].sectors == 6_291_456


def test_instructions_give_the_mix_and_stalls(kernels):
    tiled = kernels["void gemm_tiled<32>"]
    assert tiled.warp_instructions == 717_488_128
    assert sum(tiled.instruction_mix.values()) == pytest.approx(717_488_128, rel=0.01)
    assert tiled.instruction_mix["fp32"] == 268_435_456
    assert next(iter(tiled.stalls)) == "shared_memory_queue"
    assert tiled.stalls["shared_memory_queue"] == pytest.approx(123904 / 231497, rel=0.02)
    assert tiled.lines == ()  # this page knows no source lines


def test_the_busiest_unit_is_the_recorded_one(kernels):
    assert kernels["gemm_naive"].busiest == ("l1", pytest.approx(0.8205, abs=1e-4))
    assert kernels["void gemm_tiled<32>"].busiest == ("shared_memory", pytest.approx(0.9139, abs=1e-4))


def test_notices_before_the_table_do_not_disturb(recorded):
    raw = "==PROF== Connected\n" + recorded("gemm_raw.csv")
    assert [action.grid for action in parse_pages(raw).actions] == [(64, 256, 1), (64, 64, 1)]


def test_a_page_without_a_table_is_told_of():
    with pytest.raises(Unavailable, match="no table"):
        parse_pages("==ERROR== something\n")


@pytest.mark.parametrize(
    ("text", "value"),
    [("1,234.5", 1234.5), ("nan", None), ("inf", None), ("", None), ("PolicySpread", None), ("-0", 0.0)],
)
def test_what_is_no_finite_number_is_not_measured(text, value):
    assert number(text) == value


@pytest.mark.parametrize(
    ("value", "unit", "base"),
    [
        (2.5, "ms", 2.5e6),
        (3, "us", 3e3),
        (1.98, "Ghz", 1.98e9),
        (33.6, "Mbyte", 33.6e6),
        (2, "Gbyte/s", 2e9),
        (1.5, "Kbyte/cycle", 1500),
        (7, "%", 7),
        (1, "msecond", 1e6),
    ],
)
def test_units(value, unit, base):
    assert base_units(value, unit) == pytest.approx(base)


CELLS = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), max_size=12)


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,5}__[a-z]{1,5}\.sum", fullmatch=True),
        st.tuples(st.floats(0, 1e12), st.sampled_from(["", "%", "ns", "byte"])),
        max_size=8,
    ),
    CELLS,
)
def test_a_written_table_is_read_back(metrics, name):
    out = io.StringIO()
    table = csv.writer(out, quoting=csv.QUOTE_ALL)
    table.writerow(["ID", "Kernel Name", "Block Size", "Grid Size", *metrics])
    table.writerow(["", "", "", "", *(unit for _, unit in metrics.values())])
    table.writerow(["0", name, "(1, 2, 3)", "(4, 5, 6)", *(f"{value:,.6f}" for value, _ in metrics.values())])
    (action,) = parse_pages(out.getvalue()).actions
    assert (action.name, action.block, action.grid) == (name, (1, 2, 3), (4, 5, 6))
    assert action.metrics == {key: pytest.approx(value, abs=1e-6) for key, (value, _) in metrics.items()}


@given(st.text(), st.text())
def test_any_text_is_a_report_or_unavailable(raw, source):
    for text in (raw, f'"Kernel Name","Block Size","Grid Size"\n"","",""\n{raw}'):
        try:
            report = parse_pages(text, source)
        except Unavailable:
            continue
        assert len(report.actions) <= 200
