"""What the scripts that make tables of simulations share: the command, which is built where none is named, and a run's results."""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def built():
    """The command of this tree, as it is now."""
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "baton-cli"], cwd=ROOT, check=True)
    return str(ROOT / "target/release/baton")


def results(command):
    """What `baton sim … --json` prints; a run that fails ends the script with what it said."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)
