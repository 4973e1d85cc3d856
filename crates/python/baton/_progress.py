"""How far a sweep is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

Told = Callable[[int, int, int, int, float, "tuple[float, str] | None"], None]


@dataclass(frozen=True)
class Progress:
    """How far a sweep is."""

    done: int
    """Rows in the store."""
    whole: int
    """Rows of the complete sweep, as far as they are known to be needed."""
    added: int
    """Rows that this run has added."""
    failed: int
    """Rows of this run that are failures."""
    seconds: float
    """Since the beginning."""
    best: tuple[float, str] | None
    """The best value of the goal's metric among this run's rows, and its point."""

    @property
    def rate(self) -> float:
        """Rows a second."""
        return self.added / max(self.seconds, 1e-9)

    @property
    def left(self) -> float | None:
        """Seconds until the end at this rate. None before the first row."""
        return max(self.whole - self.done, 0) / self.rate if self.added else None

    def __str__(self) -> str:
        told = f"{self.done}/{self.whole}  {self.rate:.1f}/s"
        if self.left is not None:
            told += f", {self.left:.0f} s left"
        if self.failed:
            told += f", {self.failed} failed"
        if self.best is not None:
            told += f", best: {self.best[0]:.6g} at {self.best[1]}"
        return told


def bar(progress: Progress) -> None:
    """Shows a bar on standard error."""
    filled = round(30 * progress.done / progress.whole) if progress.whole else 0
    sys.stderr.write(f"\r\x1b[K{'█' * filled}{'░' * (30 - filled)} {str(progress)[:100]}")
    sys.stderr.flush()


@contextmanager
def watching(progress: bool | Callable[[Progress], object] | None) -> Iterator[Told | None]:
    """The function that a sweep calls with its progress; None if nobody watches."""
    shows = progress is True or (progress is None and sys.stderr.isatty())
    see = progress if callable(progress) else bar if shows else None
    if see is None:
        yield None
        return
    watcher = see
    try:
        yield lambda *state: (watcher(Progress(*state)), None)[1]
    finally:
        if watcher is bar:
            sys.stderr.write("\r\x1b[K")
