import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.errors import BadRequest
from cudanalyst.tools.toolchain.arch import parse_arch
from cudanalyst.tools.toolchain.flags import checked_flags


@pytest.mark.parametrize(
    "flags",
    [
        ["-O2"], ["-use_fast_math"], ["--use_fast_math"], ["-std=c++20"], ["-maxrregcount=64"], ["-DTILE=16"], ["-DNAME"],
        ["-UNAME"], ["--expt-relaxed-constexpr"], ["--extended-lambda"], ["-lineinfo"], ["--fmad=false"], ["-ftz=true"],
        ["-Xptxas=-O3"], ["-Xptxas=-dlcm=cg,-v"], ["-diag-suppress=177,550"], ["-DX=1e-5"],
    ],
)  # fmt: skip
def test_harmless_flags_are_taken_as_they_are(flags):
    assert checked_flags(flags) == tuple(flags)


def test_a_value_may_follow_its_flag():
    flags = ["-maxrregcount", "64", "-D", "N=3", "-Xptxas", "-O1", "--ptxas-options", "-v", "-std", "c++17", "-O", "2"]
    assert checked_flags(flags) == ("-maxrregcount=64", "-DN=3", "-Xptxas=-O1", "-Xptxas=-v", "-std=c++17", "-O2")


def test_repetitions_are_dropped():
    assert checked_flags(["-O2", "-O2"]) == ("-O2",)


@pytest.mark.parametrize(
    "flags",
    [
        ["-Xcompiler", "-fplugin=/tmp/x.so"], ["-Xcompiler=-wrapper"], ["-ccbin", "/tmp/evil"], ["-ccbin=/tmp/evil"],
        ["--options-file", "/etc/passwd"], ["--options-file=/etc/passwd"], ["-optf", "x"], ["-run"], ["--run-args", "x"],
        ["-include", "/etc/passwd"], ["-I/root"], ["-I", "/root"], ["-isystem=/root"], ["@/etc/passwd"], ["-o", "/tmp/x"],
        ["-odir=/tmp"], ["-keep-dir=/tmp"], ["-Xlinker", "-rpath,/tmp"], ["-Xptxas", "--options-file=/etc/passwd"],
        ["-Xptxas", "-o,/tmp/x"], ["-Xptxas", "-v,/etc/passwd"], ["-Xptxas="], ["-Xptxas"], ["-lfoo"], ["-L/tmp"], ["x.cu"], ["/etc/passwd"],
        ["-DNAME=$(touch /tmp/x)"], ["-DNAME=`id`"], ["-DNAME=a;b"], ['-DA="x"'], ["-D", "-o"], ["-DN=1\n"], ["-O2\n"],
        ["-arch=sm_80"], ["-gencode", "arch=compute_80,code=sm_80"], ["-MD"], ["--dryrun"], ["-E"], ["-ptx"], ["-ldir=/x"],
        ["--pre-include=/etc/passwd"], ["-G"], [""], ["-"], ["-maxrregcount=999"], ["-std=c++03"], ["-D"],
    ],
)  # fmt: skip
def test_whatever_could_read_run_or_write_is_refused_by_name(flags):
    with pytest.raises(BadRequest, match="is not allowed"):
        checked_flags(flags)


def test_the_refusal_names_the_flag_and_the_allowed_ones():
    with pytest.raises(BadRequest, match=r"'-Xcompiler' is not allowed.*-use_fast_math"):
        checked_flags(["-O2", "-Xcompiler", "-O2"])


def test_too_many_flags_are_refused():
    with pytest.raises(BadRequest, match="too many"):
        checked_flags([f"-DA{i}" for i in range(100)])


@given(st.lists(st.text(max_size=12), max_size=5))
def test_what_is_taken_has_no_character_that_a_shell_or_a_list_could_misread(flags):
    try:
        taken = checked_flags(flags)
    except BadRequest:
        return
    assert all(flag.startswith("-") and not set(flag) & set(" \t\n;&|`$<>\"'\\/@") for flag in taken)


@pytest.mark.parametrize(("text", "gencode"), [
    ("sm_90", "arch=compute_90,code=[sm_90,compute_90]"),
    ("sm_90a", "arch=compute_90a,code=[sm_90a,compute_90a]"),
    ("sm_75", "arch=compute_75,code=[sm_75,compute_75]"),
])  # fmt: skip
def test_machine_code_and_ptx_are_of_the_full_target(text, gencode):
    arch = parse_arch(text)
    assert (arch.name, arch.gencode) == (text, gencode)


@pytest.mark.parametrize("text", ["sm_90b", "sm_70", "90", "compute_90", "sm_80a", "", "sm_90 -o x", "SM_90", "sm_90f"])
def test_an_unknown_architecture_gets_the_list(text):
    with pytest.raises(BadRequest, match="use one of sm_75"):
        parse_arch(text)
