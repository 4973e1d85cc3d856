"""A workload from a table of threads, events and addresses, as a recording that `whatif`, `read_profile` and sweeps take."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ._error import Error

START = 10**9
"""The clock at time 0, in nanoseconds: a recording's clock is never 0."""
GRAIN, LARGEST = 4096, 262_144
"""Bytes of which a segment is a multiple, and the most that it has."""
RECORD, HEAD = 16, 64
"""Bytes of a record, and of a segment's header."""
BEFORE, SPAN = 1 << 36, 1 << 48
"""Times of records count from so many ticks before their segment, and have so many values."""
LONGEST = 2**62

LOCKS = {"mutex": 0, "rwlock": 1, "spin": 2}
"""Kinds of locks."""
LOCK_EVENTS = {"Acquire": 0, "Request": 2, "Acquired": 4, "TryFail": 6, "Timeout": 8, "Release": 10}
"""Events of locks. An event whose name ends with `Shared` is of a reader-writer lock's readers."""
EVENTS = {
    "ThreadStart": 1,
    "ThreadEnd": 2,
    "Create": 3,
    "Created": 4,
    "JoinBegin": 5,
    "JoinEnd": 6,
    "CondWait": 10,
    "CondMutex": 11,
    "CondWake": 12,
    "CondSignal": 13,
    "CondBroadcast": 14,
    "BarrierInit": 16,
    "BarrierArrive": 18,
    "BarrierLeave": 19,
    "SemInit": 20,
    "SemWait": 22,
    "SemTaken": 23,
    "SemTake": 24,
    "SemPost": 25,
    "SemTryFail": 26,
    "SemTimeout": 27,
}
"""Other events, with their numbers in docs/reference/trace-format.md. For threads, the address is a handle."""
COUNTED = {"BarrierInit", "SemInit"}
"""Events whose `value` is a number of participants, or a first value."""
ATTRIBUTE, THREAD_NAME, OBJECT_NAME, PROBE_COST, BYTES = 28, 50, 49, 45, 63


class Event(NamedTuple):
    """An event with the numbers of its record."""

    time: int
    code: int
    address: int
    argument: int


def _columns(table: Any) -> dict[str, list[Any]]:
    """The columns of a data frame or of a mapping as lists."""
    if isinstance(table, Mapping):
        found = {str(name): list(values) for name, values in table.items()}
    elif hasattr(table, "to_pydict"):
        found = table.to_pydict()
    elif hasattr(table, "get_columns"):
        found = table.to_dict(as_series=False)
    elif hasattr(table, "to_dict"):
        # pandas takes the form of the result; a `Table` of a store has one form.
        found = table.to_dict("list") if hasattr(table, "iloc") else table.to_dict()
    else:
        what = f"{type(table).__name__} is no table; expected a data frame of polars or pandas, a table of Arrow, or a mapping"
        raise Error(what, key="table")
    return found


def _whole(value: Any, row: int, column: str, most: int) -> int:
    whole = None if isinstance(value, bool) else value
    if isinstance(whole, float) and whole.is_integer():
        whole = int(whole)
    try:
        number = int.__index__(whole) if isinstance(whole, int) else int(whole.__index__())  # type: ignore[union-attr]
    except (AttributeError, TypeError):
        number = -1
    if not 0 <= number < most:
        raise Error(f"row {row}: `{column}` is {value!r}; expected a whole number from 0 and below {most}", key=column)
    return number


