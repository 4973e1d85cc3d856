"""Sweeps."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Union, cast

from . import _baton
from ._progress import Progress, watching
from ._store import Store

Scalar = Union[bool, int, float, str, None]


@dataclass(frozen=True)
class Swept:
    """What a run of a sweep did."""

    store: Store
    """The store with the rows."""
    end: str
    """`done`; `budget` or `memory` if the sweep ended there before all points had run."""
    added: int
    """Rows that this run added."""
    before: int
    """Rows that were there before."""
    failed: int
    """Rows that this run added and that are failures; their column `reason` says why."""


class Sweep:
    """A space of points, read from its file (docs/reference/studio.md).

    >>> import baton
    >>> text = '''
    ... command = "sim"
    ... metrics = ["acquisitions"]
    ... [axes]
    ... threads = [2, 4]
    ... [set]
    ... chip = "ocor64"
    ... iterations = 10
    ... '''
    >>> sweep = baton.Sweep.of(text)
    >>> sweep.points, sweep.axes, sweep.point(1)["threads"]
    (2, {'threads': [2, 4]}, 4)
    """

    def __init__(self, space: _baton.Space, has_seeds: bool = False) -> None:
        self._space = space
        self.axes: dict[str, list[Scalar]] = dict(json.loads(space.axes))
        """The values of each axis."""
        self.has_seeds = has_seeds
        """Whether the seeds are not those of the space's file."""

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Sweep:
        """Reads a space."""
        return cls(_baton.Space(os.fspath(path)))

    @classmethod
    def of(cls, text: str, file: str | os.PathLike[str] = "space.toml", seeds: Sequence[int] | None = None) -> Sweep:
        """A space from the text of its file; with `seeds`, each point runs with these in place of the space's."""
        file = os.path.abspath(file)
        return cls(_baton.Space(file, text, None if seeds is None else list(seeds)), seeds is not None)

    def with_seeds(self, seeds: Sequence[int]) -> Sweep:
        """The space with these seeds in place of its own."""
        return Sweep.of(*self._space.text, seeds=seeds)

    @property
    def text(self) -> str:
        """The text of the space's file."""
        return self._space.text[0]

    @property
    def file(self) -> str:
        """The path of the space's file."""
        return self._space.text[1]

    @property
    def store(self) -> str:
        """The folder of the store if none is named: the space's name with `.store`, in the current directory."""
        return os.fspath(self._space.store)

    @property
    def names(self) -> list[str]:
        """The names of the coordinates: axes, then settings."""
        return self._space.names

    @property
    def points(self) -> int:
        """The number of points."""
        return self._space.points

    @property
    def rows(self) -> int:
        """The number of rows of the complete sweep."""
        return self._space.rows

    @property
    def combinations(self) -> int:
        """The number of combinations of the axes' values, with those that constraints exclude."""
        return self._space.combinations

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics."""
        return self._space.metrics

    @property
    def goal(self) -> tuple[str, bool] | None:
        """The metric of the space's goal, and whether more of it is better."""
        return self._space.goal

    @property
    def seeds(self) -> list[int]:
        """The seeds with which each point runs; with `until`, those with which it may run."""
        return self._space.seeds

    @property
    def has_budget(self) -> bool:
        """Whether the space says where a sweep ends early."""
        return self._space.has_budget

    def point(self, number: int) -> dict[str, Scalar] | None:
        """The coordinates of a combination, numbered from 0, the last axis fastest. None if a constraint excludes it."""
        found = self._space.point(number)
        return None if found is None else cast("dict[str, Scalar]", json.loads(found))

    def number(self, places: Sequence[int]) -> int:
        """The number of the combination that has, of each axis, the value with this index."""
        number = 0
        for place, values in zip(places, self.axes.values()):
            number = number * len(values) + place
        return number

    def keys(self, number: int) -> list[str]:
        """The keys of a combination in a store, one for each of the `seeds`. None of them if a constraint excludes it."""
        return self._space.keys(number, self.seeds)

    def run(
        self,
        store: str | os.PathLike[str] | None = None,
        *,
        jobs: int | None = None,
        retry: bool = False,
        only: Sequence[int] | None = None,
        progress: bool | Callable[[Progress], object] | None = None,
        engine: str | None = None,
        **options: Any,
    ) -> Swept:
        """Runs the points that the store lacks, on all CPUs or `jobs` at a time; with `retry` also those that failed.

        Without a name, the store is the space's name with `.store`, in the current directory. Ctrl-C
        ends the sweep; rows of points that had ended are kept, and the next run goes on.

        - `only`: the numbers of the combinations to run.
        - `progress`: a function that gets a `Progress` some times a second. Left out: a bar, if standard error is a terminal.
        - `engine`: `"ray"` or `"slurm"` runs the points on other machines, with the options of `baton.engines.run`.
        """
        folder = os.fspath(self.store if store is None else store)
        if engine is not None:
            from . import engines

            return engines.run(self, folder, engine, jobs=jobs, retry=retry, only=only, progress=progress, **options)
        if options:
            raise TypeError(f"{', '.join(options)}: only for a sweep with an engine")
        numbers = None if only is None else list(only)
        with watching(progress) as watch:
            end, added, before, failed = self._space.run(folder, jobs, retry, numbers, watch)
        return Swept(Store(folder), end, added, before, failed)

    def report(self, page: str | os.PathLike[str], store: str | os.PathLike[str] | None = None, **options: Any) -> None:
        """Writes a page with pictures of the store's rows (`baton.report`)."""
        from . import report

        report.write(Store(self.store if store is None else store), page, goal=self.goal, **options)
