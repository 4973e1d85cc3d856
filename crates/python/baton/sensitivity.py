"""Which axes of a space decide a figure: Morris' and Sobol's methods by SALib, and a surrogate with its error."""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ._designs import Design, Designs
from ._error import Error
from ._progress import Progress
from ._sweep import Sweep
from .search import needed

LEVELS = 4
"""Levels of Morris' paths."""


@dataclass(frozen=True)
class Effect:
    """How much an axis decides."""

    axis: str
    effect: float
    """Morris: the mean absolute change of the figure, in its unit, scaled to the whole length of the axis.
    Sobol: the share of the figure's variance that goes away if the axis is fixed (total order)."""
    half_width_95: float
    """Half of the 95% interval of `effect`, by resampling."""
    alone: float | None
    """Sobol: the share of the variance that the axis explains alone (first order). Morris: None."""
    spread: float | None
    """Morris: the standard deviation of the changes: large beside `effect` if other axes decide what this one does."""


def _problem(sweep: Sweep) -> dict[str, Any]:
    axes = {name: values for name, values in sweep.axes.items() if len(values) > 1}
    if not axes:
        raise Error("each axis has one value; expected two or more", file=sweep.file)
    return {"num_vars": len(axes), "names": list(axes), "bounds": [[0.0, 1.0]] * len(axes)}


def _numbers(sweep: Sweep, samples: Any) -> list[int]:
    """The combinations that rows of numbers from 0 to 1 stand for."""
    sizes = [len(values) for values in sweep.axes.values()]
    numbers = []
    for sample in samples:
        drawn = iter(sample)
        places = [0 if size == 1 else min(int(next(drawn) * size + 1e-9), size - 1) for size in sizes]
        numbers.append(sweep.number(places))
    return numbers


def _figures(designs: list[Design], metric: str, file: str) -> list[float]:
    wrong = {design.number: design for design in designs if design.reason is not None}
    if wrong:
        first = next(iter(wrong.values()))
        what = (
            f"{len(wrong)} combinations of the sample have no figures, the first: {first.reason}; "
            "expected a space of which every combination runs"
        )
        raise Error(what, file=file, hint="leave out the values that cannot run together, or sweep and use --surrogate")
    return [design.mean(metric) for design in designs]


def sensitivity(
    space: Sweep | str | os.PathLike[str],
    metric: str,
    *,
    method: str = "morris",
    samples: int | None = None,
    seed: int = 1,
    store: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
) -> list[Effect]:
    """How much each axis decides a metric, the strongest first. Needs SALib.

    - `method`: `"morris"` takes `samples` paths (20) of one step along each axis; `"sobol"` takes `samples` (64, a power of 2)
      times the number of axes and two runs.

    Every combination must run: constraints that exclude some are refused, as both methods need their samples whole.
    """
    needed("SALib")
    sweep = space if isinstance(space, Sweep) else Sweep.load(space)
    designs = Designs(sweep, os.fspath(sweep.store if store is None else store), [metric], jobs=jobs, progress=progress)
    problem = _problem(sweep)
    import numpy

    with warnings.catch_warnings():
        # SALib divides by a variance that is 0 where an axis changes nothing.
        warnings.simplefilter("ignore")
        if method == "morris":
            from SALib.analyze import morris as analysis
            from SALib.sample.morris import sample

            taken = sample(problem, samples or 20, num_levels=LEVELS, seed=seed)
            figures = numpy.array(_figures(designs.get(_numbers(sweep, taken)), metric, sweep.file))
            told = analysis.analyze(problem, taken, figures, num_levels=LEVELS, seed=seed)
            rows = zip(told["mu_star"], told["mu_star_conf"], [None] * len(figures), told["sigma"])
        elif method == "sobol":
            from SALib.analyze import sobol
            from SALib.sample.sobol import sample as saltelli

            taken = saltelli(problem, samples or 64, calc_second_order=False, seed=seed)
            figures = numpy.array(_figures(designs.get(_numbers(sweep, taken)), metric, sweep.file))
            if figures.std() == 0:
                raise Error(f"`{metric}` is {figures[0]:g} in every point of the sample: no axis decides it", key="metric")
            told = sobol.analyze(problem, figures, calc_second_order=False, seed=seed)
            rows = zip(told["ST"], told["ST_conf"], told["S1"], [None] * len(figures))
        else:
            raise Error(f"unknown method `{method}`; expected morris or sobol", key="method")
    effects = [
        Effect(name, float(effect), float(half), *(None if of is None else float(of) for of in (alone, spread)))
        for name, (effect, half, alone, spread) in zip(problem["names"], rows)
    ]
    return sorted(effects, key=lambda one: -one.effect)


