# Written by `make tables` from the declarations of the command.
"""The results whose schemas are in docs/schema."""

from __future__ import annotations

from typing import Any, cast

from ._result import Figures, Result


class WhatifSpread(Figures):
    """The spread of a figure over the seeds."""

    @property
    def high(self) -> int:
        """The greatest value."""
        return cast("int", self._get("high"))

    @property
    def low(self) -> int:
        """The least value."""
        return cast("int", self._get("low"))

    @property
    def median(self) -> int:
        """The median."""
        return cast("int", self._get("median"))


class WhatifAlone(Figures):
    """The predicted time of the recorded lock compared with runs without recording (`--check`); absent without such runs."""

    @property
    def error(self) -> float:
        """The predicted time's relative error: (foretold − measured) / measured."""
        return cast("float", self._get("error"))

    @property
    def foretold_ns(self) -> int:
        """The predicted duration."""
        return cast("int", self._get("foretold_ns"))

    @property
    def measured_ns(self) -> WhatifSpread:
        """The durations of the runs."""
        return self._whole("measured_ns", WhatifSpread)

    @property
    def runs(self) -> int:
        """The number of runs."""
        return cast("int", self._get("runs"))


class WhatifCheck(Figures):
    """The replay of the recorded lock, recording included, against the recorded run."""

    @property
    def error(self) -> float:
        """The replay's relative error: (replayed − measured) / measured."""
        return cast("float", self._get("error"))

    @property
    def measured_concurrent_ns(self) -> int:
        """How long two or more threads lived in the recorded run."""
        return cast("int", self._get("measured_concurrent_ns"))

    @property
    def measured_ns(self) -> int:
        """The duration of the recorded run."""
        return cast("int", self._get("measured_ns"))

    @property
    def replayed_concurrent_ns(self) -> WhatifSpread:
        """How long two or more threads lived in the replay."""
        return self._whole("replayed_concurrent_ns", WhatifSpread)

    @property
    def replayed_ns(self) -> WhatifSpread:
        """The duration of the replay, in which threads also spend time on recording."""
        return self._whole("replayed_ns", WhatifSpread)


class WhatifLocksLines(Figures):
    """The number of data lines that move with the lock."""

    @property
    def estimate(self) -> float:
        """The estimate."""
        return cast("float", self._get("estimate"))

    @property
    def foreign(self) -> int:
        """The number of holds after a hold on another core."""
        return cast("int", self._get("foreign"))

    @property
    def high(self) -> float:
        """The upper end of the 95% interval of the number."""
        return cast("float", self._get("high"))

    @property
    def low(self) -> float:
        """The lower end of the 95% interval of the number."""
        return cast("float", self._get("low"))

    @property
    def own(self) -> int:
        """The number of holds after a hold on the same core. With too few holds of either kind, no lines are inferred, and holds keep their length."""
        return cast("int", self._get("own"))


class WhatifLocks(Figures):
    """A lock of the program."""

    @property
    def acquisitions(self) -> int:
        """The number of acquisitions in the recording."""
        return cast("int", self._get("acquisitions"))

    @property
    def address(self) -> int:
        """The lock's address in the recorded program."""
        return cast("int", self._get("address"))

    @property
    def lines(self) -> WhatifLocksLines:
        """The number of data lines that move with the lock."""
        return self._whole("lines", WhatifLocksLines)

    @property
    def spins(self) -> bool:
        """Whether the lock is a `pthread_spinlock_t`, which spins and is not replaced by another exclusive lock."""
        return cast("bool", self._get("spins"))


class WhatifProbe(Figures):
    """The cost of recording an event."""

    @property
    def event_ns(self) -> float:
        """Nanoseconds per event."""
        return cast("float", self._get("event_ns"))

    @property
    def recorded(self) -> bool:
        """Whether the trace states the cost; if it does not, the cost is assumed."""
        return cast("bool", self._get("recorded"))


class WhatifReplayability(Figures):
    """How much of the trace could be replayed."""

    @property
    def dynamic(self) -> int:
        """Acquisitions at places where threads share out work, if no store was made, so that they are replayed as recorded."""
        return cast("int", self._get("dynamic"))

    @property
    def events(self) -> int:
        """All synchronization events."""
        return cast("int", self._get("events"))

    @property
    def expired_waits(self) -> int:
        """Waits that ended without what the thread waited for: time-outs at locks and semaphores, cancelled waits at condition variables, futex waits that were interrupted or failed."""
        return cast("int", self._get("expired_waits"))

    @property
    def failed_tries(self) -> int:
        """Tries that failed. What the program did next depended on the moment of the try."""
        return cast("int", self._get("failed_tries"))

    @property
    def from_outside(self) -> int:
        """Threads besides the first that no thread in the trace started."""
        return cast("int", self._get("from_outside"))

    @property
    def lost(self) -> int:
        """The number of events that the trace lost."""
        return cast("int", self._get("lost"))

    @property
    def unmatched_waits(self) -> int:
        """Waits whose cause is not in the trace (a signal, a wake, an arrival), and events that do not fit because another event is missing."""
        return cast("int", self._get("unmatched_waits"))


class WhatifRequestsRows(Figures):
    """Figures."""

    @property
    def cannot_tell(self) -> str | None:
        """Why this change cannot be predicted; its figures are 0 then."""
        return cast("str | None", self._get("cannot_tell"))

    @property
    def name(self) -> str:
        """The change as the user wrote it; `as it is` for the row without a change."""
        return cast("str", self._get("name"))

    @property
    def overloaded(self) -> bool:
        """Whether a rate was asked for that is more than the server can answer."""
        return cast("bool", self._get("overloaded"))

    @property
    def p50_ns(self) -> int:
        """Half of the requests took at most this."""
        return cast("int", self._get("p50_ns"))

    @property
    def p999_ns(self) -> int:
        """99.9% took at most this."""
        return cast("int", self._get("p999_ns"))

    @property
    def p99_ns(self) -> int:
        """99% took at most this."""
        return cast("int", self._get("p99_ns"))

    @property
    def per_second(self) -> float:
        """The number of requests that are answered per second."""
        return cast("float", self._get("per_second"))

    @property
    def times(self) -> float:
        """`per_second` divided by that of the first row."""
        return cast("float", self._get("times"))


class WhatifRequests(Figures):
    """Figures."""

    @property
    def count(self) -> int:
        """The number of requests in the recording."""
        return cast("int", self._get("count"))

    @property
    def rate(self) -> float | None:
        """The requests per second that `--rate` asked for, which come whatever is answered (an open loop); null for the recorded clients."""
        return cast("float | None", self._get("rate"))

    @property
    def reasons(self) -> list[str]:
        """Why rows are missing, or not to be trusted, as sentences."""
        return cast("list[str]", self._get("reasons"))

    @property
    def recorded_per_second(self) -> float:
        """The number of requests per second in the recording."""
        return cast("float", self._get("recorded_per_second"))

    @property
    def rows(self) -> list[WhatifRequestsRows]:
        """One row without a change, then one row for each change; empty if nothing can be predicted."""
        return self._list("rows", WhatifRequestsRows)


class WhatifPercent(Figures):
    """A percentage and its spread over the seeds."""

    @property
    def high(self) -> float:
        """The greatest value."""
        return cast("float", self._get("high"))

    @property
    def low(self) -> float:
        """The least value."""
        return cast("float", self._get("low"))

    @property
    def median(self) -> float:
        """The median."""
        return cast("float", self._get("median"))


class WhatifResultsAsymmetricPlaced(Figures):
    """How the run of the first seed that did not fail used fast and slow cores; all 0 under a policy that does not tell the kinds apart."""

    @property
    def demotions(self) -> int:
        """How often the policy treated a sequential phase of a program as over before it was."""
        return cast("int", self._get("demotions"))

    @property
    def fast_cycles(self) -> int:
        """Cycles on fast cores."""
        return cast("int", self._get("fast_cycles"))

    @property
    def migrations(self) -> int:
        """How often a thread moved to another core."""
        return cast("int", self._get("migrations"))

    @property
    def slow_cycles(self) -> int:
        """Cycles on slow cores."""
        return cast("int", self._get("slow_cycles"))

    @property
    def swaps(self) -> int:
        """How often two threads exchanged their cores."""
        return cast("int", self._get("swaps"))


class WhatifResultsAsymmetric(Figures):
    """Where fast and slow cores were asked for: which policy placed the threads, and what that did."""

    @property
    def less_overhead(self) -> WhatifPercent | None:
        """Competition overhead saved relative to the first policy, in percent; null for the first policy, and if with some seed the first policy's overhead is under a thousandth of its time."""
        return self._part("less_overhead", WhatifPercent)

    @property
    def less_time(self) -> WhatifPercent | None:
        """Time saved relative to the first policy with the same lock, share and seed, in percent of that policy's time; null for the first policy."""
        return self._part("less_time", WhatifPercent)

    @property
    def memory_bound(self) -> float:
        """The share of computing that waits for memory, and takes as long on a slow core as on a fast one."""
        return cast("float", self._get("memory_bound"))

    @property
    def placed(self) -> WhatifResultsAsymmetricPlaced:
        """How the run of the first seed that did not fail used fast and slow cores; all 0 under a policy that does not tell the kinds apart."""
        return self._whole("placed", WhatifResultsAsymmetricPlaced)

    @property
    def policy(self) -> str:
        """Its name."""
        return cast("str", self._get("policy"))


class WhatifResultsFailed(Figures):
    """Why replays failed, and with how many seeds; absent if none failed. The figures are those of the other seeds, or 0 if there are none."""

    @property
    def seeds(self) -> int:
        """`seeds` of the result."""
        return cast("int", self._get("seeds"))

    @property
    def why(self) -> str:
        """`why` of the result."""
        return cast("str", self._get("why"))


class WhatifResultsIntervalNs(Figures):
    """The interval that should contain the measured time in 95 of 100 cases; absent if all replays failed, if the chip is not `this-host`, or if a number of threads was asked for."""

    @property
    def high(self) -> int | None:
        """The upper end of the interval; null for a row that was cut off, because its time is only a lower bound."""
        return cast("int | None", self._get("high"))

    @property
    def low(self) -> int:
        """Lower end."""
        return cast("int", self._get("low"))


class WhatifResultsNetwork(Figures):
    """Where networks were asked for: which one this ran on, and what that did."""

    @property
    def less_overhead(self) -> WhatifPercent | None:
        """Competition overhead saved relative to the first network, in percent; null for the first network, and if its overhead with some seed is less than a thousandth of its time."""
        return self._part("less_overhead", WhatifPercent)

    @property
    def less_time(self) -> WhatifPercent | None:
        """Time saved relative to the first network with the same lock and seed, in percent of that network's time; null for the first network."""
        return self._part("less_time", WhatifPercent)

    @property
    def marked_packets(self) -> int:
        """Marked packets with the first seed whose run did not fail; 0 if the lock gives no hints, or the network marks no packets."""
        return cast("int", self._get("marked_packets"))

    @property
    def name(self) -> str:
        """Its name."""
        return cast("str", self._get("name"))


class WhatifResultsOutcomes(Figures):
    """Figures."""

    @property
    def at_least(self) -> bool:
        """Whether one of these runs was cut off, so that they take at least as long as times says."""
        return cast("bool", self._get("at_least"))

    @property
    def runs(self) -> int:
        """The number of seeds that came to this outcome."""
        return cast("int", self._get("runs"))

    @property
    def times(self) -> float:
        """The time of the middle one of these runs, as a multiple of the recorded lock's time."""
        return cast("float", self._get("times"))


