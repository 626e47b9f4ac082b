"""The reader of XML: exact on what the tool writes, bounded and calm on anything else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.sanitizer.context import Context, known_kernels, short_name
from cudanalyst.tools.toolchain.sanitizer.log import read_log
from cudanalyst.tools.toolchain.sanitizer.reading import MAX_FINDINGS
from cudanalyst.tools.toolchain.sanitizer.records import MAX_RECORDS, MAX_XML_BYTES, integer, read_records
from cudanalyst.tools.toolchain.sanitizer.verdict import interpret, of_stopped

CONTEXT = Context(PathNames("candidate.cu", {}))
LOG = b"========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 1 error\n"
TAGS = (
    "record", "kind", "level", "who", "threadIdx", "blockIdx", "x", "y", "z", "what", "text", "space", "size", "direction", "address", "error", "where",
    "func", "path", "line", "pc", "hostStack", "deviceStack", "frame", "source", "destination", "count", "common", "thread0", "thread1", "type", "api", "result",
)  # fmt: skip
KINDS = ("Precise", "Imprecise", "Api", "Analysis", "Hazard", "Initcheck", "InitcheckApiError", "Synccheck", "Syscall", "StackOverflow", "UnusedMemory", "Leak", "?")  # fmt: skip
WORDS = ("0", "7", "0x7f00", "-1", "99999999999999999999", "__global__", "write", "Write", "Read", "out of bounds", "misaligned", "", "719", "cudaLaunchKernel")  # fmt: skip


def wrap(body: str) -> bytes:
    return f'<?xml version="1.0" encoding="utf-8"?>\n<ComputeSanitizerOutput>{body}</ComputeSanitizerOutput>'.encode()


@given(st.binary(max_size=2000))
def test_any_bytes_are_read_without_an_exception_and_are_never_clean(data) -> None:
    verdict = interpret("memcheck", data, LOG, CONTEXT)
    assert verdict.broken is not None
    read_log(data)


elements = st.recursive(
    st.sampled_from(WORDS),
    lambda inner: st.lists(st.tuples(st.sampled_from(TAGS), inner), max_size=6).map(
        lambda parts: "".join(f"<{tag}>{body}</{tag}>" for tag, body in parts)
    ),
    max_leaves=25,
)


@given(st.sampled_from(KINDS), elements, elements)
def test_any_tree_of_known_tags_gives_at_most_one_finding_a_record(kind, what, rest) -> None:
    data = wrap(f"<record><kind>{kind}</kind><what>{what}</what>{rest}</record>")
    for check in ("memcheck", "racecheck"):
        verdict = interpret(check, data, LOG, CONTEXT)
        assert len(verdict.findings) <= 1
        assert all(finding.count > 0 for finding in verdict.findings)


@given(st.text(max_size=500))
def test_any_text_of_the_tool_is_read(text) -> None:
    log = read_log(f"========= {text}".encode("utf-8", "surrogatepass"))
    assert log.errors is None or log.errors >= 0


@given(st.integers(min_value=1, max_value=400))
def test_a_file_that_was_cut_anywhere_is_said_to_be(length) -> None:
    data = wrap(
        "<record><kind>Initcheck</kind><what><text>Uninitialized __global__ memory read</text></what></record>" * 4
    )
    read = read_records(data[: min(length, len(data) - 1)])
    assert read.problem is not None


def test_entities_are_refused_before_they_expand() -> None:
    bomb = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><ComputeSanitizerOutput>&b;</ComputeSanitizerOutput>'
    read = read_records(bomb)
    assert read.records == ()
    assert "document type or an entity" in (read.problem or "")


def test_external_entities_are_not_fetched() -> None:
    data = b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><ComputeSanitizerOutput/>'
    assert "refused" in (read_records(data).problem or "")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"<html/>", "root is html"),
        (wrap("<a>" * 30 + "</a>" * 30), "nested deeper"),
        (b" " * (MAX_XML_BYTES + 1), "longer than"),
        (wrap("<record/>" * (MAX_RECORDS + 1)), "more than"),
    ],
)
def test_what_no_run_of_the_tool_writes_is_refused_with_the_reason(data, said) -> None:
    assert said in (read_records(data).problem or "")


def test_findings_are_bounded() -> None:
    one = "<record><kind>Initcheck</kind><what><text>Uninitialized __global__ memory read</text></what><where><line>{}</line></where></record>"
    verdict = interpret("initcheck", wrap("".join(one.format(n) for n in range(1, 3000))), LOG, CONTEXT)
    assert len(verdict.findings) == MAX_FINDINGS


def test_a_record_of_an_unknown_kind_is_passed_on_in_the_tools_words() -> None:
    data = wrap("<record><kind>Novelty</kind><what><text>Something new</text></what></record>")
    (finding,) = interpret("memcheck", data, LOG, CONTEXT).findings
    assert (finding.kind, finding.message) == ("unrecognized", "Something new")


def test_numbers_are_decimal_or_hexadecimal_and_bounded() -> None:
    assert [integer(text) for text in ("12", "0x1f", "4,096", "x", "-3", "1" * 30)] == [12, 31, 4096, None, None, None]


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("oob(float *, int)", "oob"),
        ("void ns::tmpl<double, 3>(double *, int)", "tmpl"),
        ("k", "k"),
        ("void f<ns::g<int>, (a)1>(void (*)(int))", "f"),
    ],
)
def test_the_bare_name_of_a_kernel(name, short) -> None:
    assert short_name(name) == short


def test_a_bare_name_that_two_kernels_share_names_neither() -> None:
    known = known_kernels([("_Z1fi", "f(int)"), ("_Z1ff", "f(float)"), ("_Z1gv", "g()")])
    assert known.get("f") is None
    assert (known["g"], known["_Z1fi"]) == ("g()", "f(int)")


PIECES = (
    "========= Invalid __global__ write of size 4 bytes\n", "=========     at k(int *)+0x10 in a.cu:7\n", "=========     at k+0x10\n",
    "=========     by thread (0,0,0) in block (1,0,0)\n", "=========     Access to 0x10 is out of bounds\n", "=========     Address 0x1f\n", "========= \n", "x" * 50,
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join), st.binary(max_size=200))
def test_any_text_of_a_stopped_run_is_read_and_each_finding_has_its_four_lines(text, junk) -> None:
    verdict = of_stopped("memcheck", text.encode() + junk, CONTEXT)
    assert verdict.broken is None
    assert bool(verdict.findings) == (verdict.note is not None)
    assert sum(finding.count for finding in verdict.findings) <= text.count("by thread")


def test_of_the_text_of_a_stopped_run_a_bounded_part_is_kept() -> None:
    one = "".join(PIECES[index] for index in (0, 1, 3, 4)).encode()
    (finding,) = of_stopped("memcheck", one * 5000, CONTEXT).findings
    assert (finding.kind, finding.kernel, finding.count) == ("invalid_global_write", "k", 1000)
