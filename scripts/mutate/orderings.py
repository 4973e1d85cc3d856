#!/usr/bin/env python3
"""The mutation check: is every memory ordering, fence and wake-up of `baton-sync`, or of `baton-omp`, needed by some test?

Weakens each ordering in turn (AcqRel to either half, Acquire and Release to Relaxed, SeqCst to what is below it), leaves
out each fence and each wake-up in turn, and runs the contract tests that pass through that place: loom's for orderings
and fences, shuttle's for wake-ups. A mutant that a test objects to is caught. One that survives needs a written argument
from the C11 memory model, or about the wake-up, in a comment with `C11:` at that place; else this exits with 1.

Nothing is compiled for a mutant: the tests' machines change the ordering at the named place (`crates/check/src/mutant.rs`).

    scripts/mutate/mutate orderings                      all of crates/sync/src (slow)
    scripts/mutate/mutate orderings --file lock/ticket.rs   one file (may be repeated)
    scripts/mutate/mutate orderings --ignored --file queue/segments.rs --test segments    by ignored tests too
    scripts/mutate/mutate orderings --quick                 one small file, for CI
    scripts/mutate/mutate orderings --crate omp             all of crates/omp/src, by the contracts of OpenMP (slow)
    scripts/mutate/mutate orderings --crate omp --file crew.rs
    scripts/mutate/mutate orderings --crate omp --file ring.rs --test ring    by some tests, and only the places that they reach
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# For each crate: the test programs of baton-check that have its contracts, and the features to build them with.
CRATES = {
    "sync": {"programs": ["loom", "shuttle"], "features": []},
    "omp": {"programs": ["omp"], "features": ["--features", "deep"]},
}
QUICK = "lock/mcs.rs"
ORDERING = re.compile(r"\b(Relaxed|Acquire|Release|AcqRel|SeqCst)\b")
# The weaker orderings to try, by the kind of access and the ordering that it has.
WEAKER = {
    ("load", "Acquire"): ["Relaxed"],
    ("load", "SeqCst"): ["Acquire", "Relaxed"],
    ("store", "Release"): ["Relaxed"],
    ("store", "SeqCst"): ["Release", "Relaxed"],
    ("rmw", "Acquire"): ["Relaxed"],
    ("rmw", "Release"): ["Relaxed"],
    ("rmw", "AcqRel"): ["Acquire", "Release"],
    ("rmw", "SeqCst"): ["AcqRel", "Acquire", "Release"],
    ("fence", "Acquire"): ["none"],
    ("fence", "Release"): ["none"],
    ("fence", "AcqRel"): ["Acquire", "Release"],
    ("fence", "SeqCst"): ["AcqRel", "none"],
}
# The least CPU seconds that a mutant gets: loom explores more when an ordering is weaker. The limit is on CPU time, because a
# busy machine must not change a verdict.
PATIENCE = 120


def source_of(crate):
    return pathlib.Path("crates") / crate / "src"


def build(crate, scratch):
    """Builds the tests of the crate's contracts; returns their programs by name, copied to where no later build changes them."""
    command = ["cargo", "test", "-p", "baton-check", "--no-run"] + CRATES[crate]["features"]
    for program in CRATES[crate]["programs"]:
        command += ["--test", program]
    out = subprocess.run(command + ["--message-format=json"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    programs = {}
    for line in out.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["kind"] == ["test"]:
            program = shutil.copy(message["executable"], scratch)
            programs[message["target"]["name"]] = program
    return programs


def run(program, test, limit=None, **variables):
    """Runs one test, also an ignored one; returns whether it passed, or None if its CPU time was up, and the CPU seconds that it took."""
    environment = dict(os.environ, RUST_BACKTRACE="0", **variables)
    process = subprocess.Popen([program, "--exact", "--include-ignored", test], cwd=ROOT / "crates/check", env=environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if limit:
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    passed = None if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL) else process.returncode == 0
    return passed, usage.ru_utime + usage.ru_stime


def checker_of(program, name):
    """Returns which checker runs a test, "loom" or "shuttle": the program's name says it or, in a program with tests of
    both, the test's module."""
    return program if program in ("loom", "shuttle") else "loom" if name.startswith("loom") else "shuttle"


def listed(path, *which):
    """Returns the names of a program's tests."""
    command = [path, "--list", "--format", "terse", *which]
    lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return [line.removesuffix(": test") for line in lines if line.endswith(": test")]


def survey(programs, source, wanted, ignored, jobs):
    """Runs each test once without a mutant; returns the places that tests reach, each with what is done there and its
    tests, and the number of tests."""
    tests = []
    for program, path in programs.items():
        long = set(listed(path, "--ignored"))
        tests += [(program, name) for name in listed(path) if wanted(name) and (ignored or name not in long)]

    def one(test):
        program, name = test
        with tempfile.NamedTemporaryFile("r", suffix=".sites") as sites:
            passed, seconds = run(programs[program], name, BATON_SITES=sites.name)
            if not passed:
                raise SystemExit(f"{program}: {name} fails as it is; no mutant can be judged")
            return program, name, seconds, sites.read().splitlines()

    places = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for program, name, seconds, lines in pool.map(one, tests):
            for line in lines:
                where, kind, *arguments = line.split()
                file, row, column = where.rsplit(":", 2)
                if source not in file:
                    continue
                key = (file[file.index(source):], int(row), int(column))
                place = places.setdefault(key, {"kind": kind, "orders": {}, "tests": []})
                place["orders"].update(argument.split("=") for argument in arguments)
                place["tests"].append((program, name, seconds))
    return places, len(tests)


def code_of(source):
    """Returns the source's lines up to its test module; comments and `use` items are blank."""
    lines = []
    inside_use = False
    for line in source:
        if line.startswith("#[cfg(test)]"):
            break
        code = re.sub(r"//.*", "", line)
        inside_use = inside_use or re.match(r"\s*(pub )?use ", code) is not None
        lines.append("" if inside_use else code)
        inside_use = inside_use and ";" not in code
    return lines


def arguments_of(lines, row, column):
    """Returns the positions (row, column) of the ordering words among the arguments of the call at this place."""
    text = "\n".join(lines)
    at = sum(len(line) + 1 for line in lines[:row - 1]) + column - 1
    start = text.find("(", at)
    depth, found, position = 0, [], start
    while position < len(text):
        character = text[position]
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth == 0:
                break
        elif depth == 1:
            word = ORDERING.match(text, position)
            if word and not text[position - 1].isalnum():
                before = text[:position]
                found.append((before.count("\n") + 1, position - before.rfind("\n")))
                position = word.end()
                continue
        position += 1
    return found


def argument_for(lines, row):
    """Returns whether a comment in or above the statement at this row has an argument that begins with `C11:`."""
    if "C11:" in lines[row - 1]:
        return True
    # Walks up to the comment above the statement.
    at = row - 2
    while at >= 0 and lines[at].strip() and row - at < 12:
        if lines[at].strip().startswith("//"):
            while at >= 0 and lines[at].strip().startswith("//"):
                if "C11:" in lines[at]:
                    return True
                at -= 1
            return False
        if re.search(r"[;{}]\s*$", lines[at]) and not lines[at + 1].strip().startswith((".", "&&", "||")):
            if not re.search(r"[{(]\s*$", lines[at]):
                return False
        at -= 1
    return False


def mutants_of(key, place):
    """Returns the changes to try at a place, as (argument, value)."""
    if place["kind"] == "wake":
        return [("wake", "none")]
    kind = {"ok": "rmw", "fail": "load"}
    changes = []
    for argument, order in place["orders"].items():
        changes += [(argument, value) for value in WEAKER.get((kind.get(argument, place["kind"]), order), [])]
    return changes


def judge(programs, key, place, change):
    """Runs the tests that reach the place, quickest first, until one fails. Returns the place, the change, the verdict,
    and the test that failed."""
    checker = "shuttle" if place["kind"] == "wake" else "loom"
    argument, value = change
    name = f"{key[0]}:{key[1]}:{key[2]}:{argument}={value}"
    verdict = "survived"
    tests = (test for test in place["tests"] if checker_of(*test[:2]) == checker)
    for program, test, seconds in sorted(tests, key=lambda test: test[2]):
        passed, _ = run(programs[program], test, limit=max(PATIENCE, 20 * seconds), BATON_MUTANT=name)
        if passed is None:
            verdict = "undecided"
        elif not passed:
            return key, change, "caught", f"{checker}: {test}"
    return key, change, verdict, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crate", choices=CRATES, default="sync", help="whose places (sync)")
    parser.add_argument("--file", action="append", default=[], help="a file below the crate's src")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} only, with its own tests")
    parser.add_argument("--ignored", action="store_true", help="run ignored tests too, which take long")
    parser.add_argument("--test", action="append", default=[], metavar="WORD",
                        help="only tests whose name has this word, and the places that they reach (may be repeated)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    options = parser.parse_args()
    if options.quick:
        if options.crate != "sync":
            sys.exit(f"--quick is {QUICK} of sync")
        options.file.append(QUICK)
    wanted_files = {str(source_of(options.crate) / file) for file in options.file}
    for file in wanted_files:
        if not (ROOT / file).is_file():
            sys.exit(f"no such file: {file}")

    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(check(options, wanted_files, scratch))


def check(options, wanted_files, scratch):
    """Runs the whole check; returns the exit status."""
    programs, source = build(options.crate, scratch), str(source_of(options.crate))
    files = sorted(str(p.relative_to(ROOT)) for p in (ROOT / source).rglob("*.rs"))
    files = [file for file in files if not wanted_files or file in wanted_files]
    # The sources are read once, because they may be edited while this runs.
    sources = {file: (ROOT / file).read_text().splitlines() for file in files}
    rooms = {pathlib.Path(file).stem for file in wanted_files}

    def wanted(name):
        if options.test:
            return any(word in name for word in options.test)
        return not options.quick or rooms & set(name.split("::"))

    places, count = survey(programs, source, wanted, options.ignored, options.jobs)
    print(f"{count} tests pass as they are and reach {len(places)} places", file=sys.stderr)

    # Finds the written orderings that no test reaches.
    unreached = []
    for file in files:
        lines = code_of(sources[file])
        reached = {where for key in places if key[0] == file for where in arguments_of(lines, key[1], key[2])}
        for row, line in enumerate(lines, 1):
            for word in ORDERING.finditer(line):
                # Relaxed has no weaker ordering; a path like `core::cmp::Ordering::Less` has none of the five words.
                if word[1] != "Relaxed" and (row, word.start() + 1) not in reached and not options.test:
                    unreached.append((file, row, word[1]))

    work = [(key, place, change) for key, place in sorted(places.items()) if key[0] in files
            for change in mutants_of(key, place)]
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(lambda item: judge(programs, *item), work):
            results.append(result)
            (file, row, column), (argument, value), verdict, by = result
            print(f"{verdict:9} {file}:{row}:{column} {argument}={value}  {by}", file=sys.stderr, flush=True)

    failed = False
    print("| file | caught | of | argued |\n| --- | --- | --- | --- |")
    totals = [0, 0, 0]
    survivors = []
    for file in files:
        of_file = [r for r in results if r[0][0] == file]
        missing = [u for u in unreached if u[0] == file]
        if not of_file and not missing:
            continue
        caught = sum(r[2] == "caught" for r in of_file)
        argued = 0
        for (_, row, column), (argument, value), verdict, _ in of_file:
            if verdict != "caught":
                reasoned = verdict == "survived" and argument_for(sources[file], row)
                argued += reasoned
                failed = failed or not reasoned
                survivors.append((f"{file}:{row}:{column}", f"{argument}={value}", verdict, reasoned))
        for _, row, order in missing:
            failed = True
            survivors.append((f"{file}:{row}", order, "reached by no test", False))
        numbers = [caught, len(of_file) + len(missing), argued]
        totals = [total + number for total, number in zip(totals, numbers)]
        print("| `{}` | {} | {} | {} |".format(file.removeprefix(source + "/"), *numbers))
    print("| all | {} | {} | {} |\n".format(*totals))
    for where, what, verdict, reasoned in survivors:
        print(f"- {where} {what}: {verdict}, " + ("argued" if reasoned else "and no `C11:` argument stands there"))
    return 1 if failed else 0


if __name__ == "__main__":
    main()
