"""Shared by the scripts that measure on this machine: times a run, tells whether other programs disturbed it, and
compares times."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

# Two medians that differ by less than this share are a tie.
NEAR = 0.03
# A run is disturbed if other programs used more than this share of the CPUs.
MOST_OTHERS = 0.05
# The most tries for a run that is not disturbed.
TRIES = 4


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def die(text):
    say(f"error: {text}")
    sys.exit(2)


def busy():
    """Returns the idle CPU seconds of the machine, and the CPU seconds that this process and its ended children have used."""
    ticks = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    idle = (ticks[3] + ticks[4]) / os.sysconf("SC_CLK_TCK")
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return idle, sum(usage.ru_utime + usage.ru_stime for usage in both)


def others_share(seconds, before):
    """Returns the share of the CPUs that other programs used in the last `seconds`, with what `busy` gave at their beginning."""
    cpus, both = os.cpu_count(), zip(busy(), before)
    # The kernel counts each CPU's idle time in whole ticks, so one tick a CPU is subtracted.
    others = seconds * cpus - sum(now - then for now, then in both) - cpus / os.sysconf("SC_CLK_TCK")
    return max(0.0, others) / (seconds * cpus)


def listening(port, deadline):
    """Waits until a server accepts connections on the port; returns whether one does before the deadline."""
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return True
        except OSError:
            time.sleep(0.005)
    return False


def loaded(process, load, port, deadline):
    """Loads a server with a client, then asks the server to end. Returns False if the server does not listen in time or
    the client fails, and raises TimeoutExpired if the client runs beyond the deadline."""
    if not listening(port, deadline):
        return False
    done = subprocess.run([str(word) for word in load], timeout=max(0.1, deadline - time.monotonic()), capture_output=True)
    process.send_signal(signal.SIGTERM)
    return done.returncode == 0


def timed(command, limit, load=(), port=0):
    """Runs a command; returns its seconds, its output, whether it was ended at the limit, and the share of the CPUs
    that other programs used.

    With `load` the command is a server: a client loads it, and then it is asked to end."""
    before, start = busy(), time.monotonic()
    output, ended = None, False
    # The command has a process group of its own, so that a kill at the limit also ends the program that the command
    # started.
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        if load and not loaded(process, load, port, start + limit):
            raise subprocess.TimeoutExpired(command, limit)
        output, errors = process.communicate(timeout=max(0.1, start + limit - time.monotonic()))
    except subprocess.TimeoutExpired:
        ended = True
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    seconds = time.monotonic() - start
    if not ended and process.returncode != 0:
        die(f"{' '.join(map(str, command))} failed ({process.returncode}): {errors.decode(errors='replace')}")
    if ended:
        # The CPU time of a killed program may be in no account, so the share of other programs is unknown.
        return limit, output, True, 0.0
    return seconds, output, False, others_share(seconds, before)


def printed(*command, limit=None):
    """Returns the standard output of a command; ends the script if the command fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=limit)
    if done.returncode != 0:
        die(f"{' '.join(map(str, command))} failed ({done.returncode}): {done.stderr.strip()}")
    return done.stdout


def asked(*command):
    """Returns the parsed JSON that a command prints."""
    return json.loads(printed(*command))


def record(baton, command, profile, load=(), port=0):
    """Records a program, up to TRIES times until a recording is not disturbed by other programs; returns the share of
    the CPUs that those used in the last recording."""
    for _ in range(TRIES):
        recorded = [baton, "profile", "--force", "-o", profile, "--", *map(str, command)]
        _, _, ended, others = timed(recorded, 120, load, port)
        if ended:
            die(f"{command[0]} did not end in two minutes")
        if others <= MOST_OTHERS:
            break
    return others


def order(a, b):
    """Returns -1 if the first (median, low, high) is shorter, 1 if the second is, 0 if their ranges overlap or their
    medians are closer than 3%."""
    if (a[1] <= b[2] and b[1] <= a[2]) or abs(a[0] - b[0]) < NEAR * min(a[0], b[0]):
        return 0
    return -1 if a[0] < b[0] else 1
