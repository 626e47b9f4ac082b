"""The statement that selects events; columns are named here and values bound, so nothing of a caller becomes SQL."""

from collections.abc import Mapping, Sequence

from cudanalyst.resources.codec import EVENT_COLUMNS
from cudanalyst.resources.database import Value


def selection(
    owner: str,
    columns: Mapping[str, str | None],
    kinds: Sequence[str],
    *,
    after: int,
    limit: int | None,
    newest: int | None,
) -> tuple[str, list[Value]]:
    """A statement for an owner's events in order, and its values.

    Args:
        owner: whose events.
        columns: what `session`, `context` and `experiment` must be; None for anything.
        kinds: which kinds; none for all.
        after: only events after this position.
        limit: at most so many, the first.
        newest: at most so many, the last.
    """
    clauses, values = ["owner = ?", "seq > ?"], list[Value]((owner, after))
    for column in ("session", "context", "experiment"):
        if (value := columns.get(column)) is not None:
            clauses.append(f"{column} = ?")
            values.append(value)
    if kinds:
        clauses.append(f"kind IN ({', '.join('?' * len(kinds))})")
        values.extend(kinds)
    where = " AND ".join(clauses)
    if newest is not None:
        # The index alone tells which they are; only their own rows are then read.
        where = f"seq IN (SELECT seq FROM events WHERE {where} ORDER BY seq DESC LIMIT ?)"  # noqa: S608
        values.append(newest)
    statement = f"SELECT {EVENT_COLUMNS} FROM events WHERE {where} ORDER BY seq"  # noqa: S608
    if limit is not None:
        statement += " LIMIT ?"
        values.append(limit)
    return statement, values
