"""Starts programs with or without the library, and ends those that take too long."""

import glob
import json
import os
import signal
import subprocess
import time


class Launch:
    """One way to start programs: the environment, the time limit, and the paths of the counters and of the trace."""

    def __init__(self, env, limit, stats=None, trace=None):
        self.env = env
        self.limit = limit
        self.stats = stats
        self.trace = trace

    def start(self, command, **options):
        """Starts the command in a session of its own, so that `kill` reaches its children too."""
        options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen(command, env=self.env, start_new_session=True, **options)

    def finish(self, process, deadline):
        """Waits for the process until the deadline; kills it then. Returns whether it ended by itself."""
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
            return True
        except subprocess.TimeoutExpired:
            self.kill(process)
            return False

    @staticmethod
    def kill(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()

    def counters(self, name):
        """Returns the exit counters of each process whose program name begins with `name`."""
        if self.stats is None or not os.path.exists(self.stats):
            return []
        with open(self.stats) as file:
            lines = [json.loads(line) for line in file]
        return [line for line in lines if os.path.basename(line["program"]).startswith(name)]

    def trace_bytes(self):
        """Returns the disk space of the recorded events, in bytes; 0 if the launch does not record."""
        if self.trace is None:
            return 0
        return sum(os.stat(path).st_blocks * 512 for path in glob.glob(os.path.join(self.trace, "events.*")))


class Runner:
    """Makes a `Launch` for each way to run a program: without the library, recorded, and under a lock."""

    def __init__(self, library, scratch, limit):
        if not os.path.exists(library):
            raise SystemExit(f"{library}: not there; cargo build --release --package baton-preload makes it")
        self.library = library
        self.scratch = scratch
        self.limit = limit
        self.number = 0

    def environment(self, **variables):
        env = {key: value for key, value in os.environ.items() if not key.startswith("BATON_") and key != "LD_PRELOAD"}
        env.update({key: value for key, value in variables.items() if value})
        return env

    def path(self, name):
        self.number += 1
        return os.path.join(self.scratch, f"{name}.{self.number}")

    def bare(self):
        """Returns the launch without the library, with a time limit of at least a minute."""
        return Launch(self.environment(), max(self.limit, 60))

    def recorded(self):
        """Returns the launch that records a trace while the program keeps glibc's locks."""
        trace, stats = self.path("trace"), self.path("stats")
        os.mkdir(trace)
        env = self.environment(LD_PRELOAD=self.library, BATON_TRACE=trace, BATON_STATS=stats)
        return Launch(env, self.limit, stats, trace)

    def under(self, lock, wait):
        """Returns the launch that replaces the program's mutexes with `lock`, under the wait policy `wait` if it is not empty."""
        stats = self.path("stats")
        env = self.environment(LD_PRELOAD=self.library, BATON_LOCK=lock, BATON_WAIT=wait, BATON_STATS=stats)
        return Launch(env, self.limit, stats)

    def refusal(self, lock):
        """Returns the message with which the library refuses a lock's name."""
        env = self.environment(LD_PRELOAD=self.library, BATON_LOCK=lock)
        return subprocess.run(["true"], env=env, capture_output=True, text=True, check=False).stderr

    def takes(self, lock, wait):
        """Returns whether the library accepts the lock with this wait policy on this machine."""
        env = self.environment(LD_PRELOAD=self.library, BATON_LOCK=lock, BATON_WAIT=wait)
        return subprocess.run(["true"], env=env, capture_output=True, check=False).returncode == 0
