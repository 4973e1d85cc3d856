"""A sweep, its store, and its rows in other libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

import baton

SPACE = """\
command = "sim"
metrics = ["cycles", "acquisitions"]
[axes]
lock = ["tas", "ticket", "mcs"]
threads = [2, 4]
[set]
chip = "ocor64"
iterations = 10
"""


@pytest.fixture
def swept(tmp_path: Path) -> baton.Swept:
    space = tmp_path / "space.toml"
    space.write_text(SPACE)
    sweep = baton.Sweep.load(space)
    assert (sweep.points, sweep.rows) == (6, 6)
    return sweep.run(tmp_path / "space.store", jobs=2)


def test_a_sweep_fills_its_store(swept: baton.Swept, tmp_path: Path) -> None:
    assert (swept.end, swept.added, swept.before, swept.failed) == ("done", 6, 0, 0)
    again = baton.Sweep.load(tmp_path / "space.toml").run(tmp_path / "space.store")
    assert (again.added, again.before) == (0, 6)
    run = baton.sim(chip="ocor64", lock="mcs", threads=4, iterations=10)
    table = swept.store.table("lock == 'mcs' and threads == 4", ["cycles"])
    assert table.to_arrow().to_pydict() == {"cycles": [run.cycles]}


def test_tables_of_other_libraries_agree(swept: baton.Swept) -> None:
    pytest.importorskip("pandas")
    table = swept.store.table()
    assert table.units["cycles"] == "cycles"
    polars, pandas, arrow = table.to_polars(), table.to_pandas(), table.to_arrow()
    assert len(table) == len(polars) == len(pandas) == arrow.num_rows == 6
    assert polars["cycles"].to_list() == pandas["cycles"].to_list() == arrow["cycles"].to_pylist()
    assert arrow.schema.field("cycles").metadata[b"unit"] == b"cycles"
    # Two tables of one store's rows have the same memory: nothing was copied.
    first, second = (table.to_arrow()["cycles"].chunk(0).buffers()[1].address for _ in range(2))
    assert first == second


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(SPACE.replace("threads", "treads"))
    with pytest.raises(baton.Error) as caught:
        baton.Sweep.load(wrong)
    assert caught.value.file == str(wrong) and caught.value.line == 5
    with pytest.raises(baton.Error):
        baton.Store(tmp_path)


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[baton.Progress] = []
    baton.Sweep.of(SPACE).run(tmp_path / "s", progress=told.append)
    assert (told[-1].done, told[-1].whole, told[-1].failed) == (6, 6, 0)
    assert "6/6" in str(told[-1])

    def stop(_: baton.Progress) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        baton.Sweep.of(SPACE.replace("iterations = 10", "iterations = 100_000")).run(tmp_path / "t", progress=stop)


def test_named_combinations_run_alone(tmp_path: Path) -> None:
    sweep = baton.Sweep.of(SPACE)
    swept = sweep.run(tmp_path / "s", only=[1, 4])
    assert (swept.added, sweep.combinations) == (2, 6)
    assert sorted(swept.store.table().to_dict()["key"]) == sorted(sweep.keys(1) + sweep.keys(4))
    assert sweep.number([2, 0]) == 4 and (sweep.point(4) or {})["lock"] == "mcs"
    with pytest.raises(baton.Error, match="no combination 6"):
        sweep.run(tmp_path / "s", only=[6])