class WhatifResults(Figures):
    """A row of the prediction. Times are the whole program's; waiting times are added over threads."""

    @property
    def acquisitions(self) -> int:
        """Acquisitions with the first seed whose run did not fail."""
        return cast("int", self._get("acquisitions"))

    @property
    def asymmetric(self) -> WhatifResultsAsymmetric | None:
        """Where fast and slow cores were asked for: which policy placed the threads, and what that did."""
        return self._part("asymmetric", WhatifResultsAsymmetric)

    @property
    def blocked_ns(self) -> WhatifSpread:
        """The time that threads waited for locks, added over threads."""
        return self._whole("blocked_ns", WhatifSpread)

    @property
    def by_seed_ns(self) -> list[int]:
        """The program's time by seed."""
        return cast("list[int]", self._get("by_seed_ns"))

    @property
    def concurrent_ns(self) -> WhatifSpread:
        """The part of the time during which two or more threads lived; what the first thread does alone is left out."""
        return self._whole("concurrent_ns", WhatifSpread)

    @property
    def contended(self) -> int:
        """Acquisitions that waited, with the same seed."""
        return cast("int", self._get("contended"))

    @property
    def cut_off(self) -> int:
        """The number of seeds with which the run was cut off as a collapse: times are then lower bounds."""
        return cast("int", self._get("cut_off"))

    @property
    def failed(self) -> WhatifResultsFailed | None:
        """Why replays failed, and with how many seeds; absent if none failed. The figures are those of the other seeds, or 0 if there are none."""
        return self._part("failed", WhatifResultsFailed)

    @property
    def far(self) -> bool:
        """Whether the time is more than 1.5 times the recorded lock's time, or less than two thirds of it: it then rests on the model alone."""
        return cast("bool", self._get("far"))

    @property
    def idle_ns(self) -> WhatifSpread:
        """The time that CPUs had no thread or woke up for one, added over CPUs. If threads were ready meanwhile, the policy left CPUs idle, or those threads were bound to other CPUs."""
        return self._whole("idle_ns", WhatifSpread)

    @property
    def interval_ns(self) -> WhatifResultsIntervalNs | None:
        """The interval that should contain the measured time in 95 of 100 cases; absent if all replays failed, if the chip is not `this-host`, or if a number of threads was asked for."""
        return self._part("interval_ns", WhatifResultsIntervalNs)

    @property
    def lock(self) -> str:
        """The lock."""
        return cast("str", self._get("lock"))

    @property
    def network(self) -> WhatifResultsNetwork | None:
        """Where networks were asked for: which one this ran on, and what that did."""
        return self._part("network", WhatifResultsNetwork)

    @property
    def outcomes(self) -> list[WhatifResultsOutcomes]:
        """The outcomes of the seeds' runs, where they lie apart: one takes more than twice as long as another. Left out where all runs take about as long."""
        return self._list("outcomes", WhatifResultsOutcomes)

    @property
    def overhead_ns(self) -> WhatifSpread:
        """The part of the waiting time during which the lock was free: competition overhead."""
        return self._whole("overhead_ns", WhatifSpread)

    @property
    def ready_ns(self) -> WhatifSpread:
        """The time that threads were ready to run without a CPU, added over threads."""
        return self._whole("ready_ns", WhatifSpread)

    @property
    def recorded(self) -> bool:
        """Whether this is the row of the recorded lock on the chip's own network, with which all other rows are compared."""
        return cast("bool", self._get("recorded"))

    @property
    def sections_ns(self) -> WhatifSpread:
        """The part of the waiting time during which the lock was held."""
        return self._whole("sections_ns", WhatifSpread)

    @property
    def speedup(self) -> float:
        """The recorded lock's time divided by this one's (above 1: this is faster); 0 if all failed."""
        return cast("float", self._get("speedup"))

    @property
    def spin_ns(self) -> WhatifSpread:
        """The time that threads spent spinning, added over threads."""
        return self._whole("spin_ns", WhatifSpread)

    @property
    def time_ns(self) -> WhatifSpread:
        """The program's time."""
        return self._whole("time_ns", WhatifSpread)

    @property
    def wait(self) -> str:
        """The wait policy."""
        return cast("str", self._get("wait"))


class Whatif(Result):
    """The predicted times of a recorded program under other locks, with changes to its locks or barriers, or on other chips."""

    @property
    def alone(self) -> WhatifAlone | None:
        """The predicted time of the recorded lock compared with runs without recording (`--check`); absent without such runs."""
        return self._part("alone", WhatifAlone)

    @property
    def check(self) -> WhatifCheck:
        """The replay of the recorded lock, recording included, against the recorded run."""
        return self._whole("check", WhatifCheck)

    @property
    def chip(self) -> dict[str, Any]:
        """The whole chip configuration: every key of the chip file and its value."""
        return cast("dict[str, Any]", self._get("chip"))

    @property
    def command(self) -> list[str]:
        """The recorded program and its arguments."""
        return cast("list[str]", self._get("command"))

    @property
    def cpus(self) -> int:
        """The number of cores in use."""
        return cast("int", self._get("cpus"))

    @property
    def directory(self) -> str:
        """The directory of the recording."""
        return cast("str", self._get("directory"))

    @property
    def locks(self) -> list[WhatifLocks]:
        """The program's locks, the most often acquired first."""
        return self._list("locks", WhatifLocks)

    @property
    def not_replayable_share(self) -> float:
        """The share of events that could not be replayed."""
        return cast("float", self._get("not_replayable_share"))

    @property
    def notes(self) -> list[str]:
        """The assumptions of the prediction, as sentences."""
        return cast("list[str]", self._get("notes"))

    @property
    def probe(self) -> WhatifProbe:
        """The cost of recording an event."""
        return self._whole("probe", WhatifProbe)

    @property
    def reasons(self) -> list[str]:
        """Why the figures should not be trusted, as sentences; empty if they can be."""
        return cast("list[str]", self._get("reasons"))

    @property
    def recorded_lock(self) -> str:
        """The name of the recorded lock, and, if another one replays it, of that lock."""
        return cast("str", self._get("recorded_lock"))

    @property
    def recorded_wait(self) -> str:
        """The wait policy in the replay of the recorded lock."""
        return cast("str", self._get("recorded_wait"))

    @property
    def replayability(self) -> WhatifReplayability:
        """How much of the trace could be replayed."""
        return self._whole("replayability", WhatifReplayability)

    @property
    def requests(self) -> WhatifRequests | None:
        """Throughput and latency of a server, by change; null if the recording has fewer than 100 requests at sockets."""
        return self._part("requests", WhatifRequests)

    @property
    def results(self) -> list[WhatifResults]:
        """The row of the recorded lock first, then the rows that were asked for, in that order."""
        return self._list("results", WhatifResults)

    @property
    def schema(self) -> str:
        """Name and version of this form."""
        return cast("str", self._get("schema"))

    @property
    def seeds(self) -> int:
        """The number of seeds. Each row is replayed once with each seed."""
        return cast("int", self._get("seeds"))

    @property
    def threads(self) -> int:
        """The number of threads of the replayed program."""
        return cast("int", self._get("threads"))

    @property
    def trustworthy(self) -> bool:
        """Whether the self-check and the trace allow the figures to be trusted."""
        return cast("bool", self._get("trustworthy"))


class ReportBackground(Figures):
    """A thread that ended because another thread told it to, as a monitor or a flusher does."""

    @property
    def ended_ns(self) -> int:
        """When it ended."""
        return cast("int", self._get("ended_ns"))

    @property
    def joined(self) -> bool | None:
        """Whether a thread joined it; otherwise it lived until the process ended."""
        return cast("bool | None", self._get("joined"))

    @property
    def joined_ns(self) -> int:
        """The time at which the joiner began to wait for this thread's end, or for that of the first of several like threads that it joined in a row. If no thread joined it, the time at which the process ended."""
        return cast("int", self._get("joined_ns"))

    @property
    def joiner(self) -> int:
        """The thread that joined this thread, or that ended the process."""
        return cast("int", self._get("joiner"))

    @property
    def thread(self) -> int:
        """The thread."""
        return cast("int", self._get("thread"))


class ReportEntered(Figures):
    """How contended acquisitions got the lock."""

    @property
    def sleeping(self) -> int:
        """Contended acquisitions whose thread slept in the kernel before it got the lock."""
        return cast("int", self._get("sleeping"))

    @property
    def spinning(self) -> int:
        """Contended acquisitions whose thread spun and did not sleep."""
        return cast("int", self._get("spinning"))

    @property
    def unknown(self) -> int:
        """Contended acquisitions for which the trace does not say whether the thread slept."""
        return cast("int", self._get("unknown"))


class ReportBucket(Figures):
    """The number of durations within a range."""

    @property
    def count(self) -> int:
        """How many."""
        return cast("int", self._get("count"))

    @property
    def from_ns(self) -> int:
        """The lower end of the range, inclusive."""
        return cast("int", self._get("from_ns"))

    @property
    def to_ns(self) -> int:
        """The upper end of the range, exclusive."""
        return cast("int", self._get("to_ns"))


class ReportDistribution(Figures):
    """A distribution of durations. The quantiles come from the analysis's buckets, which are finer than `buckets`, and are too low by at most 1/16."""

    @property
    def buckets(self) -> list[ReportBucket]:
        """Counts by duration, without empty buckets."""
        return self._list("buckets", ReportBucket)

    @property
    def count(self) -> int:
        """How many there are."""
        return cast("int", self._get("count"))

    @property
    def max_ns(self) -> int:
        """The longest."""
        return cast("int", self._get("max_ns"))

    @property
    def p50_ns(self) -> int:
        """The median."""
        return cast("int", self._get("p50_ns"))

    @property
    def p90_ns(self) -> int:
        """The 90th percentile."""
        return cast("int", self._get("p90_ns"))

    @property
    def p99_ns(self) -> int:
        """The 99th percentile."""
        return cast("int", self._get("p99_ns"))

    @property
    def total_ns(self) -> int:
        """The sum of the durations."""
        return cast("int", self._get("total_ns"))


class ReportQueueLength(Figures):
    """A queue length and how long it lasted."""

    @property
    def total_ns(self) -> int:
        """The time during which there were that many waiters."""
        return cast("int", self._get("total_ns"))

    @property
    def waiters(self) -> int:
        """Number of waiters."""
        return cast("int", self._get("waiters"))


class ReportOvertaken(Figures):
    """Waits that others overtook."""

    @property
    def by(self) -> int:
        """Acquisitions that came later than a wait and got the lock first, added over waits."""
        return cast("int", self._get("by"))

    @property
    def longest_ns(self) -> int:
        """The longest time from the first such acquisition to the wait's end."""
        return cast("int", self._get("longest_ns"))

    @property
    def most(self) -> int:
        """The greatest number of such acquisitions during one wait."""
        return cast("int", self._get("most"))

    @property
    def total_ns(self) -> int:
        """Time from the first such acquisition to the wait's end, added over waits."""
        return cast("int", self._get("total_ns"))

    @property
    def waits(self) -> int:
        """The number of waits that were overtaken."""
        return cast("int", self._get("waits"))


class ReportStarved(Figures):
    """Waits for a reader-writer lock during which threads of the other mode came later and got the lock first."""

    @property
    def readers(self) -> ReportOvertaken:
        """Waits of readers that writers overtook."""
        return self._whole("readers", ReportOvertaken)

    @property
    def writers(self) -> ReportOvertaken:
        """Waits of writers that readers overtook."""
        return self._whole("writers", ReportOvertaken)


