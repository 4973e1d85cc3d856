"""The commands whose results are told by schemas: `whatif`, `litmus`, and the report of a profile."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _baton
from ._run import ChipLike, KeyValue, PathLike, words


def _run(command: str, places: Sequence[PathLike], options: Mapping[str, object], repeated: Sequence[str] = ()) -> Any:
    ordered = sorted(options.items(), key=lambda option: option[0] == "set")
    arguments = [text for name, value in ordered for text in words(name, value, name in repeated)]
    return json.loads(_baton.other(command, [*arguments, "--", *(os.fspath(place) for place in places)]))


def whatif(
    directory: PathLike,
    *,
    chip: ChipLike | None = None,
    set: Mapping[str, KeyValue] | None = None,
    lock: str | Sequence[str] | None = None,
    wait: str | Sequence[str] | None = None,
    seeds: int | None = None,
    **options: object,
) -> dict[str, Any]:
    """Predicts what another lock, wait policy or chip would do to a recorded program.

    Returns what `baton whatif --json` prints (docs/schema/whatif.schema.json). Further options are those of the
    command, with `_` for `-`. Ctrl-C returns at once; the prediction ends in the background.
    """
    given = {"chip": chip, "set": set, "lock": lock, "wait": wait, "seeds": seeds, **options}
    found: dict[str, Any] = _run("whatif", [directory], given, ("set",))
    return found


def litmus(
    *paths: PathLike,
    chip: ChipLike | None = None,
    set: Mapping[str, KeyValue] | None = None,
    runs: int | None = None,
    seed: int | None = None,
    outcomes: bool = False,
) -> list[dict[str, Any]]:
    """Runs litmus tests: files, or folders that hold some. Returns what `baton litmus --json` prints, a dictionary a test."""
    given = {"chip": chip, "set": set, "runs": runs, "seed": seed, "outcomes": outcomes}
    found: list[dict[str, Any]] = _run("litmus", paths, given, ("set",))
    return found


def read_profile(directory: PathLike, **options: object) -> dict[str, Any]:
    """The report of a recorded program: what `baton report --json` prints (docs/schema/report.schema.json)."""
    found: dict[str, Any] = _run("report", [directory], options)
    return found
