#!/usr/bin/env python3
"""The mutation check of the guest kernel's futexes: is every step of them needed by some test?

Breaks the code of `crates/chip/src/os/futex` and what calls it in each way of the list in `scripts/futex_mutants.py`, one at a time,
and runs the tests `futex`, `futex_steps`, `futex_schedules` (the protocol under shuttle), `os_prices` and `hangs` of `baton-chip`. A mutant that some
test objects to, or that does not end in time, is caught. One that survives needs its reason in the list; else this exits with 1, as it
does where the code that a mutant changes is not there any more.

Memory orderings are not weakened: shuttle and the simulated chip run them in sequence, so no test could tell.

    scripts/futex-mutations.py               all of them (two minutes of CPU time, and the builds)
    scripts/futex-mutations.py requeue give  those whose name has one of these words
"""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from futex_mutants import MUTANTS  # noqa: E402
from switched import Check  # noqa: E402

# In the order in which they are asked.
TESTS = {"futex": [], "os": ["prices::", "hangs::"]}

if __name__ == "__main__":
    sys.exit(Check("futex-mutations", MUTANTS, TESTS, patience=30).run(sys.argv[1:], __doc__))