class ReportClass(Figures):
    """Locks that the report shows as one: they share a name, a global variable, or the places that initialise or take them."""

    @property
    def acquisitions(self) -> int:
        """Acquisitions in all modes, without recursive ones."""
        return cast("int", self._get("acquisitions"))

    @property
    def barged(self) -> int:
        """Acquisitions that did not wait although other threads were waiting."""
        return cast("int", self._get("barged"))

    @property
    def blame_ns(self) -> int:
        """Time that other threads waited while the lock was held, weighted by the number of waiters."""
        return cast("int", self._get("blame_ns"))

    @property
    def blocked_ns(self) -> int:
        """Time that threads waited, added over threads (BT)."""
        return cast("int", self._get("blocked_ns"))

    @property
    def busy_ns(self) -> int:
        """Time during which a thread held the lock. Simultaneous holders count once."""
        return cast("int", self._get("busy_ns"))

    @property
    def contended(self) -> int:
        """Acquisitions that had to wait."""
        return cast("int", self._get("contended"))

    @property
    def entered(self) -> ReportEntered:
        """How the waits ended."""
        return self._whole("entered", ReportEntered)

    @property
    def failed_tries(self) -> int:
        """Tries that found the lock taken."""
        return cast("int", self._get("failed_tries"))

    @property
    def handoff_ns(self) -> ReportDistribution:
        """The times from a release with waiters to the next acquisition."""
        return self._whole("handoff_ns", ReportDistribution)

    @property
    def hold_ns(self) -> ReportDistribution:
        """The durations of holds."""
        return self._whole("hold_ns", ReportDistribution)

    @property
    def idle_contended_ns(self) -> int:
        """Time during which the lock was free and a thread waited. Simultaneous waiters count once."""
        return cast("int", self._get("idle_contended_ns"))

    @property
    def kind(self) -> str:
        """The kind, as for a lock."""
        return cast("str", self._get("kind"))

    @property
    def locks(self) -> int:
        """The number of locks."""
        return cast("int", self._get("locks"))

    @property
    def name(self) -> str:
        """What the locks have in common: a name, a global variable, the place that initialised them or takes them most, or an address. A lock with most of its class's waiting has a class of its own, `hot one of …`."""
        return cast("str", self._get("name"))

    @property
    def overhead_ns(self) -> int:
        """The part of `blocked_ns` during which no thread held the lock: competition overhead (ΣCOH)."""
        return cast("int", self._get("overhead_ns"))

    @property
    def queue_lengths(self) -> list[ReportQueueLength]:
        """For each number of waiters, how long there were that many. Time without waiters is left out."""
        return self._list("queue_lengths", ReportQueueLength)

    @property
    def sections_ns(self) -> int:
        """The part of `blocked_ns` during which other threads held the lock (ΣCS)."""
        return cast("int", self._get("sections_ns"))

    @property
    def shared(self) -> int:
        """Acquisitions in shared mode."""
        return cast("int", self._get("shared"))

    @property
    def starved(self) -> ReportStarved:
        """For a reader-writer lock: writers that readers overtook, and readers that writers overtook."""
        return self._whole("starved", ReportStarved)

    @property
    def timeouts(self) -> int:
        """Waits that ended without the lock."""
        return cast("int", self._get("timeouts"))

    @property
    def wait_ns(self) -> ReportDistribution:
        """The durations of waits."""
        return self._whole("wait_ns", ReportDistribution)


class ReportBeside(Figures):
    """A place where the path's thread was blocked while other threads were at work, or waited in a loop."""

    @property
    def again(self) -> bool | None:
        """Whether the thread made the call again and again, with hardly anything in between: a loop that yields the CPU, naps, or spins."""
        return cast("bool | None", self._get("again"))

    @property
    def at(self) -> str | None:
        """The place in the code; `null` if it is not known."""
        return cast("str | None", self._get("at"))

    @property
    def call(self) -> str:
        """The call: the name of the C function; `pause` for a loop that spins with that instruction, `runtime` for one in a function of a runtime that is known to spin, `loop` for another one that spins."""
        return cast("str", self._get("call"))

    @property
    def instructions(self) -> int | None:
        """Number of instructions of a turn of a `loop`; `null` for calls."""
        return cast("int | None", self._get("instructions"))

    @property
    def runtime(self) -> str | None:
        """The runtime whose function spins; `null` for other calls and loops."""
        return cast("str | None", self._get("runtime"))

    @property
    def total_ns(self) -> int:
        """The path's time there."""
        return cast("int", self._get("total_ns"))

    @property
    def waits_for(self) -> str | None:
        """What a thread waits for in the runtime's function, as a phrase; `null` for other calls and loops."""
        return cast("str | None", self._get("waits_for"))


class ReportNestedPart(Figures):
    """Time of the critical path inside of a lock's sections that lie within another lock's sections."""

    @property
    def inner(self) -> int:
        """The lock that is taken then."""
        return cast("int", self._get("inner"))

    @property
    def outer(self) -> int:
        """The lock that is held already."""
        return cast("int", self._get("outer"))

    @property
    def total_ns(self) -> int:
        """The path's time inside of these inner sections."""
        return cast("int", self._get("total_ns"))


class ReportPathPart(Figures):
    """A share of the critical path."""

    @property
    def kind(self) -> str:
        """The activity: `running` (on a CPU, outside of critical sections), `ready` (without a CPU), `blocked` (by something that Baton does not see), `call` (blocked in a call for input, output or sleep), `recorder` (blocked in Baton's recorder), `off-cpu` (for an unknown reason); within a critical section `critical-section`, `critical-section-ready` and so on; `futex-awaited` (on a CPU between being woken at a futex and waking the next thread there, while others wait there), `semaphore-awaited`, `condition-awaited` and `libc-lock-awaited`, all also with `-call`, `-blocked` or `-off-cpu` for a thread that is off its CPU there; `libc-lock-code` (on a CPU inside of a function of the C library whose lock is contended, according to samples); `lock-hand-off`, `lock-wait`, or the like for an object that is not a lock; `futile-wake-ups` (the cost of threads that a broadcast wakes and that find nothing to do) and `polling` (the cost of threads that take a lock until a value changes)."""
        return cast("str", self._get("kind"))

    @property
    def lock(self) -> int | None:
        """The lock, if the activity concerns one."""
        return cast("int | None", self._get("lock"))

    @property
    def total_ns(self) -> int:
        """The sum of the time."""
        return cast("int", self._get("total_ns"))

    @property
    def waitable(self) -> int | None:
        """The object other than a lock, if the activity concerns one."""
        return cast("int | None", self._get("waitable"))

    @property
    def waited_for_ns(self) -> int:
        """Within critical sections: the part in holds during which another thread waited for the lock."""
        return cast("int", self._get("waited_for_ns"))


class ReportSectionTime(Figures):
    """Time of the critical path within critical sections."""

    @property
    def kind(self) -> str:
        """The activity, as in `kind` of a part of the path."""
        return cast("str", self._get("kind"))

    @property
    def total_ns(self) -> int:
        """The sum of the time."""
        return cast("int", self._get("total_ns"))

    @property
    def waited_for_ns(self) -> int:
        """The part in holds during which another thread waited for the lock."""
        return cast("int", self._get("waited_for_ns"))


class ReportPathStep(Figures):
    """A stretch of the critical path."""

    @property
    def end_ns(self) -> int:
        """End."""
        return cast("int", self._get("end_ns"))

    @property
    def kind(self) -> str:
        """The activity, as in `kind` of a part of the path."""
        return cast("str", self._get("kind"))

    @property
    def lock(self) -> int | None:
        """The lock, if the activity concerns one."""
        return cast("int | None", self._get("lock"))

    @property
    def start_ns(self) -> int:
        """The beginning, from the beginning of the trace."""
        return cast("int", self._get("start_ns"))

    @property
    def thread(self) -> int:
        """The thread that the path runs through."""
        return cast("int", self._get("thread"))

    @property
    def waitable(self) -> int | None:
        """The object other than a lock, if the activity concerns one."""
        return cast("int | None", self._get("waitable"))


class ReportPathThread(Figures):
    """How long the path runs along one thread on a CPU."""

    @property
    def running_ns(self) -> int:
        """The time."""
        return cast("int", self._get("running_ns"))

    @property
    def thread(self) -> int:
        """Index into `threads`."""
        return cast("int", self._get("thread"))


class ReportCriticalPath(Figures):
    """The critical path."""

    @property
    def beside(self) -> list[ReportBeside]:
        """Places where the path's thread was blocked in a call while other threads were at work, or waited in a loop, so that what it waited for is not known. Their time is among `blocked`."""
        return self._list("beside", ReportBeside)

    @property
    def bound_thread(self) -> int | None:
        """The thread with the greatest part of `ready_bound_ns`; `null` if there is none."""
        return cast("int | None", self._get("bound_thread"))

    @property
    def length_ns(self) -> int:
        """Its length."""
        return cast("int", self._get("length_ns"))

    @property
    def nested(self) -> list[ReportNestedPart]:
        """Sections inside of other locks' sections, the greatest part first, at most 20."""
        return self._list("nested", ReportNestedPart)

    @property
    def parts(self) -> list[ReportPathPart]:
        """The path's time, split by activity, the greatest part first."""
        return self._list("parts", ReportPathPart)

    @property
    def ready_bound_ns(self) -> int | None:
        """The part of `ready_ns` in which only CPUs that the thread may not use ran none of the program's threads."""
        return cast("int | None", self._get("ready_bound_ns"))

    @property
    def ready_left_ns(self) -> int | None:
        """The part of `ready_ns` in which the program did not use all CPUs that it may use: a CPU was idle, or ran other programs."""
        return cast("int | None", self._get("ready_left_ns"))

    @property
    def ready_ns(self) -> int | None:
        """The part of the path in which its thread was ready to run and had no CPU, inside of critical sections or not."""
        return cast("int | None", self._get("ready_ns"))

    @property
    def sections(self) -> list[ReportSectionTime]:
        """Time within critical sections of any lock, by activity; nested sections count once."""
        return self._list("sections", ReportSectionTime)

    @property
    def steps(self) -> list[ReportPathStep]:
        """The steps in the order of time. A path with more than 500 steps is cut into 500 slots of equal time, and each slot has the step that takes most of it; neighbouring slots with the same kind of step are one step."""
        return self._list("steps", ReportPathStep)

    @property
    def steps_total(self) -> int:
        """The number of steps before any were merged."""
        return cast("int", self._get("steps_total"))

    @property
    def threads(self) -> list[ReportPathThread]:
        """The threads along which the path runs on a CPU, inside of critical sections or not, the one with the most time first, at most 20."""
        return self._list("threads", ReportPathThread)


class ReportNote(Figures):
    """A remark on an object."""

    @property
    def object(self) -> str:
        """The object's name."""
        return cast("str", self._get("object"))

    @property
    def text(self) -> str:
        """The remark."""
        return cast("str", self._get("text"))

    @property
    def times(self) -> int:
        """The number of times that the remark was made."""
        return cast("int", self._get("times"))


class ReportLimits(Figures):
    """What the trace lacks, or leaves uncertain, as sentences for people."""

    @property
    def bias(self) -> list[str]:
        """The direction and size of systematic errors in the figures."""
        return cast("list[str]", self._get("bias"))

    @property
    def complete_until_ns(self) -> int | None:
        """The time from which on events may be missing."""
        return cast("int | None", self._get("complete_until_ns"))

    @property
    def disturbed(self) -> str | None:
        """The reason to trust no figure, if other programs used the CPUs."""
        return cast("str | None", self._get("disturbed"))

    @property
    def lost(self) -> list[str]:
        """Events and other data that the trace lost."""
        return cast("list[str]", self._get("lost"))

    @property
    def notes(self) -> list[ReportNote]:
        """The recorder's remarks on single objects."""
        return self._list("notes", ReportNote)

    @property
    def symbols(self) -> list[str]:
        """Object files that provided no names or lines."""
        return cast("list[str]", self._get("symbols"))

    @property
    def unseen(self) -> list[str]:
        """Activity of the program that the recorder cannot see."""
        return cast("list[str]", self._get("unseen"))

    @property
    def unseen_runtimes(self) -> list[str]:
        """Runtimes in the program whose waits the recorder cannot see, as phrases."""
        return cast("list[str]", self._get("unseen_runtimes"))


