"""The figures of combinations of a space: runs what the store lacks, and reads what it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ._error import Error
from ._interval import half_width
from ._progress import Progress
from ._sweep import Scalar, Sweep


@dataclass(frozen=True)
class Design:
    """A combination of a space with its figures."""

    number: int
    """Its number in the space."""
    point: dict[str, Scalar]
    """Its coordinates."""
    figures: dict[str, list[float]]
    """The values of each column that was asked for, one for each seed that has run."""
    reason: str | None
    """Why it has no figures: a constraint excludes it, or a run failed."""

    def mean(self, column: str) -> float:
        """The mean over the seeds."""
        return fmean(self.figures[column])

    def half(self, column: str, level: float = 0.95) -> float | None:
        """Half of the interval of the mean. None with one seed."""
        return half_width(self.figures[column], level)

    def settings(self, names: Iterable[str]) -> str:
        """Some of its coordinates as a text."""
        return " ".join(f"{name}={self.point[name]}" for name in names)


class Designs:
    """Gets the figures of combinations."""

    def __init__(
        self,
        sweep: Sweep,
        store: str,
        columns: Sequence[str],
        *,
        jobs: int | None = None,
        progress: bool | Callable[[Progress], object] | None = None,
    ) -> None:
        known = [*sweep.metrics, *sweep.names]
        for column in columns:
            if column not in known:
                what = f"`{column}` is no metric of this space, and no setting; expected one of {', '.join(known)}"
                raise Error(what, file=sweep.file, key=column)
        self.sweep = sweep
        self.store = store
        self.columns = list(columns)
        self._run: dict[str, Any] = {"jobs": jobs, "progress": progress}
        self._known: dict[int, Design] = {}

    def get(self, numbers: Sequence[int]) -> list[Design]:
        """The combinations with their figures; those that the store lacks are run."""
        new = sorted({number for number in numbers if number not in self._known})
        if new:
            swept = self.sweep.run(self.store, only=new, **self._run)
            if swept.end != "done":
                raise Error(f"the sweep ended early: {swept.end}", file=self.sweep.file)
            rows = swept.store.table(columns=["key", "failure", "reason", *self.columns]).to_dict()
            place = {key: row for row, key in enumerate(rows["key"])}
            for number in new:
                self._known[number] = self._design(number, rows, place)
        return [self._known[number] for number in numbers]

    def _design(self, number: int, rows: dict[str, list[Any]], place: dict[str, int]) -> Design:
        point = self.sweep.point(number)
        if point is None:
            return Design(number, {}, {}, "a constraint excludes it")
        found = [place[key] for key in self.sweep.keys(number) if key in place]
        failed = next((rows["reason"][row] for row in found if rows["failure"][row] is not None), None)
        figures = {column: [rows[column][row] for row in found] for column in self.columns}
        for column, values in figures.items():
            if failed is None and any(not isinstance(value, (int, float)) for value in values):
                failed = f"`{column}` has no number"
        return Design(number, point, {} if failed else figures, failed)
