# Written by `make tables` from the declarations of the command.
"""The results of the commands."""

from __future__ import annotations

from typing import Any, cast

from ._result import Figures, Result


class SimByAppAmp(Figures):
    """Its time on fast and on slow cores; absent if the policy does not distinguish them."""

    @property
    def demotions(self) -> int:
        """How often it lost the class SP because its time in it was over. Unit: times."""
        return cast("int", self._get("demotions"))

    @property
    def fast_cycles(self) -> int:
        """Cycles of its threads on fast cores. Unit: cycles."""
        return cast("int", self._get("fast_cycles"))

    @property
    def hp_cycles(self) -> int:
        """Cycles in which it had runnable threads and the class HP. Unit: cycles."""
        return cast("int", self._get("hp_cycles"))

    @property
    def migrations(self) -> int:
        """How often one of its threads came to another core than the one that it ran on last. Unit: times."""
        return cast("int", self._get("migrations"))

    @property
    def mp_cycles(self) -> int:
        """Cycles in which it had runnable threads and the class MP; policies without classes have all in this one. Unit: cycles."""
        return cast("int", self._get("mp_cycles"))

    @property
    def slow_cycles(self) -> int:
        """Cycles of its threads on slow cores. Unit: cycles."""
        return cast("int", self._get("slow_cycles"))

    @property
    def sp_cycles(self) -> int:
        """Cycles in which it had runnable threads and the class SP. Unit: cycles."""
        return cast("int", self._get("sp_cycles"))

    @property
    def swaps(self) -> int:
        """How often one of its threads was swapped with another thread. Unit: times."""
        return cast("int", self._get("swaps"))


class SimByApp(Figures):
    """The figures of an application."""

    @property
    def acquisitions(self) -> int:
        """Acquisitions of its locks. Unit: acquisitions."""
        return cast("int", self._get("acquisitions"))

    @property
    def algorithm(self) -> str | None:
        """Name of its lock, barrier or queue; null for other workloads."""
        return cast("str | None", self._get("algorithm"))

    @property
    def amp(self) -> SimByAppAmp | None:
        """Its time on fast and on slow cores; absent if the policy does not distinguish them."""
        return self._part("amp", SimByAppAmp)

    @property
    def asleep_cycles(self) -> int:
        """Cycles in which they slept. Unit: cycles."""
        return cast("int", self._get("asleep_cycles"))

    @property
    def exits(self) -> int:
        """Threads of it that ended. Unit: threads."""
        return cast("int", self._get("exits"))

    @property
    def forks(self) -> int:
        """Threads that it started. Unit: threads."""
        return cast("int", self._get("forks"))

    @property
    def mean_runnable(self) -> float:
        """Number of its threads that could run, as the mean over the whole run. Unit: threads."""
        return cast("float", self._get("mean_runnable"))

    @property
    def most_runnable(self) -> int:
        """Largest number of its threads that could run at one moment. Unit: threads."""
        return cast("int", self._get("most_runnable"))

    @property
    def name(self) -> str:
        """Name of the application."""
        return cast("str", self._get("name"))

    @property
    def on_cpu_cycles(self) -> int:
        """Cycles of its threads on CPUs. Unit: cycles."""
        return cast("int", self._get("on_cpu_cycles"))

    @property
    def ready_cycles(self) -> int:
        """Cycles in which they could run and had no CPU. Unit: cycles."""
        return cast("int", self._get("ready_cycles"))

    @property
    def restarts(self) -> int:
        """How often it was started anew. Unit: times."""
        return cast("int", self._get("restarts"))

    @property
    def run_cycles(self) -> list[int]:
        """Length of each of its complete runs; empty for the first application, whose run is the whole run. Unit: cycles."""
        return cast("list[int]", self._get("run_cycles"))

    @property
    def start_cycles(self) -> int | None:
        """Cycle at which it began, or should have begun; absent: at the beginning of the simulation. Unit: cycles."""
        return cast("int | None", self._get("start_cycles"))

    @property
    def switching_cycles(self) -> int:
        """Cycles in which a CPU switched to them or woke up for them. Unit: cycles."""
        return cast("int", self._get("switching_cycles"))

    @property
    def threads(self) -> int:
        """Number of threads of one run. Unit: threads."""
        return cast("int", self._get("threads"))

    @property
    def workload(self) -> str:
        """Workload of its threads."""
        return cast("str", self._get("workload"))


