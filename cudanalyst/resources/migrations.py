"""The schema of the database, as an ordered list of steps from an empty file to the newest version."""

from typing import Final

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    # 1: events, the handles that were minted, and which values each owner may see.
    (
        "CREATE TABLE schema_version (version INTEGER NOT NULL)",
        "INSERT INTO schema_version VALUES (0)",
        """CREATE TABLE events (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            at REAL NOT NULL,
            owner TEXT NOT NULL,
            session TEXT,
            context TEXT,
            kind TEXT NOT NULL,
            body TEXT NOT NULL
        )""",
        "CREATE INDEX events_by_session ON events (owner, session, seq)",
        "CREATE INDEX events_by_context ON events (owner, context, seq)",
        """CREATE TABLE handles (
            handle TEXT PRIMARY KEY,
            kind TEXT NOT NULL,
            owner TEXT NOT NULL,
            parent TEXT
        ) WITHOUT ROWID""",
        """CREATE TABLE objects (
            owner TEXT NOT NULL,
            id TEXT NOT NULL,
            blob TEXT NOT NULL,
            PRIMARY KEY (owner, id)
        ) WITHOUT ROWID""",
    ),
    # 2: an experiment's events are read often and alone, so they get a column and an index of their own; a guard asks
    # for a few kinds of a context's events before every call, so those indexes learn the kind.
    (
        "DROP INDEX events_by_session",
        "DROP INDEX events_by_context",
        "CREATE INDEX events_by_session ON events (owner, session, kind, seq)",
        "CREATE INDEX events_by_context ON events (owner, context, kind, seq)",
        "CREATE INDEX events_by_kind ON events (owner, kind, seq)",
        "ALTER TABLE events ADD COLUMN experiment TEXT",
        "UPDATE events SET experiment = json_extract(body, '$.experiment')",
        "CREATE INDEX events_by_experiment ON events (experiment, seq) WHERE experiment IS NOT NULL",
    ),
)
"""Step i leads from version i to version i + 1. Steps that were released are never edited."""

NEWEST: Final = len(MIGRATIONS)
