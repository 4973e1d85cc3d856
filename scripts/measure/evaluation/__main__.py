"""Prediction against measurement, on the tree's ten programs and eleven of Debian's, with as many threads as CPUs and twice as many.

Each program is profiled once with its own lock; `baton whatif` predicts every lock from that; then the program runs by itself
and under every lock, by turns. Tables and the bars come out in Markdown; progress goes to stderr.

A run in which other programs used more than a twentieth of the CPUs says nothing and is made again. A run is ended at ten
times the program's own time: a collapse. `--only` names programs, `--json` keeps all that was found, `--merge` makes one
report of several such files, and `--profiles` keeps the recordings, so that `--again FILE` predicts anew from them without
measuring. Before:

    cargo build --release -p baton-cli -p baton-preload
    target/release/baton doctor --calibrate
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import programs
import report
from measuring import MOST_OTHERS, TRIES, die, record, say, timed

LOCKS = ("futex,spin-park,adaptive,ttas:spin-park,ticket:spin-park,mcs:spin-park,clh:spin-park,"
         "ticket-barging,mcs-barging,clh-barging")
# The label of the runs without Baton.
OWN = ""
# The keys that are kept of a row of `whatif`.
KEPT = ("time_ns", "interval_ns", "far", "cut_off", "failed", "by_seed_ns")
# A run of more than this many times the program's own time (and of more than a second) is a collapse.
COLLAPSE = 10


def under(baton, label, program):
    """Returns the command that runs a program under the lock of a label, or by itself under the label OWN."""
    lock, _, wait = label.partition(":")
    return [baton, "run", "--lock", lock, *(["--wait", wait] if wait else []), "--", *program.command] if label else program.command


def measure(options, program, labels):
    """Runs the program under each lock in turn, so that a change on the machine affects all of them. Returns the
    seconds of each run by label, the labels whose runs collapsed, and the number of runs that other programs disturbed."""
    times = {label: [] for label in (OWN, *labels)}
    ended, disturbed, limit = set(), 0, options.limit
    for _ in range(options.runs * TRIES):
        missing = [label for label in times if label not in ended and len(times[label]) < options.runs]
        for label in missing:
            command = [str(word) for word in under(options.baton, label, program)]
            seconds, _, cut, others = timed(command, limit, program.load, program.port)
            if others > MOST_OTHERS:
                disturbed += 1
                continue
            if cut:
                ended.add(label)
            if label == OWN:
                limit = min(options.limit, max(1.0, COLLAPSE * seconds))
            times[label].append(seconds)
        if not missing:
            break
    return times, sorted(ended), disturbed


def predict(options, profile, labels):
    """Runs `whatif` once for each wait policy of the labels; returns its rows by label, the seconds that took, and what
    the last document says of the whole recording."""
    start, rows, document = time.monotonic(), {}, None
    for wait in sorted({label.partition(":")[2] for label in labels}):
        same = [label for label in labels if label.partition(":")[2] == wait]
        command = [options.baton, "whatif", profile, "--lock", ",".join(label.partition(":")[0] for label in same), "--json",
                   "--seeds", str(options.seeds), *(["--wait", wait] if wait else []), *(["--chip", options.chip] if options.chip else [])]
        done = subprocess.run([str(word) for word in command], capture_output=True)
        # Exit code 1 means that some row has no figures; the other rows are valid.
        if done.returncode not in (0, 1) or not done.stdout:
            die(done.stderr.decode(errors="replace"))
        document = json.loads(done.stdout)
        results = [{key: row[key] for key in KEPT if key in row} for row in document["results"]]
        rows[OWN] = results[0]
        rows.update(zip(same, results[1:]))
    kept = {key: document[key] for key in ("check", "trustworthy", "reasons", "not_replayable_share", "replayability", "threads")}
    return {"rows": rows, "seconds": time.monotonic() - start, **kept}


def profile_of(options, program, scratch):
    return (options.profiles or scratch) / program.label.replace(" ", ".")


def look_at(options, program, labels, scratch):
    """Records, predicts and measures one program with one number of threads; returns the results."""
    profile = profile_of(options, program, scratch)
    say(f"{program.label}: recording")
    others = record(options.baton, program.command, profile, program.load, program.port)
    say(f"{program.label}: predicting")
    predicted = predict(options, profile, labels)
    say(f"{program.label}: measuring ({predicted['seconds']:.0f} s to predict)")
    times, ended, disturbed = measure(options, program, labels)
    return {"name": program.name, "group": program.group, "threads": program.threads, "others": others, "times": times,
            "ended": ended, "disturbed_runs": disturbed, "predicted": predicted}


def cases(options, folder):
    """Yields every chosen program at every number of threads."""
    cpus = len(os.sched_getaffinity(0))
    counts = [int(count) for count in options.threads.split(",")] if options.threads else [cpus, 2 * cpus]
    tree = programs.SEEN + programs.HELD_OUT
    names = options.only.split(",") if options.only else [*tree, *programs.DEBIAN]
    for name in names:
        if name not in tree and name not in programs.DEBIAN:
            die(f"no program {name}; expected one of {', '.join([*tree, *programs.DEBIAN])}")
    absent = [text for text in programs.missing() if text.split()[0] in names]
    if absent:
        die(f"not installed: {', '.join(absent)}; `--only` leaves programs out")
    for name in names:
        of = programs.tree if name in tree else programs.debian
        fixed = programs.FIXED.get(name)
        for threads in [fixed] if fixed else counts:
            yield of(name, threads, folder)


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/measure/evaluation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baton", type=Path, default=programs.ROOT / "target/release/baton")
    parser.add_argument("--only", metavar="PROGRAM,...", help="these programs")
    parser.add_argument("--threads", metavar="N,...", help="these numbers of threads; left out: as many as CPUs, and twice as many")
    parser.add_argument("--locks", default=LOCKS, help="LOCK[:WAIT], with commas")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds after which any run is ended")
    parser.add_argument("--chip", help="chip file; left out: this host's calibration")
    parser.add_argument("--json", type=Path, help="write everything that was measured and predicted")
    parser.add_argument("--profiles", type=Path, help="keep the recordings in this folder")
    parser.add_argument("--again", type=Path, nargs="+", help="measure nothing; predict anew, from `--profiles`, what such files measured")
    parser.add_argument("--merge", type=Path, nargs="+", help="measure and predict nothing; report what such files say")
    return parser.parse_args()


def found(options, scratch):
    labels = [label.strip() for label in options.locks.split(",")]
    for path in options.merge or []:
        yield from json.loads(path.read_text())
    for path in options.again or []:
        for case in json.loads(path.read_text()):
            if options.only and case["name"] not in options.only.split(","):
                continue
            say(f"{case['name']} {case['threads']}: predicting")
            yield {**case, "predicted": predict(options, options.profiles / f"{case['name']}.{case['threads']}", labels)}
    if not options.merge and not options.again:
        for program in cases(options, scratch):
            yield look_at(options, program, labels, scratch)


def main():
    options = arguments()
    if options.again and not options.profiles:
        die("--again needs --profiles, the folder with the recordings")
    if not options.merge and not options.baton.exists():
        die(f"{options.baton} is missing: cargo build --release -p baton-cli -p baton-preload")
    if not options.merge and not options.again and shutil.which("cc") is None:
        die("no C compiler (cc)")
    if options.profiles:
        options.profiles.mkdir(parents=True, exist_ok=True)
    kept = []
    with tempfile.TemporaryDirectory() as directory:
        for case in found(options, Path(directory)):
            kept.append(case)
            if options.json:
                part = options.json.with_suffix(".part")
                part.write_text(json.dumps(kept) + "\n")
                part.replace(options.json)
    report.print_all(kept)


if __name__ == "__main__":
    main()
