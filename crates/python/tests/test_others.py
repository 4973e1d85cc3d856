"""`litmus`, `whatif` and `read_profile` have what the command prints."""

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
    assert found == printed("litmus", *TESTS, "--runs=500", "--set=core.store_buffer=0", "--outcomes", "--json")
    with pytest.raises(baton.Error, match="nowhere"):
        baton.litmus("nowhere.litmus")


@needs_command
def test_a_profile_and_its_prediction(tmp_path: Path) -> None:
    with tarfile.open(ROOT / "scripts/check/recordings.tar.xz") as recordings:
        recordings.extractall(tmp_path)
    recorded = tmp_path / "counter"
    assert baton.read_profile(recorded) == printed("report", recorded, "--json")
    options = ["--lock=mcs", "--seeds=1", "--chip=sample-host", "--json"]
    assert baton.whatif(recorded, lock="mcs", seeds=1, chip="sample-host") == printed("whatif", recorded, *options)
    with pytest.raises(baton.Error) as caught:
        baton.whatif(recorded, lock="mcss", seeds=1)
    assert caught.value.hint == "did you mean `mcs`?"
