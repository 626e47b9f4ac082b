import json

from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.report import findings, has, read_report, unsupported

NAMES = PathNames("candidate.cu", {"/opt/cuda": "<toolkit>"})


def lines(*records) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


RACE = {
    "type": "finding", "check": "racecheck", "kind": "shared_race_raw", "kernel": "k(float*)", "file": "/c/jobs/build-x/candidate.cu",
    "line": 12, "thread": [1, 0, 0], "block": [0, 0, 0], "space": "shared", "size": 4, "address": "tile + 4",
    "other": {"access": "write", "file": "/c/jobs/build-x/candidate.cu", "line": 9, "thread": [2, 0, 0], "block": [0, 0, 0]},
    "message": "read after write", "count": 1,
}  # fmt: skip


def test_a_finding_becomes_a_model_with_both_sides_and_the_final_count():
    memory = {"type": "finding", "check": "memcheck", "kind": "invalid_global_read", "message": "m"}
    records, problem = read_report(
        lines({"type": "engine", "version": 1}, memory, RACE, {"type": "finding_count", "index": 1, "count": 77}), NAMES
    )
    (found,) = findings(records, "racecheck")
    assert problem is None
    assert (found.kind, found.file, found.line, found.thread, found.count) == (
        "shared_race_raw",
        "candidate.cu",
        12,
        (1, 0, 0),
        77,
    )
    assert found.other is not None
    assert (found.other.access, found.other.file, found.other.line) == ("write", "candidate.cu", 9)
    assert findings(records, "memcheck")[0].count == 1


def test_what_was_inlined_from_the_source_is_placed_there():
    record = {
        "type": "error",
        "file": "/opt/cuda/include/cuda_fp16.hpp",
        "line": 900,
        "inlined_at": [{"file": "/b/candidate.cu", "line": 5}],
    }
    ((shown,), _) = read_report(lines(record), NAMES)
    assert (shown["file"], shown["line"]) == ("candidate.cu", 5)


def test_other_files_keep_a_short_name_or_none():
    records, _ = read_report(
        lines({"type": "a", "file": "/opt/cuda/x.h"}, {"type": "b", "file": "/home/user/secret.h"}), NAMES
    )
    assert [record["file"] for record in records] == ["<toolkit>/x.h", None]


def test_lines_of_a_profile_are_mapped_too():
    ((record,), _) = read_report(lines({"type": "profile", "lines": [{"file": "/b/candidate.cu", "line": 3}]}), NAMES)
    assert record["lines"][0]["file"] == "candidate.cu"


def test_a_malformed_line_ends_the_report_and_is_said():
    for bad in (b"{not json}\n", b"[1]\n", b'{"no":"type"}\n', b'{"type": NaN}\n', b'{"type": 5}\n', b"\xff\xfe\n"):
        records, problem = read_report(lines({"type": "engine"}) + bad + lines({"type": "end"}), NAMES)
        assert [record["type"] for record in records] == ["engine"]
        assert problem == "line 2 of the report is malformed"


def test_a_line_that_was_cut_off_is_said():
    records, problem = read_report(lines({"type": "engine"}) + b'{"type":"lau', NAMES)
    assert len(records) == 1
    assert problem == "the report ends within a line"


def test_deep_nesting_is_survived():
    records, problem = read_report(b'{"type":"x","a":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", NAMES)
    assert (records, problem) == ((), "line 1 of the report is malformed") or records[0]["type"] == "x"


def test_control_characters_are_stripped_from_text():
    ((record,), _) = read_report(lines({"type": "error", "message": "a\x1b[31mb\x00"}), NAMES)
    assert record["message"] == "ab"


def test_wrong_types_in_a_finding_count_as_not_given():
    record = {
        "type": "finding",
        "check": "memcheck",
        "kind": 5,
        "line": "x",
        "thread": [1, 2],
        "block": "no",
        "other": 3,
        "count": -4,
    }
    records, _ = read_report(lines(record), NAMES)
    (found,) = findings(records, "memcheck")
    assert (found.kind, found.line, found.thread, found.other, found.count) == ("unknown", None, None, None, 1)


def test_unsupported_instructions_are_named_with_their_place():
    records, _ = read_report(
        lines(
            {
                "type": "unsupported",
                "what": "instruction",
                "name": "wgmma",
                "file": "/b/candidate.cu",
                "line": 7,
                "message": "use mma",
            }
        ),
        NAMES,
    )
    assert unsupported(records) == "the CPU engine does not support instruction wgmma at candidate.cu:7: use mma"
    assert not has(records, "end")


@given(st.binary(max_size=300))
def test_any_bytes_are_survived(data):
    records, _ = read_report(data, NAMES)
    assert all(isinstance(record["type"], str) for record in records)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=10),
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(st.sampled_from(["file", "line", "inlined_at", "x"]), children, max_size=2)
    ),
    max_leaves=4,
)
fields = st.sampled_from(
    ["kind", "message", "kernel", "file", "line", "thread", "block", "address", "other", "count", "index", "inlined_at"]
)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["finding", "finding_count", "end"]), st.dictionaries(fields, json_values, max_size=3)
        ),
        max_size=3,
    )
)
def test_any_records_give_findings_or_nothing(parts):
    data = lines(*({**values, "type": kind, "check": "memcheck"} for kind, values in parts))
    records, problem = read_report(data, NAMES)
    assert problem is None
    assert len(findings(records, "memcheck")) == sum(kind == "finding" for kind, _ in parts)
