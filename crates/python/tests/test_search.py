"""Searches find what a whole sweep finds; methods of sensitivity put the axis first that decides."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import baton
from baton import search as searching
from baton._designs import Designs
from baton._interval import difference, student

optuna = pytest.importorskip("optuna")

SPACE = """\
command = "sim"
goal = "most rate"
metrics = [{ name = "rate", value = "lock.rate_per_kilocycle" }, "cycles", "flit_hops"]
constraints = ["lock != 'tas' or threads < 4"]
[axes]
lock = ["tas", "ticket", "mcs"]
threads = [2, 4, 8]
cs = [50, 100, 200, 400]
[set]
chip = "ocor64"
iterations = 10
"""


@pytest.fixture
def sweep() -> baton.Sweep:
    return baton.Sweep.of(SPACE)


def every(sweep: baton.Sweep, store: Path, columns: list[str]) -> list[searching.Design]:
    designs = Designs(sweep, str(store), columns).get(range(sweep.combinations))
    return [design for design in designs if design.reason is None]


def test_a_search_of_the_whole_space_finds_its_front(sweep: baton.Sweep, tmp_path: Path) -> None:
    store = tmp_path / "s"
    all_designs = every(sweep, store, ["rate", "flit_hops"])
    assert len(all_designs) == sweep.points == 28
    best = max(all_designs, key=lambda design: design.mean("rate"))
    found = searching.search(sweep, store=store, trials=2000, patience=2000, sampler="random")
    assert (found.end, found.designs, found.excluded) == ("all", 28, 8)
    assert [design.number for design in found.front] == [best.number]
    both = searching.search(sweep, maximize=["rate"], minimize=["flit_hops"], store=store, trials=320, patience=320)
    for design in both.front:
        for other in all_designs:
            assert not (other.mean("rate") > design.mean("rate") and other.mean("flit_hops") < design.mean("flit_hops"))
    beaten = [design for design in all_designs if design.number not in {one.number for one in both.front}]
    for design in beaten if both.end == "all" else []:
        assert any(
            one.mean("rate") >= design.mean("rate") and one.mean("flit_hops") <= design.mean("flit_hops")
            for one in both.front
        )


def test_a_search_finds_the_best_with_few_points(sweep: baton.Sweep, tmp_path: Path) -> None:
    best = max(every(sweep, tmp_path / "all", ["rate"]), key=lambda design: design.mean("rate"))
    found = [
        searching.search(sweep, store=tmp_path / f"{jobs}", trials=48, seed=3, jobs=jobs, sampler="tpe") for jobs in (1, 2)
    ]
    assert found[0].front[0].number == best.number
    told = [(one.trials, one.designs, one.excluded, one.end, [d.number for d in one.front]) for one in found]
    assert told[0] == told[1], "the number of jobs changes nothing"
    rows = [sorted(baton.Store(one.store).table().to_dict()["key"]) for one in found]
    assert rows[0] == rows[1]


def test_bounds_are_kept(sweep: baton.Sweep, tmp_path: Path) -> None:
    designs = every(sweep, tmp_path / "s", ["rate", "flit_hops"])
    bound = max(designs, key=lambda design: design.mean("rate")).mean("flit_hops") / 2
    best = max((one for one in designs if one.mean("flit_hops") <= bound), key=lambda design: design.mean("rate"))
    for sampler in ("tpe", "nsga2"):
        options = {"trials": 64, "patience": 64, "sampler": sampler, "seed": 2}
        found = searching.search(sweep, store=tmp_path / "s", require=[f"flit_hops<={bound}"], **options)  # type: ignore[arg-type]
        assert len(found.front) == 1 and found.front[0].mean("flit_hops") <= bound
        assert found.front[0].mean("rate") <= best.mean("rate")
        assert found.excluded > 8, "designs beyond the bound count as excluded"


def test_cma_es_walks_along_numbers(tmp_path: Path) -> None:
    pytest.importorskip("cmaes")
    sweep = baton.Sweep.of(SPACE.replace('lock = ["tas", "ticket", "mcs"]\n', "think = [0, 500, 1000]\n").replace(
        "constraints = [\"lock != 'tas' or threads < 4\"]\n", ""
    ))
    best = min(every(sweep, tmp_path / "all", ["cycles"]), key=lambda design: design.mean("cycles"))
    found = searching.search(sweep, minimize=["cycles"], sampler="cma-es", store=tmp_path / "s", trials=300)
    assert found.front[0].mean("cycles") == best.mean("cycles")


def test_what_is_wrong_is_named(sweep: baton.Sweep, tmp_path: Path) -> None:
    for options, said in [
        ({"minimize": ["cycle"]}, "`cycle` is no metric of this space"),
        ({"sampler": "cma-es"}, "an axis of this space has texts"),
        ({"sampler": "tpes"}, "unknown sampler `tpes`"),
        ({"require": ["flit_hops=3"]}, "is no bound"),
    ]:
        with pytest.raises(baton.Error, match=said):
            searching.search(sweep, store=tmp_path / "s", trials=16, **options)  # type: ignore[arg-type]
    with pytest.raises(baton.Error, match="no goal"):
        searching.search(baton.Sweep.of(SPACE.replace('goal = "most rate"\n', "")), store=tmp_path / "s")


def test_the_better_design_is_told_with_its_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    noisy = SPACE + '"noise.latency" = 0.05\n'
    (tmp_path / "space.toml").write_text(noisy)
    (tmp_path / "other.toml").write_text(noisy.replace("cs = [50, 100, 200, 400]", "cs = [400]"))
    words = [str(tmp_path / "space.toml"), "--store", str(tmp_path / "s"), "--trials", "48", "--json", "--seeds", "4"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        assert searching.main([*words, "--against", str(tmp_path / "other.toml")]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["against"]) == 7
    assert all(0 < one["low"] < one["gain"] < one["high"] for one in told["against"])
    # Fresh seeds: other rows than those of the search.
    seeds = set(baton.Store(tmp_path / "s").table().to_dict()["seed"])
    assert {1, searching.FRESH, searching.FRESH + 3} <= seeds


def test_the_axis_that_decides_comes_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("SALib")
    from baton.sensitivity import sensitivity

    space = SPACE.replace("constraints = [\"lock != 'tas' or threads < 4\"]\n", "").replace("iterations", "think = 0\niterations")
    sweep = baton.Sweep.of(space.replace("[2, 4, 8]", "[4, 5]"))
    for method in ("morris", "sobol"):
        effects = sensitivity(sweep, "cycles", method=method, samples=8, store=tmp_path / "s")
        assert [effect.axis for effect in effects][0] == "cs", effects
        assert sorted(effect.axis for effect in effects) == ["cs", "lock", "threads"]
    (tmp_path / "space.toml").write_text(SPACE)
    words = [str(tmp_path / "space.toml"), "--store", str(tmp_path / "t"), "--decides", "morris"]
    assert searching.main(words) == 2, "a method of sensitivity needs its samples whole"
    assert "combinations of the sample have no figures" in capsys.readouterr().err


def test_a_surrogate_says_how_far_it_is_off(sweep: baton.Sweep, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    from baton.sensitivity import surrogate

    designs = every(sweep, tmp_path / "s", ["cycles"])
    model = surrogate(sweep, "cycles", store=tmp_path / "s")
    assert model.designs == 28 and 0.5 < model.explained < 1
    spread = max(design.mean("cycles") for design in designs) - min(design.mean("cycles") for design in designs)
    assert 0 < model.error < spread / 4
    # At designs that it has seen, it is off by less.
    assert max(abs(model.predict(design.point) - design.mean("cycles")) for design in designs) < model.error
    with pytest.raises(baton.Error, match="the store has 28 designs"):
        surrogate(sweep, "cycles", store=tmp_path / "s", folds=20)


def test_intervals_are_students() -> None:
    stats = pytest.importorskip("scipy.stats")
    for degrees, level in itertools.product((1, 2, 3, 5, 9, 29, 1000), (0.95, 0.99)):
        assert student(degrees, level) == pytest.approx(stats.t.ppf(0.5 + level / 2, degrees), rel=0.03)
    a, b = [3.0, 4.0, 5.5, 4.2], [1.0, 1.5, 0.7]
    mean, half = difference(a, b)
    low, high = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    assert half is not None
    assert (mean - half, mean + half) == pytest.approx((low, high), rel=0.05)


# Runs of a number of cycles.
LONG = SPACE.replace("iterations = 10", "cycles = 192_000").replace('"cycles", ', "")


def test_combinations_that_are_behind_are_given_up(tmp_path: Path) -> None:
    text = LONG.replace("cycles = 192_000", "cycles = 192_000  # of each run").replace("[axes]", "[axes]\nthink = [100, 200, 400, 800]")
    sweep = baton.Sweep.of(text)
    assert "cycles = 12000  # of each run" in (searching.shortened(sweep, "cycles", 16) or sweep).text
    options: dict[str, Any] = {"trials": 96, "patience": 96, "sampler": "random"}
    whole = searching.search(sweep, store=tmp_path / "whole", **options)
    found = searching.search(sweep, store=tmp_path / "s", prune="cycles", **options)
    assert found.pruned > 20 and found.work < whole.work
    assert found.front[0].mean("rate") >= 0.97 * whole.front[0].mean("rate")
    # The same seed gives up the same combinations; the space's store has whole runs only.
    again = searching.search(sweep, store=tmp_path / "s", prune="cycles", **options)
    assert (again.front[0].number, again.pruned) == (found.front[0].number, found.pruned)
    assert set(baton.Store(tmp_path / "s").table().to_dict()["cycles"]) == {192_000}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"prune": "iterations"}, "`set` has no line `iterations = NUMBER`"),
        ({"prune": "cycles", "maximize": ["rate"], "minimize": ["flit_hops"]}, "one goal only"),
        ({"prune": "cycles", "minimize": ["threads"]}, "`threads` is a setting"),
    ],
)
def test_what_cannot_be_pruned_is_refused(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    sweep = baton.Sweep.of(LONG)
    with pytest.raises(baton.Error, match=said) as caught:
        searching.search(sweep, store=tmp_path / "s", **options)
    assert caught.value.key == "prune"
