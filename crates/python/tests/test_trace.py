"""A table of events becomes a recording that the commands read."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import baton

ROWS = 400


def table() -> dict[str, list[Any]]:
    """Three threads take turns at two locks; the rows are in no order."""
    draw, rows = random.Random(1), []
    for lock, kind in ((0x1000, "mutex"), (0x2000, "spin")):
        time = 50
        for turn in range(ROWS):
            thread, held = f"worker {turn % 3}", draw.randrange(20, 200)
            rows.append((thread, time, "Acquire", lock, kind))
            rows.append((thread, time + held, "Release", lock, kind))
            # A thread has the locks in turns, so that its own events do not overlap.
            time += held + 200
    draw.shuffle(rows)
    names = ("thread", "time_ns", "event", "address", "kind")
    return {name: list(column) for name, column in zip(names, zip(*rows))}


def test_every_event_arrives(tmp_path: Path) -> None:
    trace = baton.Trace(table(), cpus=3, names={0x1000: "the longest name of a lock that there is in this test"})
    assert (len(trace), sorted(trace.threads)) == (4 * ROWS, ["worker 0", "worker 1", "worker 2"])
    report = baton.read_profile(trace.save(tmp_path / "r"))
    assert report.totals.acquisitions == 2 * ROWS
    locks = {lock.name or lock.kind: (lock.acquisitions, lock.kind) for lock in report.locks}
    assert locks["the longest name of a lock that there is in this test"][0] == ROWS
    assert sorted(thread.name for thread in report.threads if thread.name) == sorted(trace.threads)


def test_a_table_of_any_library_is_the_same_recording(tmp_path: Path) -> None:
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    columns = table()
    made = [polars.DataFrame(columns), pandas.DataFrame(columns), polars.DataFrame(columns).to_arrow()]
    files = []
    for number, data in enumerate([columns, *made]):
        folder = Path(baton.Trace(data).save(tmp_path / str(number)))
        files.append((folder / "events.1.0").read_bytes())
    assert all(file == files[0] for file in files)


def test_long_recordings_have_many_segments(tmp_path: Path) -> None:
    """More records than a segment holds, and a gap of two days, which a segment's times cannot span."""
    times = [100 * row for row in range(40_000)] + [2 * 86_400 * 10**9 + 100 * row for row in range(10)]
    data = {
        "thread": [7] * len(times),
        "time_ns": times,
        "event": [("Acquire", "Release")[row % 2] for row in range(len(times))],
        "address": [64] * len(times),
    }
    report = baton.read_profile(baton.Trace(data).save(tmp_path / "r"))
    assert report.totals.acquisitions == len(times) // 2


def test_a_recording_is_replayed_and_swept(tmp_path: Path) -> None:
    folder = baton.Trace(table(), cpus=3).save(tmp_path / "r")
    found = baton.whatif(folder, chip="ocor64", lock=["mcs", "ticket"], seeds=1)
    assert [row.lock for row in found.results] == ["futex", "mcs", "ticket"]
    # Nothing was recorded, so nothing is subtracted, and the length is that of the table.
    assert found.probe.recorded and found.probe.event_ns == 0
    space = f'''
command = "whatif"
[axes]
lock = ["mcs", "ticket"]
[set]
directory = "{folder}"
chip = "ocor64"
seeds = 1
'''
    rows = baton.Sweep.of(space).run(tmp_path / "s").store.table().to_dict()
    assert rows["results.1.time_ns.median"] == [row.time_ns.median for row in found.results[1:]]


@pytest.mark.parametrize(
    ("change", "said", "key"),
    [
        ({"event": ["Acquire", "Releas"]}, "row 1: unknown event `Releas`", "event"),
        ({"event": ["BarrierInit", "Release"]}, "row 0: `BarrierInit` needs a number in the column `value`", "value"),
        ({"time_ns": [0, -1]}, "row 1: `time_ns` is -1; expected a whole number from 0", "time_ns"),
        ({"time_ns": [0, 1.5]}, "row 1: `time_ns` is 1.5", "time_ns"),
        ({"time_ns": [0]}, "different lengths", "table"),
        ({"address": [1, 2**48]}, "row 1: `address`", "address"),
        ({"address": [1, None]}, "row 1: `Release` needs an address", "address"),
        ({"kind": ["mutex", "mutexes"]}, "row 1: unknown kind `mutexes`", "kind"),
        ({"event": ["AcquireShared", "Release"], "kind": ["spin", "spin"]}, "row 0: `AcquireShared` of a spin", "kind"),
        ({"thread": [None, 0]}, "row 0: `thread` is null", "thread"),
    ],
)
def test_a_wrong_table_is_refused(change: dict[str, Any], said: str, key: str) -> None:
    right = {"thread": [0, 0], "time_ns": [0, 1], "event": ["Acquire", "Release"], "address": [1, 1]}
    with pytest.raises(baton.Error, match="row|lengths") as caught:
        baton.Trace({**right, **change})
    assert said in str(caught.value) and caught.value.key == key


def test_a_folder_is_not_overwritten(tmp_path: Path) -> None:
    with pytest.raises(baton.Error, match="no column `event`"):
        baton.Trace({"thread": [1], "time_ns": [1], "address": [1]})
    with pytest.raises(baton.Error, match="list is no table"):
        baton.Trace([1])
    empty = {"thread": [], "time_ns": [], "event": [], "address": []}
    with pytest.raises(baton.Error, match="no rows"):
        baton.Trace(empty).save(tmp_path / "r")
    with pytest.raises(baton.Error, match="cannot be written"):
        baton.Trace(table()).save(tmp_path)
