"""Sweeps on many machines: Ray, and job arrays of Slurm by submitit. `baton sweep SPACE --engine ray` runs this module.

Combinations are cut into batches that last some seconds, by a pilot run. Each batch is a task that
sweeps its combinations straight into the store, which lies on a file system that all machines
share; without such a file system, rows go through object storage. A task that is run again, because
its machine died, changes no result.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import os
import resource
import socket
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ._error import Error
from ._objects import Objects
from ._progress import Progress, watching
from ._store import Store
from ._sweep import Sweep, Swept

PILOT = 16
"""Combinations of the pilot run."""
LARGEST = 4096
"""The most combinations of a batch."""
ENGINES = ("ray", "slurm")


@dataclass(frozen=True)
class Task:
    """What a machine needs to sweep combinations."""

    text: str
    file: str
    seeds: list[int] | None
    folder: str
    directory: str
    jobs: int
    objects: str | None = None
    """The folder of object storage for rows, if the machine does not see the store."""
    version: str = ""
    """What computes the rows of the store."""


@dataclass(frozen=True)
class Done:
    """What a task did."""

    added: int
    before: int
    failed: int
    seconds: float
    memory: int
    """The most bytes that its process has had."""
    files: tuple[str, ...] = ()
    """Files of rows that it put into object storage."""


@functools.lru_cache(maxsize=4)
def _space(text: str, file: str, seeds: tuple[int, ...] | None) -> Sweep:
    return Sweep.of(text, file, None if seeds is None else list(seeds))


def sweep_batch(task: Task, numbers: Sequence[int]) -> Done:
    """Sweeps combinations on this machine."""
    here = socket.gethostname()
    if task.objects is not None:
        return _through_objects(task, task.objects, numbers)
    if not os.path.isfile(os.path.join(task.folder, "store.json")):
        what = f"machine {here} does not see the store; expected a file system that all machines share"
        raise Error(what, file=task.folder)
    try:
        # Paths in options of the space are relative to it.
        os.chdir(task.directory)
    except OSError as error:
        raise Error(f"machine {here}: {error}", file=task.directory) from error
    began = time.monotonic()
    sweep = _space(task.text, task.file, None if task.seeds is None else tuple(task.seeds))
    swept = sweep.run(task.folder, jobs=task.jobs, only=numbers, progress=False)
    if swept.end != "done":
        raise Error(f"machine {here}: the sweep of a batch ended early: {swept.end}", file=task.file)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Done(swept.added, swept.before, swept.failed, time.monotonic() - began, memory)


def _version(folder: str) -> str:
    """What computed the rows of a store."""
    with open(os.path.join(folder, "store.json"), encoding="utf-8") as file:
        return str(json.load(file)["computes"])


def _through_objects(task: Task, url: str, numbers: Sequence[int]) -> Done:
    """Sweeps combinations into a store of this machine's own, and puts its files of rows into object storage."""
    objects = Objects(url)
    if os.path.isdir(task.directory):
        os.chdir(task.directory)
    began = time.monotonic()
    sweep = _space(task.text, task.file, None if task.seeds is None else tuple(task.seeds))
    # The same batch has the same names, so that a task that runs again replaces its files.
    batch = hashlib.sha256(f"{task.text} {task.seeds} {list(numbers)}".encode()).hexdigest()[:24]
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "store")
        sweep.run(store, only=[], progress=False)
        if _version(store) != task.version:
            what = f"machine {socket.gethostname()} has `{_version(store)}`; the store is of `{task.version}`"
            raise Error(what, hint="install the same wheel on all machines")
        swept = sweep.run(store, jobs=task.jobs, only=numbers, progress=False)
        if swept.end != "done":
            raise Error(f"machine {socket.gethostname()}: the sweep of a batch ended early: {swept.end}", file=task.file)
        paths = sorted(name for name in os.listdir(store) if name.startswith("rows-") and name.endswith(".parquet"))
        names = tuple(f"rows-{batch}-{at}.parquet" for at in range(len(paths)))
        for path, name in zip(paths, names):
            objects.put(os.path.join(store, path), name)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Done(swept.added, swept.before, swept.failed, time.monotonic() - began, memory, names)