class SimByCore(Figures):
    """The figures of a core."""

    @property
    def accesses(self) -> int:
        """Requests to the core's data cache, counted tries included. Unit: requests."""
        return cast("int", self._get("accesses"))

    @property
    def core(self) -> int:
        """Number of the core."""
        return cast("int", self._get("core"))

    @property
    def forwards(self) -> int:
        """Requests of others that it answered with its line. Unit: requests."""
        return cast("int", self._get("forwards"))

    @property
    def invalidations(self) -> int:
        """Copies that it lost to others, recalls included. Unit: copies."""
        return cast("int", self._get("invalidations"))

    @property
    def l1_misses(self) -> int:
        """Requests that the first level did not serve. Unit: requests."""
        return cast("int", self._get("l1_misses"))

    @property
    def l2_misses(self) -> int:
        """Requests that none of the core's private caches served. Unit: requests."""
        return cast("int", self._get("l2_misses"))

    @property
    def upgrades(self) -> int:
        """Requests that had the line, but not the right to write it. Unit: requests."""
        return cast("int", self._get("upgrades"))


class SimByCpu(Figures):
    """The figures of a CPU."""

    @property
    def core(self) -> int:
        """The core of which the CPU is a context."""
        return cast("int", self._get("core"))

    @property
    def cpu(self) -> int:
        """Number of the CPU."""
        return cast("int", self._get("cpu"))

    @property
    def cycles(self) -> dict[str, Any]:
        """Every cycle of the run by the CPU's state: busy, switching, waking, polling, halted, idle_1 and deeper, off. The cycles sum to cycles."""
        return cast("dict[str, Any]", self._get("cycles"))

    @property
    def migrations(self) -> int:
        """Times, among those, that the thread had last run on another core. Unit: threads."""
        return cast("int", self._get("migrations"))

    @property
    def steals(self) -> int:
        """Threads that its policy took for it from other queues when it ran dry. Unit: threads."""
        return cast("int", self._get("steals"))

    @property
    def switches(self) -> int:
        """Times that the CPU was given to a thread, also to the same one again. Unit: threads."""
        return cast("int", self._get("switches"))

    @property
    def ticks(self) -> int:
        """Timer interrupts: ticks, or ends of time slices. Unit: interrupts."""
        return cast("int", self._get("ticks"))


class SimByDevice(Figures):
    """The figures of a device."""

    @property
    def cancelled(self) -> int:
        """Requests that threads called back, and got back: from its port, or from itself. Unit: requests."""
        return cast("int", self._get("cancelled"))

    @property
    def counts(self) -> dict[str, Any]:
        """The device's own counters, by name."""
        return cast("dict[str, Any]", self._get("counts"))

    @property
    def dropped(self) -> int:
        """Requests that were answered to threads which had been killed. Unit: requests."""
        return cast("int", self._get("dropped"))

    @property
    def empty_cycles(self) -> int:
        """The same for want of what they asked for. Unit: cycles."""
        return cast("int", self._get("empty_cycles"))

    @property
    def full_cycles(self) -> int:
        """Cycles that requests were kept waiting for want of room, all together. Unit: cycles."""
        return cast("int", self._get("full_cycles"))

    @property
    def requests(self) -> int:
        """Requests that it took. Unit: requests."""
        return cast("int", self._get("requests"))

    @property
    def waited_cycles(self) -> int:
        """Cycles that requests stood in its port, or on its own wires before that, all together. Unit: cycles."""
        return cast("int", self._get("waited_cycles"))


