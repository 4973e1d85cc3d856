"""Shared by the scripts that make tables of simulations: builds the command where none is named, and reads the results
of a run."""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def built():
    """Builds the command from this tree; returns its path."""
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "baton-cli"], cwd=ROOT, check=True)
    return str(ROOT / "target/release/baton")


def results(command):
    """Runs `baton sim … --json`; returns its results. If the run fails, its message ends the script."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)


def in_mode(baton, model, chip, apps, settings=(), more=()):
    """Runs programs of `--app phases,…` in the coarse mode (`model` is "phases") or in the cycle-level one; returns the
    results of each program, in the order of `apps`.

    In the coarse mode a page's home has the shared cache, as in the cycle-level mode."""
    command = [baton, "sim", "--json", "--chip", chip, "--no-trace"]
    for setting in (f"memory.model={model}", *(["phases.shared=homes"] if model == "phases" else []), *settings):
        command += ["--set", setting]
    # The main application is only there because a run needs one, and ends at once: the programs of --app are compared,
    # each of which has a time of its own.
    command += ["--workload", "barrier", "--threads", "1", "--iterations", "1", "--think", "1", *more]
    for app in apps:
        command += ["--app", f"phases,{app}"]
    return results(command)["by_app"][1:]
