//! The hardware cost of a queue device, counted from its keys: bits of storage and two-input gates.
//! The device was not synthesised. `docs/reference/qmd-hardware.md` has the sums as a table.

use super::QmdSettings;
use super::buffers::Sharing;
use super::flows::OUTPUTS;
use baton_noc::energy::Technology;

/// Area of a bit of SRAM in µm²: the cell of a 45 nm process (Mistry and others, IEDM 2007).
/// Decoders, sense amplifiers and a second port are not included.
const SRAM_CELL: f64 = 0.346;
/// Number of bits in an item.
const ITEM: u64 = 64;
/// Number of bits in the id of a queue, as in `qid_reg`.
const ID: u64 = 32;
/// Number of flag bits in `qid_reg`, and of bits in the reason of a refusal.
const FLAGS: u64 = 3;

/// Number of bits in the id of a thread, and in that of a process: its protection domain.
const SUBJECT: u64 = 16;
/// Number of bits of the timer in an age.
const AGE: u64 = 16;

/// The numbers of bits and gates of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QmdHardware {
    /// Number of bits in the SRAM.
    pub sram: u64,
    /// Number of flip-flops in the request buffers.
    pub buffers: u64,
    /// Number of flip-flops in the table of queues: ids, domains, regions, heads and counts.
    pub queues: u64,
    /// Number of flip-flops for the answers that are under way through the SRAM's pipeline.
    pub pipeline: u64,
    /// Number of flip-flops in the registers that the operating system loads at each switch: a
    /// thread and a domain for each context.
    pub subjects: u64,
    /// Number of flip-flops in the registers of rows, two a context, and in the table of armed
    /// threads.
    pub arms: u64,
    /// Number of flip-flops in the lines for requests of threads that have lost their CPU.
    pub aside: u64,
    /// Number of flip-flops in the credit pools, with threads, weights and ages, and in the buffers
    /// of requests for credits.
    pub credits: u64,
    /// Number of gates in the schedulers.
    pub gates: u64,
}

impl QmdSettings {
    /// The size of a device for `contexts` contexts, each with `outstanding` requests under way.
    pub fn hardware(&self, contexts: u32, outstanding: u32) -> QmdHardware {
        let contexts = u64::from(contexts);
        let entry = values(self.entries + 1);
        let sender = values(contexts) + values(outstanding.into());
        // The domain is compared when a request comes, and not kept.
        let request = ID + FLAGS + values(self.priorities.into()) + sender + SUBJECT;
        let sharers = if self.buffers == Sharing::All { 1 } else { contexts };
        let lines = u64::from(self.priorities) * sharers;
        // The entry of a queue has: first entry, number of entries, head, number of items, and
        // places on their way in and out.
        let queue = ID + SUBJECT + 6 * entry;
        let stage = ITEM + FLAGS + sender + values(self.queues) + entry;
        // For each direction there is a global pool, and for as many threads as there are contexts
        // the thread, its pool, its weight, its share, its credits in hand and their age.
        let member = SUBJECT + 2 * values(u64::from(self.local_credits) + 1) + 2 * entry + AGE;
        let pools = 2 * (entry + contexts * member);
        // The scheduler has a gate for each pair of requesters, like the allocators of the network.
        let seen = (2 * lines + sharers) / self.engines;
        // With priorities, queue and thread of a request that comes are compared with those of all
        // that wait.
        let compared = if self.priorities > 1 { u64::from(self.priorities) * self.depth } else { 0 };
        let compare = 2 * (ID + SUBJECT) - 1;
        // A row has its thread and queue, and is valid; an armed thread has also direction and context.
        let row = SUBJECT + ID + 1;
        let rows = if self.patience.0 > 0 { 2 * contexts } else { 0 };
        let armed = self.armed.0 * (row + 1 + values(contexts));
        // A line aside has its thread, which is compared with that of each request that comes.
        let aside = if self.buffers == Sharing::Context { u64::from(self.priorities) * self.aside.0 } else { 0 };
        QmdHardware {
            sram: self.entries * ITEM,
            buffers: lines * self.depth * (2 * request + ITEM),
            queues: self.queues * queue,
            pipeline: self.engines * self.latency.0 * stage,
            subjects: contexts * 2 * SUBJECT,
            arms: rows * row + armed,
            aside: aside * (self.depth * (2 * request + ITEM) + 2 * SUBJECT),
            credits: self.queues * pools + sharers * self.depth * request,
            gates: self.engines * seen * seen + (compared + self.armed.0) * compare + 2 * aside * (2 * SUBJECT - 1),
        }
    }
}

