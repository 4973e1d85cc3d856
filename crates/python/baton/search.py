"""Searches a space for its best designs with Optuna: `baton search`, `python3 -m baton.search`.

The points of a search are combinations of the space's values, run by the sweep of the space into
its store: a search that was ended goes on without running a point twice, and a sweep of the same
space finds the rows of a search.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ._designs import Design, Designs
from ._error import Error
from ._interval import difference
from ._progress import Progress
from ._sweep import Scalar, Sweep

BATCH = 16
"""Points of a search that run at a time, on any number of CPUs: the search proposes the same ones on each machine."""
FRESH = 1_000_001
"""The first seed of runs that confirm a design."""

SHARES = (16, 4)
"""With `prune`, the shares of a whole run after which a combination may be given up: a sixteenth, a quarter."""
PACKAGES = {"optuna": "'optuna>=5'", "SALib": "'SALib>=1.5'", "sklearn": "scikit-learn"}
"""What pip calls modules."""
SAMPLERS = ("auto", "tpe", "cma-es", "nsga2", "random")


@dataclass(frozen=True)
class Goal:
    """A column, and whether more of it is better."""

    column: str
    most: bool

    def loss(self, design: Design) -> float:
        """The mean of the column, negated if more is better."""
        return -design.mean(self.column) if self.most else design.mean(self.column)

    def __str__(self) -> str:
        return f"{'most' if self.most else 'least'} {self.column}"


@dataclass(frozen=True)
class Need:
    """A bound that designs must keep: `handoff <= 500`."""

    column: str
    sign: str
    bound: float

    @classmethod
    def read(cls, text: str) -> Need:
        """Reads a bound.

        >>> Need.read("handoff<=500")
        Need(column='handoff', sign='<=', bound=500.0)
        """
        for sign in ("<=", ">="):
            column, found, bound = text.partition(sign)
            if found:
                try:
                    return cls(column.strip(), sign, float(bound))
                except ValueError:
                    break
        raise Error(f"`{text}` is no bound; expected a column, <= or >=, and a number, as in handoff<=500", key="require")

    def excess(self, design: Design) -> float:
        """By how much the design is beyond the bound; 0 or less if it is not."""
        over = design.mean(self.column) - self.bound
        return over if self.sign == "<=" else -over

    def __str__(self) -> str:
        return f"{self.column} {self.sign} {self.bound:g}"


@dataclass(frozen=True)
class Found:
    """What a search found."""

    goals: list[Goal]
    front: list[Design]
    """The designs that no other one found is better than in every goal; with one goal, the best."""
    trials: int
    """Combinations that were proposed."""
    designs: int
    """Different points among them that ran and kept all bounds."""
    excluded: int
    """Different combinations that a constraint or a bound excludes."""
    failed: dict[str, int]
    """Reasons of failing points, and how many points gave each."""
    pruned: int
    """Proposed combinations that were given up after a short run."""
    work: float
    """Runs of combinations, a short run counted as the share of `prune` that it had."""
    end: str
    """`still`: the front no longer moved; `trials`: as many as were asked for; `all`: the whole space."""
    store: str


def front(designs: Sequence[Design], goals: Sequence[Goal]) -> list[Design]:
    """The designs that no other is at least as good as in every goal and better in one, ordered by the first goal."""
    losses = [tuple(goal.loss(design) for goal in goals) for design in designs]
    best: list[tuple[tuple[float, ...], Design]] = []
    for loss, design in sorted(zip(losses, designs), key=lambda pair: (pair[0], pair[1].number)):
        if not any(all(a <= b for a, b in zip(other, loss)) for other, _ in best):
            best.append((loss, design))
    return [design for _, design in best]


def needed(module: str) -> Any:
    try:
        return __import__(module)
    except ImportError as error:
        what = f"a search needs {module}, which this Python lacks: {sys.executable}"
        raise Error(what, hint=f"pip install {PACKAGES.get(module, module)}") from error


def _sampler(name: str, goals: Sequence[Goal], seed: int, categories: bool) -> Any:
    optuna = needed("optuna")
    if name == "auto":
        name = "tpe" if len(goals) == 1 else "nsga2"
    if name == "tpe":
        return optuna.samplers.TPESampler(seed=seed, n_startup_trials=2 * BATCH)
    if name == "random":
        return optuna.samplers.RandomSampler(seed=seed)
    if name == "nsga2":
        return optuna.samplers.NSGAIISampler(seed=seed, population_size=2 * BATCH)
    if name != "cma-es":
        raise Error(f"unknown sampler `{name}`; expected one of {', '.join(SAMPLERS)}", key="sampler")
    needed("cmaes")
    if len(goals) > 1:
        raise Error("cma-es has one goal; expected nsga2 or tpe for several", key="sampler")
    if categories:
        raise Error("cma-es moves along numbers, and an axis of this space has texts; expected tpe", key="sampler")
    return optuna.samplers.CmaEsSampler(seed=seed, popsize=BATCH)


def search(
    space: Sweep | str | os.PathLike[str],
    *,
    minimize: Sequence[str] = (),
    maximize: Sequence[str] = (),
    require: Sequence[str] = (),
    sampler: str = "auto",
    trials: int = 400,
    patience: int = 100,
    seed: int = 1,
    prune: str | None = None,
    store: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
) -> Found:
    """Searches a space for the designs that are best in some columns: metrics, or settings such as `l1.size_bytes`.

    - `minimize`, `maximize`: the columns. Left out: the goal of the space.
    - `require`: bounds, as in `"handoff<=500"`.
    - `sampler`: `tpe`, `cma-es`, `nsga2` or `random`. Left out: `tpe`, or `nsga2` for several goals.
    - `trials`: the most combinations to propose; `patience`: the search ends when as many have not moved the front.
    - `seed`: of the sampler. The same seed proposes the same combinations, on any number of CPUs.

    - `prune`: a whole number in the space's `set` that says how long a run lasts, such as `cycles`. Each combination first runs to
      a sixteenth and to a quarter of it, and is given up if it is then worse than half of those that ran to the end.

    An axis of numbers is searched along its values in the order of the file; an axis of texts has no order.
    """
    sweep = space if isinstance(space, Sweep) else Sweep.load(space)
    goals = [Goal(column, False) for column in minimize] + [Goal(column, True) for column in maximize]
    if not goals:
        if sweep.goal is None:
            raise Error("the space has no goal, and none is named", file=sweep.file, hint="--minimize METRIC")
        goals = [Goal(*sweep.goal)]
    needs = [Need.read(text) for text in require]
    folder = os.fspath(sweep.store if store is None else store)
    columns = dict.fromkeys([*(goal.column for goal in goals), *(need.column for need in needs)])
    designs = Designs(sweep, folder, list(columns), jobs=jobs, progress=progress)
    rungs = [] if prune is None else _rungs(sweep, folder, prune, goals, sampler, jobs)
    return _Search(designs, goals, needs, sampler, seed, rungs).run(trials, patience)


def shortened(sweep: Sweep, key: str, share: int) -> Sweep | None:
    """The space with a `share`-th of a whole number in its `set`. None if the number is too small for that."""
    number = re.compile(rf'^(\s*"?{re.escape(key)}"?\s*=\s*)([0-9][0-9_]*)(\s*(?:#.*)?)$')
    lines, table = sweep.text.split("\n"), ""
    for at, line in enumerate(lines):
        if line.lstrip().startswith("["):
            table = line.strip()
        found = number.match(line) if table.startswith("[set]") else None
        if found:
            whole = int(found.group(2).replace("_", ""))
            if whole < share:
                return None
            lines[at] = f"{found.group(1)}{whole // share}{found.group(3)}"
            return Sweep.of("\n".join(lines), sweep.file, sweep.seeds if sweep.has_seeds else None)
    what = f"`set` has no line `{key} = NUMBER` with a whole number, by which runs could be shortened"
    raise Error(what, file=sweep.file, key="prune", hint="prune by cycles or iterations")


@dataclass(frozen=True)
class _Rung:
    """Short runs of combinations."""

    share: int
    designs: Designs


def _rungs(sweep: Sweep, folder: str, key: str, goals: Sequence[Goal], sampler: str, jobs: int | None) -> list[_Rung]:
    if len(goals) > 1:
        raise Error("combinations can be given up early in a search for one goal only", key="prune")
    if sampler == "cma-es":
        raise Error("cma-es needs every combination of its generations; expected tpe or random", key="prune")
    if goals[0].column not in sweep.metrics:
        raise Error(f"`{goals[0].column}` is a setting, which a short run tells no sooner", key="prune")
    short = [(share, shortened(sweep, key, share)) for share in SHARES]
    columns = [goals[0].column]
    # A store of its own for each: the space's store has whole runs only.
    return [
        _Rung(share, Designs(space, f"{folder}.{key}-{share}", columns, jobs=jobs, progress=False))
        for share, space in short
        if space is not None
    ]


class _Search:
    def __init__(
        self, designs: Designs, goals: list[Goal], needs: list[Need], sampler: str, seed: int, rungs: Sequence[_Rung] = ()
    ) -> None:
        optuna = needed("optuna")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.designs, self.goals, self.needs = designs, goals, needs
        axes = designs.sweep.axes
        ordered = {name: not isinstance(values[0], (str, bool)) for name, values in axes.items()}
        self.axes: dict[str, Any] = {}
        for name, values in axes.items():
            last = len(values) - 1
            of = optuna.distributions
            self.axes[name] = (
                of.IntDistribution(0, last) if ordered[name] else of.CategoricalDistribution(list(range(last + 1)))
            )
        self.cma = sampler == "cma-es"
        made = _sampler(sampler, goals, seed, not all(ordered.values()))
        pruner = optuna.pruners.MedianPruner(n_startup_trials=BATCH, n_min_trials=BATCH) if rungs else optuna.pruners.NopPruner()
        self.study = optuna.create_study(directions=["minimize"] * len(goals), sampler=made, pruner=pruner)
        self.fails, self.given_up = optuna.trial.TrialState.FAIL, optuna.trial.TrialState.PRUNED
        self.rungs = rungs
        self.pruned = 0
        self.ran: set[tuple[int, int]] = set()
        self.good: dict[int, Design] = {}
        self.excluded: set[int] = set()
        self.failed: dict[int, str] = {}

    def run(self, trials: int, patience: int) -> Found:
        sweep = self.designs.sweep
        best: list[int] = []
        proposed, moved, end = 0, 0, "trials"
        while proposed < trials:
            asked = [self.study.ask(self.axes) for _ in range(min(BATCH, trials - proposed))]
            numbers = [sweep.number([trial.params[name] for name in self.axes]) for trial in asked]
            left = self.prune(list(zip(asked, numbers)))
            for (trial, _), design in zip(left, self.designs.get([number for _, number in left])):
                self.note(1, design)
                self.tell(trial, design)
            proposed += len(asked)
            now = [design.number for design in front(list(self.good.values()), self.goals)]
            if now != best:
                best, moved = now, proposed
            if len(self.good) + len(self.excluded) + len(self.failed) == sweep.combinations:
                end = "all"
                break
            if proposed - moved >= patience:
                end = "still"
                break
        reasons: dict[str, int] = {}
        for reason in self.failed.values():
            reasons[reason] = reasons.get(reason, 0) + 1
        found = [self.good[number] for number in best]
        excluded = len(self.excluded)
        work = sum(1 / share for _, share in self.ran)
        store = self.designs.store
        return Found(self.goals, found, proposed, len(self.good), excluded, reasons, self.pruned, work, end, store)

    def note(self, share: int, design: Design) -> None:
        """Counts a run of this share of the whole length, unless the combination had it before."""
        if design.point:
            self.ran.add((design.number, share))

    def prune(self, asked: list[tuple[Any, int]]) -> list[tuple[Any, int]]:
        """Runs combinations for a short time, and gives up those that are behind. Returns the others."""
        for rung in self.rungs:
            left = []
            designs = rung.designs.get([number for _, number in asked])
            for (trial, number), design in zip(asked, designs):
                self.note(rung.share, design)
                # A combination without a figure yet runs on: only a whole run says why it has none.
                if design.reason is None:
                    trial.report(self.goals[0].loss(design), SHARES[0] // rung.share)
                    if trial.should_prune():
                        self.pruned += 1
                        self.study.tell(trial, state=self.given_up)
                        continue
                left.append((trial, number))
            asked = left
        return asked

    def tell(self, trial: Any, design: Design) -> None:
        """Tells the sampler what a combination gave."""
        if design.reason is not None:
            if design.point:
                self.failed[design.number] = design.reason
            else:
                self.excluded.add(design.number)
            excess = [1.0]
        else:
            excess = [need.excess(design) for need in self.needs]
            if any(over > 0 for over in excess):
                self.excluded.add(design.number)
            else:
                self.good[design.number] = design
        if self.cma and any(over > 0 for over in excess):
            self.study.tell(trial, state=self.fails)
            return
        for at, over in enumerate(excess):
            trial.set_constraint(str(at), over)
        # A sampler compares designs that are excluded by their excess alone.
        values = [0.0] * len(self.goals) if design.reason else [goal.loss(design) for goal in self.goals]
        self.study.tell(trial, values)


@dataclass(frozen=True)
class Compared:
    """A design of a search beside one of another space, both run with seeds that no search has seen."""

    ours: Design
    other: Design
    gain: float
    """How much better ours is, as a share of the other's mean."""
    low: float
    """The lower end of the gain's interval, at the level that holds for all comparisons together."""
    high: float


