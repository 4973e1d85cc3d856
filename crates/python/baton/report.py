"""A page with pictures of a store's rows: one self-contained HTML file, by Altair, light and dark.

`Sweep.report("page.html")`, or `python3 -m baton.report STORE --out page.html`.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ._error import Error
from ._interval import half_width
from ._store import Store
from ._sweep import Sweep

COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6d31", "#8f8f8f"]
"""The palette of Okabe and Ito, which readers with another sight of colours tell apart."""
MOST_PANELS = 8
"""Values of an axis that get a picture each; of a longer one, the picture has the best of all."""
BEST = 20
"""Designs in the table."""


@dataclass(frozen=True)
class Mean:
    """The rows of a point, all seeds together."""

    point: dict[str, Any]
    means: dict[str, float]
    halves: dict[str, float]


class Rows:
    """The rows of a store, point by point, and what they are about."""

    def __init__(self, store: Store, goal: tuple[str, bool] | None) -> None:
        with open(os.path.join(store.path, "store.json"), encoding="utf-8") as file:
            manifest = json.load(file)
        roles: list[tuple[str, str]] = [(column["role"], column["name"]) for column in manifest["columns"]]
        self.metrics = [name for role, name in roles if role == "figure"]
        coordinates = [name for role, name in roles if role == "coordinate"]
        table = store.table()
        rows = table.to_dict()
        self.units = table.units
        self.total = len(table)
        failures = [failure for failure in rows["failure"] if failure is not None]
        self.failures = {name: failures.count(name) for name in dict.fromkeys(failures)}
        groups: dict[tuple[Any, ...], list[int]] = {}
        points = list(zip(*(rows[name] for name in coordinates)))
        for row, point in enumerate(points):
            if rows["failure"][row] is None:
                groups.setdefault(point, []).append(row)
        self.means = [self._mean(rows, coordinates, point, group) for point, group in groups.items()]
        if not self.means:
            raise Error("the store has no row with figures: there is nothing to show", file=store.path)
        values = {name: dict.fromkeys(mean.point[name] for mean in self.means) for name in coordinates}
        self.axes = {name: list(known) for name, known in values.items() if len(known) > 1}
        if goal is None:
            space = manifest["space"]
            try:
                goal = Sweep.of(space["text"], space["file"]).goal
            except Error:
                goal = None
        self.goal, self.most = goal or (self.metrics[0], False)

    def _mean(self, rows: dict[str, list[Any]], names: list[str], point: tuple[Any, ...], group: list[int]) -> Mean:
        means, halves = {}, {}
        for metric in self.metrics:
            values = [float(rows[metric][row]) for row in group if rows[metric][row] is not None]
            if values:
                means[metric] = fmean(values)
                halves[metric] = half_width(values) or 0.0
        return Mean(dict(zip(names, point)), means, halves)

    def numbers(self) -> list[str]:
        """Axes of numbers, those with most values first."""
        found = [name for name, values in self.axes.items() if all(type(value) in (int, float) for value in values)]
        return sorted(found, key=lambda name: -len(self.axes[name]))

    def best(self, means: Iterable[Mean], metric: str | None = None) -> Mean | None:
        """The best of some points in the goal."""
        goal = self.goal
        having = [mean for mean in means if goal in mean.means and (metric is None or metric in mean.means)]
        sign = -1 if self.most else 1
        return min(having, key=lambda mean: sign * mean.means[goal], default=None)

    def grouped(self, names: Sequence[str]) -> dict[tuple[Any, ...], list[Mean]]:
        """The points by the values of some axes."""
        groups: dict[tuple[Any, ...], list[Mean]] = {}
        for mean in self.means:
            groups.setdefault(tuple(mean.point[name] for name in names), []).append(mean)
        return groups

    def titled(self, metric: str) -> str:
        """A metric with its unit."""
        unit = self.units.get(metric)
        return f"{metric} ({unit})" if unit else metric

    def settings(self, mean: Mean) -> str:
        """The values of the axes of a point."""
        return " ".join(f"{name}={mean.point[name]}" for name in self.axes)


@dataclass(frozen=True)
class Section:
    """A heading, a sentence, and pictures with their captions."""

    heading: str
    said: str
    pictures: list[tuple[str, dict[str, Any]]]


def _altair() -> Any:
    try:
        import altair
        import vl_convert  # noqa: F401
    except ImportError as error:
        what = f"a page needs altair and vl-convert-python, which this Python lacks: {sys.executable}"
        raise Error(what, hint="pip install 'altair>=5.5' vl-convert-python") from error
    return altair


def _version() -> str:
    """The version of Vega-Lite that Altair writes, as vl-convert names it."""
    return ".".join(_altair().SCHEMA_VERSION.lstrip("v").split(".")[:2])


def svg(spec: dict[str, Any], width: int = 560) -> str:
    """A picture of a section as SVG, for a notebook."""
    import vl_convert

    drawn: str = vl_convert.vegalite_to_svg({**spec, "width": width}, vl_version=_version())
    return drawn


def _spec(chart: Any, height: int = 300) -> dict[str, Any]:
    spec: dict[str, Any] = chart.properties(width="container", height=height).to_dict()
    return spec


def _x(rows: Rows) -> str | None:
    numbers = rows.numbers()
    return next((name for name in ("threads", "rate") if name in numbers), numbers[0] if numbers else None)


def _series(rows: Rows, taken: str) -> str | None:
    left = [name for name in rows.axes if name != taken and len(rows.axes[name]) <= len(COLOURS)]
    texts = [name for name in left if isinstance(rows.axes[name][0], str) and name != "chip"]
    return next((name for name in ("lock", *texts, *left) if name in left), None)


def lines(rows: Rows) -> Section | None:
    """The goal along an axis of numbers, with bands."""
    alt, x = _altair(), _x(rows)
    if x is None:
        return None
    series = _series(rows, x)
    panels = [name for name in rows.axes if name not in (x, series) and 1 < len(rows.axes[name]) <= MOST_PANELS]
    panel = next((name for name in ("chip", *panels) if name in panels), None)
    names = [name for name in (panel, series, x) if name is not None]
    values: dict[Any, list[dict[str, Any]]] = {}
    for key, means in rows.grouped(names).items():
        best = rows.best(mean for mean in means if not mean.means.get("saturated"))
        if best is None:
            continue
        at, half = best.means[rows.goal], best.halves[rows.goal]
        row = {"x": best.point[x], "y": at, "low": at - half, "high": at + half, "point": rows.settings(best)}
        row["series"] = str(best.point[series]) if series else rows.goal
        values.setdefault(key[0] if panel else None, []).append(row)
    top = max((row["high"] for all_rows in values.values() for row in all_rows), default=1.0)
    order = [str(value) for value in rows.axes[series]] if series else [rows.goal]
    wide = x in ("threads", "cores") and min(rows.axes[x]) > 0
    pictures = []
    for value, all_rows in values.items():
        base = alt.Chart(alt.InlineData(values=all_rows)).encode(
            x=alt.X("x:Q", title=x, scale=alt.Scale(type="log", base=2) if wide else alt.Scale(zero=False)),
            color=alt.Color(
                "series:N", title=series, sort=order, legend=alt.Legend(symbolOpacity=1), scale=alt.Scale(domain=order, range=COLOURS[: len(order)])
            ),
        )
        band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", title=rows.titled(rows.goal)), y2="high:Q")
        line = base.mark_line(point=True).encode(
            y=alt.Y("y:Q", title=rows.titled(rows.goal), scale=alt.Scale(domain=[0, top])),
            tooltip=[alt.Tooltip("point:N"), alt.Tooltip("y:Q", title=rows.goal), "low:Q", "high:Q"],
        )
        pictures.append((f"{panel}: {value}" if panel else "", _spec(band + line)))
    left = [name for name in rows.axes if name not in names]
    said = "Bands are 95% intervals of the mean over seeds."
    if left:
        said += f" Each point has the best of {', '.join(left)}."
    return Section(f"{rows.goal} by {x}", said, pictures)


def saturation(rows: Rows) -> Section | None:
    """The largest load that a network takes, for each series."""
    alt = _altair()
    if "saturated" not in rows.metrics or "rate" not in rows.axes:
        return None
    others = [name for name in rows.axes if name != "rate"]
    values = []
    for group in rows.grouped(others).values():
        taken = [mean.point["rate"] for mean in group if mean.means.get("saturated") == 0]
        limit = min((mean.point["rate"] for mean in group if mean.means.get("saturated")), default=None)
        below = [rate for rate in taken if limit is None or rate < limit]
        name = " ".join(f"{axis}={group[0].point[axis]}" for axis in others) or "network"
        values.append({"network": name, "rate": max(below, default=0.0), "found": "yes" if limit else "not within the axis"})
    chart = alt.Chart(alt.InlineData(values=values)).mark_bar().encode(
        x=alt.X("rate:Q", title="largest rate of the axis that does not saturate (packets per node and cycle)"),
        y=alt.Y("network:N", title=None, sort=None),
        color=alt.Color("found:N", title="saturation found", scale=alt.Scale(range=COLOURS)),
        tooltip=["network:N", "rate:Q", "found:N"],
    )
    return Section("Saturation", "The load beyond which the latency does not settle.", [("", _spec(chart, 60 + 22 * len(values)))])


def pareto(rows: Rows, second: tuple[str, bool] | None) -> Section | None:
    """Two metrics of all points, and the points that no other is better than in both."""
    alt = _altair()
    others = [name for name in rows.metrics if name not in (rows.goal, "saturated")]
    if second is None:
        if not others:
            return None
        second = (others[0], False)
    goals = [(rows.goal, rows.most), second]
    having = [mean for mean in rows.means if all(name in mean.means for name, _ in goals)]
    if len(having) < 3:
        return None

    def signed(mean: Mean) -> tuple[float, ...]:
        return tuple(-mean.means[name] if most else mean.means[name] for name, most in goals)

    front: list[Mean] = []
    for mean in sorted(having, key=signed):
        if not front or signed(mean)[1] < signed(front[-1])[1]:
            front.append(mean)
    ids = {id(mean) for mean in front}
    values = [
        {"x": mean.means[goals[0][0]], "y": mean.means[second[0]], "point": rows.settings(mean), "front": id(mean) in ids}
        for mean in having
    ]
    axes: dict[str, Any] = {
        "x": alt.X("x:Q", title=rows.titled(rows.goal), scale=alt.Scale(zero=False)),
        "y": alt.Y("y:Q", title=rows.titled(second[0]), scale=alt.Scale(zero=False)),
    }
    tooltip = [alt.Tooltip("point:N"), alt.Tooltip("x:Q", title=rows.goal), alt.Tooltip("y:Q", title=second[0])]
    base = alt.Chart(alt.InlineData(values=values))
    dots = base.mark_circle(size=28, opacity=0.7, color=COLOURS[7]).encode(**axes, tooltip=tooltip)
    best = alt.Chart(alt.InlineData(values=[row for row in values if row["front"]])).encode(**axes, tooltip=tooltip)
    # Between two points of the front, one may have what the worse of them has.
    line = best.mark_line(interpolate="step-before" if rows.most else "step-after", color=COLOURS[5])
    marks = best.mark_circle(size=70, opacity=1, color=COLOURS[5])
    words = ", ".join(f"{'most' if most else 'least'} {name}" for name, most in goals)
    said = f"{len(front)} of {len(having)} points are not beaten in both: {words}. Hover over a point for its settings."
    return Section("Pareto front", said, [("", _spec(dots + line + marks, 340))])


def heat(rows: Rows) -> Section | None:
    """The goal over two axes."""
    alt = _altair()
    names = sorted(rows.axes, key=lambda name: -len(rows.axes[name]))[:2]
    if len(names) < 2 or len(rows.axes[names[0]]) > 64:
        return None
    x, y = names
    values = []
    for means in rows.grouped(names).values():
        best = rows.best(means)
        if best is not None:
            found = {"x": best.point[x], "y": best.point[y], "value": best.means[rows.goal], "point": rows.settings(best)}
            values.append(found)
    chart = alt.Chart(alt.InlineData(values=values)).mark_rect().encode(
        x=alt.X("x:O", title=x, axis=alt.Axis(labelAngle=0), sort=None if isinstance(rows.axes[x][0], str) else "ascending"),
        y=alt.Y("y:O", title=y, sort=None if isinstance(rows.axes[y][0], str) else "descending"),
        color=alt.Color("value:Q", title=rows.goal, scale=alt.Scale(scheme="viridis", reverse=not rows.most)),
        tooltip=[alt.Tooltip("point:N"), alt.Tooltip("value:Q", title=rows.goal)],
    )
    left = [name for name in rows.axes if name not in names]
    said = f"Each field has the best of {', '.join(left)}." if left else "Each field is a point."
    return Section(f"{rows.goal} by {x} and {y}", said, [("", _spec(chart, max(160, 24 * len(rows.axes[y]))))])


def tornado(rows: Rows) -> Section | None:
    """How far each axis moves the goal."""
    alt = _altair()
    having = [mean for mean in rows.means if rows.goal in mean.means]
    if not rows.axes or not having:
        return None
    middle = fmean(mean.means[rows.goal] for mean in having)
    values: list[dict[str, Any]] = []
    for name in rows.axes:
        groups: dict[Any, list[float]] = {}
        for mean in having:
            groups.setdefault(mean.point[name], []).append(mean.means[rows.goal])
        means = {value: fmean(found) for value, found in groups.items()}
        low, high = min(means, key=lambda value: means[value]), max(means, key=lambda value: means[value])
        values.append({"axis": name, "low": means[low], "high": means[high], "least": str(low), "most": str(high)})
    values.sort(key=lambda row: row["low"] - row["high"])
    base = alt.Chart(alt.InlineData(values=values)).encode(y=alt.Y("axis:N", title=None, sort=None))
    bars = base.mark_bar(color=COLOURS[0]).encode(
        x=alt.X("low:Q", title=f"mean of {rows.titled(rows.goal)}", scale=alt.Scale(zero=False)),
        x2="high:Q",
        tooltip=["axis:N", "low:Q", alt.Tooltip("least:N", title="at"), "high:Q", alt.Tooltip("most:N", title="at")],
    )
    rule = alt.Chart(alt.InlineData(values=[{"middle": middle}])).mark_rule(strokeDash=[4, 3], color=COLOURS[7])
    chart = bars + rule.encode(x=alt.X("middle:Q"))
    said = "From the worst to the best value of each axis, as a mean over all others; the line is the mean of all points."
    return Section("Which axis moves it", said, [("", _spec(chart, 50 + 26 * len(values)))])


def _short(x: float) -> str:
    return f"{x:.0f}" if abs(x) >= 1000 else f"{x:.4g}"


def _table(rows: Rows) -> str:
    sign = -1 if rows.most else 1
    having = sorted((mean for mean in rows.means if rows.goal in mean.means), key=lambda mean: sign * mean.means[rows.goal])
    names = [*rows.axes, *rows.metrics]
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = ""
    for mean in having[:BEST]:
        cells = [str(mean.point[name]) for name in rows.axes]
        for metric in rows.metrics:
            half = mean.halves.get(metric)
            cells.append("-" if half is None else _short(mean.means[metric]) + (f" ± {_short(half)}" if half else ""))
        body += "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"
    return f"<h2>Best points</h2><div class=wide><table><tr>{head}</tr>{body}</table></div>"


STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --soft: #5a5a5a; --paper: #ffffff; --line: #d8d8d8 }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --soft: #a8a8a8; --paper: #16181b; --line: #3a3d42 } }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; font: 16px/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--paper) }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin: 2rem 0 .2rem } p { margin: .2rem 0 .8rem; color: var(--soft) }
.pictures { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)) }
figure { margin: 0; min-width: 0 } figcaption { font-size: .9rem; color: var(--soft) }
.picture { width: 100% } .wide { overflow-x: auto }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap }
#vg-tooltip-element { max-width: 90vw }
"""