impl QmdHardware {
    /// Returns the area of all parts but the SRAM, at the prices of the network's default
    /// technology. Credits, which are optional in the paper, are not included.
    pub fn logic_mm2(&self) -> f64 {
        let prices = Technology::default().area;
        let bits = (self.buffers + self.queues + self.pipeline + self.subjects + self.arms + self.aside) as f64;
        (bits * prices.buffer_bit + self.gates as f64 * prices.arbiter_gate) / 1e6
    }

    /// Returns the area of the flip-flops for credits.
    pub fn credits_mm2(&self) -> f64 {
        self.credits as f64 * Technology::default().area.buffer_bit / 1e6
    }

    /// Returns the area of the SRAM's cells, which is the smallest possible area of the SRAM.
    pub fn sram_mm2(&self) -> f64 {
        self.sram as f64 * SRAM_CELL / 1e6
    }
}

/// Number of bits in a flow, and in a weight.
const FLOW: u64 = 16;
/// Number of bits that count the uses of a token's entry.
const USES: u64 = 32;
/// Number of bits in a token.
const TOKEN: u64 = 48;

/// The numbers of bits and gates of queues with flows, beside those of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowHardware {
    /// Number of bits in the SRAM, for the flows of items.
    pub sram: u64,
    /// Number of flip-flops in the windows: the first entries of each queue, in which the device
    /// finds an item whose flow is free.
    pub window: u64,
    /// Number of flip-flops in the table of tokens.
    pub tokens: u64,
    /// Number of flip-flops in the reorder buffers, whose items are in the SRAM.
    pub reorder: u64,
    /// Number of flip-flops in the tables of consumers.
    pub consumers: u64,
    /// Number of gates. They compare the flow of each entry of a window with the flow of each token,
    /// and a request's token and thread with those of each entry of the table.
    pub gates: u64,
}

impl QmdSettings {
    /// What queues with flows take, for `contexts` contexts and windows of `window` entries.
    pub fn flow_hardware(&self, contexts: u32, window: u16) -> FlowHardware {
        let (contexts, window, outputs) = (u64::from(contexts), u64::from(window), OUTPUTS as u64);
        let (queue, tokens, place) = (values(self.queues), self.tokens.0, values(window));
        // An entry has its item, thread, context, queue, uses, age and slot, and is used, or told. A
        // token that has come with its queue has another number than its entry and uses give.
        let token = ITEM + FLOW + SUBJECT + values(contexts) + queue + USES + TOKEN + AGE + place + 2;
        // A slot counts its outputs that wait and that were sent, and is complete; an output has its
        // destination.
        let slot = 2 * values(outputs + 1) + 1 + outputs * queue;
        let consumer = SUBJECT + 2 * FLOW + 2 * values(tokens);
        let compare = window * tokens * (2 * (FLOW + queue) - 1);
        FlowHardware {
            sram: self.entries * FLOW,
            window: self.queues * window * (ITEM + FLOW),
            tokens: tokens * token,
            reorder: self.queues * (window * slot + 2 * place),
            consumers: self.queues * contexts * consumer,
            gates: self.engines * compare + tokens * (2 * SUBJECT - 1 + 2 * TOKEN - 1),
        }
    }
}

impl FlowHardware {
    /// Returns the area of all parts but the SRAM, at the prices of the network's default
    /// technology.
    pub fn mm2(&self) -> f64 {
        let prices = Technology::default().area;
        let bits = (self.window + self.tokens + self.reorder + self.consumers) as f64;
        (bits * prices.buffer_bit + self.gates as f64 * prices.arbiter_gate) / 1e6
    }
}

/// Number of bits in a memory address, without the bits within an entry of a table.
const ADDRESS: u64 = 44;
/// Number of bits in an id that index the table of its process.
const INDEX: u64 = 12;

/// The numbers of bits and gates of the translation of program ids: a QIMU with a QTLB in each
/// context (CAF, section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TranslationHardware {
    /// Number of flip-flops in the QTLBs. An entry has an id, the device, the device's id, the domain,
    /// permissions, the order of use, and a valid bit.
    pub qtlbs: u64,
    /// Number of flip-flops in the QIMUs: address and length of the process's table.
    pub qimus: u64,
    /// Number of two-input gates that compare the id of an entry bit by bit, and the index with the
    /// length.
    pub gates: u64,
}

impl TranslationHardware {
    /// The size for `contexts` contexts and `devices` devices, with `entries` entries per QTLB.
    pub fn of(contexts: u32, devices: u32, entries: u32) -> TranslationHardware {
        let (contexts, entries) = (u64::from(contexts), u64::from(entries));
        let entry = ID + values(devices.into()) + ID + SUBJECT + 2 + values(entries) + 1;
        // Comparing for equality takes a gate for each bit, and one gate less to join them;
        // comparing sizes takes three gates for each bit.
        let compare = entries * (2 * ID - 1) + 3 * INDEX;
        TranslationHardware {
            qtlbs: contexts * entries * entry,
            qimus: contexts * (ADDRESS + INDEX + 1),
            gates: contexts * compare,
        }
    }