def confirm(
    found: Found, space: Sweep | str, against: Sweep | str, *, seeds: int = 10, jobs: int | None = None
) -> list[Compared]:
    """Compares the best design of a search for one goal with each point of another space.

    Both run with `seeds` fresh seeds, so that the luck of the search's own seeds is not counted. The
    intervals hold together with 95% (Bonferroni), so that ours is better than all others if all
    lower ends are above 0. Points of the other space that fail are left out.
    """
    if len(found.goals) != 1 or not found.front:
        raise Error("only the best design of one goal can be compared", key="against")
    goal, level = found.goals[0], 0.95
    fresh = range(FRESH, FRESH + seeds)
    of = [(one if isinstance(one, Sweep) else Sweep.load(one)).with_seeds(fresh) for one in (space, against)]
    ours = Designs(of[0], found.store, [goal.column], jobs=jobs).get([found.front[0].number])[0]
    if ours.reason is not None:
        raise Error(f"the best design fails with fresh seeds: {ours.reason}")
    theirs = Designs(of[1], os.fspath(of[1].store), [goal.column], jobs=jobs)
    others = [design for design in theirs.get(range(of[1].combinations)) if design.reason is None]
    compared = []
    for other in others:
        a, b = ours.figures[goal.column], other.figures[goal.column]
        mean, half = difference(a, b, 1 - (1 - level) / len(others))
        sign, scale = (1 if goal.most else -1), abs(other.mean(goal.column))
        if half is None or scale == 0:
            raise Error("two seeds or more are needed, and a mean that is not 0", key="seeds")
        compared.append(Compared(ours, other, sign * mean / scale, (sign * mean - half) / scale, (sign * mean + half) / scale))
    return sorted(compared, key=lambda one: one.gain)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="baton search",
        description="Searches a space of points for its best designs; says which of its axes decide.",
        epilog="The page is docs/reference/studio.md.",
    )
    many: Callable[[str], list[str]] = lambda text: [part.strip() for part in text.split(",") if part.strip()]
    parser.add_argument("space", metavar="SPACE.toml", help="the file of the space")
    parser.add_argument("--minimize", metavar="COLUMNS", type=many, default=[], help="metrics or settings, with commas")
    parser.add_argument("--maximize", metavar="COLUMNS", type=many, default=[], help="the same, of which more is better")
    parser.add_argument("--require", metavar="BOUND", action="append", default=[], help="as in 'handoff<=500'")
    parser.add_argument("--sampler", choices=SAMPLERS, default="auto", help="tpe, or nsga2 for several goals")
    parser.add_argument("--trials", metavar="N", type=int, default=400, help="the most combinations to propose (400)")
    parser.add_argument("--patience", metavar="N", type=int, default=100, help="end when so many did not move the front")
    parser.add_argument("--prune", metavar="KEY", help="give up combinations that are behind at a fraction of KEY, as in cycles")
    parser.add_argument("--against", metavar="OTHER.toml", help="compare the best design with each point of this space")
    parser.add_argument("--seeds", metavar="N", type=int, default=10, help="fresh seeds for that (10)")
    parser.add_argument("--decides", metavar="METHOD", choices=("morris", "sobol"), help="which axes decide the goal?")
    parser.add_argument("--samples", metavar="N", type=int, help="morris: paths (20); sobol: a power of 2 (64)")
    parser.add_argument("--surrogate", action="store_true", help="fit a model to the rows of the store; say its error")
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="seed of the sampler (1)")
    parser.add_argument("--store", metavar="DIR", help="the store; left out: the space's name with .store")
    parser.add_argument("--jobs", metavar="N", type=int, help="points that run at a time")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _told(design: Design, axes: Sequence[str], columns: Sequence[str]) -> dict[str, Any]:
    means = {column: {"mean": design.mean(column), "half_width_95": design.half(column)} for column in columns}
    settings: dict[str, Scalar] = {name: design.point[name] for name in axes}
    return {"number": design.number, "settings": settings, "figures": means}