class ReportOrderStep(Figures):
    """Two locks that a thread took one inside of the other."""

    @property
    def held(self) -> int:
        """The lock that the thread held."""
        return cast("int", self._get("held"))

    @property
    def held_at(self) -> str:
        """The call site that took that lock."""
        return cast("str", self._get("held_at"))

    @property
    def thread(self) -> int:
        """A thread that took the two locks in this order."""
        return cast("int", self._get("thread"))

    @property
    def times(self) -> int:
        """How often threads took the two locks in this order."""
        return cast("int", self._get("times"))

    @property
    def wanted(self) -> int:
        """The lock that the thread took while it held the other."""
        return cast("int", self._get("wanted"))

    @property
    def wanted_at(self) -> str:
        """The call site that took `wanted`."""
        return cast("str", self._get("wanted_at"))


class ReportLockOrder(Figures):
    """A circle of lock orders: threads took the locks in orders that could deadlock."""

    @property
    def doubts(self) -> list[str]:
        """Reasons to doubt the circle, as sentences."""
        return cast("list[str]", self._get("doubts"))

    @property
    def happened(self) -> bool:
        """Whether this very circle deadlocked in the recorded run."""
        return cast("bool", self._get("happened"))

    @property
    def steps(self) -> list[ReportOrderStep]:
        """The orders of the circle. The lock that one order wants is the lock that the next one holds; the last one wants the lock that the first one holds."""
        return self._list("steps", ReportOrderStep)


class ReportLock(Figures):
    """A lock."""

    @property
    def acquisitions(self) -> int:
        """Acquisitions in all modes, without recursive ones."""
        return cast("int", self._get("acquisitions"))

    @property
    def address(self) -> str:
        """The address, in hexadecimal."""
        return cast("str", self._get("address"))

    @property
    def barged(self) -> int:
        """Acquisitions that did not wait although other threads were waiting."""
        return cast("int", self._get("barged"))

    @property
    def blame_ns(self) -> int:
        """Time that other threads waited while the lock was held, weighted by the number of waiters."""
        return cast("int", self._get("blame_ns"))

    @property
    def blocked_ns(self) -> int:
        """Time that threads waited, added over threads (BT)."""
        return cast("int", self._get("blocked_ns"))

    @property
    def busy_ns(self) -> int:
        """Time during which a thread held the lock. Simultaneous holders count once."""
        return cast("int", self._get("busy_ns"))

    @property
    def class_(self) -> int:
        """The index of the lock's class."""
        return cast("int", self._get("class"))

    @property
    def contended(self) -> int:
        """Acquisitions that had to wait."""
        return cast("int", self._get("contended"))

    @property
    def doubts(self) -> list[str]:
        """Contradictions in the lock's events, as sentences. With any of these, the figures are uncertain."""
        return cast("list[str]", self._get("doubts"))

    @property
    def entered(self) -> ReportEntered:
        """How the waits ended."""
        return self._whole("entered", ReportEntered)

    @property
    def failed_tries(self) -> int:
        """Tries that found the lock taken."""
        return cast("int", self._get("failed_tries"))

    @property
    def handoff_ns(self) -> ReportDistribution:
        """The times from a release with waiters to the next acquisition."""
        return self._whole("handoff_ns", ReportDistribution)

    @property
    def hold_ns(self) -> ReportDistribution:
        """The durations of holds."""
        return self._whole("hold_ns", ReportDistribution)

    @property
    def idle_contended_ns(self) -> int:
        """Time during which the lock was free and a thread waited. Simultaneous waiters count once."""
        return cast("int", self._get("idle_contended_ns"))

    @property
    def kind(self) -> str:
        """`mutex`, `rwlock`, `spin`, `omp-critical`, `omp-lock` or `other`."""
        return cast("str", self._get("kind"))

    @property
    def name(self) -> str:
        """The name that the program gave, the symbol of a global variable, the place that initialised the lock or takes it most, or the lock's address."""
        return cast("str", self._get("name"))

    @property
    def origin(self) -> int | None:
        """Where the lock begins, as an index into `origins`; null if nothing is known of it."""
        return cast("int | None", self._get("origin"))

    @property
    def others(self) -> int | None:
        """Acquisitions by other threads than the one that acquired the lock most often."""
        return cast("int | None", self._get("others"))

    @property
    def overhead_ns(self) -> int:
        """The part of `blocked_ns` during which no thread held the lock: competition overhead (ΣCOH)."""
        return cast("int", self._get("overhead_ns"))

    @property
    def owners(self) -> int:
        """The number of threads that acquired the lock."""
        return cast("int", self._get("owners"))

    @property
    def pid(self) -> int:
        """The process of the lock."""
        return cast("int", self._get("pid"))

    @property
    def process_shared(self) -> bool | None:
        """Whether other processes may use the lock, too (a process-shared mutex)."""
        return cast("bool | None", self._get("process_shared"))

    @property
    def program_without_exclusion_ns(self) -> int | None:
        """The program's time if this lock excluded no thread."""
        return cast("int | None", self._get("program_without_exclusion_ns"))

    @property
    def program_without_overhead_ns(self) -> int | None:
        """The program's time without this lock's competition overhead. At most the eight locks with the most waiting have this figure and the next one."""
        return cast("int | None", self._get("program_without_overhead_ns"))

    @property
    def queue_lengths(self) -> list[ReportQueueLength]:
        """For each number of waiters, how long there were that many. Time without waiters is left out."""
        return self._list("queue_lengths", ReportQueueLength)

    @property
    def sections_ns(self) -> int:
        """The part of `blocked_ns` during which other threads held the lock (ΣCS)."""
        return cast("int", self._get("sections_ns"))

    @property
    def shared(self) -> int:
        """Acquisitions in shared mode."""
        return cast("int", self._get("shared"))

    @property
    def starved(self) -> ReportStarved:
        """For a reader-writer lock: writers that readers overtook, and readers that writers overtook."""
        return self._whole("starved", ReportStarved)

    @property
    def timeouts(self) -> int:
        """Waits that ended without the lock."""
        return cast("int", self._get("timeouts"))

    @property
    def wait_ns(self) -> ReportDistribution:
        """The durations of waits."""
        return self._whole("wait_ns", ReportDistribution)


class ReportBeginning(Figures):
    """A place on the way to a lock's beginning."""

    @property
    def at(self) -> str:
        """The return address in its object file, `app+0x1234`."""
        return cast("str", self._get("at"))

    @property
    def place(self) -> str:
        """The function, with its source location if that is known: `Cache::Cache (cache.cpp:12)`."""
        return cast("str", self._get("place"))


class ReportOrigin(Figures):
    """The origin of locks: the place at which they begin, and its callers. Each place is a name for these locks in `--lock`, `--shrink` and `--split`."""

    @property
    def how(self) -> str:
        """`initialised` by a call, or `taken` first without that."""
        return cast("str", self._get("how"))

    @property
    def places(self) -> list[ReportBeginning]:
        """The places, the innermost first: the call, and its callers."""
        return self._list("places", ReportBeginning)


class ReportOutside(Figures):
    """The stretches in which threads were off their CPUs, and waited for nothing that the trace shows, between events at the same two places in the program."""

    @property
    def after(self) -> str | None:
        """The call site of the last event before that has one, or of the recorded call in which the thread was off its CPU; null if there is none since the thread's start."""
        return cast("str | None", self._get("after"))

    @property
    def before(self) -> str | None:
        """The call site of the next event, or, if it has none, the last known one; null if the stretch lasted until the thread's end, or if no call site was known yet."""
        return cast("str | None", self._get("before"))

    @property
    def blocked_ns(self) -> int:
        """Time blocked by input, output, sleep, a system call of the program's own or Baton's recorder, added over threads."""
        return cast("int", self._get("blocked_ns"))

    @property
    def created(self) -> str | None:
        """The place that created the threads, if it is known and the stretch has no call site of its own."""
        return cast("str | None", self._get("created"))

    @property
    def off_ns(self) -> int:
        """Time off the CPU for an unknown reason, added over threads."""
        return cast("int", self._get("off_ns"))

    @property
    def path_ns(self) -> int:
        """The part of all this time that lies on the critical path."""
        return cast("int", self._get("path_ns"))

    @property
    def ready_ns(self) -> int:
        """Time ready to run without a CPU, added over threads."""
        return cast("int", self._get("ready_ns"))

    @property
    def threads(self) -> int:
        """The number of threads that these stretches belong to."""
        return cast("int", self._get("threads"))

    @property
    def times(self) -> int:
        """The number of stretches."""
        return cast("int", self._get("times"))


class ReportCameLast(Figures):
    """A thread that other threads waited for at a barrier."""

    @property
    def rounds(self) -> int:
        """The number of rounds in which the thread arrived last."""
        return cast("int", self._get("rounds"))

    @property
    def thread(self) -> int:
        """The thread."""
        return cast("int", self._get("thread"))


class ReportParallelRegion(Figures):
    """The parallel regions that one call site opens."""

    @property
    def end_wait_ns(self) -> int:
        """Time that threads waited at the regions' ends, added over threads."""
        return cast("int", self._get("end_wait_ns"))

    @property
    def ends(self) -> int:
        """The number of region ends at which two threads or more arrived."""
        return cast("int", self._get("ends"))

    @property
    def imbalance(self) -> float:
        """`end_wait_ns` as a share of the time in which the threads could have worked: the length of each region times the threads of its team. 0 if all threads arrive together."""
        return cast("float", self._get("imbalance"))

    @property
    def last(self) -> list[ReportCameLast]:
        """Which thread arrived last at how many of these ends, the most frequent first."""
        return self._list("last", ReportCameLast)

    @property
    def least_threads(self) -> int:
        """The number of threads in the smallest team."""
        return cast("int", self._get("least_threads"))

    @property
    def most_threads(self) -> int:
        """The number of threads in the largest team."""
        return cast("int", self._get("most_threads"))

    @property
    def name(self) -> str:
        """The function that opens the regions, with its source location."""
        return cast("str", self._get("name"))

    @property
    def pid(self) -> int:
        """The process of the regions."""
        return cast("int", self._get("pid"))

    @property
    def time_ns(self) -> ReportDistribution:
        """The durations of the regions, from when the master opened a region until the master went on."""
        return self._whole("time_ns", ReportDistribution)


class ReportProgress(Figures):
    """Passages of one point that the user named."""

    @property
    def count(self) -> int:
        """The number of passages."""
        return cast("int", self._get("count"))

    @property
    def per_second(self) -> float | None:
        """Passages per second from the first to the last; null if there is no time between them."""
        return cast("float | None", self._get("per_second"))

    @property
    def point(self) -> str:
        """The point, or the request, as the user named it."""
        return cast("str", self._get("point"))

    @property
    def remark(self) -> str | None:
        """Why there is no passage, or no figure."""
        return cast("str | None", self._get("remark"))

    @property
    def threads(self) -> int:
        """The threads that passed the point."""
        return cast("int", self._get("threads"))


class ReportQueuePlace(Figures):
    """A place at which threads wait at a queue."""

    @property
    def name(self) -> str:
        """The function, with its source location."""
        return cast("str", self._get("name"))

    @property
    def waited_ns(self) -> int:
        """Time that threads waited."""
        return cast("int", self._get("waited_ns"))

    @property
    def waits(self) -> int:
        """The number of waits that ended."""
        return cast("int", self._get("waits"))


class ReportQueueUser(Figures):
    """A thread at one side of a queue."""

    @property
    def items(self) -> int:
        """The number of items that the thread put in, or took out."""
        return cast("int", self._get("items"))

    @property
    def thread(self) -> int:
        """The thread."""
        return cast("int", self._get("thread"))

    @property
    def waited_ns(self) -> int:
        """Time that the thread waited."""
        return cast("int", self._get("waited_ns"))

    @property
    def waits(self) -> int:
        """The number of the thread's waits that ended."""
        return cast("int", self._get("waits"))


