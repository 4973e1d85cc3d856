"""Runs real programs unmodified under every lock, and recorded, and says what came of it.

    cargo build --release --package baton-preload
    python3 scripts/check/compat > docs/results/compat.md

A program passes if its output equals that of a run without the library, or its health check holds. Its exit counters say how
many of its mutex acquisitions the named lock served. A run that takes longer than the limit is a collapse, which is a result:
pure spinning with more threads than CPUs does that.
"""

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "measure"))

import programs
import table
from run import Runner

ROOT = str(Path(__file__).resolve().parents[3])


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/check/compat", description=__doc__.splitlines()[0])
    parser.add_argument("--library", default=os.path.join(ROOT, "target/release/libbaton_preload.so"))
    parser.add_argument("--only", metavar="PROGRAM,...", help="these programs")
    parser.add_argument("--locks", metavar="LOCK,...", help="these locks")
    parser.add_argument("--limit", type=float, default=20, metavar="SECONDS", help="after which a run is a collapse")
    parser.add_argument("--size", type=float, default=8, metavar="MIB", help="input of the compressors")
    parser.add_argument("--asleep", action="store_true", help="leave out locks whose waiters only spin")
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    return parser.parse_args()


def lock_names(runner):
    """Returns the names of the locks that can replace mutexes, from the library's message about an unknown lock."""
    said = runner.refusal("no-such-lock")
    return said.split("expected one of", 1)[1].strip().split(", ")


def settings(runner, chosen, asleep_only):
    """Returns the table's columns as (title, lock, wait): each lock with its own wait policy, then each with `futex`."""
    names = [name for name in lock_names(runner) if chosen is None or name in chosen]
    own = [(name, name, "") for name in names if runner.takes(name, "")]
    asleep = [(f"{name}, futex", name, "futex") for name in names if name != "futex" and runner.takes(name, "futex")]
    if asleep_only:
        spins = {name for _, name, _ in asleep}
        own = [column for column in own if column[1] not in spins]
    return own + asleep


def measure(runner, program, columns, log):
    """Runs a program without the library, recorded, and once for each column; returns the row of the table."""
    log(f"{program.name}: bare")
    bare = program.go(runner.bare())
    if not bare.ok:
        sys.exit(f"{program.name} fails without the library: {bare.why}")
    log(f"{program.name}: {bare.seconds:.2f} s; recorded")
    row = {"program": program.name, "what": program.what, "bare_seconds": bare.seconds, "runs": []}
    for title, lock, wait in [("recorded", "", "")] + columns:
        result = program.go(runner.recorded() if title == "recorded" else runner.under(lock, wait), expect=bare)
        row["runs"].append({"title": title, "lock": lock, "wait": wait, **result.as_dict()})
        log(f"{program.name}: {title}: {table.cell(row['runs'][-1], bare.seconds)}")
    return row


def main():
    args = arguments()
    log = lambda text: print(text, file=sys.stderr, flush=True)
    only = args.only.split(",") if args.only else None
    chosen = args.locks.split(",") if args.locks else None
    scratch = tempfile.mkdtemp(prefix="baton-compat-")
    try:
        runner = Runner(os.path.abspath(args.library), scratch, args.limit)
        rows, missing = [], []
        columns = settings(runner, chosen, args.asleep)
        for program in programs.every(ROOT, scratch, args.size):
            if only is not None and program.name not in only:
                continue
            absent = [need for need in program.needs if shutil.which(need) is None]
            if absent:
                missing.append({"program": program.name, "missing": absent})
                log(f"{program.name}: skipped for want of {', '.join(absent)}")
                continue
            rows.append(measure(runner, program, columns, log))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    host = {"system": platform.platform(), "cpus": os.cpu_count(), "processor": table.processor()}
    result = {"version": 1, "host": host, "limit_seconds": args.limit, "rows": rows, "skipped": missing}
    print(json.dumps(result, indent=1) if args.json else table.markdown(result))
    return any(run["state"] == "failed" for row in rows for run in row["runs"])


if __name__ == "__main__":
    sys.exit(main())
