"""The page of a store, and the notebooks."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import baton
from baton import report

ROOT = Path(__file__).resolve().parents[3]
SPACE = """\
command = "sim"
seeds = 3
goal = "most rate"
metrics = [{ name = "rate", value = "lock.rate_per_kilocycle" }, { name = "handoff", value = "lock.handoff_mean_cycles" }]
[axes]
chip = ["ocor64", "caf16"]
lock = ["tas", "mcs"]
threads = [2, 4, 8]
[set]
iterations = 20
"noise.latency" = 0.05
"""
NOC = """\
command = "noc"
metrics = [{ name = "latency", value = "packet_latency.mean" }, "saturated"]
goal = "least latency"
[axes]
size = ["4x4", "8x8"]
rate = [0.01, 0.05, 0.3]
[set]
packet = 5
cycles = 300
"""


def pictures(page: Path) -> dict[str, dict[str, object]]:
    found = re.search(r"const PICTURES = (\{.*?\});\nconst dark", page.read_text(), re.DOTALL)
    assert found
    made: dict[str, dict[str, object]] = json.loads(found[1])
    return made


def test_a_page_has_its_pictures(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    sweep = baton.Sweep.of(SPACE)
    sweep.run(tmp_path / "s")
    page = tmp_path / "page.html"
    sweep.report(page, tmp_path / "s")
    text = page.read_text()
    for heading in ("rate by threads", "Pareto front", "Which axis moves it", "Best points"):
        assert heading in text
    assert "chip: ocor64" in text and "chip: caf16" in text
    # Nothing is fetched: no script, style or picture has an address.
    assert not re.search(r"<(script|link|img|iframe)[^>]*(src|href)=", text.partition("<script>")[0])
    assert len(pictures(page)) == 5
    with pytest.raises(baton.Error, match="`rates` is no metric"):
        report.write(str(tmp_path / "s"), page, goal=("rates", True))


def test_a_browser_draws_each_picture(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium")
    baton.Sweep.of(NOC).run(tmp_path / "s")
    page = tmp_path / "page.html"
    report.write(str(tmp_path / "s"), page)
    words = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000", "--dump-dom"]
    drawn = subprocess.run([*words, page.as_uri()], capture_output=True, text=True, timeout=120, check=True).stdout
    assert "Saturation" in drawn
    assert len(re.findall(r"<svg[^>]*class=\"marks\"", drawn)) == len(pictures(page))


@pytest.mark.parametrize("path", sorted((ROOT / "examples/notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    nbconvert = pytest.importorskip("nbconvert")
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    kept = os.environ.get("BATON_NOTEBOOKS")
    if kept:
        page, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
        folder = Path(kept)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{path.stem}.html").write_text(page)
        for made in tmp_path.glob("*.html"):
            shutil.copy(made, folder / f"{made.stem}-store.html")
