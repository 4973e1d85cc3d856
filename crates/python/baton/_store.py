"""Stores of sweeps, and their rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _baton

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Table:
    """Rows of a store. Every library of Arrow takes a `Table` without a copy, as in `pyarrow.table(table)`."""

    def __init__(self, rows: _baton.Rows) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._rows.columns

    @property
    def units(self) -> dict[str, str]:
        """The units of the columns that have one."""
        return self._rows.units

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._rows.__arrow_c_stream__(requested_schema)

    def to_dict(self) -> dict[str, list[Any]]:
        """The rows as lists of values, without any other library."""
        return {name: self._rows.column(name) for name in self.columns}

    def to_arrow(self) -> pyarrow.Table:
        """The rows as a table of pyarrow, which must be installed."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> polars.DataFrame:
        """The rows as a data frame of polars, which must be installed."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame of pandas. pandas and pyarrow must be installed."""
        return self.to_arrow().to_pandas()

    def __repr__(self) -> str:
        return f"<Table of {len(self)} rows: {', '.join(self.columns)}>"


class Store:
    """The store of a sweep, a folder."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        """The folder."""
        if not os.path.isfile(os.path.join(self.path, "store.json")):
            # Says why the folder is no store. Reading a store takes longer than looking for its file.
            _baton.table(self.path, "false", [])

    def table(self, where: str | None = None, columns: Sequence[str] = ()) -> Table:
        """Its rows, or those in which a condition holds, as in `"threads > 4 and failure == 'none'"`.

        Rows are ordered by coordinates and seed.
        """
        return Table(_baton.table(self.path, where, list(columns)))

    def __repr__(self) -> str:
        return f"Store({self.path!r})"
