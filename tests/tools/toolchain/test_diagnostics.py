import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.tools.toolchain.diagnostics import DOUBLE, FOREIGN, double_users, mangled_symbols, parse_diagnostics
from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.ptxas import PtxMap, read_ptx

NAMES = PathNames("candidate.cu", {"/w/build-1": "", "/opt/cuda": "<toolkit>"})


def parse(output, source="", ptx=None):
    return parse_diagnostics(output, NAMES, source, ptx)


def only(output, source="", ptx=None):
    (diagnostic,) = parse(output, source, ptx)
    return diagnostic


def test_a_front_end_error_has_file_line_code_and_text():
    found = only('candidate.cu(12): error #20-D: identifier "foo" is undefined\n')
    assert (found.severity, found.place.file, found.place.line, found.code, found.origin) == (
        "error",
        "candidate.cu",
        12,
        "20-D",
        "nvcc",
    )
    assert found.text == 'identifier "foo" is undefined'


def test_the_caret_gives_the_column_of_the_submitted_line():
    source = "\n__global__ void k(float* y) { int unused; }\n"
    output = (
        'candidate.cu(2): warning #177-D: variable "unused" was declared but never referenced\n'
        "  __attribute__((global)) void k(float* y) { int unused; }\n"
        "                                                 ^\n\n"
        'Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"\n'
    )
    found = only(output, source)
    assert found.place.column == source.splitlines()[1].index("unused") + 1
    assert found.text == 'variable "unused" was declared but never referenced'


def test_a_column_behind_a_macro_is_unknown():
    output = 'candidate.cu(1): error: expected a ";"\n  int expanded = 3\n      ^\n'
    assert only(output, "int MACRO = 3 \\ x").place.column is None


def test_explanations_are_kept_and_excerpts_dropped():
    output = (
        'candidate.cu(8): error: no instance of overloaded function "f" matches the argument list\n'
        "            argument types are: (const char [2])\n"
        '  int main() { f("x"); }\n'
        "                ^\n"
        '          detected during instantiation of class "A<T> [with T=int]" at line 3\n'
    )
    text = only(output, "\n" * 7 + 'int main() { f("x"); }').text
    assert text.splitlines()[1:] == [
        "argument types are: (const char [2])",
        'detected during instantiation of class "A<T> [with T=int]" at line 3',
    ]


def test_host_compiler_errors_have_columns_and_option_codes():
    output = (
        "In file included from candidate.cu:1:\n"
        "candidate.cu:4:2: warning: #warning hello there [-Wcpp]\n    4 | #warning hello there\n      |  ^~~~~~~\n"
        'candidate.cu:2:10: fatal error: nofile.h: No such file or directory\n    2 | #include "nofile.h"\ncompilation terminated.\n'
    )
    first, second = parse(output)
    assert (first.severity, first.code, first.place.line, first.place.column, first.origin) == (
        "warning",
        "-Wcpp",
        4,
        2,
        "host",
    )
    assert (second.severity, second.text) == ("error", "nofile.h: No such file or directory")


def test_assembler_errors_are_the_hosts():
    found = only("candidate.cu: Assembler messages:\ncandidate.cu:1: Error: no such instruction: `bogus %eax'\n")
    assert (found.origin, found.place.line, found.text) == ("host", 1, "no such instruction: `bogus %eax'")


PTX = """.file 1 "/w/build-1/candidate.cu"
.file 2 "/opt/cuda/include/sm_20.h"
.visible .entry _Z1kPf(
.param .u64 p
)
.maxntid 16, 8, 1
{
.loc 1 7 3
mul.f64 a, b, c;
.loc 2 99 1, function_name $L__info, inlined_at 1 9 5
mul.f64 a, b, c;
}
.visible .entry _Z1hPf(
)
{
.loc 1 20 3
ret;
}
"""


def test_ptxas_messages_are_placed_by_the_ptx():
    output = (
        "ptxas /tmp/tmpxft_00002dbe_00000000-6_candidate.ptx, line 9; warning : Program is doing double precision computations.\n"
        "ptxas candidate.ptx, line 9; warning : Program is doing double precision computations.\n"
        "ptxas candidate.ptx, line 11; warning : Program is doing double precision computations.\n"
        "ptxas candidate.ptx, line 11; error   : Unknown modifier '.bar'\n"
        "ptxas fatal   : Ptx assembly aborted due to errors\n"
    )
    found = parse(output, ptx=read_ptx(PTX, "candidate.cu"))
    assert [(d.severity, d.place.line, d.text, d.origin) for d in found] == [
        ("warning", 7, DOUBLE, "ptxas"),
        ("warning", 9, DOUBLE, "ptxas"),
        ("error", 9, "Unknown modifier '.bar'", "ptxas"),
    ]
    assert double_users(output, read_ptx(PTX, "candidate.cu")) == {"_Z1kPf"}