def _without_rows(sweep: Sweep, folder: str, numbers: Sequence[int]) -> tuple[list[int], list[int]]:
    """The combinations that have no row in the store, and those that have some rows."""
    keys = set(Store(folder).table(columns=["key"]).to_dict()["key"])
    if not keys:
        return list(numbers), []
    lacking: list[int] = []
    begun: list[int] = []
    for number in numbers:
        (begun if any(key in keys for key in sweep.keys(number)) else lacking).append(number)
    return lacking, begun


def batches(numbers: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    """Cuts numbers into batches of about this size. Each batch has numbers from the whole length, and so long points and short ones.

    >>> [list(batch) for batch in batches(range(7), 3)]
    [[0, 3, 6], [1, 4], [2, 5]]
    """
    count = -(-len(numbers) // size)
    return (numbers[at::count] for at in range(count))


@dataclass
class _State:
    """What all tasks did so far."""

    whole: int
    see: Callable[..., None] | None
    began: float = field(default_factory=time.monotonic)
    added: int = 0
    before: int = 0
    failed: int = 0
    lost: list[int] = field(default_factory=list)
    take: Callable[[str], None] | None = None
    """Takes a file of rows from object storage."""

    def add(self, done: Done) -> None:
        for name in done.files if self.take else ():
            self.take(name)  # type: ignore[misc]
        self.added += done.added
        self.before += done.before
        self.failed += done.failed
        self.tell()

    def tell(self) -> None:
        if self.see is not None:
            known = self.added + self.before
            self.see(known, max(self.whole, known), self.added, self.failed, time.monotonic() - self.began, None)


def run(
    sweep: Sweep,
    folder: str,
    engine: str,
    *,
    jobs: int | None = None,
    retry: bool = False,
    only: Sequence[int] | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
    address: str | None = None,
    objects: str | None = None,
    batch_seconds: float = 5.0,
    retries: int = 5,
    slurm: Mapping[str, Any] | None = None,
) -> Swept:
    """Runs the points that the store lacks on other machines. `Sweep.run` calls this with an `engine`.

    - `jobs`: points that run at a time in one task, each with a CPU of its own (1).
    - `address`: Ray's cluster. Left out: a Ray of this machine, which ends with the sweep.
    - `objects`: a folder of object storage, such as `s3://bucket/folder`, as `pyarrow.fs.FileSystem.from_uri` takes it, for machines
      that share no file system with this one: rows come into the store from there. Files that the space names must be
      on all machines.
    - `batch_seconds`: how long a task lasts, by the pilot run.
    - `retries`: how often a task runs again whose process or machine died. A batch that dies as often is cut in halves; a single
      point that does is named in an error, after all other points have run.
    - `slurm`: parameters of `submitit`'s executor, such as `{"slurm_partition": "short", "timeout_min": 30}`; its `cluster` is
      `slurm`, or `local` for processes of this machine.
    """
    if engine not in ENGINES:
        raise Error(f"unknown engine `{engine}`; expected one of {', '.join(ENGINES)}", key="engine")
    if sweep.has_budget:
        raise Error("a space with a budget runs on this machine only", file=sweep.file, key="budget")
    # Makes the store, and refuses one of another space, before a machine is asked for.
    sweep.run(folder, only=[], retry=retry, progress=False)
    numbers: Sequence[int] = range(sweep.combinations) if only is None else list(only)
    seeds = sweep.seeds if sweep.has_seeds else None
    task = Task(sweep.text, sweep.file, seeds, os.path.abspath(folder), os.getcwd(), jobs or 1, objects, _version(folder))
    begun: list[int] = []
    box = None if objects is None else Objects(objects)
    if box is not None:
        for name in box.names():
            box.take(name, folder)
        numbers, begun = _without_rows(sweep, folder, numbers)
    per_point = sweep.rows // max(sweep.points, 1)
    with watching(progress) as see:
        whole = sweep.rows if only is None else (len(numbers) + len(begun)) * per_point
        state = _State(whole, see)
        if box is not None:
            state.take = functools.partial(box.take, folder=folder)
        with _ray(task, address, retries) if engine == "ray" else _slurm(task, slurm or {}, retries) as cluster:
            stride = max(len(numbers) // PILOT, 1)
            first = numbers[::stride][:PILOT]
            pilot = cluster.pilot(first) if len(numbers) else Done(0, 0, 0, 0.0, 0)
            each = pilot.seconds / min(PILOT, max(len(numbers), 1))
            size = int(min(max(batch_seconds / max(each, 1e-9), 1), LARGEST))
            state.add(pilot)
            if box is None:
                # The pilot's own rows are found by the batches, and counted there.
                state.before = -pilot.added
            elif pilot.files:
                ran = set(first)
                numbers = [number for number in numbers if number not in ran]
            cluster.all(batches(numbers, size) if len(numbers) else iter(()), pilot.memory, state)
    # Ends what machines that died have left: their journals become files.
    rest = sweep.run(folder, only=begun, progress=False)
    state.added, state.before, state.failed = state.added + rest.added, state.before + rest.before, state.failed + rest.failed
    if state.lost:
        lost = sweep.point(state.lost[0])
        what = f"{len(state.lost)} points ended the process that ran them {retries + 1} times, the first: {lost}"
        raise Error(what, file=sweep.file, hint="all other points have their rows; run this one alone")
    return Swept(Store(folder), "done", state.added, state.before, state.failed)


class _ray:
    """Tasks of Ray."""

    def __init__(self, task: Task, address: str | None, retries: int) -> None:
        try:
            import ray
        except ImportError as error:
            raise Error(f"this Python has no ray: {sys.executable}", hint="pip install ray") from error
        self.ray, self.task, self.address, self.retries = ray, task, address, retries
        self.owns = False

    def __enter__(self) -> _ray:
        ray = self.ray
        if not ray.is_initialized():
            try:
                if self.address and self.address.count(":") == 1:
                    # Ray itself tries for minutes.
                    host, _, port = self.address.partition(":")
                    socket.create_connection((host, int(port)), timeout=10).close()
                ray.init(address=self.address, log_to_driver=False, logging_level="ERROR")
            # Ray raises a plain Exception if its own processes take too long to start.
            except Exception as error:
                raise Error(f"no cluster of Ray: {error}", key="address") from error
            self.owns = True
        self.put = ray.put(self.task)
        self.remote = ray.remote(sweep_batch)
        return self

    def __exit__(self, *_: object) -> None:
        if self.owns:
            self.ray.shutdown()

    def _submit(self, numbers: Sequence[int], memory: int) -> Any:
        options: dict[str, Any] = {"num_cpus": self.task.jobs, "max_retries": self.retries}
        if memory:
            options["memory"] = memory
        return self.remote.options(**options).remote(self.put, numbers)

    def _result(self, ref: Any) -> Done | None:
        """What a task did; None if its process died as often as it may."""
        errors = self.ray.exceptions
        try:
            done: Done = self.ray.get(ref)
            return done
        except errors.RayTaskError as error:
            cause = error.cause
            raise (cause if isinstance(cause, Error) else Error(f"a task of Ray failed: {error}")) from error
        except errors.RayError:
            return None

    def pilot(self, numbers: Sequence[int]) -> Done:
        done = self._result(self._submit(numbers, 0))
        return done or Done(0, 0, 0, 0.0, 0)

    def all(self, cut: Iterator[Sequence[int]], memory: int, state: _State) -> None:
        ray = self.ray
        under_way: dict[Any, Sequence[int]] = {}
        again: deque[Sequence[int]] = deque()
        try:
            while True:
                # Some batches wait at each CPU, so that the memory of this process does not grow with the number of batches.
                most = 4 * max(int(ray.cluster_resources().get("CPU", 1)) // self.task.jobs, 1)
                while len(under_way) < most:
                    numbers = again.popleft() if again else next(cut, None)
                    if numbers is None:
                        break
                    under_way[self._submit(numbers, memory)] = numbers
                if not under_way:
                    return
                ready, _ = ray.wait(list(under_way), num_returns=1, timeout=1.0)
                for ref in ready:
                    numbers = under_way.pop(ref)
                    done = self._result(ref)
                    if done is not None:
                        state.add(done)
                    elif len(numbers) == 1:
                        state.lost += numbers
                    else:
                        again.extend([numbers[::2], numbers[1::2]])
                state.tell()
        finally:
            for ref in under_way:
                ray.cancel(ref)


class _slurm:
    """Job arrays of Slurm."""

    def __init__(self, task: Task, parameters: Mapping[str, Any], retries: int) -> None:
        try:
            import submitit
        except ImportError as error:
            raise Error(f"this Python has no submitit: {sys.executable}", hint="pip install submitit") from error
        self.task, self.retries = task, retries
        parameters = dict(parameters)
        logs = parameters.pop("folder", f"{task.folder}.jobs")
        try:
            self.executor = submitit.AutoExecutor(folder=logs, cluster=parameters.pop("cluster", "slurm"))
        except RuntimeError as error:
            raise Error(f"no Slurm: {error}", key="slurm") from error
        self.executor.update_parameters(cpus_per_task=task.jobs, **parameters)

    def __enter__(self) -> _slurm:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @staticmethod
    def _result(job: Any) -> Done | None:
        """What a job did; None if its process died."""
        try:
            done: Done = job.result()
            return done
        except Exception as error:
            # submitit tells an exception of the job by its text.
            told = job.exception()
            if "baton._error.Error" in str(told) or "ModuleNotFoundError" in str(told):
                raise Error(f"a job failed: {told}") from error
            return None

    def pilot(self, numbers: Sequence[int]) -> Done:
        return self._result(self.executor.submit(sweep_batch, self.task, numbers)) or Done(0, 0, 0, 0.0, 0)

    def all(self, cut: Iterator[Sequence[int]], memory: int, state: _State) -> None:
        if memory:
            # In whole GiB, and no less than the pilot had.
            self.executor.update_parameters(mem_gb=-(-memory // (1 << 30)))
        left = [(numbers, 0) for numbers in cut]
        while left:
            numbers = [batch for batch, _ in left]
            jobs = self.executor.map_array(functools.partial(sweep_batch, self.task), numbers)
            again: list[tuple[Sequence[int], int]] = []
            for job, (batch, tries) in zip(jobs, left):
                done = self._result(job)
                if done is not None:
                    state.add(done)
                elif tries < self.retries:
                    again.append((batch, tries + 1))
                elif len(batch) == 1:
                    state.lost += batch
                else:
                    again += [(batch[::2], 0), (batch[1::2], 0)]
            left = again


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a sweep with an engine. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="baton sweep", description="Sweeps a space on many machines.")
    parser.add_argument("space", metavar="SPACE.toml")
    parser.add_argument("--engine", choices=ENGINES, required=True)
    parser.add_argument("--address", help="Ray's cluster")
    parser.add_argument("--objects", metavar="URL", help="object storage for rows, if machines share no file system")
    parser.add_argument("--store", metavar="DIR")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--retry", action="store_true")
    options = parser.parse_args(arguments)
    try:
        sweep = Sweep.load(options.space)
        folder = options.store or sweep.store
        extra = {"address": options.address} if options.engine == "ray" else {}
        extra["objects"] = options.objects
        swept = run(sweep, folder, options.engine, jobs=options.jobs, retry=options.retry, **extra)
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        return 130
    failed = f", {swept.failed} of them failures" if swept.failed else ""
    print(f"{swept.added} rows added{failed}; {swept.added + swept.before} are in {folder}", file=sys.stderr)
    return 1 if swept.failed else 0


if __name__ == "__main__":
    # Workers look for the tasks in a module that they can import, which `__main__` is not.
    from baton import engines

    sys.exit(engines.main())
