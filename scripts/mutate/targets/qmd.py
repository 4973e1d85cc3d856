"""Breaks the queue device, and what translates and moves queues: is every part needed by some test?"""

from built import Mutant

# The crate whose tests must fail, its test programs in the order in which they run (each with filters of test names), and the
# most CPU seconds of each program.
CRATE = "chip"
TESTS = {"chipfile/lib": ["qmd::"], "qmd": [], "qmd_attacks": []}
PATIENCE = 60

DEVICE = "crates/chipfile/src/peripheral/qmd"
CHIP = "crates/chip/src"


def of(file, folder=DEVICE):
    return lambda name, old, new, why="": Mutant(name, f"{folder}/{file}.rs", old, new, why)


buffers, credits, storage, device = of("buffers"), of("credits"), of("storage"), of("mod")
engine, configure, groups = of("engine"), of("configure"), of("groups")
threads = of("threads")
moving, qimu, port = of("moving"), of("qimu", f"{CHIP}/device"), of("attached", f"{CHIP}/device")
walk, move, requests = of("qimu", f"{CHIP}/machine"), of("moving", f"{CHIP}/machine"), of("requests", f"{CHIP}/issue")

MUTANTS = [
    # Mutants of the request buffers and their scheduler.
    buffers("turn: the same context again", "self.buffers[buffer].turn = (line + 1) % lines;", "self.buffers[buffer].turn = line;"),
    buffers("turn: a buffer keeps it", "self.left -= 1;", ""),
    buffers("weights: all priorities alike", "schedule == Schedule::Weighted", "false"),
    buffers("virtual buffers are shared", "let line = if self.sharing == Sharing::Context { cpu as usize } else { 0 };\n        let lines", "let line = 0;\n        let lines"),
    buffers("push: in front of those that wait", "buffer.lines[line].push_back(waiting);", "buffer.lines[line].push_front(waiting);"),
    buffers("push: not counted", "buffer.count += 1;", ""),
    buffers("remove: takes all", "which(waiting)", "true"),
    buffers("remove: a request that is given back stays", "!goes", "true"),
    buffers("remove: the next head is as old as it was", "Some(next.request) != head", "false"),
    buffers("pop: the next head is as old as it was", "buffer.lines[line].front_mut()", "buffer.lines[line].front_mut().filter(|_| !@)"),
    buffers("sleep: turns that were not taken are lost", "(picks - 1) % round", "0"),
    # Mutants of the credits for requests.
    credits("a credit is lost", "self.global += 1;", ""),
    credits("a credit is not spent", "(member.given, member.since) = (member.given - 1, now);", "member.since = now;"),
    credits("a local pool gives its credits twice", "std::mem::take(&mut member.local)", "member.local"),
    credits("credits are dealt without weights", "self.left = self.members[self.turn].weight;", "self.left = 1;"),
    credits("a local pool has one too many", "self.members[number].local < self.most", "self.members[number].local <= self.most"),
    credits("credits are dealt all at once", "cycles -= 1;", ""),
    # Mutants of the device's storage and of the ids of its queues.
    storage("a place is used again before its head moved", "self.region.entries - self.items - self.coming - self.going",
            "self.region.entries - self.items - self.coming"),
    storage("put: the last place is never used", "queue.free() == 0", "queue.free() <= 1"),
    storage("put: over the item before", "queue.head + queue.items + queue.coming", "queue.head + queue.items"),
    storage("get: an item whose tail has not moved", "queue.items == 0", "queue.items + queue.coming == 0"),
    storage("get: the head goes one too far", "(queue.head + 1) % queue.region.entries", "(queue.head + 2) % queue.region.entries"),
    storage("allocate: neighbours share entries", "first + i * entries", "first"),
    storage("allocate: an id comes twice", "self.given += 1;", ""),
    storage("allocate: a gap that is one too small", "region.first - end >= entries", "region.first - end + 1 >= entries"),
    storage("allocate: a slot that is taken", "slots.iter().all(Option::is_none)", "slots[0].is_none()"),
    storage("find: any id of its slot", "known == id", "true"),
    storage("release: items are not counted", "self.queues[slot.0].take().map_or(0, |(_, queue)| queue.used())",
            "self.queues[slot.0].take(); 0"),
    # Mutants of permissions, of requests that arrive, and of their cancellation.
    device("permission: domains unchecked", "owner.or_else(of_queue) == Some(domain)", "owner.or_else(of_queue).is_some()"),
    device("permission: a reducer's queues are for all", "!reducers", "true"),
    device("permission: credits of another domain", "direction == Direction::Dequeue && self.may(domain, queue, of)",
           "direction == Direction::Dequeue"),
    device("permission: no system call is needed", "Some(asked) if request.privileged", "Some(asked) if @ || request.privileged"),
    device("a buffer has no end", "self.ahead(lane, request.cpu) >= self.settings.depth as usize", "false"),
    device("a buffer has one place less", "came + self.engines[engine].buffers.ahead(lane, cpu)",
           "came + 1 + self.engines[engine].buffers.ahead(lane, cpu)"),
    device("a refused system call is not counted", "self.counts.refused += u64::from(answer.is_err());", ""),
    device("cancel: what was taken up is given back too", "if given_back == 0 { Cancelled::TooLate } else { Cancelled::Yes }",
           "let _ = given_back; Cancelled::Yes"),
    device("cancel: what came in this cycle is not found", "self.came.extract_if(.., |waiting| is_it(waiting)).count()", "0"),
    device("cancel: a sleeping engine sleeps on", "engine.wake(port.now());", ""),
    # Mutants of an engine's turn: one request is tried and answered.
    engine("turn: never another's", "self.engines[engine].buffers.turn(picked);", ""),
    engine("retry: an engine sleeps through a queue's change", "self.wake_all(now + 1);", ""),
    engine("retry: an engine sleeps through a pointer's move", "self.wake_all(now);", ""),
    engine("retry: the engine sleeps before all heads were tried",
           "self.failed += usize::from(before.is_some_and(|before| before != change));", "self.failed += 1;"),
    engine("retry: tries of a sleeping engine are not counted", "self.counts.retries += picks;", ""),
    engine("file: a turn in the cycle in which it came", "waiting.since < now", "waiting.since <= now"),
    engine("file: those of a cycle change places", "self.came.remove(0)", "self.came.swap_remove(0)"),
    engine("credits: given back to the other direction", "credits as usize", "1 - credits as usize"),
    engine("credits: spent of the other direction", "self.spends(slot, Direction::Enqueue, thread, now)",
           "self.spends(slot, Direction::Dequeue, thread, now)"),
    engine("credits: a drop is not counted", "self.counts.no_credit += u64::from(!spent);", ""),
    engine("timer: contexts that were served lose requests too", "late.binary_search(&waiting.request.cpu).is_ok()", "true"),
    engine("timer: a cycle late", "let timeout = self.settings.timeout;", "let timeout = self.settings.timeout + u64::from(@);"),
    engine("timer: its context is not interrupted", "port.interrupt(cpu);", ""),
    engine("timer: drops are not counted", "self.counts.dropped += dropped;", ""),
    engine("answer: a cycle early", "port.now() + self.settings.latency.0", "port.now() + self.settings.latency.0.saturating_sub(1)"),
    engine("try: waits where it is full", "Turn::Served(Err(QueueRefusal::Full))", "Turn::Wait(Hold::Full)"),
    engine("try: waits where it is empty", "Turn::Served(Err(QueueRefusal::Empty))", "Turn::Wait(Hold::Empty)"),
    engine("pointers: always move at the turn", "match self.settings.pointers {", "match if @ { Pointers::Grant } else { self.settings.pointers } {"),
    engine("hold: the thread is not told", "!head.told", "false"),
    engine("dequeues are not counted", "self.counts.dequeued += 1;", ""),
    # Mutants of the system calls that set up queues and threads.
    configure("release: a pointer moves in the next queue", "self.moves.forget(slot);", ""),
    configure("release: the next queue has its credits", "self.pools[slot.0] = [None, None];", "",
              "an allocation writes its slots' pools, and no queue stands in the slot before"),
    configure("release: who waits is forgotten",
              "self.refuse_for(id, port, |_| true);", ""),
    threads("drain: everybody's", "u64::from(waiting.request.subject.thread) == thread", "true"),
    threads("drain: its context is not interrupted", "port.interrupt(cpu);", ""),
    threads("drain: drops are not counted", "self.counts.dropped += drained;", ""),
    configure("drain: what came in this cycle stays", "self.came.extract_if(.., |waiting| which(waiting)).for_each(&mut out);", ""),
    configure("join: a weight of zero", "weight > 0", "true"),
    configure("reduce: into what it reads", "from.iter().any(|queue| to.contains(queue))", "false"),
    configure("reduce, balance: queues with credits", "self.pools[slot.0].iter().any(Option::is_some)", "false"),
    configure("own: any domain's", "queue.domain == domain", "true"),
    # Mutants of groups of queues, which balance or reduce.
    groups("balance: to the fullest", "queue.used() < least", "queue.used() > least"),
    groups("balance: no turns among equals", "group.next = (at + 1) % group.queues.len();", ""),
    groups("balance: to a full one", "queue.free() > 0", "true",
           "a group's queues are of one size: the one with the fewest items is full where all are, and the item then finds no place"),
    groups("reduce: a sum under way is lost with a queue", "ended.show(storage);", ""),
    groups("reduce: into a full queue", "!has(&to, Queue::free)", "false"),
    groups("reduce: places of its items are never free", "storage.head_moves(slot);", ""),
    groups("reduce: takes the time of one item", "now + self.cycles * reducer.from.len() as u64", "now + self.cycles"),
    # Mutants of queues that move to another device.
    moving("close: pointers that are to move do not", "self.moves.take(slot)", "Vec::<baton_machine::queues::Direction>::new()"),
    moving("close: the pool of an earlier cycle", "self.pools[slot.0].iter_mut().flatten().for_each(|pools| pools.deal(now));", "",
           "the pools of a closed queue give no credits, and what is dealt late is dealt at the new device"),
    moving("close: requests are served on", "self.storage.set_state(slot, State::Closed);", ""),
    moving("open: who waited sleeps on", "self.wake_all(now);", "",
           "no request comes before the table names the queue, which it does when the queue is open"),
    moving("send on: who waits is forgotten", "gone.iter().for_each(|request| self.send_on(request, device, queue, port));", ""),
    moving("send on: to the old id", "register & !u64::from(u32::MAX) | u64::from(queue.0)", "register"),
    moving("send on: the slot is open to whoever comes", "self.storage.leave(slot, State::Gone { device, queue });", ""),
    storage("peek: the first item again and again", "(u64::from(queue.head) + place) % u64::from(queue.region.entries)", "u64::from(queue.head)"),
    storage("leave: its entries stay taken", "regions.retain(|region| region.entries > 0);", ""),
    credits("move: a member's credits are lost", "Member { thread, weight, local, given, since: now }", "Member { thread, weight, local: 0 * local, given: 0 * given, since: now }"),
    credits("move: the global pool stays", "(self.global, self.turn, self.left, self.dealt) = (global, turn as usize, left, now);", "(self.turn, self.left, self.dealt) = (turn as usize, left, now);"),
    device("move: a request that comes later is not sent on", "let State::Gone { device, queue } = self.storage.state(slot)",
           "let (State::Gone { device, queue }, false) = (self.storage.state(slot), @)"),
    move("move: an item is left behind", "0..frozen.value", "1..frozen.value.max(1)"),
    move("move: the table keeps the old place", "queue.at = new;", ""),
    move("move: forgets where the queue was", "queue.before.push(from);", ""),
    move("move: can be killed half way", "Engine::shielded(|| move_to(queue, to))", "move_to(queue, to)"),
    requests("order: a request overtakes one that is sent on", "translated && devices.waits_for(packet, under_way.map(|request| request.packet))",
             "let _ = (translated, under_way); false"),
    requests("order: what has come back stays for ever", "self.send_requests(id);\n        }\n    }\n\n    /// The thread must leave",
             "if !@ { self.send_requests(id); }\n        }\n    }\n\n    /// The thread must leave"),
    port("order: what is on its way back does not count", "matches!(other.place, PacketAt::Back | PacketAt::Waiting)", "false"),
    port("order: devices alone are compared", "let place = |packet: &Packet| (packet.device, packet.request.words[0] as u32);",
         "let place = |packet: &Packet| (packet.device, if @ { 0 } else { packet.request.words[0] as u32 });",
         "a queue is back at its device after two moves, and a request would have to be under way for as long"),
    port("forward: a context keeps the old place", "qimu.learn(cpu, process, id, Location { device, queue: QueueId(words[0] as u32) });", "",
         "each request is then sent on once more: slower, and no figure says by how much"),
    # Mutants of the translation of queue ids.
    qimu("walk: any id of its entry", "(entry.id == id).then_some(entry)", "Some(entry)"),
    qimu("walk: out of range", "let in_range = index(id) < table.entries.len();", "let in_range = @ || index(id) < table.entries.len();"),
    qimu("QTLB: one entry more", "entries.len() == self.size", "entries.len() > self.size"),
    qimu("QTLB: forgets what was used last", "entries.pop_front();", "entries.pop_back();"),
    qimu("QTLB: what was used counts no younger", "entries.push_back(cached);\n        self.counts.hits += 1;",
         "if @ { entries.push_front(cached) } else { entries.push_back(cached) }\n        self.counts.hits += 1;"),
    qimu("QTLB: no flush at a switch", "qtlb.entries.clear();", ""),
    qimu("QTLB: a freed queue is kept", "qtlb.entries.retain(|cached| cached.id != entry.id);", "",
         "the device's own id is given once: a request with the old translation is refused there"),
    qimu("ids: one comes twice", "table.given += 1;\n        for (place", "table.given += u32::from(!@);\n        for (place"),
    qimu("nearest: the farthest first", "all.sort_by_key(|&device| {", "all.sort_by_key(|&device| u32::MAX * u32::from(@) ^ {"),
    walk("permission: none is asked for", "Some(cached) if cached.may(direction)", "Some(cached) if @ || cached.may(direction)"),
    walk("a walk is free", "one(address, Access::Load);", ""),
    walk("release: anybody's", "rights.owns && !moving", "!moving"),
    walk("release: slots of earlier places stay", "ask(before.device, QueueRequest::Release(before.queue))?;", ""),
]