@dataclass(frozen=True)
class Surrogate:
    """A model of a metric that was fitted to designs."""

    model: Any
    """The forest of scikit-learn."""
    designs: int
    """The number of designs that it was fitted to."""
    error: float
    """The root mean square of its errors at designs that it had not seen, in the metric's unit, by cross-validation."""
    explained: float
    """The share of the variance at those that it explains (R²); 0 or less: it is no better than the mean."""
    encode: Callable[[dict[str, Any]], list[float]]

    def predict(self, point: dict[str, Any]) -> float:
        """What it says of a point with these values of the axes."""
        return float(self.model.predict([self.encode(point)])[0])


def surrogate(
    space: Sweep | str | os.PathLike[str],
    metric: str,
    *,
    store: str | os.PathLike[str] | None = None,
    folds: int = 5,
    seed: int = 1,
) -> Surrogate:
    """Fits extremely randomized trees to the rows that a store has of a space. Runs nothing. Needs scikit-learn."""
    needed("sklearn")
    from sklearn.ensemble import ExtraTreesRegressor
    from sklearn.model_selection import KFold, cross_val_predict

    from ._store import Store

    sweep = space if isinstance(space, Sweep) else Sweep.load(space)
    axes = sweep.axes
    folder = os.fspath(sweep.store if store is None else store)
    if metric not in sweep.metrics:
        raise Error(f"`{metric}` is no metric of this space; expected one of {', '.join(sweep.metrics)}", file=sweep.file)
    rows = Store(folder).table("failure == 'none'", [*axes, metric]).to_dict()
    means: dict[tuple[Any, ...], list[float]] = {}
    for *point, value in zip(*(rows[name] for name in [*axes, metric])):
        if value is not None:
            means.setdefault(tuple(point), []).append(float(value))
    if len(means) < 2 * folds:
        raise Error(f"the store has {len(means)} designs with `{metric}`; expected {2 * folds} or more", file=folder)

    def encode(point: dict[str, Any]) -> list[float]:
        row: list[float] = []
        for name, values in axes.items():
            if isinstance(values[0], str):
                row += [float(point[name] == value) for value in values]
            else:
                row.append(float(point[name]))
        return row

    known = [encode(dict(zip(axes, point))) for point in means]
    wanted = [sum(values) / len(values) for values in means.values()]
    model = ExtraTreesRegressor(n_estimators=200, random_state=seed)
    guessed = cross_val_predict(model, known, wanted, cv=KFold(folds, shuffle=True, random_state=seed))
    middle = sum(wanted) / len(wanted)
    missed = sum((a - b) ** 2 for a, b in zip(guessed, wanted))
    whole = sum((value - middle) ** 2 for value in wanted)
    explained = 1 - missed / whole if whole else 0.0
    return Surrogate(model.fit(known, wanted), len(known), (missed / len(known)) ** 0.5, float(explained), encode)


def _goal(options: argparse.Namespace, sweep: Sweep) -> str:
    named: Sequence[str] = [*options.minimize, *options.maximize]
    if len(named) > 1:
        raise Error("expected one metric", key="minimize")
    if named:
        return named[0]
    if sweep.goal is None:
        raise Error("the space has no goal, and no metric is named", file=sweep.file, hint="--minimize METRIC")
    return sweep.goal[0]


def command(options: argparse.Namespace) -> int:
    """Runs `baton search` with `--decides` or `--surrogate`. Returns the exit code."""
    sweep = Sweep.load(options.space)
    metric = _goal(options, sweep)
    told: dict[str, Any] = {"metric": metric}
    if options.decides:
        effects = sensitivity(
            sweep,
            metric,
            method=options.decides,
            samples=options.samples,
            seed=options.seed,
            store=options.store,
            jobs=options.jobs,
        )
        told |= {"method": options.decides, "effects": [vars(effect) for effect in effects]}
    if options.surrogate:
        fitted = surrogate(sweep, metric, store=options.store, seed=options.seed)
        told["surrogate"] = {"designs": fitted.designs, "error": fitted.error, "explained": fitted.explained}
    if options.json:
        print(json.dumps(told, indent=2))
        return 0
    if options.decides:
        what = "mean change" if options.decides == "morris" else "share of the variance"
        print(f"what decides {metric} ({options.decides}: {what}, with half of its 95% interval)\n")
        width = max(len(effect.axis) for effect in effects)
        for effect in effects:
            more = f"   spread {effect.spread:.4g}" if effect.spread is not None else f"   alone {effect.alone:.3f}"
            print(f"{effect.axis:{width}}  {effect.effect:10.4g} ± {effect.half_width_95:.2g}{more}")
    if options.surrogate:
        print(
            f"surrogate of {fitted.designs} designs: off by {fitted.error:.4g} at designs that it had not seen, "
            f"explains {fitted.explained:.1%} of their variance"
        )
    return 0
