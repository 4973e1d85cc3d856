"""`litmus`, `whatif`, `study` and `read_profile` have what the command prints."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

import baton

ROOT = Path(__file__).resolve().parents[3]
COMMAND = Path(os.environ.get("BATON", ROOT / "target/debug/baton"))
TESTS = sorted((ROOT / "crates/litmus/tests/litmus").rglob("SB*.litmus"))[:2]
needs_command = pytest.mark.skipif(not COMMAND.is_file(), reason=f"no {COMMAND}: `make build`, or name it in BATON")


def printed(*words: object) -> Any:
    ran = subprocess.run([COMMAND, *map(str, words)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@needs_command
def test_litmus() -> None:
    assert TESTS
    found = baton.litmus(*TESTS, runs=500, set={"core.store_buffer": 0}, outcomes=True)
    assert [row.to_dict() for row in found] == printed("litmus", *TESTS, "--runs=500", "--set=core.store_buffer=0", "--outcomes", "--json")
    with pytest.raises(baton.Error, match="nowhere"):
        baton.litmus("nowhere.litmus")


@needs_command
def test_a_profile_and_its_prediction(tmp_path: Path) -> None:
    with tarfile.open(ROOT / "scripts/check/recordings.tar.xz") as recordings:
        recordings.extractall(tmp_path)
    recorded = tmp_path / "counter"
    assert baton.read_profile(recorded).to_dict() == printed("report", recorded, "--json")
    options = ["--lock=mcs", "--seeds=1", "--chip=sample-host", "--json"]
    assert baton.whatif(recorded, lock="mcs", seeds=1, chip="sample-host").to_dict() == printed("whatif", recorded, *options)
    with pytest.raises(baton.Error) as caught:
        baton.whatif(recorded, lock="mcss", seeds=1)
    assert caught.value.hint == "did you mean `mcs`?"


def test_a_study_is_checked_before_it_begins(tmp_path: Path) -> None:
    with pytest.raises(baton.Error) as caught:
        baton.study("mwaits", quick=True)
    assert caught.value.hint == "did you mean `mwait`?"
    with pytest.raises(baton.Error, match="noise.latencies"):
        baton.study("mwait", quick=True, set={"noise.latencies": 0.1})


@pytest.mark.skipif("BATON_SLOW" not in os.environ, reason="a study takes a minute: BATON_SLOW=1")
def test_a_study(tmp_path: Path) -> None:
    found = baton.study("mwait", quick=True, out=tmp_path / "study")
    assert (tmp_path / "study" / "report.html").is_file() and found.study == "mwait" and not found.full
    counted = [claim.verdict for claim in found.claims]
    assert len(counted) > 0
    # Its runs are in the cache, so that the command prints the same at once.
    assert found.to_dict() == printed("study", "mwait", "--quick", "--json", f"--out={tmp_path / 'study'}")
    # A sweep has the same verdicts.
    space = 'command = "study"\n[axes]\nname = ["mwait"]\n[set]\nquick = true\n'
    rows = baton.Sweep.of(space).run(tmp_path / "s", jobs=1).store.table().to_dict()
    assert rows["verdicts.holds"] == [counted.count("holds")]
