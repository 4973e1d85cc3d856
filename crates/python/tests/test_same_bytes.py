"""A run has the bytes of the command, over 50 configurations."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import baton

ROOT = Path(__file__).resolve().parents[3]
COMMAND = Path(os.environ.get("BATON", ROOT / "target/debug/baton"))

LOCKS = ["tas", "ttas", "ticket", "mcs", "clh", "spin-park"]
SIMS: list[dict[str, Any]] = [
    *({"chip": "ocor64", "lock": lock, "threads": n, "iterations": 20} for lock in LOCKS for n in (2, 5)),
    *({"chip": "caf16", "lock": lock, "threads": 4, "iterations": 20, "seed": seed} for lock in LOCKS for seed in (1, 7)),
    *({"chip": "sample-host", "workload": "barrier", "threads": n, "iterations": 10, "seed": 3} for n in (1, 2, 3, 4)),
    *({"chip": "ocor64", "workload": "barrier", "barrier": "dissemination", "threads": n, "iterations": 5} for n in (2, 8)),
    {"chip": "sample-host", "lock": "mcs", "set": {"wait.pause": 9, "core.clock_hz": 1_000_000_000}, "iterations": 10},
    {"chip": "sample-host", "lock": "mcs", "spread": 0.5, "cycles": 20_000, "at": [1, 0]},
    {"chip": "ocor64", "cores": 8, "threads": 8, "lock": "futex", "off": ["6-7", "5@20000"], "cycles": 50_000},
    {"chip": "ocor64", "app": ["kdtree,threads=2,runs=1", "lock,threads=2,lock=ticket,runs=background"], "cycles": 30_000},
    {"chip": "ocor64", "workload": "chase", "bytes": "64K", "iterations": 200},
    {"chip": "ocor64", "workload": "ring", "queue": "mpmc", "threads": 4, "iterations": 20},
    {"chip": "ocor64", "no_trace": True, "threads": 3, "nice": [0, 5, -3], "cycles": 20_000},
    {"chip": "opteron6272x4", "lock": "mcs", "threads": 4, "iterations": 10, "energy": True},
    {"chip": "caf16", "workload": "clusters", "clusters": [2, 2], "queue": "ring", "bulk": 8, "iterations": 64},
]
NOCS: list[dict[str, Any]] = [
    *({"size": size, "rate": rate, "cycles": 300} for size in ("4x4", "8x4") for rate in (0.01, 0.1, 0.4)),
    *({"topology": name, "size": "8", "rate": 0.05, "cycles": 300} for name in ("ring", "crossbar", "bus")),
    {"size": "4x4", "rate": 1, "outstanding": 4, "batch": 20, "reply": 5},
    {"size": "4x4", "traffic": "hotspot", "hot_nodes": [1, 2], "seed": 5, "cycles": 300},
    {"topology": "torus", "size": "4x4", "vcs": 4, "traffic": "tornado", "cycles": 300},
]
ALL = [("sim", options) for options in SIMS] + [("noc", options) for options in NOCS]

# Times of the host differ from run to run.
TIMES = re.compile(r'"(host_seconds|cycles_per_second|guest_operations_per_second)": [^,\n]*')


def written(options: dict[str, Any]) -> list[str]:
    """The options as a user would write them for the command."""
    arguments = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            arguments.append(option)
        elif isinstance(value, dict):
            arguments += [f"{option}={key}={one}" for key, one in value.items()]
        elif name in ("off", "app"):
            arguments += [f"{option}={one}" for one in value]
        elif isinstance(value, list):
            arguments.append(f"{option}={','.join(map(str, value))}")
        else:
            arguments.append(f"{option}={value}")
    return arguments


def test_there_are_fifty() -> None:
    assert len(ALL) >= 50


@pytest.mark.skipif(not COMMAND.is_file(), reason=f"no {COMMAND}: `make build`, or name it in BATON")
@pytest.mark.parametrize(("command", "options"), ALL)
def test_a_run_has_the_bytes_of_the_command(command: str, options: dict[str, Any]) -> None:
    printed = subprocess.run(
        [COMMAND, command, "--json", *written(options)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert printed.returncode == 0, printed.stderr
    result = baton.sim(**options) if command == "sim" else baton.noc(**options)
    assert TIMES.sub("", result.json + "\n") == TIMES.sub("", printed.stdout)
