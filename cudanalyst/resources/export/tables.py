"""A table with its data dictionary, and the files that it can become."""

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from cudanalyst.errors import Unavailable
from cudanalyst.values import Frozen

ColumnType = Literal["string", "integer", "number", "boolean"]
Cell = str | int | float | bool | None
NO_PYARROW: Final = (
    "Parquet files need pyarrow, which is not installed. Install it with: pip install 'cudanalyst[science]', "
    "or export the same table as csv."
)


_MARKED: Final = ("=", "+", "-", "@", "\t", "\r", "'")
"""Beginnings that spreadsheets read as a formula, and the apostrophe that marks them, so that taking one away gives the text back."""
_FLAGS: Final[dict[Cell, str | None]] = {True: "true", False: "false", None: None}


class Column(Frozen):
    """One line of a data dictionary."""

    name: str
    type: ColumnType
    meaning: str
    unit: str | None = None
    """None for what has none: names, yes or no."""
    allowed: tuple[str, ...] = ()
    """The only values of a text column; empty where any is allowed."""


class Table(Frozen):
    """Rows under described columns. A cell of None is empty: not measured, or not applicable."""

    name: str
    """Also its file's name, without an ending."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def records(self) -> list[dict[str, Cell]]:
        """Rows as objects, ready for JSON."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, map(finite, row), strict=True)) for row in self.rows]


def finite(cell: Cell) -> Cell:
    """A number that JSON can hold: an interval without an end has none to write."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def to_csv(table: Table) -> bytes:
    """RFC 4180 in UTF-8 with a header; empty cells for None, `true` and `false`, and numbers that read back the same.

    Names of planners and models come from clients, so a text that a spreadsheet would take for a formula, or that begins with an
    apostrophe, has an apostrophe before it, which makes it text there.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow([column.name for column in table.columns])
    # The writer gives empty cells for None and the shortest digits that read back the same; the rest is done here.
    kinds = [column.type for column in table.columns]
    flags = [k for k, kind in enumerate(kinds) if kind == "boolean"]
    numbers = [k for k, kind in enumerate(kinds) if kind == "number"]
    texts = [k for k, kind in enumerate(kinds) if kind == "string"]
    for row in table.rows:
        cells: list[Cell] = list(row)
        for k in flags:
            cells[k] = _FLAGS[cells[k]]
        for k in numbers:
            cells[k] = finite(cells[k])
        for k in texts:
            cells[k] = _text(cells[k])
        writer.writerow(cells)
    return _encoded(buffer.getvalue())


def _text(cell: Cell) -> Cell:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_MARKED) else cell


def to_json_lines(table: Table) -> bytes:
    """One JSON object a line, with every column in each."""
    return _encoded("".join(_line(record) + "\n" for record in table.records()))


def to_json(table: Table) -> bytes:
    """Name, title, dictionary and rows as objects, a row a line; an object has no entry for an empty cell."""
    columns = [column.model_dump(mode="json") for column in table.columns]
    head = {"name": table.name, "title": table.title, "columns": columns}
    rows = ({name: cell for name, cell in record.items() if cell is not None} for record in table.records())
    lines = ",\n".join(map(_line, rows))
    return _encoded(_line(head)[:-1] + f', "rows": [\n{lines}\n]}}\n')


def pretty(value: Any) -> bytes:
    """JSON for people and machines, the same bytes for the same value."""
    return _encoded(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def to_parquet(table: Table) -> bytes:
    """One Parquet file: types as in the dictionary, the dictionary itself in the metadata of its fields.

    Raises:
        Unavailable: pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise Unavailable(NO_PYARROW) from error
    types = {"string": pa.string(), "integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_()}
    fields = [
        pa.field(one.name, types[one.type], nullable=True, metadata=_field_metadata(one)) for one in table.columns
    ]
    schema = pa.schema(fields, metadata={"title": table.title, "name": table.name})
    columns = zip(*table.rows, strict=True) if table.rows else [()] * len(fields)
    arrays = [
        pa.array([_storable(cell) for cell in column], type=field.type)
        for column, field in zip(columns, fields, strict=True)
    ]
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_arrays(arrays, schema=schema), sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())


def _field_metadata(column: Column) -> dict[str, str]:
    found = {"meaning": column.meaning, "type": column.type}
    if column.unit is not None:
        found["unit"] = column.unit
    if column.allowed:
        found["allowed"] = json.dumps(column.allowed)
    return found


def dictionary(tables: Iterable[Table], paths: Mapping[str, str], *, title: str) -> bytes:
    """The data dictionary as a file: a Frictionless data package, which describes each table file and its columns.

    Args:
        tables: what is described.
        paths: by table name, the file that holds it.
        title: of the whole.

    Source: Data Package (v1), Table Schema (v1), specs.frictionlessdata.io.
    """
    resources = []
    for table in tables:
        path = paths[table.name]
        fields = [_field(column) for column in table.columns]
        resources.append(
            {
                "name": table.name.replace("_", "-"),
                "path": path,
                "title": table.title,
                "format": path.rpartition(".")[2],
                "encoding": "utf-8",
                "profile": "tabular-data-resource",
                "schema": {"fields": fields, "missingValues": [""]},
            }
        )
    return pretty({"profile": "data-package", "name": "cudanalyst-export", "title": title, "resources": resources})


def _field(column: Column) -> dict[str, Any]:
    field: dict[str, Any] = {"name": column.name, "type": column.type, "description": column.meaning}
    if column.unit is not None:
        field["unit"] = column.unit
    if column.allowed:
        field["constraints"] = {"enum": list(column.allowed)}
    return field


def _storable(cell: Cell) -> Cell:
    return cell.encode("utf-8", "replace").decode("utf-8") if isinstance(cell, str) else finite(cell)


def _line(record: Any) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))


def _encoded(text: str) -> bytes:
    """UTF-8; half a surrogate pair, which UTF-8 has no bytes for, becomes a question mark."""
    return text.encode("utf-8", "replace")