class SimByThreadCycleStack(Figures):
    """Every cycle of the run, each with one reason; the reasons sum to `cycles`."""

    @property
    def absent(self) -> int:
        """Before its start and after its end. Unit: cycles."""
        return cast("int", self._get("absent"))

    @property
    def asleep(self) -> int:
        """Asleep until it is woken, or until a time. Unit: cycles."""
        return cast("int", self._get("asleep"))

    @property
    def atomic(self) -> int:
        """Reading, changing and writing as one. Unit: cycles."""
        return cast("int", self._get("atomic"))

    @property
    def computing(self) -> int:
        """Computing. Unit: cycles."""
        return cast("int", self._get("computing"))

    @property
    def device(self) -> int:
        """Stalled for a device's answer. Unit: cycles."""
        return cast("int", self._get("device"))

    @property
    def flush(self) -> int:
        """Mis-speculated loads at the end of a spin. Unit: cycles."""
        return cast("int", self._get("flush"))

    @property
    def home(self) -> int:
        """The line's home: its bank and directory. Unit: cycles."""
        return cast("int", self._get("home"))

    @property
    def home_queueing(self) -> int:
        """Waiting there, for the bank or for the transaction before. Unit: cycles."""
        return cast("int", self._get("home_queueing"))

    @property
    def kernel(self) -> int:
        """In a system call. Unit: cycles."""
        return cast("int", self._get("kernel"))

    @property
    def l1(self) -> int:
        """Hits in the nearest cache, its part of other requests, and fences. Unit: cycles."""
        return cast("int", self._get("l1"))

    @property
    def l2(self) -> int:
        """The private second level. Unit: cycles."""
        return cast("int", self._get("l2"))

    @property
    def memory(self) -> int:
        """Memory controllers. On a chip of fixed latencies: fetches. Unit: cycles."""
        return cast("int", self._get("memory"))

    @property
    def mode_change(self) -> int:
        """Standing still while its core changes between one and several active contexts. Unit: cycles."""
        return cast("int", self._get("mode_change"))

    @property
    def monitor_wait(self) -> int:
        """Waiting with a monitor or halted, on a CPU that it keeps: arming, entry and exit included. Unit: cycles."""
        return cast("int", self._get("monitor_wait"))

    @property
    def network(self) -> int:
        """Ways through the network, as an empty one takes. Unit: cycles."""
        return cast("int", self._get("network"))

    @property
    def network_queueing(self) -> int:
        """What they took longer. Unit: cycles."""
        return cast("int", self._get("network_queueing"))

    @property
    def queue_empty(self) -> int:
        """The same while the device did not have what was wanted. Unit: cycles."""
        return cast("int", self._get("queue_empty"))

    @property
    def queue_full(self) -> int:
        """The same while the device had no room for what the request brought. Unit: cycles."""
        return cast("int", self._get("queue_full"))

    @property
    def ready(self) -> int:
        """Could run, but had no CPU. Unit: cycles."""
        return cast("int", self._get("ready"))

    @property
    def remote_cache(self) -> int:
        """Other cores' caches. On a chip of fixed latencies: transfers and upgrades, waiting for the line included. Unit: cycles."""
        return cast("int", self._get("remote_cache"))

    @property
    def spinning(self) -> int:
        """Spinning on a core. Unit: cycles."""
        return cast("int", self._get("spinning"))

    @property
    def store_buffer(self) -> int:
        """Waiting for room in its store buffer, or until that is empty. Unit: cycles."""
        return cast("int", self._get("store_buffer"))

    @property
    def switch(self) -> int:
        """A CPU was switching to it. Unit: cycles."""
        return cast("int", self._get("switch"))

    @property
    def under_way(self) -> int:
        """A request that was not served when the run was cut off. Unit: cycles."""
        return cast("int", self._get("under_way"))

    @property
    def waking(self) -> int:
        """A CPU was leaving its idle state for it. Unit: cycles."""
        return cast("int", self._get("waking"))


class SimByThread(Figures):
    """The figures of a thread."""

    @property
    def blocking_cycles(self) -> int | None:
        """Time that the thread waited for the lock. Unit: cycles."""
        return cast("int | None", self._get("blocking_cycles"))

    @property
    def cycle_stack(self) -> SimByThreadCycleStack:
        """Every cycle of the run, each with one reason; the reasons sum to `cycles`."""
        return self._whole("cycle_stack", SimByThreadCycleStack)

    @property
    def name(self) -> str:
        """Name of the thread."""
        return cast("str", self._get("name"))

    @property
    def operations(self) -> int:
        """Operations done one by one. Unit: operations."""
        return cast("int", self._get("operations"))

    @property
    def overhead_cycles(self) -> int | None:
        """The part of the waiting while the lock was free. Unit: cycles."""
        return cast("int | None", self._get("overhead_cycles"))

    @property
    def preemptions(self) -> int:
        """How often its CPU was taken from it. Unit: times."""
        return cast("int", self._get("preemptions"))

    @property
    def sections_cycles(self) -> int | None:
        """The part of the waiting while the lock was held. Unit: cycles."""
        return cast("int | None", self._get("sections_cycles"))

    @property
    def sleeps(self) -> int:
        """How often it slept. Unit: times."""
        return cast("int", self._get("sleeps"))

    @property
    def tries(self) -> int:
        """Tries of waits, counted ones included. Unit: tries."""
        return cast("int", self._get("tries"))