class ReportQueueSide(Figures):
    """One side of a queue."""

    @property
    def elsewhere(self) -> bool | None:
        """Whether items passed this side of a queue between processes that no thread of the recording moved. Either another process moved them, or (puts) they were in the queue before the recording."""
        return cast("bool | None", self._get("elsewhere"))

    @property
    def items(self) -> int:
        """The number of items that passed this side."""
        return cast("int", self._get("items"))

    @property
    def places(self) -> list[ReportQueuePlace]:
        """The places at which threads wait at this side, the one with the most waiting first."""
        return self._list("places", ReportQueuePlace)

    @property
    def threads(self) -> list[ReportQueueUser]:
        """The threads of this side, the one with the most waiting first."""
        return self._list("threads", ReportQueueUser)

    @property
    def timeouts(self) -> int:
        """The waits that ended at a deadline."""
        return cast("int", self._get("timeouts"))

    @property
    def wait_ns(self) -> ReportDistribution:
        """The durations of the waits that ended."""
        return self._whole("wait_ns", ReportDistribution)

    @property
    def waited_ns(self) -> int:
        """Time that threads waited at this side, added over threads, with waits that did not end."""
        return cast("int", self._get("waited_ns"))


class ReportQueue(Figures):
    """A queue of items between threads."""

    @property
    def capacity(self) -> int | None:
        """How many items fit; null if the queue has no bound, or if the trace does not say."""
        return cast("int | None", self._get("capacity"))

    @property
    def items_per_s(self) -> float:
        """Items taken from the queue, per second of the report's time."""
        return cast("float", self._get("items_per_s"))

    @property
    def mean_depth(self) -> float:
        """The mean number of items in the queue, over time."""
        return cast("float", self._get("mean_depth"))

    @property
    def most_items(self) -> int:
        """The greatest number of items in the queue."""
        return cast("int", self._get("most_items"))

    @property
    def name(self) -> str:
        """The name, as for a lock."""
        return cast("str", self._get("name"))

    @property
    def puts(self) -> ReportQueueSide:
        """The side that puts items in, and waits where the queue is full."""
        return self._whole("puts", ReportQueueSide)

    @property
    def takes(self) -> ReportQueueSide:
        """The side that takes items out, and waits where the queue is empty."""
        return self._whole("takes", ReportQueueSide)

    @property
    def waitable(self) -> int:
        """The index of the queue in `waitables`, which has its process and its address."""
        return cast("int", self._get("waitable"))


class ReportRegion(Figures):
    """A region of interest, which the program marked."""

    @property
    def name(self) -> str:
        """Its name."""
        return cast("str", self._get("name"))

    @property
    def overhead_ns(self) -> int:
        """The part of `wait_ns` during which no thread held the lock."""
        return cast("int", self._get("overhead_ns"))

    @property
    def pid(self) -> int | None:
        """The process that marked the region. Regions of one name in two processes are two regions."""
        return cast("int | None", self._get("pid"))

    @property
    def times(self) -> int:
        """The number of stretches of time that the region consists of."""
        return cast("int", self._get("times"))

    @property
    def total_ns(self) -> int:
        """The time in the region. Time that several threads spend in it together counts once."""
        return cast("int", self._get("total_ns"))

    @property
    def wait_ns(self) -> int:
        """Time spent waiting for locks within the region."""
        return cast("int", self._get("wait_ns"))


class ReportBusiestLock(Figures):
    """A lock that requests wait for: one of the program, a futex of the program's own that serves as a lock, or a lock inside of the C library."""

    @property
    def in_use_ns(self) -> int:
        """The time, from the first request to the last, in which the lock is held exclusively, or a thread waits for it."""
        return cast("int", self._get("in_use_ns"))

    @property
    def limits(self) -> bool:
        """Whether requests wait for the lock long enough for it to limit them."""
        return cast("bool", self._get("limits"))

    @property
    def lock(self) -> int | None:
        """The lock; null for a futex, or a lock inside of the C library."""
        return cast("int | None", self._get("lock"))

    @property
    def waitable(self) -> int | None:
        """The futex, or the lock inside of the C library."""
        return cast("int | None", self._get("waitable"))


class ReportLatency(Figures):
    """How long requests took."""

    @property
    def max_ns(self) -> int:
        """The longest."""
        return cast("int", self._get("max_ns"))

    @property
    def mean_ns(self) -> int:
        """The mean."""
        return cast("int", self._get("mean_ns"))

    @property
    def p50_ns(self) -> int:
        """The median."""
        return cast("int", self._get("p50_ns"))

    @property
    def p999_ns(self) -> int:
        """99.9% took at most this."""
        return cast("int", self._get("p999_ns"))

    @property
    def p99_ns(self) -> int:
        """99% took at most this."""
        return cast("int", self._get("p99_ns"))


class ReportRequestPart(Figures):
    """A part of the latency of all requests."""

    @property
    def class_(self) -> int | None:
        """The class of the locks that requests waited for."""
        return cast("int | None", self._get("class"))

    @property
    def kind(self) -> Any:
        """The kind of the part: `cpu`, `ready`, `lock`, `futex`, `libc-lock`, `threads`, `outside`, `behind` or `passed`."""
        return cast("Any", self._get("kind"))

    @property
    def mean_ns(self) -> int:
        """The time that a request spends in this part, on average over all requests."""
        return cast("int", self._get("mean_ns"))

    @property
    def name(self) -> str:
        """The part as a phrase."""
        return cast("str", self._get("name"))

    @property
    def share(self) -> float:
        """The share of the latency of all requests, 0 to 1."""
        return cast("float", self._get("share"))

    @property
    def share_of_slowest(self) -> float:
        """The share of the latency of the slowest hundredth of the requests, 0 to 1."""
        return cast("float", self._get("share_of_slowest"))

    @property
    def waitable(self) -> int | None:
        """The futex, or the lock inside of the C library, that requests waited at."""
        return cast("int | None", self._get("waitable"))


class ReportServing(Figures):
    """The threads that read or answer requests."""

    @property
    def busy(self) -> int:
        """The number of these threads that run on a CPU for nine tenths of the time from the first request to the last, or longer, and have a request in hand for half of it. Threads without recorded context switches are not counted."""
        return cast("int", self._get("busy"))

    @property
    def busy_share(self) -> float:
        """For how much of that time the busy threads run, on average, 0 to 1."""
        return cast("float", self._get("busy_share"))

    @property
    def of_busy(self) -> float:
        """The share of the requests that a busy thread reads or answers, 0 to 1."""
        return cast("float", self._get("of_busy"))

    @property
    def threads(self) -> int:
        """The number of these threads."""
        return cast("int", self._get("threads"))


class ReportSlowPart(Figures):
    """A part of one request."""

    @property
    def name(self) -> str:
        """The part as a phrase."""
        return cast("str", self._get("name"))

    @property
    def total_ns(self) -> int:
        """Its length."""
        return cast("int", self._get("total_ns"))


class ReportSlowRequest(Figures):
    """One of the slowest requests."""

    @property
    def answered_by(self) -> int:
        """The thread that answered the request."""
        return cast("int", self._get("answered_by"))

    @property
    def begin_ns(self) -> int:
        """The time at which the request began, from the beginning of the trace."""
        return cast("int", self._get("begin_ns"))

    @property
    def latency_ns(self) -> int:
        """How long it took."""
        return cast("int", self._get("latency_ns"))

    @property
    def parts(self) -> list[ReportSlowPart]:
        """The parts of the request, the longest first."""
        return self._list("parts", ReportSlowPart)

    @property
    def thread(self) -> int:
        """The thread that read the request."""
        return cast("int", self._get("thread"))


class ReportRequests(Figures):
    """Requests: from the data that came to the answer that was written, or between two named points."""

    @property
    def begun_twice(self) -> int:
        """How often a request began while the thread's earlier request had not ended. The earlier request is then left out."""
        return cast("int", self._get("begun_twice"))

    @property
    def busiest(self) -> ReportBusiestLock | None:
        """Among the locks that requests wait for, futexes of the program's own included, the one that is in use longest; null if requests hardly wait for locks."""
        return self._part("busiest", ReportBusiestLock)

    @property
    def connections(self) -> int:
        """The connections that had a request, or the threads between whose points requests lie."""
        return cast("int", self._get("connections"))

    @property
    def count(self) -> int:
        """The number of requests that ended."""
        return cast("int", self._get("count"))

    @property
    def latency_ns(self) -> ReportLatency:
        """The latencies of the requests."""
        return self._whole("latency_ns", ReportLatency)

    @property
    def named(self) -> bool:
        """Whether the user named the points."""
        return cast("bool", self._get("named"))

    @property
    def parts(self) -> list[ReportRequestPart]:
        """What the latency consists of, the largest part first."""
        return self._list("parts", ReportRequestPart)

    @property
    def passed_along(self) -> int:
        """Requests that one thread read and another thread answered."""
        return cast("int", self._get("passed_along"))

    @property
    def per_second(self) -> float | None:
        """Requests that ended per second of `span_ns`; null if the span is zero."""
        return cast("float | None", self._get("per_second"))

    @property
    def points(self) -> str:
        """The call or point that begins a request, and the one that ends it: `read..write`."""
        return cast("str", self._get("points"))

    @property
    def running_ns(self) -> int:
        """The time that the program's threads ran on CPUs in span_ns, added over threads."""
        return cast("int", self._get("running_ns"))

    @property
    def serving(self) -> ReportServing | None:
        """The threads that read or answer requests."""
        return self._part("serving", ReportServing)

    @property
    def slowest(self) -> list[ReportSlowRequest]:
        """The slowest requests."""
        return self._list("slowest", ReportSlowRequest)

    @property
    def span_ns(self) -> int:
        """From the beginning of the first request to the end of the last."""
        return cast("int", self._get("span_ns"))

    @property
    def think_p50_ns(self) -> int:
        """The median time from an answer to the connection's next request. With `together`, the time counts from the last answer to any connection."""
        return cast("int", self._get("think_p50_ns"))

    @property
    def together(self) -> bool:
        """Whether each client request comes only when all connections have been answered: one client that waits for all of its answers."""
        return cast("bool", self._get("together"))

    @property
    def under_way(self) -> float:
        """The number of requests under way, on average."""
        return cast("float", self._get("under_way"))

    @property
    def unfinished(self) -> int:
        """Requests that had not ended when the recording or their connection did."""
        return cast("int", self._get("unfinished"))


class ReportClock(Figures):
    """The clock of the time stamps."""

    @property
    def frequency_hz(self) -> int:
        """Ticks per second."""
        return cast("int", self._get("frequency_hz"))

    @property
    def source(self) -> str:
        """`tsc`, `monotonic`, `counter` or `simulated`."""
        return cast("str", self._get("source"))


class ReportDilation(Figures):
    """How much longer a program took because it was recorded."""

    @property
    def alone_ns(self) -> int | None:
        """The time of the program alone (`baton profile --check`); null if it was not measured."""
        return cast("int | None", self._get("alone_ns"))

    @property
    def estimated(self) -> float:
        """The least value of `times`, estimated from the recorder's time along the critical path."""
        return cast("float", self._get("estimated"))

    @property
    def recorder_ns(self) -> int:
        """The recorder's time along the critical path."""
        return cast("int", self._get("recorder_ns"))

    @property
    def times(self) -> float:
        """The time of the recorded run divided by that of the program alone: as measured, or else the estimate."""
        return cast("float", self._get("times"))


class ReportHost(Figures):
    """The machine."""

    @property
    def cpus(self) -> int:
        """The hardware threads that the program could use; 0 if unknown."""
        return cast("int", self._get("cpus"))

    @property
    def kernel(self) -> str:
        """The kernel's name and version."""
        return cast("str", self._get("kernel"))

    @property
    def libc(self) -> str:
        """The C library's name and version."""
        return cast("str", self._get("libc"))

    @property
    def nodes(self) -> int:
        """The number of NUMA nodes; 0 if unknown."""
        return cast("int", self._get("nodes"))

    @property
    def processor(self) -> str:
        """The processor model."""
        return cast("str", self._get("processor"))

    @property
    def threads_per_core(self) -> int:
        """The hardware threads per core; 0 if unknown."""
        return cast("int", self._get("threads_per_core"))


