# Written by `make tables` from the declarations of the command.
"""The commands as functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ._figures import Noc, Sim
from ._results import LitmusTest, StudyFindings, Whatif
from ._run import ChipLike, KeyValue, PathLike, listed, run


def sim(
    *,
    chip: ChipLike | None = None,
    cores: int | None = None,
    set: Mapping[str, KeyValue] | None = None,
    window: int | str | None = None,
    workload: str | None = None,
    lock: str | None = None,
    barrier: str | None = None,
    queue: str | None = None,
    wait: str | None = None,
    threads: int | None = None,
    at: int | Sequence[int] | None = None,
    pin: bool | None = None,
    nice: int | Sequence[int] | None = None,
    off: str | Sequence[str] | None = None,
    on: str | Sequence[str] | None = None,
    app: str | Sequence[str] | None = None,
    cs: int | None = None,
    think: int | None = None,
    spread: float | None = None,
    lines: int | None = None,
    bytes: int | str | None = None,
    stream: str | None = None,
    spacing: int | str | None = None,
    one_write_in: int | None = None,
    capacity: int | None = None,
    bulk: int | None = None,
    packets: PathLike | None = None,
    rules: PathLike | None = None,
    data: PathLike | None = None,
    clusters: int | Sequence[int] | None = None,
    pool: int | None = None,
    blocks: int | None = None,
    suspicious: int | None = None,
    prefetch: int | None = None,
    prepush: str | None = None,
    dispatch: str | None = None,
    reduction: str | None = None,
    rows: int | None = None,
    step: float | None = None,
    kind: str | None = None,
    flows: int | None = None,
    zipf: float | None = None,
    elephant: float | None = None,
    flow_window: str | None = None,
    gap: int | None = None,
    size: int | None = None,
    grain: int | None = None,
    profile: PathLike | None = None,
    draw: int | None = None,
    load: float | None = None,
    iterations: int | None = None,
    cycles: int | None = None,
    cpus: int | None = None,
    seed: int | None = None,
    no_trace: bool | None = None,
    energy: bool | None = None,
) -> Sim:
    """Simulates a workload on a chip. The result has the bytes of `baton sim --json`.

    >>> import baton
    >>> baton.sim(chip="ocor64", lock="mcs", threads=4, iterations=50).acquisitions
    200

    An option that is left out has the command's value.

    - `chip`: Chip file, or a name of `baton chips list`. Left out: this machine, as `baton doctor --calibrate` measured it, else a built-in sample host.
    - `cores`: The chip with this many cores; docs/reference/chip-file.md says what shrinks and grows with them.
    - `set`: Replace one key of the chip file, as in cache.hit=3. May be given several times.
    - `window`: Cores with another window: how many accesses that do not depend on each other are under way at once. smallest: one at a time; largest: as many as the largest core that is sold. Left out: what the chip file says.
    - `workload`: What the threads do. One of lock, barrier, loop, pingpong, ring, token, chase, stream, false-sharing, read-mostly, hot-line, actors, flows, epcc, epcc-sched, epcc-array, epcc-task, distributor, clusters, firewall, regression, tasks, image-filter, dedup, kdtree, sort, align, ep, ft, mg, search, fft, profile, phases. Default: lock.
    - `lock`: The lock (`baton list locks`). Left out: mcs, or spin-park for a profile. Default: mcs.
    - `barrier`: The barrier. Default: central.
    - `queue`: The queue. Default: mpmc.
    - `wait`: How threads wait (`baton list waits`). Left out: the lock's own policy, else pause.
    - `threads`: Threads. Left out: 2, or 1 for chase, 7 for firewall, 5 for distributor, 4 for regression, tasks, actors and flows, or one a core for a profile.
    - `at`: The CPU of each thread, in order, as in 0,1,8: none moves. Left out: the system places them. A core is a CPU, or, with core.contexts, several: N and N + core.count are siblings.
    - `pin`: Thread N runs on CPU N and stays there.
    - `nice`: The threads' nice values, from -20 to 19: one for all, or one each, as in 0,5,-3. Left out: 0. Policies fair and eevdf.
    - `off`: Cores that are off: from the beginning, as in 3,5-7, or from a cycle on, as in 3@100000. May be given several times.
    - `on`: Cores that are switched on again at a cycle, as in 3@200000. May be given several times.
    - `app`: Another application on the same chip: a workload and options of this command, as in lock,threads=4,lock=ticket. It may also have name=NAME; runs=N, runs=background (until all others are through) or runs=together:N (until all that say so have run N times); start=CYCLE; copies=N (N applications); and arrive=MEAN (mean cycles between the starts of copies, drawn by the seed). The values of at, nice and clusters have + between them. May be given several times. The account of locks is the first application's.
    - `cs`: Cycles computed with the lock held. Default: 100.
    - `think`: Cycles computed between two acquisitions, meetings or items. Default: 1000.
    - `spread`: Computations lie within this share of --think. Default: 0.
    - `lines`: Shared lines that each holder of the lock writes, or that read-mostly reads; lines of its own that a producer of ring writes before each item. Default: 0.
    - `bytes`: Bytes of chase's range, or of each of stream's. Default: 1M.
    - `stream`: What stream does. One of read, write, copy. Default: read.
    - `spacing`: Bytes from one thread's word to the next in false-sharing. Default: 8.
    - `one_write_in`: In read-mostly, one access in N is a write; 0: none. Default: 100.
    - `capacity`: Places in the queue. Default: 64.
    - `bulk`: Items that a thread of ring, clusters or firewall moves through a queue at a time. Default: 1.
    - `packets`: A capture in the classic pcap format, for firewall, clusters, and a distributor with flows (docs/reference/applications.md). Left out: generated packets.
    - `rules`: The firewall's rules: a line each, ACTION PROTOCOL SOURCE DESTINATION PORTS; the first that fits decides.
    - `data`: Rows for regression, the label in the last column. Left out: generated rows.
    - `clusters`: Threads of each stage of clusters, the sources first: 1,1 is one to one. Default: 1,4,4,1.
    - `pool`: Packet buffers. Left out: a bulk for each thread, and 256 at least.
    - `blocks`: 64-byte blocks of a packet that threads write and read, from its first; a firewall's header has 3. Default: 3.
    - `suspicious`: One generated packet in N is suspicious; 0: none. Default: 8.
    - `prefetch`: Number of packets of a bulk that a thread prefetches ahead; 0: none. Default: 3.
    - `prepush`: Whether threads push packets that they pass on out of their caches: to the shared level, or to the consumer's core, where thread N is on CPU N (--pin). One of none, shared, consumer. Default: none.
    - `dispatch`: How distributor hands out jobs, how workers of tasks come by theirs (steal, shared, balanced), or where an OpenMP team's tasks wait (shared, steal). Left out: balanced with --queue qmd, else slots, steal, and for OpenMP shared. One of slots, shared, dealt, balanced, steal.
    - `reduction`: Which party adds regression's vectors: the first worker (master), or the queue device (device). Left out: device with --queue qmd, otherwise master. One of master, device.
    - `rows`: Rows that a worker of regression looks at in an iteration. Default: 8.
    - `step`: Length of a step of regression. Default: 0.5.
    - `kind`: What a queue with flows promises. Left out: parallel. With this option firewall and distributor have such a queue too. One of directed, parallel, atomic, ordered.
    - `flows`: Number of flows (flows; made packets of firewall and distributor at a queue with flows). Default: 64.
    - `zipf`: Flow k, from 0, has a share of flows' packets as 1 / (k + 1) to this power. Default: 0.
    - `elephant`: Share of flows' packets that flow 0 has beyond that. Default: 0.
    - `flow_window`: Window of the queue of flows: entries that the device looks at (atomic; with --queue flows the number of buckets), or places of the reorder buffer (ordered). Default: 16.
    - `gap`: Cycles that a producer of flows computes before each packet. Default: 0.
    - `size`: A program's size: pixels a side of image-filter, bytes of dedup's input, points of kdtree, keys of sort, letters of align's sequences; pairs of ep, points a side of ft and mg, letters of search's database, rows of fft; iterations of loop.
    - `grain`: A program's grain: rows, bytes, points, keys or letters that a thread takes at a time; pairs of a batch of ep, letters of a query of search, points a side of the grids that one thread of mg works on alone; iterations of loop, which is shared out beforehand without it.
    - `profile`: A profile file, as profiles/ocor/imag.toml (docs/reference/workloads.md).
    - `draw`: The number of one of the profile's draws. Default: 0.
    - `load`: A profile's own misses, as a multiple of what its draw says. Default: 1.
    - `iterations`: Rounds a thread, as packets of a producer of flows; packets or jobs of clusters, firewall and distributor in all; steps of regression and ft, cycles of mg, queries of search, transforms of fft. Left out: 1000 (30 for a profile, 100 for regression, 20 for epcc, 10 for loop, 3 for stream, a capture's packets, a kernel's own number), or as many as --cycles allows.
    - `cycles`: End the run at this cycle.
    - `cpus`: Number of CPUs in use: the first N. Left out: all.
    - `seed`: Seed of the noise. Default: 1.
    - `no_trace`: Leave out blocking, critical-section and overhead figures (for long runs: they are made from recorded events).
    - `energy`: Print the energy of the run, at the prices of the chip file's table `energy`. A missing price is an error.
    """
    return Sim(run("sim", locals(), ("set", "off", "on", "app",)))


def noc(
    *,
    config: PathLike | None = None,
    topology: str | None = None,
    size: str | None = None,
    concentration: int | None = None,
    graph: PathLike | None = None,
    vcs: int | None = None,
    buffer: int | None = None,
    shared_buffer: int | None = None,
    classes: int | None = None,
    pipeline: str | None = None,
    arbiter: str | None = None,
    allocator: str | None = None,
    routing: str | None = None,
    routes: PathLike | None = None,
    allow_deadlock: bool | None = None,
    traffic: str | None = None,
    rate: float | None = None,
    packet: int | None = None,
    class_: int | None = None,
    burst: float | None = None,
    burst_rate: float | None = None,
    hot_share: float | None = None,
    hot_nodes: int | Sequence[int] | None = None,
    reply: int | None = None,
    reply_class: int | None = None,
    outstanding: int | None = None,
    batch: int | None = None,
    endpoint_places: int | None = None,
    endpoint_service: int | None = None,
    cycles: int | None = None,
    seed: int | None = None,
    technology: PathLike | None = None,
    flit_bits: int | None = None,
) -> Noc:
    """Simulates a network on chip. The result has the bytes of `baton noc --json`.

    >>> import baton
    >>> baton.noc(size="4x4", rate=0.05, cycles=1000).outcome
    'settled'

    An option that is left out has the command's value.

    - `config`: A TOML file with tables `network` and `traffic`, or a chip file, whose network is taken; options override it.
    - `topology`: mesh, torus, ring, cmesh, flattened-butterfly, crossbar, bus; `graph` comes from a file.
    - `size`: Columns and rows of routers, or a number of nodes.
    - `concentration`: Nodes a router (cmesh, flattened-butterfly).
    - `graph`: A TOML file with a graph's tables.
    - `vcs`: Virtual channels a port, all classes together.
    - `buffer`: Flits of buffer a virtual channel.
    - `shared_buffer`: Flits of buffer a port that its virtual channels share on top.
    - `classes`: Message classes, each with a virtual network of its own.
    - `pipeline`: speculative or nonspeculative.
    - `arbiter`: Who wins when several want the same (`baton list arbiters`).
    - `allocator`: Switch allocator: input-first, output-first, islip, wavefront.
    - `routing`: auto, xy, yx, o1turn, west-first, minimal-adaptive, valiant, table, up-down.
    - `routes`: A TOML file with the table of `--routing table`; without one that is the shortest path.
    - `allow_deadlock`: Run a routing that can deadlock.
    - `traffic`: uniform, transpose, bitcomp, bitrev, shuffle, tornado, neighbor, hotspot, randperm.
    - `rate`: Packets a node a cycle, 0 to 1.
    - `packet`: Flits a packet.
    - `class_`: Message class of the packets.
    - `burst`: Mean length of a burst in cycles; 0 is Bernoulli.
    - `burst_rate`: Packets a node a cycle inside a burst.
    - `hot_share`: hotspot: share of packets to the hot nodes.
    - `hot_nodes`: hotspot: the hot nodes.
    - `reply`: Flits of the reply to each packet; replies have a class of their own. Without it no node answers.
    - `reply_class`: Message class of the replies.
    - `outstanding`: Most packets of a node that may be under way, their replies included; 0 is no bound.
    - `batch`: Packets of each node in all; the run lasts until the last of them, or its reply, has arrived.
    - `endpoint_places`: Packets of each class that an endpoint holds before it refuses more; 0 takes every flit at once.
    - `endpoint_service`: Cycles that an endpoint takes for a packet before its place is free and its reply goes out.
    - `cycles`: Measured cycles; warm-up and drain come on top.
    - `seed`: Seed of every random choice.
    - `technology`: A TOML file with prices of events and sizes, or a chip file with the section `technology`.
    - `flit_bits`: Width of a flit in bits, for energy and area.
    """
    return Noc(run("noc", locals(), ()))


def whatif(
    directory: PathLike,
    *,
    lock: str | Sequence[str] | None = None,
    shrink: str | Sequence[str] | None = None,
    split: str | Sequence[str] | None = None,
    rw: str | Sequence[str] | None = None,
    until: str | Sequence[str] | None = None,
    background: str | Sequence[str] | None = None,
    wait: str | Sequence[str] | None = None,
    barrier: str | Sequence[str] | None = None,
    queue: str | Sequence[str] | None = None,
    device: str | None = None,
    network: str | Sequence[str] | None = None,
    asymmetric: str | None = None,
    ratio: float | None = None,
    policy: str | Sequence[str] | None = None,
    memory_bound: float | None = None,
    rate: float | None = None,
    chip: ChipLike | None = None,
    cores: int | None = None,
    set: Mapping[str, KeyValue] | None = None,
    window: int | str | None = None,
    threads: int | None = None,
    cpus: int | None = None,
    seeds: int | None = None,
    seed: int | None = None,
    check: int | None = None,
) -> Whatif:
    """Predicts what another lock, wait policy or chip would do to a recorded program, or to a `Trace`.

    The result has the bytes of `baton whatif --json`. Ctrl-C returns at once; the prediction ends in the background.

    >>> import baton, tempfile
    >>> times = [(thread, 1_000 * turn + 400 * thread) for turn in range(1, 50) for thread in (0, 1)]
    >>> table = {
    ...     "thread": [thread for thread, _ in times for _ in (0, 1)],
    ...     "time_ns": [time + held for _, time in times for held in (0, 200)],
    ...     "event": ["Acquire", "Release"] * len(times),
    ...     "address": [0x1000] * (2 * len(times)),
    ... }
    >>> folder = baton.Trace(table).save(tempfile.mkdtemp() + "/recording")
    >>> found = baton.whatif(folder, chip="sample-host", lock="mcs", seeds=1)
    >>> [(row.lock, row.acquisitions) for row in found.results]
    [('futex', 98), ('mcs', 98)]

    An option that is left out has the command's value.

    - `lock`: Locks, with commas (`baton list locks`). `all`, or left out: every lock that `run` offers; left out with --asymmetric: the recorded lock. Or locks one by one, as one row: NAME=LOCK,…,default=LOCK, where NAME is a name of the report (a lock, a function, FILE:LINE), and LOCK may be glibc or have its wait policy behind a colon. A lock that is not named gets the default's lock; without a default it stays glibc's.
    - `shrink`: Shorter critical sections: the work under the lock takes FACTOR of its time (0.5), or is divided by FACTOR (2x). Each option is one row; several changes with commas are one row together.
    - `split`: The lock split into N locks: each acquisition takes one of them, drawn by the seed.
    - `rw`: A reader-writer lock instead of the lock: this share of the holds (0.9, or 90%), drawn by the seed, only reads.
    - `until`: Threads whose work the program waits for, by name or number, with commas. Left out: all but background threads, which end within one turn of their own loop after another thread came to join them (docs/reference/analysis.md).
    - `background`: Threads that go on until another thread ends them, by name or number, with commas: a monitor, a flusher. The program does not wait for their work.
    - `wait`: Wait policies, with commas (`baton list waits`). Left out: each lock's own, as `run` has it.
    - `barrier`: Barriers, with commas (`baton list barriers`): each one replaces all barriers of the program, also those at the ends of OpenMP's constructs, with each policy of `--wait` (left out: futex). Locks stay as they are.
    - `queue`: Queues, with commas (spsc, ring, ring-single, mpmc, segments, qmd): each one replaces all queues of the program, with its capacity (KIND=N: with N places), with each policy of `--wait` (left out: adaptive). Or queues one by one, as one row: NAME=KIND,…,default=KIND, where NAME is a name of the report.
    - `device`: A device that the chip gets if it has none, and the queues of the program in it. `qmd` is the queue device of CAF's paper, with the figures of chip caf16.
    - `network`: Networks, with commas, each with every lock: round-robin; ocor, which marks the requests of locks that give hints and serves those first; ocor-home, ocor-both, ocor-oracle, where homes do; release-first, holder-first, oldest-first, which are ocor with another rule; age, matrix, fixed. The chip must have routers. Left out: the chip's own, as it is.
    - `asymmetric`: Fast and slow cores, as in 1+12: replays each lock on one fast and twelve slow cores, of the chip of --chip or of a machine like this one. Fast cores have the chip's clock. Each seed has them at other numbers, so that another thread begins on one.
    - `ratio`: The clock of the fast cores divided by the clock of the slow cores. Default: 2.
    - `policy`: Policies that give threads the fast cores, with commas; the others are compared with the first one (docs/reference/asymmetric.md). Default: amp-default,pa.
    - `memory_bound`: The largest share of the program's computing time, 0 to 1, that may be spent waiting for memory, which takes as long on a slow core. A recording does not have that share: each policy is replayed with the shares 0 and F. Default: 1.
    - `rate`: Requests come at this rate, whatever is answered (an open loop), instead of a think time after each answer, as seen.
    - `chip`: Chip file, or a name of `baton chips list`. Left out: this machine, as `baton doctor --calibrate` measured it, else a built-in sample host.
    - `cores`: The chip with this many cores; docs/reference/chip-file.md says what shrinks and grows with them.
    - `set`: Replace one key of the chip file, as in cache.hit=3. May be given several times.
    - `window`: Cores with another window: how many accesses that do not depend on each other are under way at once. smallest: one at a time; largest: as many as the largest core that is sold. Left out: what the chip file says.
    - `threads`: Threads that the program starts, if more than were recorded.
    - `cpus`: Number of CPUs in use: the first N. Left out: as many as the recorded run had, at most as many as the chip has (--cores changes how many those are).
    - `seeds`: Runs of each lock, each with another seed. Default: 5.
    - `seed`: The N-th K seeds, from (N - 1) * K + 1: runs with other numbers share no seed. Default: 1.
    - `check`: First runs the recorded command N times unchanged, without recording, in the directory where it was recorded, and compares the median with the prediction for the command's own lock.
    """
    return Whatif(run("whatif", locals(), ("lock", "shrink", "split", "rw", "queue", "set",), "directory"))


def litmus(
    *paths: PathLike,
    chip: ChipLike | None = None,
    cores: int | None = None,
    set: Mapping[str, KeyValue] | None = None,
    window: int | str | None = None,
    runs: int | None = None,
    seed: int | None = None,
    outcomes: bool | None = None,
    skip_unsupported: bool | None = None,
) -> list[LitmusTest]:
    """Runs litmus tests: files, or folders that hold some. Has what `baton litmus --json` prints, test by test.

    >>> import baton, pathlib, tempfile
    >>> text = 'X86_64 SB\\n{ }\\n P0 | P1 ;\\n movl $1,(x) | movl $1,(y) ;\\n movl (y),%eax | movl (x),%eax ;\\n'
    >>> file = pathlib.Path(tempfile.mkdtemp(), "SB.litmus")
    >>> written = file.write_text(text + 'exists (0:rax=0 /\\\\ 1:rax=0)\\n')
    >>> [baton.litmus(file, runs=500, set={"core.store_buffer": entries})[0].observed for entries in (0, 16)]
    [False, True]

    An option that is left out has the command's value.

    - `chip`: Chip file, or a name of `baton chips list`. Left out: this machine, as `baton doctor --calibrate` measured it, else a built-in sample host.
    - `cores`: The chip with this many cores; docs/reference/chip-file.md says what shrinks and grows with them.
    - `set`: Replace one key of the chip file, as in cache.hit=3. May be given several times.
    - `window`: Cores with another window: how many accesses that do not depend on each other are under way at once. smallest: one at a time; largest: as many as the largest core that is sold. Left out: what the chip file says.
    - `runs`: Runs of each test, each with other noise. Default: 4000.
    - `seed`: Seed of the noise. Default: 1.
    - `outcomes`: Show every final state and how often it was seen.
    - `skip_unsupported`: Leave out, with a warning, the files that cannot be read.
    """
    return listed(LitmusTest, run("litmus", locals(), ("set",), "paths"))


def study(
    name: str,
    *,
    quick: bool | None = None,
    out: PathLike | None = None,
    chip: PathLike | Sequence[PathLike] | None = None,
    profiles: PathLike | Sequence[PathLike] | None = None,
    set: Mapping[str, KeyValue] | None = None,
) -> StudyFindings:
    """Compares a paper's claims with the results of this system.

    Has what `baton study --json` prints. With `out`, the report and the cache lie in that folder, and a study that was ended
    goes on there. Ctrl-C returns at once; the study ends in the background.

    An option that is left out has the command's value.

    - `quick`: Fewer seeds and programs, never shorter runs.
    - `out`: Where the report and the cache go. Left out: `study-NAME`.
    - `chip`: A chip file, or a name of `baton chips list`. Left out: the study's own. A study of several chips takes the option as often, in their order.
    - `profiles`: A folder of profiles. Left out: the study's own. The option may be given as often as the study has folders.
    - `set`: Replace a key in all chip files of the study, as in cache.hit=3. May be given several times. Experiments that set the same key keep their values.
    """
    return StudyFindings(run("study", locals(), ("chip", "profiles", "set",), "name"))
