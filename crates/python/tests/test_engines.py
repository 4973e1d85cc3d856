"""Sweeps on several machines: whichever of them dies, the store has the rows of an undisturbed one."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import baton
from baton import engines

ROOT = Path(__file__).resolve().parents[3]
COMMAND = Path(os.environ.get("BATON", ROOT / "target/debug/baton"))
SPACE = """\
command = "sim"
seeds = 4
metrics = ["cycles", "acquisitions"]
[axes]
lock = ["tas", "ticket", "mcs", "clh"]
threads = [2, 4, 6, 8]
cs = [50, 100, 200]
[set]
chip = "sample-host"
iterations = 500
"""


def rows(store: baton.Store | Path) -> list[tuple[Any, ...]]:
    table = baton.Store(store.path if isinstance(store, baton.Store) else store).table()
    return sorted(zip(*table.to_dict().values()))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, ...]]:
    folder = tmp_path_factory.mktemp("undisturbed") / "s"
    swept = baton.Sweep.of(SPACE).run(folder)
    assert (swept.added, swept.failed) == (192, 0)
    return rows(folder)


def test_batches_have_each_number_once() -> None:
    for length in (1, 2, 7, 100):
        for size in (1, 3, 99, 1000):
            cut = [list(batch) for batch in engines.batches(range(length), size)]
            assert sorted(number for batch in cut for number in batch) == list(range(length))
            assert max(len(batch) for batch in cut) <= size


@pytest.fixture
def cluster() -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield made
    ray.shutdown()
    made.shutdown()


def test_a_node_of_ray_that_dies_loses_nothing(cluster: Any, tmp_path: Path, undisturbed: list[tuple[Any, ...]]) -> None:
    nodes = [cluster.add_node(num_cpus=1) for _ in range(3)]
    cluster.wait_for_nodes()
    sweep, store = baton.Sweep.of(SPACE), tmp_path / "s"
    seen: list[int] = []
    killed: list[int] = []

    def kill() -> None:
        # In the middle: some rows are there, and most are not.
        # The pilot run has 16 of the 48 combinations.
        while not seen or seen[-1] < 72:
            time.sleep(0.005)
        cluster.remove_node(nodes[1], allow_graceful=False)
        killed.append(seen[-1])

    thread = threading.Thread(target=kill)
    thread.start()
    swept = sweep.run(
        store,
        engine="ray",
        address=cluster.address,
        batch_seconds=0.05,
        progress=lambda progress: seen.append(progress.done),
    )
    thread.join()
    assert killed[0] < 192, "the node died before the end"
    assert swept.added <= 192
    assert rows(store) == undisturbed
    assert sorted(name.suffix for name in store.iterdir() if name.name.startswith("journal")) == []


def test_a_cluster_that_is_not_there_is_named(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    with pytest.raises(baton.Error, match="no cluster of Ray"):
        baton.Sweep.of(SPACE).run(tmp_path / "s", engine="ray", address="127.0.0.1:1")
    with pytest.raises(baton.Error, match="unknown engine `rays`"):
        baton.Sweep.of(SPACE).run(tmp_path / "s", engine="rays")
    with pytest.raises(baton.Error, match="budget"):
        baton.Sweep.of(SPACE + "[budget]\npoints = 3\n").run(tmp_path / "s", engine="ray")
    with pytest.raises(TypeError, match="address"):
        baton.Sweep.of(SPACE).run(tmp_path / "s", address="auto")


def test_job_arrays_fill_the_same_store(tmp_path: Path, undisturbed: list[tuple[Any, ...]]) -> None:
    pytest.importorskip("submitit")
    # `local` runs the jobs of an array as processes of this machine, by the same protocol of files.
    swept = baton.Sweep.of(SPACE).run(
        tmp_path / "s", engine="slurm", batch_seconds=1, slurm={"cluster": "local", "folder": tmp_path / "logs"}
    )
    assert swept.failed == 0
    assert rows(tmp_path / "s") == undisturbed


def test_rows_come_through_object_storage(tmp_path: Path, undisturbed: list[tuple[Any, ...]]) -> None:
    pytest.importorskip("submitit")
    pytest.importorskip("pyarrow")
    sweep, store, url = baton.Sweep.of(SPACE), tmp_path / "s", f"file://{tmp_path}/objects"
    # A task of an earlier run put its rows there, and nobody took them; another row is in the store.
    sweep.run(store, only=[5], progress=False)
    task = engines.Task(SPACE, sweep.file, None, str(store), str(tmp_path), 1, url, engines._version(str(store)))
    left = engines.sweep_batch(task, [0, 1, 2])
    assert left.added == 12 and sorted(path.name for path in (tmp_path / "objects").iterdir()) == sorted(left.files)
    slurm = {"cluster": "local", "folder": tmp_path / "logs"}
    swept = sweep.run(store, engine="slurm", objects=url, batch_seconds=1, slurm=slurm)
    assert (swept.added, swept.failed) == (192 - 16, 0)
    assert rows(store) == undisturbed
    assert list((tmp_path / "objects").iterdir()) == [] and not list(store.glob(".*"))
    assert sweep.run(store, engine="slurm", objects=url, slurm=slurm).added == 0


def test_object_storage_that_is_wrong_is_named(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with pytest.raises(baton.Error, match="no object storage at nonsense://x") as caught:
        baton.Sweep.of(SPACE).run(tmp_path / "s", engine="ray", objects="nonsense://x")
    assert caught.value.key == "objects"
    task = engines.Task(SPACE, str(tmp_path / "x.toml"), None, "", str(tmp_path), 1, f"file://{tmp_path}/o", "baton 0 of another tree")
    with pytest.raises(baton.Error, match="the store is of `baton 0 of another tree`"):
        engines.sweep_batch(task, [0])


def test_any_file_system_of_pyarrow_will_do(tmp_path: Path) -> None:
    fs = pytest.importorskip("pyarrow.fs")
    from baton._objects import Objects

    below = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    for objects in (Objects.of(below, "bucket/rows"), Objects.of(fs._MockFileSystem(), "bucket/rows")):
        (tmp_path / "file").write_bytes(b"x" * 3_000_000)
        objects.put(str(tmp_path / "file"), "rows-a-0.parquet")
        objects.put(str(tmp_path / "file"), "rows-a-0.parquet")
        objects.put(str(tmp_path / "file"), "other")
        assert objects.names() == ["rows-a-0.parquet"]
        objects.take("rows-a-0.parquet", str(tmp_path))
        assert objects.names() == [] and (tmp_path / "rows-a-0.parquet").stat().st_size == 3_000_000


def test_a_store_that_a_machine_does_not_see_is_named(tmp_path: Path) -> None:
    task = engines.Task(SPACE, str(tmp_path / "x.toml"), None, str(tmp_path / "nowhere"), str(tmp_path), 1)
    with pytest.raises(baton.Error, match="does not see the store"):
        engines.sweep_batch(task, [0])


@pytest.mark.skipif(not COMMAND.is_file(), reason=f"no {COMMAND}: `make build`, or name it in BATON")
def test_the_command_sweeps_with_ray(tmp_path: Path, undisturbed: list[tuple[Any, ...]]) -> None:
    pytest.importorskip("ray")
    (tmp_path / "space.toml").write_text(SPACE)
    words = [COMMAND, "sweep", tmp_path / "space.toml", "--engine", "ray", "--store", tmp_path / "s"]
    ran = subprocess.run(
        words, env={**os.environ, "BATON_PYTHON": sys.executable}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "192 rows added" in ran.stderr
    assert rows(tmp_path / "s") == undisturbed
