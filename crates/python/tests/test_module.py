"""Errors, the GIL, Ctrl-C, types of results, and the examples of docstrings."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import signal
import threading
import time
from pathlib import Path

import pytest

import baton
from baton import _figures

LONG = {"chip": "ocor64", "lock": "ticket", "threads": 16, "iterations": 10**9, "no_trace": True}


@pytest.mark.parametrize("name", ["", "._chip", "._commands", "._error", "._interval", "._store", "._sweep", "._trace", ".engines", ".search"])
def test_examples_of_docstrings(name: str) -> None:
    found = doctest.testmod(importlib.import_module("baton" + name))
    assert found.failed == 0


def test_an_error_names_its_place(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('base = "ocor64"\n\n[core]\ncout = 8\n')
    with pytest.raises(baton.Error, match="unknown key `core.cout`") as caught:
        baton.Chip.load(wrong)
    assert (caught.value.file, caught.value.line, caught.value.key) == (str(wrong), 4, "core.cout")
    with pytest.raises(baton.Error) as caught:
        baton.sim(lock="mcss", threads=2, iterations=1)
    assert caught.value.hint == "did you mean `mcs`?"
    with pytest.raises(baton.Error) as caught:
        baton.sim(threads=100_000)
    assert caught.value.key == "--threads"
    with pytest.raises(baton.Error) as caught:
        baton.noc(vcs=0)
    assert caught.value.key == "vcs"
    with pytest.raises(TypeError, match="treads"):
        baton.sim(treads=4)  # type: ignore[call-arg]


@pytest.mark.parametrize("run", [lambda: baton.sim(**LONG), lambda: baton.noc(size="32x32", rate=0.1, cycles=10**9)])
def test_ctrl_c_ends_a_run(run: object) -> None:
    asked = 0.0

    # A shell that starts this in the background has it ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def ask() -> None:
        nonlocal asked
        asked = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.3, ask)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run()  # type: ignore[operator]
    # 100 ms on an idle machine; tests may have to share theirs.
    assert time.monotonic() - asked < 2
    timer.join()


def test_other_threads_run_meanwhile() -> None:
    """A thread of Python counts while a run is under way, which it could not while the run had the GIL."""
    counted, over = 0, threading.Event()

    def count() -> None:
        nonlocal counted
        while not over.is_set():
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = counted
    baton.sim(chip="ocor64", lock="mcs", threads=16, iterations=300)
    after = counted
    over.set()
    thread.join()
    assert after - before > 100


def test_every_figure_can_be_read() -> None:
    run = baton.sim(chip="opteron6272x4", lock="mcs", threads=4, iterations=20, energy=True)
    read(run)
    assert run.lock is not None and run.lock.contended > 0
    assert run.by_thread[0].cycle_stack.computing > 0
    read(baton.noc(size="4x4", rate=0.05, cycles=300))


def test_results_have_the_types_that_they_declare(tmp_path: Path) -> None:
    trace = baton.Trace({"thread": [0, 1, 0, 1], "time_ns": [0, 5, 90, 95], "event": ["Acquire", "Acquire", "Release", "Release"], "address": [16, 32, 16, 32]})
    folder = trace.save(tmp_path / "recording")
    read(baton.whatif(folder, chip="sample-host", lock=["mcs", "clh"], seeds=2), is_whole=True)
    read(baton.read_profile(folder), is_whole=True)
    test = tmp_path / "T.litmus"
    test.write_text("X86_64 T\n{ }\n P0 | P1 ;\n movl $1,(x) | movl (x),%eax ;\nexists (1:rax=1)\n")
    for row in baton.litmus(test, runs=300, outcomes=True):
        read(row, is_whole=True)
        assert row.outcomes


def read(figures: object, is_whole: bool = False) -> None:
    """Reads each property, and each of its parts; whatever is not null has the type that is declared.

    With `is_whole`, everything in the JSON is declared.
    """
    of = type(figures)
    known = {name for name, _ in inspect.getmembers(of, lambda member: isinstance(member, property))}
    of_json = {f"{name}_" if f"{name}_" in known else name for name in figures.to_dict()}  # type: ignore[attr-defined]
    assert of_json <= known or not is_whole, f"{of.__name__} has {of_json - known} undeclared"
    for name, member in inspect.getmembers(of, lambda member: isinstance(member, property)):
        value = getattr(figures, name)
        declared = inspect.get_annotations(member.fget)["return"]
        assert member.__doc__, f"{of.__name__}.{name}"
        if value is None:
            assert "None" in declared, f"{of.__name__}.{name}: {declared}"
        elif isinstance(value, _figures.Figures):
            read(value, is_whole)
        elif isinstance(value, list):
            for one in value[:2]:
                if isinstance(one, _figures.Figures):
                    read(one, is_whole)
        else:
            # JSON writes a whole number of a float without its point.
            allowed = declared.replace("float", "float | int")
            assert type(value).__name__ in allowed, f"{of.__name__}.{name}: {declared}, not {value!r}"


def test_a_chip_has_its_keys() -> None:
    chip = baton.Chip.load("ocor64").resized(16).set("wait.pause", 7)
    run = baton.sim(chip=chip, threads=2, iterations=5)
    assert (chip["core.count"], chip["wait.pause"]) == (16, 7)
    assert run.chip == chip.to_dict()