class SimClocksAt(Figures):
    """The time at one clock."""

    @property
    def clock_hz(self) -> int:
        """The clock. Unit: hertz."""
        return cast("int", self._get("clock_hz"))

    @property
    def core_cycles(self) -> int:
        """Time that the cores in use had this clock, all cores together. Unit: cycles."""
        return cast("int", self._get("core_cycles"))


class SimClocks(Figures):
    """How clocks were governed; left out without a governor (os.governor)."""

    @property
    def at(self) -> list[SimClocksAt]:
        """Time that the cores in use had each clock. The times of a core sum to cycles."""
        return self._list("at", SimClocksAt)

    @property
    def changes(self) -> int:
        """Number of changes of a core's clock that the governor asked for. Unit: times."""
        return cast("int", self._get("changes"))

    @property
    def decisions(self) -> int:
        """Number of times that the governor decided. Unit: times."""
        return cast("int", self._get("decisions"))

    @property
    def governor(self) -> str:
        """Name of the governor."""
        return cast("str", self._get("governor"))


class SimEnergyLines(Figures):
    """A line of the account."""

    @property
    def clock_hz(self) -> int | None:
        """The clock of the CPUs; null if the price does not depend on it. Unit: hertz."""
        return cast("int | None", self._get("clock_hz"))

    @property
    def component(self) -> str:
        """The component: cpus, caches, network, memory, devices or base."""
        return cast("str", self._get("component"))

    @property
    def events(self) -> int | None:
        """Number of events; null for states. Unit: events."""
        return cast("int | None", self._get("events"))

    @property
    def joules(self) -> float:
        """The product of price and amount. Unit: joules."""
        return cast("float", self._get("joules"))

    @property
    def key(self) -> str:
        """The price's key in the chip file."""
        return cast("str", self._get("key"))

    @property
    def price(self) -> float:
        """Watts, or joules per event."""
        return cast("float", self._get("price"))

    @property
    def seconds(self) -> float | None:
        """Time of all units together; null for events. Unit: seconds."""
        return cast("float | None", self._get("seconds"))


class SimEnergy(Figures):
    """Energy of the run, at the prices of the chip file; with --energy."""

    @property
    def average_watts(self) -> float:
        """Mean power. Unit: watts."""
        return cast("float", self._get("average_watts"))

    @property
    def by_component_joules(self) -> dict[str, Any]:
        """By component: cpus, caches, network, memory, devices, base. Sums to total_joules."""
        return cast("dict[str, Any]", self._get("by_component_joules"))

    @property
    def lines(self) -> list[SimEnergyLines]:
        """A line for each price, with the amount that it was multiplied by. The lines sum to total_joules."""
        return self._list("lines", SimEnergyLines)

    @property
    def total_joules(self) -> float:
        """Energy of the whole run. Unit: joules."""
        return cast("float", self._get("total_joules"))

    @property
    def without_base_joules(self) -> float:
        """Energy of the run without the platform's base. Unit: joules."""
        return cast("float", self._get("without_base_joules"))

    @property
    def without_base_watts(self) -> float:
        """Mean power without the platform's base. Unit: watts."""
        return cast("float", self._get("without_base_watts"))


