"""Sweeps."""

from __future__ import annotations

import os
from dataclasses import dataclass

from . import _baton
from ._store import Store


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
    """A space of points, read from its file (docs/reference/studio.md)."""

    def __init__(self, space: _baton.Space) -> None:
        self._space = space

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Sweep:
        """Reads a space."""
        return cls(_baton.Space(os.fspath(path)))

    @property
    def points(self) -> int:
        """The number of points."""
        return self._space.points

    @property
    def rows(self) -> int:
        """The number of rows of the complete sweep."""
        return self._space.rows

    def run(
        self, store: str | os.PathLike[str] | None = None, *, jobs: int | None = None, retry: bool = False
    ) -> Swept:
        """Runs the points that the store lacks, on all CPUs or `jobs` at a time; with `retry` also those that failed.

        Without a name, the store is the space's name with `.store`, in the current directory. Ctrl-C
        ends the sweep; rows of points that had ended are kept, and the next run goes on.
        """
        folder = os.fspath(self._space.store if store is None else store)
        end, added, before, failed = self._space.run(folder, jobs, retry)
        return Swept(Store(folder), end, added, before, failed)
