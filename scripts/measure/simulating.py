"""What the scripts that make tables of simulations share: the command, which is built where none is named, and a run's results."""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def built():
    """The command of this tree, as it is now."""
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "baton-cli"], cwd=ROOT, check=True)
    return str(ROOT / "target/release/baton")


def results(command):
    """What `baton sim … --json` prints; a run that fails ends the script with what it said."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)


def in_mode(baton, model, chip, apps, settings=(), more=()):
    """Runs programs of `--app phases,…` in the coarse mode or in the cycle-level one; what each did, in their order.

    The coarse mode has the shared cache where a page's home is, as the cycle-level one does."""
    command = [baton, "sim", "--json", "--chip", chip, "--no-trace"]
    for setting in (f"memory.model={model}", *(["phases.shared=homes"] if model == "phases" else []), *settings):
        command += ["--set", setting]
    # The main application only begins: what is compared are runs of --app, which have a time each.
    command += ["--workload", "barrier", "--threads", "1", "--iterations", "1", "--think", "1", *more]
    for app in apps:
        command += ["--app", f"phases,{app}"]
    return results(command)["by_app"][1:]
