"""What untrusted text may bring to a terminal or a model: what can be seen, and nothing else."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.tools.text import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2Ja\x1b[31mb", "ab"),
        ("\x1b]0;title\x07a", "a"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP+q544e\x1b\\a", "a"),
        ("\x1b_Gi=1;AAAA\x1b\\a", "a"),
        ("\x1b^private\x1b\\a\x1bXstring\x1b\\", "a"),
        ("a\x9b2J\x08\x7f", "a2J"),
        ("a\u202eb\u2066c\u200d\u200b\ufeff", "abc"),
        ("a" + "".join(chr(0xE0000 + ord(each)) for each in "ignore this"), "a"),
        ("one\r\ntwo\tthree\n", "one\ntwo\tthree\n"),
        ("naïve 漢字 🙂", "naïve 漢字 🙂"),
    ],
)
def test_what_steers_a_terminal_or_hides_from_a_reader_is_taken_out(text, shown):
    assert printable(text) == shown


@given(st.text())
def test_nothing_that_is_left_controls_or_hides(text):
    left = printable(text)
    assert all(each in "\n\t" or unicodedata.category(each) not in {"Cc", "Cs"} for each in left)
    assert printable(left) == left
