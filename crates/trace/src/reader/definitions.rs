//! Puts definitions together again from their records: call sites from frames, texts from pieces of 15 bytes.

use crate::event::{Address, SiteId};
use crate::record::{RECORD_BYTES, Raw, definition};
use crate::trace::{Module, Process};
use std::collections::BTreeMap;

/// What the definitions of one process say.
#[derive(Default)]
pub(super) struct Definitions {
    pub(super) sites: BTreeMap<SiteId, Vec<Address>>,
    pub(super) modules: Vec<Module>,
    pub(super) marker_names: BTreeMap<u32, String>,
    pub(super) object_names: BTreeMap<Address, String>,
    pub(super) thread_names: BTreeMap<u32, String>,
}

impl Definitions {
    pub(super) fn give_to(self, process: &mut Process) {
        process.sites = self.sites;
        process.modules = self.modules;
    }
}

/// A definition whose payload is still coming, of one segment.
pub(super) struct Collector {
    head: Option<(Raw, Vec<u8>)>,
    stack: Option<(SiteId, Vec<Address>)>,
    pub(super) cut: u64,
}

impl Collector {
    pub(super) fn new() -> Collector {
        Collector { head: None, stack: None, cut: 0 }
    }

    /// Takes a record; true if it is part of a definition, so no event. `bytes` are the record's own 16.
    pub(super) fn take(&mut self, raw: Raw, bytes: &[u8], thread: u32, into: &mut Definitions) -> bool {
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

    /// Whatever is still open ends here: a stack is as deep as it is, a text without its end is lost.
    pub(super) fn abandon(&mut self, into: &mut Definitions) {
        if self.head.take().is_some() {
            self.cut += 1;
        }
        if let Some((site, stack)) = self.stack.take() {
            // Of two definitions the deeper one holds, whichever thread wrote it.
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
                Some(module) if !into.modules.contains(&module) => into.modules.push(module),
                Some(_) => {}
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
    })
}