class SimLock(Figures):
    """The account of all locks together, as `baton report` has it: blocking = critical sections + competition overhead. Absent with --no-trace and for workloads without locks."""

    @property
    def blocking_cycles(self) -> int:
        """Time of waiting, added over threads: sections plus overhead. Unit: cycles."""
        return cast("int", self._get("blocking_cycles"))

    @property
    def contended(self) -> int:
        """Acquisitions that waited. Unit: acquisitions."""
        return cast("int", self._get("contended"))

    @property
    def entered_spinning_share(self) -> float:
        """Share of the contended acquisitions whose thread did not sleep. Unit: share."""
        return cast("float", self._get("entered_spinning_share"))

    @property
    def handoff_mean_cycles(self) -> int:
        """Mean time from a release with a thread waiting to the next acquisition. Unit: cycles."""
        return cast("int", self._get("handoff_mean_cycles"))

    @property
    def held_cycles(self) -> int:
        """Time in which a thread held the lock. Unit: cycles."""
        return cast("int", self._get("held_cycles"))

    @property
    def overhead_cycles(self) -> int:
        """The part of the waiting while the lock was free: competition overhead. Unit: cycles."""
        return cast("int", self._get("overhead_cycles"))

    @property
    def rate_per_kilocycle(self) -> float:
        """Acquisitions per thousand cycles. Unit: acquisitions per 1000 cycles."""
        return cast("float", self._get("rate_per_kilocycle"))

    @property
    def sections_cycles(self) -> int:
        """The part of the waiting while the lock was held. Unit: cycles."""
        return cast("int", self._get("sections_cycles"))


class SimMemory(Figures):
    """The counters of the memory system; from l2_hits on, 0 on a chip of fixed latencies."""

    @property
    def evictions(self) -> int:
        """Lines that left a core's caches to make room. Unit: lines."""
        return cast("int", self._get("evictions"))

    @property
    def far_atomics(self) -> int:
        """Atomics performed at a home. Unit: atomics."""
        return cast("int", self._get("far_atomics"))

    @property
    def fetches(self) -> int:
        """Lines fetched from memory. Unit: lines."""
        return cast("int", self._get("fetches"))

    @property
    def hits(self) -> int:
        """Requests that found the line where they needed it, counted tries included. Unit: requests."""
        return cast("int", self._get("hits"))

    @property
    def invalidations(self) -> int:
        """Copies that were invalidated or recalled. Unit: copies."""
        return cast("int", self._get("invalidations"))

    @property
    def l2_hits(self) -> int:
        """Requests that the private second level served. Unit: requests."""
        return cast("int", self._get("l2_hits"))

    @property
    def memory_writes(self) -> int:
        """Lines written to memory. Unit: lines."""
        return cast("int", self._get("memory_writes"))

    @property
    def messages(self) -> int:
        """Messages of the protocol. Unit: messages."""
        return cast("int", self._get("messages"))

    @property
    def misses(self) -> int:
        """Requests whose line was not in the core's caches. Unit: requests."""
        return cast("int", self._get("misses"))

    @property
    def queueing_cycles(self) -> int:
        """Cycles that requests waited behind others for the same line. Unit: cycles."""
        return cast("int", self._get("queueing_cycles"))

    @property
    def row_hits(self) -> int:
        """Accesses to memory that found their row open. Unit: accesses."""
        return cast("int", self._get("row_hits"))

    @property
    def shared_hits(self) -> int:
        """Lines that a home's bank supplied. Unit: lines."""
        return cast("int", self._get("shared_hits"))

    @property
    def transfers(self) -> int:
        """Lines taken from another core. Unit: lines."""
        return cast("int", self._get("transfers"))

    @property
    def upgrades(self) -> int:
        """Copies turned into the only one. Unit: copies."""
        return cast("int", self._get("upgrades"))


class SimShares(Figures):
    """Shares of thread-time in the part of the run that counts (a profile warms up first), and rates per thread; absent with --no-trace and for workloads without locks."""

    @property
    def acquisitions_per_kilocycle(self) -> float:
        """Acquisitions per thousand cycles and thread. Unit: acquisitions per 1000 cycles and thread."""
        return cast("float", self._get("acquisitions_per_kilocycle"))

    @property
    def blocked(self) -> float:
        """Share of thread-time in waiting for locks: other threads' critical sections and overhead. Unit: share."""
        return cast("float", self._get("blocked"))

    @property
    def contended(self) -> float:
        """Share of all acquisitions that waited. Unit: share."""
        return cast("float", self._get("contended"))

    @property
    def counted_cycles(self) -> int:
        """Length of the part of the run that counts. Unit: cycles."""
        return cast("int", self._get("counted_cycles"))

    @property
    def entered_spinning(self) -> float:
        """Share of all acquisitions whose thread did not sleep for the lock. Unit: share."""
        return cast("float", self._get("entered_spinning"))

    @property
    def messages_per_kilocycle(self) -> float | None:
        """Messages of caches and homes per thousand cycles and thread; null for a workload that does not say which part counts. Unit: messages per 1000 cycles and thread."""
        return cast("float | None", self._get("messages_per_kilocycle"))

    @property
    def overhead(self) -> float:
        """Share of thread-time in competition overhead: waiting for a lock that no thread held. Unit: share."""
        return cast("float", self._get("overhead"))

    @property
    def sections(self) -> float:
        """Share of thread-time in critical sections. Unit: share."""
        return cast("float", self._get("sections"))


