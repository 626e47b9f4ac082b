"""What a candidate writes into the files of its run is told from what the engine wrote."""

import json

from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.report import read_report
from cudanalyst.tools.toolchain.seal import NOT_THE_ENGINES, digest, line_tag, new_key, open_line, vouched_downloads

KEY = bytes(range(32))
NAMES = PathNames("candidate.cu", {})


def sealed(*records, key=KEY):
    lines = [json.dumps(record).encode() for record in records]
    return [line + b"\t" + line_tag(key, number, line) + b"\n" for number, line in enumerate(lines)]


def test_a_sealed_report_is_read_as_it_was_written():
    records, problem = read_report(b"".join(sealed({"type": "engine"}, {"type": "end"})), NAMES, KEY)
    assert ([record["type"] for record in records], problem) == (["engine", "end"], None)


def test_a_line_without_a_seal_ends_the_report():
    first, last = sealed({"type": "engine"}, {"type": "end"})
    records, problem = read_report(first + b'{"type":"call"}\n' + last, NAMES, KEY)
    assert [record["type"] for record in records] == ["engine"]
    assert problem is not None
    assert problem.endswith(NOT_THE_ENGINES)


def test_a_line_that_is_repeated_moved_or_left_out_is_no_longer_the_engines():
    a, b, c = sealed({"type": "a"}, {"type": "b"}, {"type": "c"})
    for lines in ((a, a, b, c), (b, a, c), (a, c), (a, b, c, b)):
        _, problem = read_report(b"".join(lines), NAMES, KEY)
        assert problem is not None
        assert problem.endswith(NOT_THE_ENGINES)


@given(st.binary(max_size=200), st.integers(0, 1 << 40), st.binary(min_size=1, max_size=8), st.integers(0, 250))
def test_a_changed_line_does_not_open(line, number, change, place):
    whole = line + b"\t" + line_tag(KEY, number, line)
    assert open_line(KEY, number, whole) == line
    place = min(place, len(whole))
    changed = whole[:place] + change + whole[place + len(change) :]
    assert changed == whole or open_line(KEY, number, changed) is None
    assert open_line(new_key(), number, whole) is None


@given(st.lists(st.dictionaries(st.sampled_from("xyz"), st.binary(max_size=20)), max_size=4))
def test_results_are_the_engines_unless_one_byte_differs(downloads):
    records = [
        {"type": "download", "index": index, "buffer": name, "digest": digest(data)}
        for index, contents in enumerate(downloads)
        for name, data in contents.items()
    ]
    assert vouched_downloads(records, downloads) == (tuple(downloads), None)
    for index, contents in enumerate(downloads):
        for name in contents:
            other = [dict(each) for each in downloads]
            other[index][name] += b"!"
            kept, changed = vouched_downloads(records, other)
            assert changed == (index, name)
            assert name not in kept[index]
