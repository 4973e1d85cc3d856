"""Writes the results of the compatibility check as a page in Markdown."""


def processor():
    """Returns the processor's model name from /proc/cpuinfo."""
    with open("/proc/cpuinfo") as file:
        return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown")


def share(run):
    """Returns the percentage of mutex acquisitions that the lock served; None if the program made none."""
    total = run["served"] + sum(run["passed_through"].values())
    return 100 * run["served"] / total if total else None


def cell(run, bare):
    """Returns the table's cell of one run: collapse, failure, or the share served and the time relative to the bare run."""
    if run["state"] == "collapse":
        return "collapse"
    if run["state"] == "failed":
        return f"**failed**: {run['why']}"
    slower = f"{run['seconds'] / bare:.1f}×"
    if not run["lock"]:
        return f"{run['trace_bytes'] / 2**20:.1f} MiB, {slower}"
    served = share(run)
    if served is None:
        return f"no mutex, {slower}"
    return f"{int(served * 10) / 10:.1f}%, {slower}"


PAGE = """# Real programs, unmodified

Made by `python3 scripts/check/compat > docs/results/compat.md` on {processor}, {cpus} CPUs, {system}.

Each program ran without the library, recorded, and under every lock that `baton run` offers: first as the lock waits when
nothing is said, then asleep in the kernel (`--wait futex`). All of them gave the same output as without the library, or passed
their check, where the table does not say otherwise.

A cell says which share of the program's mutex acquisitions the named lock served, from the exit counters, and how long
the run took beside the one without the library. *collapse*: not done after {limit:.0f} s. With more threads than CPUs a
lock whose waiters only spin may need a time slice for each hand-off; that is a property of such locks, and why
`baton run` uses `spin-park` when nothing is said. Times are of single runs on a machine that did other work too: they tell a collapse
from a run, no more.
"""


def grid(rows, titles, heading):
    """Returns one table in Markdown, with a row for each program and a column for each title."""
    lines = ["| program | " + " | ".join(heading) + " |", "| --- |" + " --- |" * len(titles)]
    for row in rows:
        runs = {run["title"]: run for run in row["runs"]}
        cells = [cell(runs[title], row["bare_seconds"]) for title in titles]
        lines.append(f"| {row['program']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def markdown(result):
    """Returns the whole page in Markdown."""
    rows = result["rows"]
    parts = [PAGE.format(limit=result["limit_seconds"], **result["host"])]
    parts.append("| program | what it does, and what is compared | alone | threads |\n| --- | --- | --- | --- |")
    for row in rows:
        threads = max(run["threads"] for run in row["runs"])
        parts[-1] += f"\n| {row['program']} | {row['what']} | {row['bare_seconds']:.2f} s | {threads} |"
    if rows:
        titles = [run["title"] for run in rows[0]["runs"]]
        own = [title for title in titles if title != "recorded" and "," not in title]
        asleep = [title for title in titles if "," in title]
        parts.append("## Recorded (size of the trace), and locks as they wait by themselves\n")
        parts.append(grid(rows, ["recorded"] + own, ["recorded"] + own))
        parts.append("## Locks whose waiters sleep\n")
        parts.append(grid(rows, asleep, asleep))
        every = [run for row in rows for run in row["runs"] if run["lock"]]
        done = [run for run in every if run["state"] == "ok"]
        shares = [share(run) for run in done if share(run) is not None]
        parts.append(
            f"{len(every)} runs under locks: {len(done)} right, {sum(run['state'] == 'collapse' for run in every)} collapses, "
            f"{sum(run['state'] == 'failed' for run in every)} failures. Least share served: {min(shares, default=100):.2f}%."
        )
    for skip in result["skipped"]:
        parts.append(f"Skipped: {skip['program']}, for want of {', '.join(skip['missing'])}.")
    return "\n\n".join(part.rstrip("\n") for part in parts)
