"""Shared by scripts/check/fuzz-traces and scripts/check/fuzz-files: cases by seed, a bounded run of `baton`, and the
report of a failure."""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The most CPU seconds that a command may take.
LONGEST = 10
# A sleeping command uses no CPU time: it is killed after this many seconds by the clock.
PATIENCE = 300
MOST_MEMORY = 4 << 30
ANSWERS = {0, 1, 2}


def options(description, names):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baton", type=Path, default=ROOT / "target" / "release" / "baton", help="the command that is tried")
    parser.add_argument("--seconds", type=float, default=60, help="how long to go on (left out: 60)")
    parser.add_argument("--cases", type=int, help="so many cases instead, however long they take")
    parser.add_argument("--seed", type=int, help="the first case's number (left out: by the clock); the next case has the next one")
    parser.add_argument("--only", choices=names, help="one kind of case")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the last case's input here")
    parsed = parser.parse_args()
    if not parsed.baton.exists():
        sys.exit(f"error: {parsed.baton} is missing: cargo build --release -p baton-cli")
    parsed.baton = parsed.baton.resolve()
    if parsed.keep and parsed.keep.exists() and any(parsed.keep.iterdir()):
        sys.exit(f"error: {parsed.keep} is not empty: name a new folder, as every case begins with an empty one")
    return parsed


def limited():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def problem(baton, words):
    """Runs `baton` with these arguments; returns what is wrong with its answer, or None."""
    env = {**os.environ, "RUST_BACKTRACE": "0", "NO_COLOR": "1"}
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen([baton, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
                                 cwd=ROOT, env=env, preexec_fn=limited)
        # The limit is on the child's own CPU time, because the machine may be busy with other programs.
        ended, status, usage, begun = 0, 0, None, time.monotonic()
        while not ended:
            ended, status, usage = os.wait4(child.pid, os.WNOHANG)
            if not ended:
                asleep = time.monotonic() - begun > PATIENCE
                if asleep or cpu_seconds(child.pid) > LONGEST:
                    child.kill()
                    os.wait4(child.pid, 0)
                    return f"no answer within {PATIENCE} s" if asleep else f"more than {LONGEST} s of CPU time"
                time.sleep(0.005)
        child.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        said = errors.read().decode(errors="replace")
    if "panicked at" in said:
        return next(line for line in said.splitlines() if "panicked at" in line)
    if child.returncode not in ANSWERS:
        return f"exit code {child.returncode}: {said[:300]}"
    if usage.ru_maxrss * 1024 > MOST_MEMORY:
        return f"{usage.ru_maxrss // 1024} MiB of memory"
    if child.returncode and not said.strip():
        return f"exit code {child.returncode} without a word"
    return None


def cpu_seconds(pid):
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def go(script, chosen, case):
    """Runs one case after the other until the time or the number of cases is used up, then exits.

    `case(seed, folder)` writes the input into the folder and yields the arguments to try on it."""
    first = chosen.seed if chosen.seed is not None else time.time_ns() % 1_000_000_000
    print(f"{script}: seeds from {first}", flush=True)
    begun, done, failed = time.monotonic(), 0, 0
    while done < chosen.cases if chosen.cases is not None else time.monotonic() - begun < chosen.seconds:
        seed = first + done
        done += 1
        with tempfile.TemporaryDirectory() as scratch:
            folder = chosen.keep or Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            # Removes the files of the case before.
            for left in folder.iterdir():
                left.unlink()
            for words in case(seed, folder):
                wrong = problem(chosen.baton, words)
                if wrong:
                    failed += 1
                    only = f" --only {chosen.only}" if chosen.only else ""
                    print(f"seed {seed}: baton {' '.join(map(str, words))}\n  {wrong}\n"
                          f"  repeat: scripts/check/{script} --seed {seed} --cases 1{only} --keep case", flush=True)
    print(f"{script}: {done} cases, {failed} failures")
    sys.exit(1 if failed else 0)
