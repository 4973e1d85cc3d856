"""Baton: locks, chips and networks, simulated.

>>> import baton
>>> run = baton.sim(chip="ocor64", workload="lock", lock="mcs", threads=8, iterations=100)
>>> run.acquisitions
800
>>> chip = baton.Chip.load("ocor64").set("wait.pause", 50)
>>> baton.sim(chip=chip, lock="ticket", threads=8, iterations=100).finished
True
"""

from pathlib import Path

from . import _baton
from ._chip import Chip, chips
from ._commands import litmus, noc, sim, study, whatif
from ._error import Error
from ._figures import Noc, Sim
from ._others import read_profile
from ._progress import Progress
from ._results import LitmusTest, Report, StudyFindings, Whatif
from ._store import Store, Table
from ._sweep import Sweep, Swept
from ._trace import Trace

__all__ = [
    "Chip",
    "Error",
    "LitmusTest",
    "Noc",
    "Progress",
    "Report",
    "Sim",
    "Store",
    "StudyFindings",
    "Sweep",
    "Swept",
    "Table",
    "Trace",
    "Whatif",
    "chips",
    "litmus",
    "noc",
    "read_profile",
    "sim",
    "study",
    "whatif",
]


def _shipped() -> None:
    """Finds the chips and profiles: those of the wheel, otherwise those of the tree around this file."""
    here = Path(__file__).resolve().parent
    for folder in (here / "share", *here.parents):
        if (folder / "chips" / "ocor64.toml").is_file():
            _baton.set_shipped(folder)
            return


_shipped()