class ReportProcess(Figures):
    """A process of the run."""

    @property
    def finished(self) -> bool:
        """Whether the process closed its trace properly; otherwise it was killed, or replaced itself by exec."""
        return cast("bool", self._get("finished"))

    @property
    def parent(self) -> int:
        """The process id of the parent."""
        return cast("int", self._get("parent"))

    @property
    def pid(self) -> int:
        """The kernel's process id."""
        return cast("int", self._get("pid"))


class ReportRun(Figures):
    """What was run."""

    @property
    def clock(self) -> ReportClock:
        """The trace's clock."""
        return self._whole("clock", ReportClock)

    @property
    def command(self) -> list[str]:
        """The program and its arguments; empty if the launcher left no description."""
        return cast("list[str]", self._get("command"))

    @property
    def dilation(self) -> ReportDilation | None:
        """How much longer the program took because it was recorded; null for a simulation, and where the cost of an event was not measured."""
        return self._part("dilation", ReportDilation)

    @property
    def directory(self) -> str:
        """The directory in which the program ran."""
        return cast("str", self._get("directory"))

    @property
    def elapsed_ns(self) -> int | None:
        """The time from start to exit, as the launcher measured it."""
        return cast("int | None", self._get("elapsed_ns"))

    @property
    def exit_code(self) -> int | None:
        """The exit status, if the program ended by itself."""
        return cast("int | None", self._get("exit_code"))

    @property
    def exit_signal(self) -> int | None:
        """The signal that ended the program."""
        return cast("int | None", self._get("exit_signal"))

    @property
    def host(self) -> ReportHost:
        """The machine."""
        return self._whole("host", ReportHost)

    @property
    def lock(self) -> str | None:
        """The lock that served the program's mutexes; null for the C library's."""
        return cast("str | None", self._get("lock"))

    @property
    def probe_contended_ns(self) -> float | None:
        """The measured cost of recording a contended acquisition, and of its CPU times if these are read."""
        return cast("float | None", self._get("probe_contended_ns"))

    @property
    def probe_event_ns(self) -> float | None:
        """The measured cost of recording one plain event."""
        return cast("float | None", self._get("probe_event_ns"))

    @property
    def processes(self) -> list[ReportProcess]:
        """Its processes."""
        return self._list("processes", ReportProcess)

    @property
    def recorder(self) -> str:
        """The name and version of the recorder."""
        return cast("str", self._get("recorder"))

    @property
    def started_realtime_ns(self) -> int:
        """The wall clock at the start, since 1970."""
        return cast("int", self._get("started_realtime_ns"))


class ReportFrame(Figures):
    """A function, with a source location."""

    @property
    def file(self) -> str | None:
        """The source file, as the compiler recorded it."""
        return cast("str | None", self._get("file"))

    @property
    def function(self) -> str:
        """The readable name; `module+0x12` if no symbol is known, and the bare address outside of all modules."""
        return cast("str", self._get("function"))

    @property
    def inlined(self) -> bool | None:
        """Whether the compiler inlined this function into the function of the next frame."""
        return cast("bool | None", self._get("inlined"))

    @property
    def library(self) -> bool | None:
        """Whether this is a standard library's thin wrapper around a lock or a thread, which says nothing about the program's own code."""
        return cast("bool | None", self._get("library"))

    @property
    def line(self) -> int | None:
        """The line in the file, from 1."""
        return cast("int | None", self._get("line"))


class ReportSite(Figures):
    """A place in the program that takes locks of one class, or waits for something else."""

    @property
    def acquisitions(self) -> int:
        """Acquisitions at this site."""
        return cast("int", self._get("acquisitions"))

    @property
    def address(self) -> str:
        """The return address, in hexadecimal."""
        return cast("str", self._get("address"))

    @property
    def blame_ns(self) -> int:
        """Time that other threads waited while a lock taken at this site was held, weighted by the number of waiters."""
        return cast("int", self._get("blame_ns"))

    @property
    def class_(self) -> int | None:
        """The class of the locks taken here; null if the site waits for something else."""
        return cast("int | None", self._get("class"))

    @property
    def contended(self) -> int:
        """Acquisitions at this site that had to wait; for an object other than a lock, the waits."""
        return cast("int", self._get("contended"))

    @property
    def frames(self) -> list[ReportFrame]:
        """The call stack, innermost function first."""
        return self._list("frames", ReportFrame)

    @property
    def hold_ns(self) -> int:
        """Time for which a lock taken at this site was held."""
        return cast("int", self._get("hold_ns"))

    @property
    def name(self) -> str:
        """The innermost function of the program's own code, with its source location."""
        return cast("str", self._get("name"))

    @property
    def overhead_ns(self) -> int:
        """The part of `wait_ns` during which no thread held the lock."""
        return cast("int", self._get("overhead_ns"))

    @property
    def pid(self) -> int:
        """The process of the site."""
        return cast("int", self._get("pid"))

    @property
    def polls(self) -> int:
        """Acquisitions by a loop that takes the lock again and again until another thread changes a value: a wait in disguise."""
        return cast("int", self._get("polls"))

    @property
    def through(self) -> str | None:
        """Where the innermost function only passes a lock on: the callers that waited most, the outermost first, `Table::get -> Cache::lookup`. Empty otherwise."""
        return cast("str | None", self._get("through"))

    @property
    def wait_ns(self) -> int:
        """Time waited at this site."""
        return cast("int", self._get("wait_ns"))

    @property
    def waitable(self) -> int | None:
        """The object other than a lock that the site waits for."""
        return cast("int | None", self._get("waitable"))


class ReportSlowStage(Figures):
    """The threads that hold a pipeline up: those that take from a queue that is full, or put into one that is empty, and seldom wait at queues themselves."""

    @property
    def blocked_ns(self) -> int:
        """Time that other threads waited for room in the queues that the stage takes from."""
        return cast("int", self._get("blocked_ns"))

    @property
    def puts_into(self) -> list[int]:
        """The queues that they put into."""
        return cast("list[int]", self._get("puts_into"))

    @property
    def starved_ns(self) -> int:
        """Time that other threads waited for items of the queues that the stage puts into."""
        return cast("int", self._get("starved_ns"))

    @property
    def takes_from(self) -> list[int]:
        """The queues that they take from, as indices into `queues`."""
        return cast("list[int]", self._get("takes_from"))

    @property
    def threads(self) -> list[int]:
        """The threads: all that take from the same queues and put into the same queues."""
        return cast("list[int]", self._get("threads"))

    @property
    def waiting_share(self) -> float:
        """The share of their lives that the threads of the stage waited at queues themselves."""
        return cast("float", self._get("waiting_share"))


class ReportHeld(Figures):
    """A lock that a thread holds."""

    @property
    def at(self) -> str:
        """The call site that took the lock."""
        return cast("str", self._get("at"))

    @property
    def lock(self) -> int:
        """The index of the lock in the report's list."""
        return cast("int", self._get("lock"))

    @property
    def since_ns(self) -> int:
        """The time at which the lock was taken."""
        return cast("int", self._get("since_ns"))


class ReportStandingThread(Figures):
    """A thread that cannot go on."""

    @property
    def at(self) -> str:
        """The call site of the wait."""
        return cast("str", self._get("at"))

    @property
    def blockers(self) -> list[int]:
        """The threads that this thread waits for."""
        return cast("list[int]", self._get("blockers"))

    @property
    def holds(self) -> list[ReportHeld]:
        """The locks that the thread holds and that others of these threads wait for."""
        return self._list("holds", ReportHeld)

    @property
    def lock(self) -> int | None:
        """The lock that the thread waits for."""
        return cast("int | None", self._get("lock"))

    @property
    def since_ns(self) -> int:
        """When the wait began."""
        return cast("int", self._get("since_ns"))

    @property
    def text(self) -> str:
        """The thread's part, as a phrase."""
        return cast("str", self._get("text"))

    @property
    def thread(self) -> int:
        """The index of the thread in the report's list."""
        return cast("int", self._get("thread"))

    @property
    def waitable(self) -> int | None:
        """The condition variable, semaphore, barrier or other object that the thread waits at."""
        return cast("int | None", self._get("waitable"))

    @property
    def waits_for(self) -> str:
        """What the thread waits for: `lock`, `condition`, `semaphore`, `barrier`, `futex`, `libc-lock`, `join`, `region` (an idle worker of OpenMP) or `tasks`."""
        return cast("str", self._get("waits_for"))

    @property
    def why(self) -> str:
        """Why the wait does not end: `held`, `held-by-ended` (the holder has ended), `not-held` (no recorded thread holds the lock), `join`, `never-signalled`, `lost-wake-up` (the last signal found no waiter), `not-signalled` (no signal came since), `never-posted`, `not-posted`, `not-woken` (a futex), `not-moved` (a queue), `few-arrivals`, `idle` or `tasks`."""
        return cast("str", self._get("why"))


class ReportStandstill(Figures):
    """A process that stands still, or in which threads do."""

    @property
    def circles(self) -> list[list[int]]:
        """Circles of threads, as indices into `threads`: each thread waits for the next one in the circle, the last for the first."""
        return cast("list[list[int]]", self._get("circles"))

    @property
    def cures(self) -> list[str]:
        """What would cure the standstill, as sentences."""
        return cast("list[str]", self._get("cures"))

    @property
    def deadlock_since_ns(self) -> int | None:
        """Since when the deadlock has existed; null if there is none."""
        return cast("int | None", self._get("deadlock_since_ns"))

    @property
    def headline(self) -> str:
        """What happened, as a sentence or two."""
        return cast("str", self._get("headline"))

    @property
    def kind(self) -> Any:
        """`deadlock`: threads wait for each other in a circle, or for a lock whose holder has ended. `nobody-moves`: all threads wait, and no thread of the process can end a wait of another. `suspected`: the first thread waits, by joins, for a thread at an object that no thread has signalled for half of the process's life, and other threads go on; or all threads wait, and a signal's handler may let one go on."""
        return cast("Any", self._get("kind"))

    @property
    def moving(self) -> int:
        """The number of living threads that could still go on."""
        return cast("int", self._get("moving"))

    @property
    def other_processes(self) -> int:
        """The number of other processes that stand still too."""
        return cast("int", self._get("other_processes"))

    @property
    def pid(self) -> int:
        """The kernel's number of the process."""
        return cast("int", self._get("pid"))

    @property
    def still_since_ns(self) -> int | None:
        """Since when no thread of the process has moved; null if some threads could still go on."""
        return cast("int | None", self._get("still_since_ns"))

    @property
    def threads(self) -> list[ReportStandingThread]:
        """The threads that cannot go on; those of circles first."""
        return self._list("threads", ReportStandingThread)

    @property
    def until_ns(self) -> int | None:
        """When the process ended, if that is known."""
        return cast("int | None", self._get("until_ns"))


class ReportTaskSite(Figures):
    """A place that creates tasks, or that waits for tasks."""

    @property
    def kind(self) -> str:
        """`task` if the place creates tasks, `wait` if it waits for them."""
        return cast("str", self._get("kind"))

    @property
    def moved(self) -> int:
        """The number of tasks that ran on another thread than the one that created them."""
        return cast("int", self._get("moved"))

    @property
    def name(self) -> str:
        """The function, with its source location."""
        return cast("str", self._get("name"))

    @property
    def pid(self) -> int:
        """The process of the place."""
        return cast("int", self._get("pid"))

    @property
    def running_ns(self) -> int:
        """For `wait`: the part of the waits during which the thread ran tasks. For `task`: 0."""
        return cast("int", self._get("running_ns"))

    @property
    def time_ns(self) -> ReportDistribution:
        """For `task`: the durations of the tasks, including other tasks that ran inside them. For `wait`: the durations of the waits, including tasks that ran during them."""
        return self._whole("time_ns", ReportDistribution)


