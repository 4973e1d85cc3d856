"""The programs that the compatibility check runs, and how it judges their output."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time

import servers
from inputs import text


class Result:
    """The outcome of one run: its state, the reason, its seconds, the hash of its output, and the library's counters."""

    def __init__(self, state, why, seconds, digest=None, counters=(), trace_bytes=0):
        self.state = state  # ok, failed, collapse
        self.why = why
        self.seconds = seconds
        self.digest = digest
        self.counters = list(counters)
        self.trace_bytes = trace_bytes

    @property
    def ok(self):
        return self.state == "ok"

    def as_dict(self):
        served = sum(line["served"] for line in self.counters)
        passed = {}
        for line in self.counters:
            for why, count in line["passed_through"].items():
                passed[why] = passed.get(why, 0) + count
        return {
            "state": self.state, "why": self.why, "seconds": self.seconds, "served": served, "passed_through": passed,
            "trace_bytes": self.trace_bytes, "threads": max((line["threads"] for line in self.counters), default=0),
        }


class Program:
    """A command that ends by itself; its output under the library must equal its output without the library."""

    def __init__(self, name, what, command, needs=None, only=None, binary=None, stdin=None):
        self.name = name
        self.what = what
        self.command = command
        self.needs = [command[0]] if needs is None else needs
        self.only = only  # a pattern: what of the output must be equal
        self.binary = binary or os.path.basename(command[0])  # whose counters are read
        self.stdin = stdin

    def digest(self, output):
        if self.only is not None:
            found = re.findall(self.only, output)
            output = b"\n".join(found) if found else b"nothing of what was looked for"
        return hashlib.sha256(output).hexdigest()

    def go(self, launch, expect=None):
        start = time.monotonic()
        out = launch.env.get("BATON_STATS", os.devnull)
        with open(f"{out}.out" if out != os.devnull else self.name_for_output(), "w+b") as output:
            stdin = open(self.stdin, "rb") if self.stdin else subprocess.DEVNULL
            process = launch.start(self.command, stdout=output, stderr=subprocess.PIPE, stdin=stdin)
            ended = launch.finish(process, start + launch.limit)
            seconds = time.monotonic() - start
            errors = process.stderr.read().decode(errors="replace").strip().splitlines()
            output.seek(0)
            digest = self.digest(output.read())
        os.unlink(output.name)
        counters = launch.counters(self.binary)
        if not ended:
            return Result("collapse", "took too long", seconds)
        if process.returncode != 0:
            return Result("failed", f"exit {process.returncode}: {errors[-1] if errors else ''}", seconds, digest, counters)
        if expect is not None and expect.digest != digest:
            return Result("failed", "other output", seconds, digest, counters)
        return Result("ok", "", seconds, digest, counters, launch.trace_bytes())

    def name_for_output(self):
        return os.path.join(os.environ.get("TMPDIR", "/tmp"), f"baton-compat-{os.getpid()}.out")


PYTHON = """
import hashlib, queue, threading
work, done = queue.Queue(8), []
lock, ready = threading.Lock(), threading.Condition()
def run():
    while (item := work.get()) is not None:
        digest = hashlib.sha256(str(item).encode() * 2000).hexdigest()
        with lock:
            done.append((item, digest))
        with ready:
            ready.notify()
threads = [threading.Thread(target=run) for _ in range(4)]
for t in threads: t.start()
for item in range(2000): work.put(item)
for t in threads: work.put(None)
with ready:
    ready.wait_for(lambda: len(done) == 2000, 30)
for t in threads: t.join()
print(hashlib.sha256(repr(sorted(done)).encode()).hexdigest())
"""

SQL = """
PRAGMA threads=4; PRAGMA cache_size=200; PRAGMA temp_store=file;
CREATE TABLE t(a INTEGER, b TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 120000)
INSERT INTO t SELECT (i * 7919) % 120011, printf('%x-%d', i * 2654435761 % 4294967296, i) FROM n;
CREATE INDEX by_b ON t(b); CREATE INDEX by_ab ON t(a, b);
SELECT count(*), sum(a), min(b), max(b) FROM t;
SELECT a, b FROM t ORDER BY b DESC, a LIMIT 50;
PRAGMA integrity_check;
"""


def compiled(root, scratch, source, compiler, *options):
    """Compiles a test program of the preload library and returns its path, or None where the compiler is missing."""
    if shutil.which(compiler) is None:
        return None
    target = os.path.join(scratch, os.path.splitext(source)[0])
    path = os.path.join(root, "crates/preload/tests/programs", source)
    subprocess.run([compiler, "-O2", "-pthread", *options, "-o", target, path], check=True)
    return target


def every(root, scratch, mebibytes):
    """Writes the input files into `scratch` and yields each program of the check."""
    data = os.path.join(scratch, "data")
    text(data, mebibytes)
    sql = os.path.join(scratch, "sql")
    with open(sql, "w") as file:
        file.write(SQL)
    yield Program("pigz", "`pigz -p 4`, compressed data", ["pigz", "-p", "4", "-n", "-c", data])
    yield Program("pbzip2", "`pbzip2 -p4`, compressed data", ["pbzip2", "-p4", "-b5", "-c", data])
    yield Program("xz", "`xz -T2`, compressed data", ["xz", "-1", "-T2", "--block-size=1MiB", "-c", data])
    yield Program("zstd", "`zstd -T2`, compressed data", ["zstd", "-q", "-9", "-T2", "-B1MiB", "-c", data])
    events = rb"total number of events:\s+(\d+)"
    yield Program("sysbench mutex", "4 threads, 16 mutexes, number of events",
                  ["sysbench", "mutex", "--threads=4", "--mutex-num=16", "--mutex-locks=5000", "--mutex-loops=50", "run"],
                  only=events)
    yield Program("sysbench threads", "4 threads, 4 mutexes, number of events",
                  ["sysbench", "threads", "--threads=4", "--thread-yields=20", "--thread-locks=4", "--events=1000",
                   "--time=0", "run"], only=events)
    yield servers.Memcached(scratch)
    yield Program("sqlite3", "`PRAGMA threads=4`, sorted indexes, query results", ["sqlite3", ":memory:"], stdin=sql)
    yield servers.Redis(scratch)
    yield Program("python3", "4 threads, a queue, a condition; digests", [sys.executable, "-c", PYTHON],
                  needs=[], binary="python3")
    for name, source, compiler, options in [
        ("C++", "cxx.cpp", "c++", ["-std=c++17"]), ("OpenMP", "omp.c", "cc", ["-fopenmp"]),
    ]:
        program = compiled(root, scratch, source, compiler, *options)
        what = f"`tests/programs/{source}`, checks itself"
        yield Program(name, what, [program or compiler], needs=[compiler], binary=os.path.splitext(source)[0])