SCRIPT = """
const dark = matchMedia("(prefers-color-scheme: dark)");
const narrow = matchMedia("(max-width: 600px)");
function config() {
  const ink = dark.matches ? "#e8e8e8" : "#1b1b1b", line = dark.matches ? "#3a3d42" : "#e2e2e2";
  return { background: null, font: "system-ui, sans-serif", view: { stroke: line },
    axis: { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line,
      labelLimit: narrow.matches ? 110 : 260 },
    legend: { labelColor: ink, titleColor: ink, orient: narrow.matches ? "bottom" : "right",
      columns: narrow.matches ? 3 : 1 } };
}
function show() {
  for (const [id, spec] of Object.entries(PICTURES))
    vegaEmbed("#" + id, spec, { actions: false, renderer: "svg", config: config(),
      tooltip: { theme: dark.matches ? "dark" : "light" } });
}
dark.addEventListener("change", show);
narrow.addEventListener("change", show);
show();
"""


def _page(rows: Rows, title: str, sections: Sequence[Section]) -> str:
    import vl_convert

    pictures: dict[str, dict[str, Any]] = {}
    body = ""
    for section in sections:
        body += f"<h2>{html.escape(section.heading)}</h2><p>{html.escape(section.said)}</p><div class=pictures>"
        for caption, spec in section.pictures:
            name = f"picture-{len(pictures)}"
            pictures[name] = spec
            body += f"<figure><figcaption>{html.escape(caption)}</figcaption><div class=picture id={name}></div></figure>"
        body += "</div>"
    best = rows.best(rows.means)
    failed = ", ".join(f"{times} {name}" for name, times in rows.failures.items())
    said = f"{rows.total} rows, {len(rows.means)} points with figures" + (f"; failures: {failed}" if failed else "")
    if best is not None:
        said += f". {'Most' if rows.most else 'Least'} {rows.goal}: {best.means[rows.goal]:.6g} at {rows.settings(best)}"
    # In a script, `</` would end it.
    data = json.dumps(pictures).replace("</", "<\\/")
    embed = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", _version())
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body>'
        f"<h1>{html.escape(title)}</h1><p>{html.escape(said)}.</p>{body}{_table(rows)}"
        f"<script>{embed}</script><script>const PICTURES = {data};{SCRIPT}</script></body></html>\n"
    )