class Sim(Result):
    """A workload on a simulated chip."""

    @property
    def acquisitions(self) -> int:
        """Lock acquisitions; 0 for other workloads. Unit: acquisitions."""
        return cast("int", self._get("acquisitions"))

    @property
    def algorithm(self) -> str | None:
        """Name of the lock, barrier or queue; null for other workloads."""
        return cast("str | None", self._get("algorithm"))

    @property
    def by_app(self) -> list[SimByApp]:
        """The applications: the one that the command line describes first, then those of --app in order."""
        return self._list("by_app", SimByApp)

    @property
    def by_core(self) -> list[SimByCore]:
        """The cores, in the order of their numbers; empty on a chip of fixed latencies."""
        return self._list("by_core", SimByCore)

    @property
    def by_cpu(self) -> list[SimByCpu]:
        """The CPUs in use, in the order of their numbers."""
        return self._list("by_cpu", SimByCpu)

    @property
    def by_device(self) -> list[SimByDevice]:
        """The devices, in the order of their numbers; left out on a chip without any."""
        return self._list("by_device", SimByDevice)

    @property
    def by_thread(self) -> list[SimByThread]:
        """The threads, in the order of their creation."""
        return self._list("by_thread", SimByThread)

    @property
    def chip(self) -> dict[str, Any]:
        """The whole chip configuration: every key of the chip file and its value."""
        return cast("dict[str, Any]", self._get("chip"))

    @property
    def clocks(self) -> SimClocks | None:
        """How clocks were governed; left out without a governor (os.governor)."""
        return self._part("clocks", SimClocks)

    @property
    def context_switches(self) -> int:
        """Number of times that a thread was put on a core. Unit: switches."""
        return cast("int", self._get("context_switches"))

    @property
    def cycles(self) -> int:
        """Length of the run in cycles of the chip's clock. Unit: cycles."""
        return cast("int", self._get("cycles"))

    @property
    def cycles_per_second(self) -> float:
        """Simulated cycles per second of the host. Unit: cycles per second."""
        return cast("float", self._get("cycles_per_second"))

    @property
    def energy(self) -> SimEnergy | None:
        """Energy of the run, at the prices of the chip file; with --energy."""
        return self._part("energy", SimEnergy)

    @property
    def events(self) -> int:
        """Steps of the engine's queue. Unit: events."""
        return cast("int", self._get("events"))

    @property
    def finished(self) -> bool:
        """Whether every thread ended; otherwise the run was cut off by --cycles."""
        return cast("bool", self._get("finished"))

    @property
    def flit_hops(self) -> int:
        """One for each flit and router that it passed. Unit: flit hops."""
        return cast("int", self._get("flit_hops"))

    @property
    def guest_operations(self) -> int:
        """Operations that guests did one by one. Tries of waits that were counted without being simulated are not included. Unit: operations."""
        return cast("int", self._get("guest_operations"))

    @property
    def guest_operations_per_second(self) -> float:
        """Guest operations per second of the host. Unit: operations per second."""
        return cast("float", self._get("guest_operations_per_second"))

    @property
    def host_seconds(self) -> float:
        """Time that the simulation took, which differs from run to run. Unit: seconds."""
        return cast("float", self._get("host_seconds"))

    @property
    def lock(self) -> SimLock | None:
        """The account of all locks together, as `baton report` has it: blocking = critical sections + competition overhead. Absent with --no-trace and for workloads without locks."""
        return self._part("lock", SimLock)

    @property
    def lock_packets(self) -> int:
        """Packets that carry a lock or wake-up request, marked (`ocor.enabled`) or not. Unit: packets."""
        return cast("int", self._get("lock_packets"))

    @property
    def longest_marked_cycles(self) -> int:
        """The longest that a marked packet took. Unit: cycles."""
        return cast("int", self._get("longest_marked_cycles"))

    @property
    def longest_unmarked_cycles(self) -> int:
        """The longest that an unmarked packet took. Unit: cycles."""
        return cast("int", self._get("longest_unmarked_cycles"))

    @property
    def measured(self) -> dict[str, Any]:
        """Figures that the workload timed of itself; empty if it times nothing, or was cut off."""
        return cast("dict[str, Any]", self._get("measured"))

    @property
    def memory(self) -> SimMemory:
        """The counters of the memory system; from l2_hits on, 0 on a chip of fixed latencies."""
        return self._whole("memory", SimMemory)

    @property
    def network_utilisation(self) -> float | None:
        """Share of the cycles of all ports of all routers in which a flit passed; null on a chip without a network. Unit: share."""
        return cast("float | None", self._get("network_utilisation"))

    @property
    def packets(self) -> int:
        """Packets given to the network. Unit: packets."""
        return cast("int", self._get("packets"))

    @property
    def schema(self) -> str:
        """Name and version of this form."""
        return cast("str", self._get("schema"))

    @property
    def seed(self) -> int:
        """Seed of the noise."""
        return cast("int", self._get("seed"))

    @property
    def shares(self) -> SimShares | None:
        """Shares of thread-time in the part of the run that counts (a profile warms up first), and rates per thread; absent with --no-trace and for workloads without locks."""
        return self._part("shares", SimShares)

    @property
    def simulated_seconds(self) -> float:
        """Length of the run in simulated seconds. Unit: seconds."""
        return cast("float", self._get("simulated_seconds"))

    @property
    def threads(self) -> int:
        """Number of threads. Unit: threads."""
        return cast("int", self._get("threads"))

    @property
    def wait(self) -> str:
        """How threads waited."""
        return cast("str", self._get("wait"))

    @property
    def workload(self) -> str:
        """The workload: one of `baton sim --help`."""
        return cast("str", self._get("workload"))

    @property
    def workload_options(self) -> dict[str, Any]:
        """The options of the workload, as given."""
        return cast("dict[str, Any]", self._get("workload_options"))


