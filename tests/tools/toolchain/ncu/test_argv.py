"""Command lines of ncu, and the metric sets."""

from pathlib import Path

import pytest

from cudanalyst.errors import BadRequest
from cudanalyst.tools.selection import Selection, checked_kernel
from cudanalyst.tools.toolchain.ncu.argv import collect_prefix, page_argv
from cudanalyst.tools.toolchain.ncu.metric_sets import FULL_SECTIONS, QUICK, STANDARD
from cudanalyst.tools.toolchain.ncu.names import NAMES, UNITS

NCU = Path("/opt/ncu")
WORK = Path("/build dir")


def prefix(**fields) -> list[str]:
    only = fields.pop("only_between", True)
    version = fields.pop("version", None)
    return [str(part) for part in collect_prefix(NCU, WORK, Selection(**fields), only_between=only, version=version)]


def value_of(argv: list[str], option: str) -> str:
    return argv[argv.index(option) + 1]


def test_clocks_are_left_alone_and_only_the_application_is_looked_at():
    argv = prefix()
    assert argv[0] == "/opt/ncu"
    assert value_of(argv, "--clock-control") == "none"
    assert value_of(argv, "--target-processes") == "application-only"
    assert value_of(argv, "--replay-mode") == "kernel"
    assert value_of(prefix(version="2025.3.1.0"), "--pipeline-boost-state") == "dynamic"


def test_the_executors_own_kernels_stay_out_and_a_programs_are_all_seen():
    assert value_of(prefix(), "--profile-from-start") == "off"
    assert "--profile-from-start" not in prefix(only_between=False)


def test_words_of_the_tool_go_to_a_file_so_that_a_programs_output_stays_its_own():
    assert value_of(prefix(), "--log-file") == "/build dir/ncu.log"
    assert value_of(prefix(), "--export") == "/build dir/profile.ncu-rep"


def test_each_set_holds_the_smaller_one_and_names_each_counter_once():
    quick, standard = (value_of(prefix(metrics=name), "--metrics").split(",") for name in ("quick", "standard"))
    assert set(quick) < set(standard)
    assert len(set(standard)) == len(standard)
    assert set(quick) == set(QUICK)
    assert set(standard) == set(STANDARD)


def test_the_full_set_adds_sections_for_ncus_own_rules():
    argv = prefix(metrics="full")
    assert [argv[i + 1] for i, part in enumerate(argv) if part == "--section"] == list(FULL_SECTIONS)
    assert "--section" not in prefix()


@pytest.mark.parametrize(("metrics", "applied"), [("quick", False), ("standard", False), ("full", True)])
def test_ncus_own_rules_run_only_where_their_words_are_kept(metrics, applied):
    argv = prefix(metrics=metrics)
    assert ("--apply-rules" not in argv) is applied
    assert applied or value_of(argv, "--apply-rules") == "no"


@pytest.mark.parametrize(
    ("version", "known"),
    [
        ("2025.3.1.0", True),
        ("2026.1.0", True),
        ("2025.2.1.0", False),
        ("2022.3", False),
        (None, False),
        ("beta", False),
    ],
)
@pytest.mark.parametrize("option", ["--disable-extra-suffixes", "--pipeline-boost-state"])
def test_an_option_that_older_versions_lack_is_left_out_there(version, known, option):
    assert (option in prefix(version=version)) is known


def test_each_unit_has_a_counter_in_the_quick_set_but_for_those_that_only_standard_has():
    asked = set(QUICK)
    assert {unit for unit, names in UNITS.items() if not asked & set(names)} == {"atomic", "fp16"}
    assert {"duration_ns", "warp_instructions", "sm_count"} <= {
        ours for ours, names in NAMES.items() if asked & set(names)
    }


def test_a_kernels_name_is_matched_as_text():
    argv = prefix(kernel="gemm<32>(float*)")
    assert value_of(argv, "--kernel-name") == r"regex:gemm<32>\(float\*\)"
    assert value_of(argv, "--kernel-name-base") == "demangled"
    assert "--kernel-name" not in prefix()


def test_one_launch_can_be_chosen_and_without_a_choice_their_number_is_bounded():
    argv = prefix(launch=3)
    assert (value_of(argv, "--launch-skip"), value_of(argv, "--launch-count")) == ("3", "1")
    assert value_of(prefix(), "--launch-count") == "20"


def test_a_report_is_read_again_without_options_of_collecting():
    argv = [str(part) for part in page_argv(NCU, Path("r.ncu-rep"), "raw")]
    assert argv == ["/opt/ncu", "--import", "r.ncu-rep", "--csv", "--page", "raw", "--print-units", "base"]
    assert "--print-units" not in page_argv(NCU, Path("r.ncu-rep"), "source")


@pytest.mark.parametrize("name", ["", "-x", "a;b", "regex:$(x)", "a\n", "x" * 300])
def test_what_is_no_part_of_a_name_is_refused(name):
    with pytest.raises(BadRequest, match="no part of a kernel's name"):
        checked_kernel(name)


def test_parts_of_names_pass():
    for name in ("gemm", "ns::gemm<32, float>", "void k(float const*, int)", None):
        assert checked_kernel(name) == name
