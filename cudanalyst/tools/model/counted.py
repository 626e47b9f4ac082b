"""The engine's counts of one kernel by PTX statement, validated: they come from a process that also ran the candidate's host code. Pure."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Count = Annotated[int, Field(ge=0, lt=2**63)]
Extent = tuple[Count, Count, Count]


class _Function(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str = Field(max_length=4096)
    rows: tuple[tuple[Count, ...], ...]


class StatementCounts(BaseModel):
    """Counts of one kernel in one launch shape, over all its launches."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    symbol: str = Field(max_length=4096)
    grid: Extent
    block: Extent
    launches: Annotated[int, Field(ge=1, lt=2**31)]
    warps: Count
    blocks: Count
    shared_bytes: Count = 0
    longest_warps: Count = 0
    longest_block: Count = 0
    longest_warp: Count = 0
    columns: tuple[str, ...]
    functions: tuple[_Function, ...]

    @property
    def block_threads(self) -> int:
        """Threads of one block, at least 1."""
        return max(1, self.block[0] * self.block[1] * self.block[2])

    @property
    def grid_blocks(self) -> int:
        """Blocks of one launch, at least 1."""
        return max(1, self.grid[0] * self.grid[1] * self.grid[2])

    def by_statement(self) -> dict[tuple[str, int], dict[str, int]]:
        """The columns of each executed statement, by function and number."""
        return {
            (function.name, row[0]): dict(zip(self.columns, row, strict=False))
            for function in self.functions
            for row in function.rows
            if row
        }


def parse_statements(report: Iterable[Mapping[str, Any]]) -> tuple[StatementCounts, ...]:
    """The `profile_instructions` records of a report that are well formed, in order."""
    found = []
    for record in report:
        if record.get("type") == "profile_instructions":
            try:
                found.append(StatementCounts.model_validate(record))
            except ValidationError:
                continue
    return tuple(found)
