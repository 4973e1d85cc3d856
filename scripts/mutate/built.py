"""Mutants of a source tree, each behind a switch.

All mutants are built at once, in a copy of the tree below target/, and the environment variable BATON_BROKEN says which
of them is on. (BATON_MUTANT is that of `orderings.py`, which the tests of baton-check read themselves.) Only mutants that
change the same code need a second build."""

import json
import os
import pathlib
import resource
import signal
import subprocess
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
# This function is appended to each file that has mutants.
SWITCH = """
#[allow(clippy::all)]
fn broken(number: usize) -> bool {
    static WHICH: std::sync::OnceLock<Option<usize>> = std::sync::OnceLock::new();
    *WHICH.get_or_init(|| std::env::var("BATON_BROKEN").ok()?.parse().ok()) == Some(number)
}
"""


class Mutant(NamedTuple):
    """One change of the source. `old` is an expression or statements; the copy has `if BROKEN { new } else { old }`
    instead. Where that does not compile, `new` is the whole replacement, with `@` for the condition."""

    name: str
    file: str
    old: str
    new: str
    # Of a mutant that survives: the reason why no test can fail.
    why: str = ""


class Check(NamedTuple):
    """A list of mutants, and the tests of which one must fail for each."""

    # The name of the copy's folder below target/.
    name: str
    mutants: list
    # Test programs in the order in which they run, each with filters of test names. `lib` are the tests inside the crate's
    # sources; `chipfile/lib` is a program of another crate than `crate`.
    tests: dict
    # The most CPU seconds that a test program may use.
    patience: int
    # The crate of the test programs that name none.
    crate: str = "chip"

    def copy(self, files):
        """Brings the copy up to date with the tree, but for the contents in `files`; returns its folder. An unchanged
        file keeps its time, so that cargo builds little."""
        tree = ROOT / "target" / self.name
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.split(b"\0")
        kept = {name for name in map(os.fsdecode, names) if (ROOT / name).is_file()}
        for path in tree.rglob("*"):
            if path.is_file() and str(path.relative_to(tree)) not in kept | {"Cargo.lock"}:
                path.unlink()
        for name in sorted(kept):
            content, target = files.get(name) or (ROOT / name).read_bytes(), tree / name
            if not (target.is_file() and target.read_bytes() == content):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
                # The tests run scripts of the tree.
                target.chmod((ROOT / name).stat().st_mode)
        return tree

    def stale(self):
        """Returns the mutants whose code does not stand exactly once in their file, each with the number of times."""
        texts = {mutant.file: (ROOT / mutant.file).read_text() if (ROOT / mutant.file).is_file() else "" for mutant in self.mutants}
        times = ((mutant, texts[mutant.file].count(mutant.old)) for mutant in self.mutants)
        return [(mutant, count) for mutant, count in times if count != 1]

    def rounds(self, chosen):
        """Returns the sources, and the mutants in groups for one build each, in which no two change the same code. Ends
        the script if a mutant's code is not there exactly once."""
        sources = {mutant.file: (ROOT / mutant.file).read_text() for mutant in self.mutants}
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

    def place(self, test):
        """Returns the crate of a test program, and the program's name in the crate."""
        crate, _, name = test.rpartition("/")
        return crate or self.crate, name

    def compile_tests(self, tree):
        """Builds the test programs; returns their executables by name. Cargo identifies packages by their paths in the
        workspace, so the copy needs a target folder of its own: otherwise the tree's next build would use mutants."""
        environment = dict(os.environ, CARGO_TARGET_DIR=str(tree) + "-build")
        programs = {}
        for test in self.tests:
            crate, name = self.place(test)
            command = ["cargo", "test", "--quiet", "-p", f"baton-{crate}", "--no-run", "--message-format=json-render-diagnostics"]
            command += ["--lib"] if name == "lib" else ["--test", name]
            done = subprocess.run(command, cwd=tree, env=environment, capture_output=True)
            if done.returncode:
                raise SystemExit(done.stderr.decode() + "it does not build")
            executables = [m["executable"] for m in map(json.loads, done.stdout.splitlines()) if m.get("executable")]
            programs[test] = executables[-1]
        return programs

    def judge(self, tree, programs, number):
        """Runs the tests with the mutant of that number; returns which one fails and how, or None if all pass."""
        environment = dict(os.environ, RUST_BACKTRACE="0", BATON_BROKEN=str(number))
        for test, filters in self.tests.items():
            crate, _ = self.place(test)
            process = subprocess.Popen([programs[test], "--quiet", *filters], cwd=tree / "crates" / crate, env=environment,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (self.patience, self.patience + 5))
            code = process.wait()
            if code:
                return f"{test} " + ("did not end" if code in (-signal.SIGXCPU, -signal.SIGKILL) else "failed")
        return None

    def run(self, words, usage):
        """Judges the mutants whose names have one of the words (without words, all mutants); returns the exit code."""
        if any(word.startswith("-") for word in words):
            print(usage)
            return 0 if words in (["-h"], ["--help"]) else 2
        chosen = [(n, mutant) for n, mutant in enumerate(self.mutants) if not words or any(w in mutant.name for w in words)]
        sources, builds = self.rounds(chosen)
        caught = reasoned = bad = 0
        for build in builds:
            tree = self.copy(broken(sources, build))
            programs = self.compile_tests(tree)
            objection = self.judge(tree, programs, "none")
            if objection:
                raise SystemExit(f"as it is: {objection}; no mutant can be judged")
            for number, mutant, _ in build:
                objection = self.judge(tree, programs, number)
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


def broken(sources, build):
    """Returns the content of the files that a build changes: each mutant behind its switch."""
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
                new = f"(match {condition} {{ true => {{ {mutant.new} }}, false => {{ {mutant.old} }} }})"
            text = text[:start] + new + text[end:]
        files[file] = (text + SWITCH).encode()
    return files
