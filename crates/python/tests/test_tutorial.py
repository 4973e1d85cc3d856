"""docs/studio.md, carried out as a reader would: files are saved, commands and Python run in order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
COMMAND = Path(os.environ.get("BATON", ROOT / "target/debug/baton"))
BLOCK = re.compile(r"^```(toml|sh|python)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.skipif(not COMMAND.is_file(), reason=f"no {COMMAND}: `make build`, or name it in BATON")
def test_the_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("polars", "optuna", "SALib", "altair"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(COMMAND.parent), prepend=os.pathsep)
    monkeypatch.setenv("BATON_PYTHON", sys.executable)
    known: dict[str, Any] = {}
    kinds = []
    for kind, name, text in BLOCK.findall((ROOT / "docs/studio.md").read_text()):
        kinds.append(kind)
        if name:
            (tmp_path / name).write_text(text)
        elif kind == "sh":
            ran = subprocess.run(["sh", "-e"], input=text, text=True, capture_output=True, check=False)
            assert ran.returncode == 0, f"{text}\n{ran.stdout}{ran.stderr}"
        else:
            exec(compile(text, "docs/studio.md", "exec"), known)
    assert kinds.count("python") == 3 and kinds.count("sh") == 3
    assert (tmp_path / "locks.html").is_file()