def _shown(design: Design, axes: Sequence[str], columns: Sequence[str]) -> str:
    def figure(column: str) -> str:
        half = design.half(column)
        return f"{column} {design.mean(column):.6g}" + ("" if half is None else f" ± {half:.2g}")

    return f"{', '.join(figure(column) for column in columns)}   {design.settings(axes)}"


def _searched(options: argparse.Namespace) -> int:
    sweep = Sweep.load(options.space)
    found = search(
        sweep,
        minimize=options.minimize,
        maximize=options.maximize,
        require=options.require,
        sampler=options.sampler,
        trials=options.trials,
        patience=options.patience,
        seed=options.seed,
        prune=options.prune,
        store=options.store,
        jobs=options.jobs,
    )
    axes, columns = list(sweep.axes), [goal.column for goal in found.goals]
    if found.front and options.against:
        compared = confirm(found, sweep, options.against, seeds=options.seeds, jobs=options.jobs)
    else:
        compared = []
    if options.json:
        told = {
            "goals": [str(goal) for goal in found.goals],
            "front": [_told(design, axes, columns) for design in found.front],
            "trials": found.trials,
            "designs": found.designs,
            "excluded": found.excluded,
            "failed": found.failed,
            "pruned": found.pruned,
            "work": found.work,
            "end": found.end,
            "store": found.store,
            "against": [
                {"point": one.other.point, "gain": one.gain, "low": one.low, "high": one.high} for one in compared
            ],
        }
        print(json.dumps(told, indent=2))
        return 0 if found.front else 1
    ends = {"still": "the front no longer moved", "trials": "as many as asked for", "all": "the whole space"}
    print(f"{', '.join(map(str, found.goals))}: {len(found.front)} best of {found.designs} designs")
    print(f"{found.trials} trials ({ends[found.end]}), {found.excluded} combinations excluded; rows in {found.store}")
    if options.prune:
        print(f"{found.pruned} trials given up early; the work was that of {found.work:.1f} whole runs of combinations")
    print()
    for design in found.front:
        print(_shown(design, axes, columns))
    for reason, times in found.failed.items():
        print(f"{times} failed: {reason.splitlines()[0]}", file=sys.stderr)
    if compared:
        print(f"\nwith {options.seeds} fresh seeds: {_shown(compared[0].ours, axes, columns)}")
        for one in compared:
            print(f"{one.gain:+7.1%} ({one.low:+.1%} to {one.high:+.1%}) than {one.other.settings(Sweep.load(options.against).axes)}")
        better = all(one.low > 0 for one in compared)
        print(f"better than all {len(compared)}, with 95%" if better else "not better than all with 95%")
    return 0 if found.front else 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `baton search`. Returns the exit code."""
    options = _options().parse_args(arguments)
    try:
        if options.decides or options.surrogate:
            from . import sensitivity

            return sensitivity.command(options)
        return _searched(options)
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