class ReportThread(Figures):
    """A thread."""

    @property
    def acquisitions(self) -> int:
        """The number of lock acquisitions."""
        return cast("int", self._get("acquisitions"))

    @property
    def barrier_ns(self) -> int:
        """Time spent waiting at barriers."""
        return cast("int", self._get("barrier_ns"))

    @property
    def blame_ns(self) -> int:
        """Time that other threads waited while this thread held the lock, weighted by the number of waiters."""
        return cast("int", self._get("blame_ns"))

    @property
    def blocked_ns(self) -> int:
        """The part of `work_ns` during which the thread was blocked in something that Baton does not see as a wait: input, output, sleep, a system call of the program's own, or Baton's recorder."""
        return cast("int", self._get("blocked_ns"))

    @property
    def condition_ns(self) -> int:
        """Time spent waiting on condition variables."""
        return cast("int", self._get("condition_ns"))

    @property
    def contended(self) -> int:
        """The number of acquisitions that had to wait."""
        return cast("int", self._get("contended"))

    @property
    def cpus(self) -> str | None:
        """The CPUs that the thread could run on, as the kernel writes such lists (`0-3,8`). If the set changed, the one that was in force longest. Null if it was not recorded."""
        return cast("str | None", self._get("cpus"))

    @property
    def first_ns(self) -> int:
        """The time of the first event, from the beginning of the trace."""
        return cast("int", self._get("first_ns"))

    @property
    def futex_ns(self) -> int:
        """Time spent waiting in futexes of the program's own, and for locks inside of the C library."""
        return cast("int", self._get("futex_ns"))

    @property
    def hold_ns(self) -> int:
        """Time spent holding locks; a time under nested locks counts once for each."""
        return cast("int", self._get("hold_ns"))

    @property
    def idle_ns(self) -> int:
        """Time between parallel regions, for a worker of an OpenMP team."""
        return cast("int", self._get("idle_ns"))

    @property
    def join_ns(self) -> int:
        """Time spent waiting for the end of other threads."""
        return cast("int", self._get("join_ns"))

    @property
    def last_ns(self) -> int:
        """The time of the last event, or of the end of the process if the thread waited until then."""
        return cast("int", self._get("last_ns"))

    @property
    def longest_wait_ns(self) -> int:
        """The thread's longest wait for a lock."""
        return cast("int", self._get("longest_wait_ns"))

    @property
    def migrations(self) -> int:
        """The number of changes of CPU that were seen."""
        return cast("int", self._get("migrations"))

    @property
    def name(self) -> str:
        """The thread's name, followed by the thread id if other threads have the same name; `thread 7` for a thread without a name."""
        return cast("str", self._get("name"))

    @property
    def off_cpu_known(self) -> str:
        """What the trace says about the thread's time off the CPU: `all` (it has context switches), `how-much` (it has CPU times), or `nothing`."""
        return cast("str", self._get("off_cpu_known"))

    @property
    def off_cpu_ns(self) -> int:
        """Time off the CPU, if it was recorded."""
        return cast("int", self._get("off_cpu_ns"))

    @property
    def off_ns(self) -> int:
        """The part of `work_ns` off the CPU for a reason that the trace does not say."""
        return cast("int", self._get("off_ns"))

    @property
    def overhead_ns(self) -> int:
        """The part of `wait_ns` during which no thread held the lock."""
        return cast("int", self._get("overhead_ns"))

    @property
    def pid(self) -> int:
        """The process of the thread."""
        return cast("int", self._get("pid"))

    @property
    def queue_ns(self) -> int | None:
        """Time spent waiting for room in queues and for items of queues; missing if it is 0."""
        return cast("int | None", self._get("queue_ns"))

    @property
    def ready_ns(self) -> int:
        """The part of `work_ns` during which the thread was ready to run and had no CPU."""
        return cast("int", self._get("ready_ns"))

    @property
    def running_ns(self) -> int:
        """The part of `work_ns` on a CPU, or for which the trace does not say whether the thread had a CPU."""
        return cast("int", self._get("running_ns"))

    @property
    def semaphore_ns(self) -> int:
        """Time spent waiting for semaphores."""
        return cast("int", self._get("semaphore_ns"))

    @property
    def task_wait_ns(self) -> int:
        """Time spent waiting for tasks, without the tasks that the thread ran in the meantime."""
        return cast("int", self._get("task_wait_ns"))

    @property
    def tid(self) -> int:
        """The kernel's thread id."""
        return cast("int", self._get("tid"))

    @property
    def wait_ns(self) -> int:
        """Time spent waiting for locks."""
        return cast("int", self._get("wait_ns"))

    @property
    def work_ns(self) -> int:
        """All other time of the thread: the sum of `running_ns`, `ready_ns`, `blocked_ns` and `off_ns`."""
        return cast("int", self._get("work_ns"))


class ReportTotals(Figures):
    """Sums over the whole trace."""

    @property
    def acquisitions(self) -> int:
        """The number of lock acquisitions."""
        return cast("int", self._get("acquisitions"))

    @property
    def blocked_ns(self) -> int:
        """Time that threads waited for locks, added over threads (BT in OCOR's paper)."""
        return cast("int", self._get("blocked_ns"))

    @property
    def contended(self) -> int:
        """The number of acquisitions that had to wait."""
        return cast("int", self._get("contended"))

    @property
    def events(self) -> int:
        """The number of events."""
        return cast("int", self._get("events"))

    @property
    def free_while_wanted_ns(self) -> int:
        """Time in which at least one lock was free while a thread waited for it. Time that several threads wait so together counts once."""
        return cast("int", self._get("free_while_wanted_ns"))

    @property
    def hold_ns(self) -> int:
        """Time that threads held locks, added over threads and locks."""
        return cast("int", self._get("hold_ns"))

    @property
    def overhead_ns(self) -> int:
        """The part of `blocked_ns` during which no thread held the lock: competition overhead (ΣCOH)."""
        return cast("int", self._get("overhead_ns"))

    @property
    def sections_ns(self) -> int:
        """The part of `blocked_ns` during which other threads held the lock (ΣCS)."""
        return cast("int", self._get("sections_ns"))

    @property
    def span_ns(self) -> int:
        """The time from the first event to the last, or to the end of a process in which threads waited until then."""
        return cast("int", self._get("span_ns"))


class ReportNextStep(Figures):
    """A recommended step."""

    @property
    def command(self) -> str | None:
        """The command to type, if there is one."""
        return cast("str | None", self._get("command"))

    @property
    def text(self) -> str:
        """What to do, and why."""
        return cast("str", self._get("text"))


class ReportShare(Figures):
    """A share of the critical path."""

    @property
    def limit(self) -> str:
        """The limit, as in `limit` of the verdict."""
        return cast("str", self._get("limit"))

    @property
    def name(self) -> str:
        """The limit as a phrase."""
        return cast("str", self._get("name"))

    @property
    def share(self) -> float:
        """The share of the path, 0 to 1."""
        return cast("float", self._get("share"))

    @property
    def total_ns(self) -> int:
        """The sum of the time."""
        return cast("int", self._get("total_ns"))


class ReportVerdict(Figures):
    """The first lines of a report. All shares but `most_by_lock` are of the critical path, because only time on the critical path makes the program longer."""

    @property
    def doubts(self) -> list[str]:
        """Reasons not to trust the figures, as sentences."""
        return cast("list[str]", self._get("doubts"))

    @property
    def gains(self) -> list[str]:
        """Upper bounds of what could be won, as sentences."""
        return cast("list[str]", self._get("gains"))

    @property
    def headline(self) -> str:
        """The limit as a sentence, with the second cause if there is one."""
        return cast("str", self._get("headline"))

    @property
    def limit(self) -> str:
        """What limits the program. Mostly this is the limit that takes most of the critical path: `running`, `sections`, `competition`, `ready`, `blocked`, `calls` (blocked in input, output or sleep), `off-cpu`, `futex`, `libc-lock`, `futile-wake-ups`, `polling`, `waiting`; `others` (ready while a CPU ran none of the program's threads) or `recorder` (blocked in Baton's recorder) if there is nothing else. It is `starvation` if the heaviest lock's waiters starve; for a server also `clients`, `requests` or `serving-threads`; `nothing` if there is no path; `standstill` if threads stand still; `cannot-tell` if they may stand still, or if the trace leaves open more of the path than could be won elsewhere."""
        return cast("str", self._get("limit"))

    @property
    def most_by_lock(self) -> float:
        """The share of the time in which a lock is free while a thread waits for it, on the critical path or not. To replace the program's locks by locks of another type cannot win more."""
        return cast("float", self._get("most_by_lock"))

    @property
    def next(self) -> list[ReportNextStep]:
        """What to do next, the most promising step first."""
        return self._list("next", ReportNextStep)

    @property
    def second(self) -> ReportShare | None:
        """The cause that takes most of the critical path after `limit`, if it takes at least four fifths of what that takes; `null` otherwise. The headline names it, too."""
        return self._part("second", ReportShare)

    @property
    def shares(self) -> list[ReportShare]:
        """The critical path by limit, the greatest share first."""
        return self._list("shares", ReportShare)

    @property
    def unseen_share(self) -> float:
        """The share of the path in which a thread was blocked, or off its CPU, for a reason that the trace does not show."""
        return cast("float", self._get("unseen_share"))


class ReportWaitable(Figures):
    """An object other than a lock that threads wait at."""

    @property
    def address(self) -> str:
        """The address, in hexadecimal."""
        return cast("str", self._get("address"))

    @property
    def at(self) -> str | None:
        """For a futex or a lock of the C library: where most of the waits begin, as `lock (heap.c:10), called from my_malloc (heap.c:12)`."""
        return cast("str | None", self._get("at"))

    @property
    def broadcast_at(self) -> str | None:
        """The place whose broadcasts or wakes woke most threads for nothing."""
        return cast("str | None", self._get("broadcast_at"))

    @property
    def broadcasts(self) -> int:
        """The number of broadcasts."""
        return cast("int", self._get("broadcasts"))

    @property
    def construct(self) -> str | None:
        """For an OpenMP barrier: the construct that it belongs to (`barrier`, `region`, `loop`, `sections` or `single`)."""
        return cast("str | None", self._get("construct"))

    @property
    def futile(self) -> int:
        """The number of these threads that found nothing to do and waited again."""
        return cast("int", self._get("futile"))

    @property
    def kind(self) -> str:
        """`condition`, `barrier`, `semaphore`, `queue`, `futex` (of the program's own, or of its language's library), or `libc-lock` (a lock inside of the C library)."""
        return cast("str", self._get("kind"))

    @property
    def last(self) -> list[ReportCameLast]:
        """For a barrier: which thread arrived last in how many rounds, the most frequent first."""
        return self._list("last", ReportCameLast)

    @property
    def name(self) -> str:
        """The name, as for a lock."""
        return cast("str", self._get("name"))

    @property
    def pid(self) -> int:
        """The process of the object."""
        return cast("int", self._get("pid"))

    @property
    def rounds(self) -> int:
        """For a barrier: the number of rounds with two threads or more."""
        return cast("int", self._get("rounds"))

    @property
    def signals(self) -> int:
        """The number of signals, of posts, or of wakes."""
        return cast("int", self._get("signals"))

    @property
    def timeouts(self) -> int:
        """The number of waits that ended by a deadline, a cancellation or an error."""
        return cast("int", self._get("timeouts"))

    @property
    def wait_ns(self) -> ReportDistribution:
        """The durations of the waits."""
        return self._whole("wait_ns", ReportDistribution)

    @property
    def waits(self) -> int:
        """The number of waits."""
        return cast("int", self._get("waits"))

    @property
    def wake_ns(self) -> ReportDistribution:
        """The times from the event that ended a wait (signal, last arrival, post) until the waiter ran."""
        return self._whole("wake_ns", ReportDistribution)

    @property
    def woken(self) -> int:
        """The number of threads woken by broadcasts, or by wakes of a futex, that woke several."""
        return cast("int", self._get("woken"))


