"""What is remembered of the disk: bounded, and the least used goes first."""

from cudanalyst.resources.known import Known


def test_what_was_not_asked_for_the_longest_is_forgotten() -> None:
    known: Known[str, int] = Known(2)
    known.add("a", 1)
    known.add("b", 2)
    assert known.get("a") == 1
    known.add("c", 3)
    assert (known.get("a"), known.get("b"), known.get("c")) == (1, None, 3)


def test_a_value_is_replaced() -> None:
    known: Known[str, int] = Known(1)
    assert (known.add("a", 1), known.add("a", 2), known.get("a")) == (1, 2, 2)
