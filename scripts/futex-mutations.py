#!/usr/bin/env python3
"""The mutation check of the guest kernel's futexes: is every step of them needed by some test?

Breaks the code of `crates/chip/src/os/futex` and what calls it in each way of the list in `scripts/futex_mutants.py`, one at a time,
and runs the tests `futex`, `futex_steps`, `futex_schedules` (the protocol under shuttle), `os_prices` and `hangs` of `baton-chip`. A mutant that some
test objects to, or that does not end in time, is caught. One that survives needs its reason in the list; else this exits with 1, as it
does where the code that a mutant changes is not there any more.

All mutants are built at once, into a copy of the tree below target/: which of them is on is said by a variable of the environment. Only
where two change the same code a second build is needed. Memory orderings are not weakened: shuttle and the simulated chip run them
in sequence, so no test could tell.

    scripts/futex-mutations.py               all of them (two minutes of CPU time, and the builds)
    scripts/futex-mutations.py requeue give  those whose name has one of these words
"""

import json
import os
import pathlib
import resource
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from futex_mutants import MUTANTS  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREE = ROOT / "target" / "futex-mutations"
# In the order in which they are asked.
TESTS = {"futex": [], "os": ["prices::", "hangs::"]}
# CPU seconds that a test program gets: it takes a few where nothing is broken.
PATIENCE = 30
# At the end of each file that has mutants.
SWITCH = """
#[allow(clippy::all)]
fn broken(number: usize) -> bool {
    static WHICH: std::sync::OnceLock<Option<usize>> = std::sync::OnceLock::new();
    *WHICH.get_or_init(|| std::env::var("BATON_FUTEX_MUTANT").ok()?.parse().ok()) == Some(number)
}
"""


def copy(files):
    """Brings the copy of the tree up to date but for `files`; what has not changed keeps its time, so that little is built."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.split(b"\0")
    kept = {name for name in map(os.fsdecode, names) if (ROOT / name).is_file()}
    for path in TREE.rglob("*"):
        if path.is_file() and str(path.relative_to(TREE)) not in kept | {"Cargo.lock"}:
            path.unlink()
    for name in sorted(kept):
        write(name, files.get(name, (ROOT / name).read_bytes()))


def write(name, content):
    target = TREE / name
    if not (target.is_file() and target.read_bytes() == content):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def rounds(chosen):
    """The mutants by builds: in one build, none changes another's code. Raises where a mutant's code is not there."""
    sources = {mutant.file: (ROOT / mutant.file).read_text() for mutant in MUTANTS}
    builds = []
    for number, mutant in chosen:
        source = sources[mutant.file]
        if source.count(mutant.old) != 1:
            raise SystemExit(f"{mutant.name}: its code stands {source.count(mutant.old)} times in {mutant.file}")
        start = source.index(mutant.old)
        span = (mutant.file, start, start + len(mutant.old))
        free = (b for b in builds if all(file != span[0] or end <= start or span[2] <= at for _, _, (file, at, end) in b))
        build = next(free, None)
        if build is None:
            build = []
            builds.append(build)
        build.append((number, mutant, span))
    return sources, builds


def broken(sources, build):
    """The files of a build."""
    files = {}
    for file in {mutant.file for _, mutant, _ in build}:
        text = sources[file]
        for number, mutant, (_, start, end) in sorted((m for m in build if m[1].file == file), key=lambda m: -m[2][1]):
            condition = f"broken({number})"
            if "@" in mutant.new:
                new = mutant.new.replace("@", condition)
            elif mutant.old.endswith(";"):
                new = f"if {condition} {{ {mutant.new} }} else {{ {mutant.old} }}"
            else:
                new = f"match {condition} {{ true => {{ {mutant.new} }}, false => {{ {mutant.old} }} }}"
            text = text[:start] + new + text[end:]
        files[file] = (text + SWITCH).encode()
    return files


def compile_tests():
    """Builds the test programs; by name."""
    command = ["cargo", "test", "--quiet", "-p", "baton-chip", "--no-run", "--message-format=json-render-diagnostics"]
    command += [word for test in TESTS for word in ("--test", test)]
    environment = dict(os.environ, CARGO_TARGET_DIR=str(ROOT / "target"))
    done = subprocess.run(command, cwd=TREE, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise SystemExit(done.stderr.decode() + "it does not build")
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    return {m["target"]["name"]: m["executable"] for m in messages if m.get("executable")}


def judge(programs, number):
    """The test that objects to the mutant of that number, and how; None if all pass."""
    environment = dict(os.environ, RUST_BACKTRACE="0", BATON_FUTEX_MUTANT=str(number))
    for test, filters in TESTS.items():
        process = subprocess.Popen([programs[test], "--quiet", *filters], cwd=TREE / "crates/chip", env=environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (PATIENCE, PATIENCE + 5))
        code = process.wait()
        if code:
            return f"{test} " + ("did not end" if code in (-signal.SIGXCPU, -signal.SIGKILL) else "failed")
    return None


def main():
    words = sys.argv[1:]
    if any(word.startswith("-") for word in words):
        print(__doc__)
        return 0 if words in (["-h"], ["--help"]) else 2
    chosen = [(n, mutant) for n, mutant in enumerate(MUTANTS) if not words or any(w in mutant.name for w in words)]
    sources, builds = rounds(chosen)
    caught = reasoned = bad = 0
    for build in builds:
        copy(broken(sources, build))
        programs = compile_tests()
        objection = judge(programs, "none")
        if objection:
            raise SystemExit(f"as it is: {objection}; no mutant can be judged")
        for number, mutant, _ in build:
            objection = judge(programs, number)
            if objection:
                print(f"caught    {mutant.name}: {objection}", flush=True)
                caught += 1
            elif mutant.why:
                print(f"survived  {mutant.name}: {mutant.why}", flush=True)
                reasoned += 1
            else:
                print(f"SURVIVED  {mutant.name}, and no reason is given", flush=True)
                bad += 1
    print(f"{caught} of {len(chosen)} caught, {reasoned} with a reason, {len(builds)} builds")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