class ReportWaiterEdge(Figures):
    """How long one thread waited for another."""

    @property
    def holder(self) -> int:
        """The thread that held the lock in the meantime."""
        return cast("int", self._get("holder"))

    @property
    def lock(self) -> int:
        """The lock."""
        return cast("int", self._get("lock"))

    @property
    def wait_ns(self) -> int:
        """The sum of the waits."""
        return cast("int", self._get("wait_ns"))

    @property
    def waiter(self) -> int:
        """The thread that waited."""
        return cast("int", self._get("waiter"))


class Report(Result):
    """The report on one trace."""

    @property
    def background(self) -> list[ReportBackground]:
        """Threads that ended because another thread told them to. The program does not wait for their work."""
        return self._list("background", ReportBackground)

    @property
    def classes(self) -> list[ReportClass]:
        """Locks with something in common, added up: a name, a global variable, or the places that initialise or take them."""
        return self._list("classes", ReportClass)

    @property
    def critical_path(self) -> ReportCriticalPath:
        """The chain of work and waiting that adds up to the program's time."""
        return self._whole("critical_path", ReportCriticalPath)

    @property
    def limits(self) -> ReportLimits:
        """What the trace lacks, or leaves uncertain."""
        return self._whole("limits", ReportLimits)

    @property
    def lock_orders(self) -> list[ReportLockOrder]:
        """Orders of locks that could deadlock, whether or not they did."""
        return self._list("lock_orders", ReportLockOrder)

    @property
    def locks(self) -> list[ReportLock]:
        """The locks, the one with the most waiting first."""
        return self._list("locks", ReportLock)

    @property
    def origins(self) -> list[ReportOrigin]:
        """The places that initialise locks, or take them first."""
        return self._list("origins", ReportOrigin)

    @property
    def outside(self) -> list[ReportOutside]:
        """Time in which threads were off their CPUs although they waited for nothing that the trace shows, the longest first."""
        return self._list("outside", ReportOutside)

    @property
    def parallel(self) -> list[ReportParallelRegion]:
        """OpenMP's parallel regions by call site, the site with the most time in all first."""
        return self._list("parallel", ReportParallelRegion)

    @property
    def progress(self) -> ReportProgress | None:
        """A progress point that the user named, unless its requests are in `requests`."""
        return self._part("progress", ReportProgress)

    @property
    def queues(self) -> list[ReportQueue]:
        """Queues between threads, the one with the most waiting first; missing if there are none."""
        return self._list("queues", ReportQueue)

    @property
    def regions(self) -> list[ReportRegion]:
        """Regions of interest that the program marked."""
        return self._list("regions", ReportRegion)

    @property
    def requests(self) -> ReportRequests | None:
        """The requests that the program answered, or that lie between two points that the user named. Null if there are none, or if there are fewer than ten and the user named no points."""
        return self._part("requests", ReportRequests)

    @property
    def run(self) -> ReportRun:
        """The command and the machine."""
        return self._whole("run", ReportRun)

    @property
    def schema(self) -> str:
        """Name and version of this form."""
        return cast("str", self._get("schema"))

    @property
    def sites(self) -> list[ReportSite]:
        """The call sites, the one with the most waiting and blame first. A contended site is a call stack, an uncontended one only a return address."""
        return self._list("sites", ReportSite)

    @property
    def slow_stage(self) -> ReportSlowStage | None:
        """The stage of a pipeline that holds the others up; missing if the queues show none."""
        return self._part("slow_stage", ReportSlowStage)

    @property
    def standstill(self) -> ReportStandstill | None:
        """The process that stands still at its end, or in which threads do; null if none was found."""
        return self._part("standstill", ReportStandstill)

    @property
    def tasks(self) -> list[ReportTaskSite]:
        """Places that create tasks, and places that wait for tasks."""
        return self._list("tasks", ReportTaskSite)

    @property
    def threads(self) -> list[ReportThread]:
        """The threads, in the order in which they appeared."""
        return self._list("threads", ReportThread)

    @property
    def totals(self) -> ReportTotals:
        """Sums over the whole trace."""
        return self._whole("totals", ReportTotals)

    @property
    def verdict(self) -> ReportVerdict:
        """What limits the program, what could be won, and what to do next."""
        return self._whole("verdict", ReportVerdict)

    @property
    def waitables(self) -> list[ReportWaitable]:
        """Condition variables, barriers, semaphores, queues, futexes, locks of the C library."""
        return self._list("waitables", ReportWaitable)

    @property
    def waiters(self) -> list[ReportWaiterEdge]:
        """Which thread waited for which, the longest waits first."""
        return self._list("waiters", ReportWaiterEdge)


class StudyFindingsClaimsOracle(Figures):
    """The same comparison with the treatment at its ideal; only if it was run."""

    @property
    def arm(self) -> str:
        """What is ideal in the arm."""
        return cast("str", self._get("arm"))

    @property
    def interval(self) -> str | None:
        """The ends of the 95% interval of that figure."""
        return cast("str | None", self._get("interval"))

    @property
    def ours(self) -> float | None:
        """The claim's figure in the arm; null for a condition."""
        return cast("float | None", self._get("ours"))

    @property
    def verdict(self) -> str:
        """What the claim's rule says of the arm."""
        return cast("str", self._get("verdict"))


class StudyFindingsClaims(Figures):
    """A claim of the paper, or a part of a compound claim."""

    @property
    def basis(self) -> str:
        """What our figure rests on."""
        return cast("str", self._get("basis"))

    @property
    def holds(self) -> bool | None:
        """Whether the claim holds; null for verdicts that are neither."""
        return cast("bool | None", self._get("holds"))

    @property
    def id(self) -> str:
        """The claim's number in the table of claims."""
        return cast("str", self._get("id"))

    @property
    def interval(self) -> str | None:
        """The ends of the 95% interval of our figure."""
        return cast("str | None", self._get("interval"))

    @property
    def oracle(self) -> StudyFindingsClaimsOracle | None:
        """The same comparison with the treatment at its ideal; only if it was run."""
        return self._part("oracle", StudyFindingsClaimsOracle)

    @property
    def ours(self) -> float | None:
        """Our figure."""
        return cast("float | None", self._get("ours"))

    @property
    def paper(self) -> float | None:
        """The paper's figure."""
        return cast("float | None", self._get("paper"))

    @property
    def part(self) -> str:
        """The part of a compound claim; empty otherwise."""
        return cast("str", self._get("part"))

    @property
    def rule(self) -> str:
        """When the claim holds."""
        return cast("str", self._get("rule"))

    @property
    def unit(self) -> str:
        """The unit of both figures."""
        return cast("str", self._get("unit"))

    @property
    def verdict(self) -> str:
        """The verdict (docs/reference/studies.md)."""
        return cast("str", self._get("verdict"))

    @property
    def what(self) -> str:
        """What the paper claims."""
        return cast("str", self._get("what"))

    @property
    def why(self) -> str:
        """The reason for any verdict other than `holds`."""
        return cast("str", self._get("why"))


class StudyFindingsFalsifiers(Figures):
    """A falsifier."""

    @property
    def figures(self) -> list[list[Any]]:
        """The figures that were seen: pairs of a name and a value."""
        return cast("list[list[Any]]", self._get("figures"))

    @property
    def holds(self) -> bool | None:
        """Whether the effect was seen; null if it was not run."""
        return cast("bool | None", self._get("holds"))

    @property
    def id(self) -> str:
        """Its name."""
        return cast("str", self._get("id"))

    @property
    def what(self) -> str:
        """The effect that must be seen."""
        return cast("str", self._get("what"))

    @property
    def why(self) -> str:
        """Why the effect was not seen, or the falsifier not run."""
        return cast("str", self._get("why"))


class StudyFindingsFrozen(Figures):
    """Hashes of what does not change between the commit of the rules and the full run."""

    @property
    def chip(self) -> str:
        """Of the chip files."""
        return cast("str", self._get("chip"))

    @property
    def commit(self) -> str:
        """The commit from which the program was built."""
        return cast("str", self._get("commit"))

    @property
    def profiles(self) -> str:
        """Of the profiles."""
        return cast("str", self._get("profiles"))

    @property
    def rules(self) -> str:
        """Of the rules."""
        return cast("str", self._get("rules"))


class StudyFindingsUnspecified(Figures):
    """A detail that the paper leaves open."""

    @property
    def chosen(self) -> str:
        """Our choice, and its reason."""
        return cast("str", self._get("chosen"))

    @property
    def effect(self) -> str | None:
        """The least and the greatest value of the headline figure over that range; null if it was not run."""
        return cast("str | None", self._get("effect"))

    @property
    def note(self) -> str:
        """Why the range was not run, or the figure on which the effect is measured."""
        return cast("str", self._get("note"))

    @property
    def range(self) -> str:
        """The range over real systems."""
        return cast("str", self._get("range"))

    @property
    def what(self) -> str:
        """The detail."""
        return cast("str", self._get("what"))


class StudyFindings(Result):
    """What a study found about a paper's claims."""

    @property
    def claims(self) -> list[StudyFindingsClaims]:
        """All claims, part by part."""
        return self._list("claims", StudyFindingsClaims)

    @property
    def falsifiers(self) -> list[StudyFindingsFalsifiers]:
        """Runs that must come out negative if the mechanism is what the paper says."""
        return self._list("falsifiers", StudyFindingsFalsifiers)

    @property
    def frozen(self) -> StudyFindingsFrozen:
        """Hashes of what does not change between the commit of the rules and the full run."""
        return self._whole("frozen", StudyFindingsFrozen)

    @property
    def full(self) -> bool:
        """Whether the full study was run."""
        return cast("bool", self._get("full"))

    @property
    def notes(self) -> list[str]:
        """What a reader must know first."""
        return cast("list[str]", self._get("notes"))

    @property
    def study(self) -> str:
        """The name of the study."""
        return cast("str", self._get("study"))

    @property
    def unspecified(self) -> list[StudyFindingsUnspecified]:
        """The details that the paper leaves open."""
        return self._list("unspecified", StudyFindingsUnspecified)


class LitmusTestOutcomes(Figures):
    """A final state."""

    @property
    def condition(self) -> bool:
        """Whether the condition holds in the state."""
        return cast("bool", self._get("condition"))

    @property
    def state(self) -> str:
        """The registers and locations."""
        return cast("str", self._get("state"))

    @property
    def times(self) -> int:
        """How often the state was seen."""
        return cast("int", self._get("times"))


class LitmusTest(Figures):
    """A litmus test and what was seen of it."""

    @property
    def condition(self) -> str:
        """The sort of the final condition."""
        return cast("str", self._get("condition"))

    @property
    def observed(self) -> bool:
        """Whether the final condition was seen: for `exists` and `~exists` whether any run ended in such a state, for `forall` whether every run did."""
        return cast("bool", self._get("observed"))

    @property
    def outcomes(self) -> list[LitmusTestOutcomes]:
        """Each final state that was seen; only with `--outcomes`."""
        return self._list("outcomes", LitmusTestOutcomes)

    @property
    def runs(self) -> int:
        """How often the test ran."""
        return cast("int", self._get("runs"))

    @property
    def states(self) -> int:
        """The number of different final states that were seen."""
        return cast("int", self._get("states"))

    @property
    def suite(self) -> str:
        """The name of the folder that holds the file."""
        return cast("str", self._get("suite"))

    @property
    def test(self) -> str:
        """The name in the file's first line."""
        return cast("str", self._get("test"))
