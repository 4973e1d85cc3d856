"""The report of a recorded program."""

from __future__ import annotations

from ._results import Report
from ._run import PathLike, run


def read_profile(directory: PathLike, **options: object) -> Report:
    """The report of a recorded program, or of a `Trace` that was saved: what `baton report --json` prints.

    `options` are those of `baton report`, with `_` for `-`.
    """
    return Report(run("report", {"directory": directory, **options}, (), "directory"))