def test_a_ptxas_message_that_names_a_kernel_is_placed_at_its_code():
    output = "ptxas warning : Local memory used for function '_Z1hPf', size of stack frame: 1200 bytes\n"
    found = only(output, ptx=read_ptx(PTX, "candidate.cu"))
    assert (found.place.file, found.place.line) == ("candidate.cu", 20)
    assert mangled_symbols([found]) == ["_Z1hPf"]


def test_a_ptxas_message_without_ptx_has_no_place():
    assert only("ptxas fatal   : Unresolved extern function '_Z4dextv'\n").place.line is None


def test_ptxas_information_is_no_diagnostic():
    assert parse("ptxas info    : 0 bytes gmem\nptxas info    : Used 30 registers, used 1 barriers\n") == ()


def test_linker_errors_say_what_is_undefined_and_nothing_of_object_files():
    output = (
        "/usr/bin/ld: /tmp/tmpxft_00002ed0_00000000-9_b5.o: in function `main':\n"
        "tmpxft_00002ed0_00000000-6_b5.cudafe1.cpp:(.text+0xfc): undefined reference to `nothere(int)'\n"
        "tmpxft_00002ed0_00000000-6_b5.cudafe1.cpp:(.text+0x1fc): undefined reference to `nothere(int)'\n"
        "collect2: error: ld returned 1 exit status\n"
    )
    found = only(output)
    assert (found.origin, found.text) == ("linker", "undefined reference to `nothere(int)'")


def test_a_missing_required_symbol_is_a_linker_error():
    assert only("/usr/bin/ld: required symbol `solve' not defined\n").origin == "linker"


def test_driver_messages_are_errors():
    assert (
        only("nvcc fatal   : Unsupported gpu architecture 'compute_999'\n").text
        == "Unsupported gpu architecture 'compute_999'"
    )
    assert only("nvcc error   : 'cicc' died due to signal 11 (Invalid memory reference)\n").severity == "error"


def test_nothing_of_a_foreign_file_is_shown():
    output = (
        '/etc/passwd(1): error: identifier "root" is undefined\n  root:x:0:0:root:/root:/bin/bash\n  ^\n\n'
        "/etc/shadow:1:1: error: 'secret' does not name a type\n    1 | secret\n"
        "../up.h(3): error: secret\n"
    )
    found = parse(output)
    assert {d.text for d in found} == {FOREIGN}
    assert all(d.place.file is None for d in found)


def test_paths_of_this_machine_are_renamed():
    output = (
        "/opt/cuda/bin/../include/cuda_fp16.hpp(3): error: no such thing in /w/build-1/candidate.cu\n"
        "/usr/include/c++/12/bits/stl_vector.h(1293): note #3326-D: see /home/user/private/x.h\n"
        "/w/build-1/candidate.cu(4): error: bad\n"
    )
    first, second, third = parse(output)
    assert (first.place.file, first.text) == ("<toolkit>/include/cuda_fp16.hpp", "no such thing in candidate.cu")
    assert (second.place.file, second.text) == ("<system>/c++/12/bits/stl_vector.h", "see <path>/x.h")
    assert third.place.file == "candidate.cu"


def test_control_characters_are_stripped():
    assert only("candidate.cu(1): error: \x1b[31mred\x1b[0m\x07\n").text == "red"


def test_long_messages_are_bounded():
    assert len(only("candidate.cu(1): error: " + "x" * 100_000).text) < 2000


@given(st.text(max_size=400), st.text(max_size=100))
def test_any_output_is_survived(output, source):
    for diagnostic in parse_diagnostics(output, NAMES, source, PtxMap()):
        assert diagnostic.severity in {"error", "warning", "note"}


@pytest.mark.parametrize(
    "prefix", ["candidate.cu(1): error: ", "ptxas candidate.ptx, line 5; error : ", "candidate.cu:1:1: error: "]
)
@given(st.text(max_size=60))
def test_any_message_is_bounded_and_printable(prefix, text):
    for diagnostic in parse(prefix + text):
        assert "\x1b" not in diagnostic.text
        assert len(diagnostic.text) <= 2000