class NocArea(Figures):
    """Its figures."""

    @property
    def link_wires(self) -> float:
        """Wires of all links. Unit: square micrometres."""
        return cast("float", self._get("link_wires"))

    @property
    def routers(self) -> float:
        """Silicon of all routers. Unit: square micrometres."""
        return cast("float", self._get("routers"))


class NocEnergy(Figures):
    """Its figures."""

    @property
    def arbitration(self) -> float:
        """Energy of allocations. Unit: picojoules."""
        return cast("float", self._get("arbitration"))

    @property
    def buffer_read(self) -> float:
        """Energy of buffer reads. Unit: picojoules."""
        return cast("float", self._get("buffer_read"))

    @property
    def buffer_write(self) -> float:
        """Energy of buffer writes. Unit: picojoules."""
        return cast("float", self._get("buffer_write"))

    @property
    def clock(self) -> float:
        """Energy of the routers' clocks. Unit: picojoules."""
        return cast("float", self._get("clock"))

    @property
    def crossbar(self) -> float:
        """Energy of switches. Unit: picojoules."""
        return cast("float", self._get("crossbar"))

    @property
    def leakage(self) -> float:
        """Leakage of the routers. Unit: picojoules."""
        return cast("float", self._get("leakage"))

    @property
    def link(self) -> float:
        """Energy of links. Unit: picojoules."""
        return cast("float", self._get("link"))

    @property
    def total(self) -> float:
        """Sum of the energies. Unit: picojoules."""
        return cast("float", self._get("total"))


class NocNetworkLatency(Figures):
    """Its figures."""

    @property
    def half_width_95(self) -> float | None:
        """Half of the 95% interval of network_latency.mean. Unit: cycles."""
        return cast("float | None", self._get("half_width_95"))

    @property
    def max(self) -> int:
        """Largest of the same. Unit: cycles."""
        return cast("int", self._get("max"))

    @property
    def mean(self) -> float | None:
        """From the entering of a packet's head to the leaving of its tail. Unit: cycles."""
        return cast("float | None", self._get("mean"))

    @property
    def p50(self) -> int:
        """Median of the same. Unit: cycles."""
        return cast("int", self._get("p50"))

    @property
    def p99(self) -> int:
        """99th percentile of the same. Unit: cycles."""
        return cast("int", self._get("p99"))


