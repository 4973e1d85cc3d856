"""What the scripts that measure on this machine share: how a run is timed and told from a disturbed one, and when times differ."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

# Medians that are closer than this are a tie.
NEAR = 0.03
# A run is disturbed if others used more than this share of the CPUs.
MOST_OTHERS = 0.05
# Tries for each run that counts.
TRIES = 4


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def die(text):
    say(f"error: {text}")
    sys.exit(2)


def busy():
    """CPU seconds of all that ran so far, and of this process with its children."""
    ticks = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    idle = (ticks[3] + ticks[4]) / os.sysconf("SC_CLK_TCK")
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return idle, sum(usage.ru_utime + usage.ru_stime for usage in both)


def listening(port, deadline):
    """Waits until somebody answers at the port; False if nobody does in time."""
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return True
        except OSError:
            time.sleep(0.005)
    return False


def loaded(process, load, port, deadline):
    """Loads a server with a client, then asks it to end; False if the client fails or the time is over."""
    if not listening(port, deadline):
        return False
    done = subprocess.run([str(word) for word in load], timeout=max(0.1, deadline - time.monotonic()), capture_output=True)
    process.send_signal(signal.SIGTERM)
    return done.returncode == 0


def timed(command, limit, load=(), port=0):
    """Seconds of a run, its output, whether it was ended at the limit, and the share of the CPUs that others used.

    With `load` the command is a server: a client loads it, and then it is asked to end."""
    (idle, own), start = busy(), time.monotonic()
    output, ended = None, False
    # A group of its own, so that the program ends with the command that started it.
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
    now_idle, now_own = busy()
    cpus = os.cpu_count()
    # Each CPU's idle time is told to a tick.
    others = seconds * cpus - (now_idle - idle) - (now_own - own) - cpus / os.sysconf("SC_CLK_TCK")
    if ended:
        # What the killed program used is in nobody's account, so others cannot be told from it.
        return limit, output, True, 0.0
    return seconds, output, False, max(0.0, others) / (seconds * cpus)


def printed(*command, limit=None):
    """What a command prints."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=limit)
    if done.returncode != 0:
        die(f"{' '.join(map(str, command))} failed ({done.returncode}): {done.stderr.strip()}")
    return done.stdout


def asked(*command):
    """The JSON that a command prints."""
    return json.loads(printed(*command))


def record(baton, command, profile, load=(), port=0):
    """Records a program, in a moment when others were quiet if there is one; the share of the CPUs that others used."""
    for _ in range(TRIES):
        recorded = [baton, "profile", "--force", "-o", profile, "--", *map(str, command)]
        _, _, ended, others = timed(recorded, 120, load, port)
        if ended:
            die(f"{command[0]} did not end in two minutes")
        if others <= MOST_OTHERS:
            break
    return others


def order(a, b):
    """-1, 0 or 1: which of two (median, low, high) is shorter, 0 for a tie."""
    if (a[1] <= b[2] and b[1] <= a[2]) or abs(a[0] - b[0]) < NEAR * min(a[0], b[0]):
        return 0
    return -1 if a[0] < b[0] else 1
