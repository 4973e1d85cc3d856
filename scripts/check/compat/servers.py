"""Servers of the compatibility check: each runs under the library, serves clients that run without it, and is stopped."""

import os
import signal
import socket
import subprocess
import threading
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def connect(port, deadline):
    """Connects to the server, and tries again until it listens or the deadline is over."""
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=max(0.1, deadline - time.monotonic()))
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


class Server:
    """Starts a server, loads it and stops it; a subclass defines `command`, `load` and `stop`."""

    def __init__(self, scratch):
        self.scratch = scratch

    def go(self, launch, expect=None):
        from programs import Result  # The two modules know each other.
        port = free_port()
        start = time.monotonic()
        deadline = start + launch.limit
        process = launch.start(self.command(port), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.scratch)
        try:
            self.load(port, deadline)
            self.stop(process, port, deadline)
            ended = launch.finish(process, deadline)
        except OSError as error:
            if time.monotonic() < deadline - 0.5 and process.poll() is not None:
                errors = process.stderr.read().decode(errors="replace").strip().splitlines()
                why = f"{error}; exit {process.returncode}: {errors[-1] if errors else ''}"
                return Result("failed", why, time.monotonic() - start)
            ended = False
        except AssertionError as error:
            launch.kill(process)
            return Result("failed", f"wrong answer: {error}", time.monotonic() - start)
        finally:
            if process.poll() is None:
                launch.kill(process)
        seconds = time.monotonic() - start
        if not ended:
            return Result("collapse", "took too long", seconds)
        if process.returncode != 0:
            return Result("failed", f"exit {process.returncode}", seconds)
        return Result("ok", "", seconds, counters=launch.counters(self.binary), trace_bytes=launch.trace_bytes())


def together(count, work):
    """Runs `work(i)` for each i below `count` in a thread of its own, and raises the first error of any thread."""
    errors = []

    def guarded(i):
        try:
            work(i)
        except (OSError, AssertionError) as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class Memcached(Server):
    """memcached with four threads: clients set and get values, and compare each with what they set."""

    name, binary, needs = "memcached", "memcached", ["memcached"]
    what = "`-t 4`, 8 clients set and get 1,600 values, each compared"

    def command(self, port):
        user = ["-u", "root"] if os.geteuid() == 0 else []
        return ["memcached", "-t", "4", "-p", str(port), "-U", "0", "-l", "127.0.0.1", "-m", "64", *user]

    def load(self, port, deadline):
        def client(i):
            with connect(port, deadline) as connection:
                stream = connection.makefile("rwb")
                for n in range(200):
                    value = f"{i}.{n}.".encode() * (1 + n % 50)
                    stream.write(b"set k%d.%d 0 0 %d\r\n%s\r\nget k%d.%d\r\n" % (i, n, len(value), value, i, n))
                    stream.flush()
                    answer = [stream.readline() for _ in range(4)]
                    want = [b"STORED\r\n", b"VALUE k%d.%d 0 %d\r\n" % (i, n, len(value)), value + b"\r\n", b"END\r\n"]
                    assert answer == want, answer

        together(8, client)

    def stop(self, process, port, deadline):
        process.send_signal(signal.SIGTERM)


class Redis(Server):
    """redis with two I/O threads: redis-benchmark loads it, then the script writes a list and reads it back."""

    name, binary, needs = "redis", "redis", ["redis-server", "redis-benchmark"]
    what = "`io-threads 2`, `redis-benchmark` of 2,000 requests, then a list read back"

    def command(self, port):
        return ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                "--io-threads", "2", "--io-threads-do-reads", "yes"]

    def load(self, port, deadline):
        connect(port, deadline).close()
        command = ["redis-benchmark", "-p", str(port), "-n", "1000", "-c", "20", "-t", "set,get", "-q"]
        try:
            done = subprocess.run(command, timeout=max(0.1, deadline - time.monotonic()), capture_output=True, check=False)
        except subprocess.TimeoutExpired as late:
            raise TimeoutError("redis-benchmark") from late
        assert done.returncode == 0, done.stderr
        with connect(port, deadline) as connection:
            stream = connection.makefile("rwb")
            for n in range(100):
                stream.write(b"RPUSH list item%d\r\n" % n)
            stream.write(b"LRANGE list 0 -1\r\n")
            stream.flush()
            assert [stream.readline() for _ in range(100)] == [b":%d\r\n" % (n + 1) for n in range(100)]
            items = [stream.readline() for _ in range(201)]
            assert items[0] == b"*100\r\n" and items[2::2] == [b"item%d\r\n" % n for n in range(100)], items[:4]

    def stop(self, process, port, deadline):
        with connect(port, deadline) as connection:
            connection.sendall(b"SHUTDOWN NOSAVE\r\n")