    /// Returns the area at the prices of the network's default technology.
    pub fn mm2(&self) -> f64 {
        let prices = Technology::default().area;
        ((self.qtlbs + self.qimus) as f64 * prices.buffer_bit + self.gates as f64 * prices.arbiter_gate) / 1e6
    }
}

/// The number of bits that distinguish `n` values.
fn values(n: u64) -> u64 {
    u64::from(n.next_power_of_two().trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peripheral::qmd::tests::settings;
    use crate::peripheral::settings::Or;
    use baton_units::Cycles;

    /// Returns the devices that the page lists: the device that the paper prices, with four places
    /// in each buffer, and then ours with 16 contexts.
    fn listed() -> [(&'static str, QmdHardware); 4] {
        let caf16 = QmdSettings { latency: Cycles(50), priorities: 1, depth: 16, local_credits: 64, ..settings() };
        let none = QmdSettings { patience: Or(0), armed: Or(0), aside: Or(0), ..caf16 };
        let priced = QmdSettings { entries: 4096, engines: 2, priorities: 3, depth: 4, buffers: Sharing::All, ..none };
        let narrow = QmdSettings { depth: 4, ..caf16 };
        let shared = QmdSettings { buffers: Sharing::All, ..caf16 };
        [
            ("as the paper prices it", priced.hardware(16, 4)),
            ("`caf16`", caf16.hardware(16, 16)),
            ("`caf16`, 4 requests a context", narrow.hardware(16, 4)),
            ("`caf16`, shared buffers", shared.hardware(16, 16)),
        ]
    }

    fn thousands(n: u64) -> String {
        if n < 1000 { n.to_string() } else { format!("{},{:03}", n / 1000, n % 1000) }
    }

    #[test]
    fn the_page_has_these_sums() {
        let page = include_str!("../../../../../docs/reference/qmd-hardware.md");
        for (name, of) in listed() {
            let counts = [of.sram, of.buffers, of.queues, of.pipeline, of.subjects, of.arms, of.aside];
            let counts =
                counts.into_iter().chain([of.credits, of.gates]).map(thousands).collect::<Vec<_>>().join(" | ");
            let areas = [of.logic_mm2(), of.credits_mm2(), of.sram_mm2()].map(|mm2| format!("{mm2:.3}")).join(" | ");
            let line = format!("| {name} | {counts} | {areas} |");
            assert!(page.contains(&line), "docs/reference/qmd-hardware.md has no line\n{line}");
        }
    }

    #[test]
    fn the_page_has_what_translation_takes() {
        let page = include_str!("../../../../../docs/reference/qmd-hardware.md");
        for (contexts, devices, entries) in [(16, 1, 4), (16, 1, 16), (64, 16, 4), (64, 16, 16)] {
            let of = TranslationHardware::of(contexts, devices, entries);
            let counts = [of.qtlbs, of.qimus, of.gates].map(thousands).join(" | ");
            let line = format!("| {contexts} | {devices} | {entries} | {counts} | {:.3} |", of.mm2());
            assert!(page.contains(&line), "docs/reference/qmd-hardware.md has no line\n{line}");
        }
    }

    #[test]
    fn the_page_has_what_flows_take() {
        let page = include_str!("../../../../../docs/reference/qmd-hardware.md");
        for window in [4, 16] {
            let of = settings().flow_hardware(16, window);
            let counts = [of.sram, of.window, of.tokens, of.reorder, of.consumers, of.gates].map(thousands).join(" | ");
            let line = format!("| {window} | {counts} | {:.3} |", of.mm2());
            assert!(page.contains(&line), "docs/reference/qmd-hardware.md has no line\n{line}");
        }
    }

    #[test]
    fn each_part_grows_with_what_it_serves() {
        let base = settings();
        let of = |settings: QmdSettings| settings.hardware(16, 16);
        let twice = QmdSettings { entries: base.entries * 2, ..base };
        assert_eq!(of(twice).sram, 2 * of(base).sram);
        let deeper = QmdSettings { depth: base.depth * 2, ..base };
        assert_eq!(of(deeper).buffers, 2 * of(base).buffers);
        let own = QmdSettings { buffers: Sharing::Context, ..base };
        let shared = QmdSettings { buffers: Sharing::All, ..base };
        assert_eq!(of(own).buffers, 16 * of(shared).buffers);
        let one = QmdSettings { priorities: 1, ..base };
        let gates = |buffers| of(QmdSettings { buffers, armed: Or(0), aside: Or(0), ..one }).gates;
        assert_eq!(gates(Sharing::Context), 256 * gates(Sharing::All));
        assert!(of(shared).gates > 2 * gates(Sharing::All), "priorities compare what waits");
    }
}