def write(
    store: Store | str,
    page: str | os.PathLike[str],
    *,
    goal: tuple[str, bool] | None = None,
    second: tuple[str, bool] | None = None,
    title: str | None = None,
) -> None:
    """Writes a page with pictures of a store's rows.

    - `goal`: the metric that the pictures show, and whether more of it is better. Left out: the goal of the space, or its first metric.
    - `second`: the metric beside it in the Pareto front. Left out: the first other one, of which less is better.
    """
    _altair()
    store = store if isinstance(store, Store) else Store(store)
    rows = Rows(store, goal)
    for metric, _ in filter(None, (goal, second)):
        if metric not in rows.metrics:
            raise Error(f"`{metric}` is no metric; expected one of {', '.join(rows.metrics)}", file=store.path, key=metric)
    made: list[Callable[[Rows], Section | None]] = [lines, saturation, lambda rows: pareto(rows, second), heat, tornado]
    sections = [section for section in (make(rows) for make in made) if section is not None]
    text = _page(rows, title or os.path.basename(store.path.rstrip("/")), sections)
    part = f"{os.fspath(page)}.part"
    with open(part, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(part, page)


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the page of a store. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python3 -m baton.report", description="Writes a page with pictures of a store.")
    parser.add_argument("store", metavar="DIR")
    parser.add_argument("--out", metavar="PAGE.html", required=True)
    options = parser.parse_args(arguments)
    try:
        write(options.store, options.out)
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