def _is_null(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


class Trace:
    """A workload: what threads did, when, and at which locks and other objects.

    The table has a row for each event and these columns:

    - `thread`: the thread, a number or a name.
    - `time_ns`: the time in nanoseconds, from 0.
    - `event`: `Acquire` (without waiting), or `Request` and `Acquired` (after a wait), and `Release`; `TryFail`,
      `Timeout`; `CondWait`, `BarrierArrive`, `SemPost` and so on, as in docs/reference/trace-format.md. An event of a
      reader-writer lock's readers ends with `Shared`, as `AcquireShared`. `BarrierInit` and `SemInit` have the number of
      participants, or the first value, in `value`.
    - `address`: the lock or other object, a number below 2^48. For `ThreadStart`, `Created`, `JoinBegin` and so on it is
      the other thread's handle.
    - `kind`: of locks, `mutex`, `rwlock` or `spin`. Without the column all are mutexes.
    - `value`: a number.

    Rows may be in any order; rows of equal times keep theirs. A thread computes from one of its events to the next.
    `save` writes a recording, which `baton.whatif`, `baton.read_profile` and sweeps of `whatif` take, and all commands.

    >>> import baton, tempfile
    >>> trace = baton.Trace({
    ...     "thread": ["a", "b", "a", "b", "b"],
    ...     "time_ns": [100, 200, 500, 520, 900],
    ...     "event": ["Acquire", "Request", "Release", "Acquired", "Release"],
    ...     "address": [0x1000] * 5,
    ... }, names={0x1000: "table_lock"})
    >>> len(trace), trace.threads
    (5, ['a', 'b'])
    >>> report = baton.read_profile(trace.save(tempfile.mkdtemp() + "/recording"))
    >>> [(lock.name, lock.acquisitions, lock.contended) for lock in report.locks]
    [('table_lock', 2, 1)]
    """

    def __init__(self, table: Any, *, cpus: int | None = None, names: Mapping[int, str] | None = None, command: str = "trace") -> None:
        """Reads a table.

        - `cpus`: the number of CPUs that the program had. Left out: one for each thread.
        - `names`: names of objects, by address.
        - `command`: what the recording is called.
        """
        columns = _columns(table)
        lacks = [name for name in ("thread", "time_ns", "event", "address") if name not in columns]
        if lacks:
            what = f"the table has no column `{lacks[0]}`; expected thread, time_ns, event, address, and perhaps kind and value"
            raise Error(what, key=lacks[0])
        lengths = {name: len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise Error(f"the columns of the table have different lengths: {lengths}", key="table")
        self._events: dict[str, list[Event]] = {}
        self.cpus = cpus
        self.names = dict(names or {})
        self.command = command
        self._count = lengths["thread"]
        for address in self.names:
            _whole(address, 0, "names", SPAN)
        kinds = columns.get("kind", [None] * self._count)
        values = columns.get("value", [None] * self._count)
        rows = zip(columns["thread"], columns["time_ns"], columns["event"], columns["address"], kinds, values)
        for row, (thread, time, event, address, kind, value) in enumerate(rows):
            if _is_null(thread):
                raise Error(f"row {row}: `thread` is null", key="thread")
            of = self._events.setdefault(str(thread), [])
            of += _events(row, _whole(time, row, "time_ns", LONGEST), event, address, kind, value)
        for of in self._events.values():
            of.sort(key=lambda event: event.time)

    def __len__(self) -> int:
        return self._count

    @property
    def threads(self) -> list[str]:
        """The threads, in the order in which the table names them."""
        return list(self._events)

    @property
    def end_ns(self) -> int:
        """The time of the last event."""
        return max((events[-1].time for events in self._events.values()), default=0)

    def save(self, directory: str | os.PathLike[str]) -> str:
        """Writes the recording into a new folder. Returns the folder."""
        folder = os.fspath(directory)
        if not self._count:
            raise Error("the table has no rows, and so the recording would be empty", key="table")
        try:
            os.makedirs(folder)
            with open(os.path.join(folder, "meta.json"), "w", encoding="utf-8") as file:
                json.dump(self._meta(), file, indent=2)
            # The events come last: a folder without them is no recording.
            part = os.path.join(folder, "unfinished")
            with open(part, "wb") as file:
                file.write(self._file())
            os.rename(part, os.path.join(folder, "events.1.0"))
        except OSError as error:
            raise Error(f"the recording cannot be written: {error}", file=folder) from error
        return folder

    def _meta(self) -> dict[str, Any]:
        return {
            "version": 1,
            "command": [self.command],
            "recorder": "baton.Trace",
            "elapsed-ns": self.end_ns,
            "exit-code": 0,
            "host": {"cpus": self.cpus or len(self._events)},
        }

    def _file(self) -> bytes:
        """The events file (docs/reference/trace-format.md)."""
        body = bytearray()
        for number, (name, events) in enumerate(self._events.items()):
            first = [*_named(THREAD_NAME, 0, name)]
            if number == 0:
                for address, text in self.names.items():
                    first += _named(OBJECT_NAME, address, text)
                # Nothing was recorded, so an event took no time.
                first.append(_words(PROBE_COST, 0, 0))
            for segment in _segments(number, first, events):
                body += segment
        header = bytearray(GRAIN)
        struct.pack_into("<8sH2xIIIIxxxxQQQQQ", header, 0, b"BATONTRC", 2, GRAIN, 1, 0, 2, 10**9, START, START, 0, 1 << 62)
        struct.pack_into("<I", header, 72, zlib.crc32(header[:72]))
        end = START + self.end_ns
        struct.pack_into("<QIIII", header, 128, GRAIN + len(body), len(self._events), 0, 0, 1)
        struct.pack_into("<QQ", header, 160, end, end)
        struct.pack_into("<I", header, 184, zlib.crc32(header[160:176]))
        struct.pack_into("<I", header, 188, zlib.crc32(bytes(header[140:148]) + bytes(header[176:184])))
        return bytes(header + body)


def _events(row: int, time: int, event: Any, address: Any, kind: Any, value: Any) -> list[Event]:
    """The records of a row."""
    name = str(event)
    at = 0 if _is_null(address) else _whole(address, row, "address", SPAN)
    shared = name.endswith("Shared")
    lock = LOCK_EVENTS.get(name[: -len("Shared")] if shared else name)
    if lock is None:
        code = EVENTS.get(name)
        if code is None:
            known = ", ".join([*LOCK_EVENTS, *EVENTS])
            raise Error(f"row {row}: unknown event `{name}`; expected one of {known}, or a lock's event with Shared", key="event")
        if name not in COUNTED:
            return [Event(time, code, at, 0)]
        if _is_null(value):
            raise Error(f"row {row}: `{name}` needs a number in the column `value`", key="value")
        return [Event(time, code, at, 0), Event(time, ATTRIBUTE, at, _whole(value, row, "value", 1 << 24))]
    of = ("rwlock" if shared else "mutex") if _is_null(kind) else str(kind)
    if of not in LOCKS:
        raise Error(f"row {row}: unknown kind `{of}` of a lock; expected one of {', '.join(LOCKS)}", key="kind")
    if shared and of != "rwlock":
        raise Error(f"row {row}: `{name}` of a {of}; expected the kind rwlock", key="kind")
    if _is_null(address):
        raise Error(f"row {row}: `{name}` needs an address", key="address")
    return [Event(time, 0x80 | LOCKS[of] << 4 | lock | shared, at, 0)]


def _words(code: int, address: int, argument: int, time: int = BEFORE) -> bytes:
    """A record."""
    return struct.pack("<QQ", code | time % SPAN << 8 | (argument >> 16) << 56, address | (argument & 0xFFFF) << 48)


def _named(code: int, address: int, name: str) -> list[bytes]:
    """The definition of a name."""
    text = name.encode()[:255]
    pieces = [text[at : at + 15] for at in range(0, len(text), 15)]
    return [_words(code, address, len(text)), *(bytes([BYTES]) + piece.ljust(15, b"\0") for piece in pieces)]


def _segments(thread: int, first: Sequence[bytes], events: Sequence[Event]) -> list[bytes]:
    """The segments of a thread."""
    segments: list[bytes] = []
    most = (LARGEST - HEAD) // RECORD
    at = 0
    while at < len(events):
        base = events[at].time
        records = list(first) if not segments else []
        while at < len(events) and len(records) < most and events[at].time - base < SPAN - BEFORE:
            time, code, address, argument = events[at]
            records.append(_words(code, address, argument, time - base + BEFORE))
            at += 1
        segments.append(_segment(thread, len(segments), base + START, records))
    return segments


def _segment(thread: int, sequence: int, base: int, records: Sequence[bytes]) -> bytes:
    data = b"".join(records)
    used = HEAD + len(data)
    length = -(-used // GRAIN) * GRAIN
    head = struct.pack("<8sIIIIQQI", b"BTNSEGMT", 1, thread + 1, thread, sequence, base, base, length)
    sealed = struct.pack("<IIIQ", zlib.crc32(head), used, zlib.crc32(data), 0)
    return (head + sealed + data).ljust(length, b"\0")