class NocPacketLatency(Figures):
    """Its figures."""

    @property
    def half_width_95(self) -> float | None:
        """Half of the 95% interval of packet_latency.mean. Unit: cycles."""
        return cast("float | None", self._get("half_width_95"))

    @property
    def max(self) -> int:
        """Largest latency. Unit: cycles."""
        return cast("int", self._get("max"))

    @property
    def mean(self) -> float | None:
        """From a packet's creation to the leaving of its tail; null if the run did not settle. Unit: cycles."""
        return cast("float | None", self._get("mean"))

    @property
    def p50(self) -> int:
        """Median latency. Unit: cycles."""
        return cast("int", self._get("p50"))

    @property
    def p99(self) -> int:
        """99th percentile of the latencies. Unit: cycles."""
        return cast("int", self._get("p99"))


class NocRoundTripLatency(Figures):
    """Its figures."""

    @property
    def mean(self) -> float | None:
        """From a request's creation to the arrival of its reply. Unit: cycles."""
        return cast("float | None", self._get("mean"))

    @property
    def p99(self) -> int:
        """99th percentile of the same. Unit: cycles."""
        return cast("int", self._get("p99"))


class NocRoundTrip(Figures):
    """Its figures."""

    @property
    def latency(self) -> NocRoundTripLatency:
        """Its figures."""
        return self._whole("latency", NocRoundTripLatency)

    @property
    def rate(self) -> float:
        """Replies that arrived. Unit: replies per node and cycle."""
        return cast("float", self._get("rate"))

    @property
    def replies(self) -> int:
        """Replies that were created. Unit: replies."""
        return cast("int", self._get("replies"))


class Noc(Result):
    """A run of a network on chip."""

    @property
    def accepted_flits(self) -> float:
        """Flits that left the network. Unit: flits per node and cycle."""
        return cast("float", self._get("accepted_flits"))

    @property
    def area(self) -> NocArea:
        """Its figures."""
        return self._whole("area", NocArea)

    @property
    def cycles(self) -> int:
        """Length of the whole run. Unit: cycles."""
        return cast("int", self._get("cycles"))

    @property
    def energy(self) -> NocEnergy:
        """Its figures."""
        return self._whole("energy", NocEnergy)

    @property
    def flit_hops(self) -> int:
        """Sum over all flits of the routers that each passed. Unit: flit hops."""
        return cast("int", self._get("flit_hops"))

    @property
    def hops(self) -> float:
        """Routers that a packet passes, as a mean. Unit: routers."""
        return cast("float", self._get("hops"))

    @property
    def network_latency(self) -> NocNetworkLatency:
        """Its figures."""
        return self._whole("network_latency", NocNetworkLatency)

    @property
    def offered_packets(self) -> float:
        """Packets that were created. Unit: packets per node and cycle."""
        return cast("float", self._get("offered_packets"))

    @property
    def oldest(self) -> int:
        """Greatest age of a packet on its way. Unit: cycles."""
        return cast("int", self._get("oldest"))

    @property
    def outcome(self) -> str:
        """settled, saturated or deadlocked."""
        return cast("str", self._get("outcome"))

    @property
    def packet_latency(self) -> NocPacketLatency:
        """Its figures."""
        return self._whole("packet_latency", NocPacketLatency)

    @property
    def packets(self) -> int:
        """Packets that were measured. Unit: packets."""
        return cast("int", self._get("packets"))

    @property
    def round_trip(self) -> NocRoundTrip | None:
        """Its figures."""
        return self._part("round_trip", NocRoundTrip)

    @property
    def runtime(self) -> int | None:
        """Until the last of a batch had arrived. Unit: cycles."""
        return cast("int | None", self._get("runtime"))

    @property
    def saturated(self) -> bool:
        """1 if the mean latency did not settle below 1,000 cycles, otherwise 0."""
        return cast("bool", self._get("saturated"))

    @property
    def warm_up(self) -> int:
        """Length of the warm-up. Unit: cycles."""
        return cast("int", self._get("warm_up"))
