//! Assembles definitions from their records: call sites from frames, texts from pieces of 15 bytes
//! each.

use crate::clock::Ticks;
use crate::event::{Address, SiteId};
use crate::process::{Module, Process};
use crate::record::{RECORD_BYTES, Raw, definition};
use std::collections::BTreeMap;

/// All definitions of one process.
#[derive(Default)]
pub(crate) struct Definitions {
    sites: BTreeMap<SiteId, Vec<Address>>,
    /// When each call site was first defined, in raw ticks.
    site_times: BTreeMap<SiteId, u64>,
    /// The object files, each with the raw ticks from which on it was loaded.
    modules: Vec<(u64, Module)>,
    /// Unloaded ranges of addresses: the raw ticks from which on they are empty, the first address,
    /// and the first address after the range.
    unloaded: Vec<(u64, Address, Address)>,
    pub(crate) marker_names: BTreeMap<u32, String>,
    pub(crate) object_names: BTreeMap<Address, String>,
    pub(crate) thread_names: BTreeMap<u32, String>,
}

impl Definitions {
    pub(crate) fn give_to(self, process: &mut Process, since_origin: impl Fn(u64) -> Ticks) {
        process.sites = self.sites;
        process.site_times = self.site_times.into_iter().map(|(site, time)| (site, since_origin(time))).collect();
        process.modules = lives(self.modules, self.unloaded);
        for module in &mut process.modules {
            // A life that lasts to the end keeps `u64::MAX` as its end.
            let [from, to] = [module.life.0.0, module.life.1.0];
            module.life = (since_origin(from), if to == u64::MAX { Ticks(to) } else { since_origin(to) });
        }
    }

    /// Records that the object files which overlap these addresses were unloaded.
    pub(crate) fn unload(&mut self, time: u64, start: Address, pages: u32) {
        self.unloaded.push((time, start, start.saturating_add(u64::from(pages) << 12)));
    }
}

/// Gives each object file its life, in raw ticks: until it is unloaded, or until another file takes
/// its place.
fn lives(mut loaded: Vec<(u64, Module)>, mut unloaded: Vec<(u64, Address, Address)>) -> Vec<Module> {
    loaded.sort_by_key(|(time, _)| *time);
    unloaded.sort_unstable();
    let mut gone = unloaded.into_iter().peekable();
    let (mut all, mut living): (Vec<Module>, Vec<usize>) = (Vec::new(), Vec::new());
    let end = |all: &mut Vec<Module>, living: &mut Vec<usize>, time, from: Address, to: Address| {
        living.retain(|&at| {
            let stays = all[at].end <= from || to <= all[at].start;
            if !stays {
                all[at].life.1 = Ticks(time);
            }
            stays
        });
    };
    for (time, module) in loaded {
        while let Some((time, from, to)) = gone.next_if(|gone| gone.0 <= time) {
            end(&mut all, &mut living, time, from, to);
        }
        // Two threads that met the file at the same time both define it.
        if living.iter().any(|&at| Module { life: all[at].life, ..module.clone() } == all[at]) {
            continue;
        }
        end(&mut all, &mut living, time, module.start, module.end);
        living.push(all.len());
        all.push(Module { life: (Ticks(time), Ticks(u64::MAX)), ..module });
    }
    for (time, from, to) in gone {
        end(&mut all, &mut living, time, from, to);
    }
    all
}

/// Collects the records of a definition that is not complete yet; a definition lies within one
/// segment.
pub(crate) struct Collector {
    head: Option<(Raw, Vec<u8>)>,
    /// When the definition that is being collected began, in raw ticks.
    time: u64,
    stack: Option<(SiteId, Vec<Address>)>,
    pub(crate) cut: u64,
}

impl Collector {
    pub(crate) fn new() -> Collector {
        Collector { head: None, time: 0, stack: None, cut: 0 }
    }

    /// Processes a record of 16 `bytes`, with its time in raw ticks. Returns true if the record
    /// belongs to a definition, and so is no event.
    pub(crate) fn take(&mut self, raw: Raw, time: u64, bytes: &[u8], thread: u32, into: &mut Definitions) -> bool {
        if raw.code == definition::BYTES {
            self.append(bytes, thread, into);
            return true;
        }
        if raw.code == definition::FRAME {
            match &mut self.stack {
                Some((site, stack)) if site.0 == raw.arg => stack.push(raw.object),
                _ => self.cut += 1,
            }
            return true;
        }
        self.abandon(into);
        self.time = time;
        match raw.code {
            definition::SITE => self.stack = Some((SiteId(raw.arg), vec![raw.object])),
            definition::MARKER_NAME | definition::OBJECT_NAME | definition::THREAD_NAME | definition::MODULE => {
                self.head = Some((raw, Vec::new()));
                self.complete(thread, into);
            }
            _ => return false,
        }
        true
    }

    /// Ends the definition that is being collected: a stack is complete with the frames that came,
    /// a text that is too short is lost.
    pub(crate) fn abandon(&mut self, into: &mut Definitions) {
        if self.head.take().is_some() {
            self.cut += 1;
        }
        if let Some((site, stack)) = self.stack.take() {
            // If a site is defined twice, its earlier time and its deeper stack count, whichever
            // thread wrote them.
            into.site_times.entry(site).and_modify(|time| *time = self.time.min(*time)).or_insert(self.time);
            let known = into.sites.entry(site).or_default();
            if stack.len() > known.len() {
                *known = stack;
            }
        }
    }

    fn append(&mut self, bytes: &[u8], thread: u32, into: &mut Definitions) {
        match &mut self.head {
            Some((head, payload)) => {
                let missing = (head.arg as usize).saturating_sub(payload.len());
                payload.extend_from_slice(&bytes[1..1 + missing.min(RECORD_BYTES - 1)]);
                self.complete(thread, into);
            }
            None => self.cut += 1,
        }
    }

    fn complete(&mut self, thread: u32, into: &mut Definitions) {
        let Some((head, payload)) = self.head.take_if(|(head, payload)| payload.len() >= head.arg as usize) else {
            return;
        };
        let text = || String::from_utf8_lossy(&payload).into_owned();
        match head.code {
            definition::MARKER_NAME => {
                into.marker_names.insert(head.object as u32, text());
            }
            definition::OBJECT_NAME => {
                into.object_names.insert(head.object, text());
            }
            definition::THREAD_NAME => {
                into.thread_names.insert(thread, text());
            }
            _ => match module(head.object, &payload) {
                Some(module) => into.modules.push((self.time, module)),
                None => self.cut += 1,
            },
        }
    }
}

fn module(bias: Address, payload: &[u8]) -> Option<Module> {
    let (start, rest) = payload.split_first_chunk()?;
    let (end, rest) = rest.split_first_chunk()?;
    let (id_len, rest) = rest.split_first()?;
    let (build_id, path) = rest.split_at_checked(usize::from(*id_len))?;
    Some(Module {
        bias,
        start: u64::from_le_bytes(*start),
        end: u64::from_le_bytes(*end),
        build_id: build_id.to_vec(),
        path: String::from_utf8_lossy(path).into_owned(),
        life: Module::ALWAYS,
    })
}
