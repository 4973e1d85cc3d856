//! Writes definitions: call sites, names, modules. Definitions carry a list of addresses or a text
//! over several records, and are written seldom.

use super::session::Session;
use super::thread::ThreadWriter;
use crate::clock;
use crate::event::{Address, SiteId};
use crate::record::{MASK_24, RECORD_BYTES, Raw, definition};

/// Most bytes of a definition's text; a longer text is cut.
const TEXT_BYTES: usize = 1024;
/// Number of bytes of payload that fit into a record.
const PER_RECORD: usize = RECORD_BYTES - 1;

/// A loaded object file, as `dl_iterate_phdr` describes it.
#[derive(Clone, Copy, Debug)]
pub struct ModuleInfo<'a> {
    /// The load bias: what is added to the file's own addresses.
    pub bias: u64,
    /// First mapped address.
    pub start: u64,
    /// The first address after the file's mapped addresses.
    pub end: u64,
    /// GNU build id of the file; at most 64 bytes of it are kept.
    pub build_id: &'a [u8],
    /// Path of the file, as the loader names it.
    pub path: &'a [u8],
}

impl ThreadWriter {
    /// Defines call site `id` by its return addresses, innermost first, of which at most 64 are
    /// kept. Writes nothing if `stack` is empty.
    pub fn define_site(&self, session: &Session, id: SiteId, stack: &[Address]) {
        let Some(slot) = (!stack.is_empty()).then(|| self.claim_slowly(session, stack.len().min(64))).flatten() else {
            return;
        };
        let time = slot.time_of(clock::now(session.source()));
        for (i, address) in stack.iter().take(64).enumerate() {
            let code = if i == 0 { definition::SITE } else { definition::FRAME };
            slot.plus(i).fill(time, Raw { code, object: *address, arg: id.0 });
        }
    }

    /// Names a marker or region. Call this before the marker's or region's first event.
    pub fn name_marker(&self, session: &Session, id: u32, name: &[u8]) {
        self.define(session, definition::MARKER_NAME, u64::from(id), &[name]);
    }

    /// Names the object at `address`.
    pub fn name_object(&self, session: &Session, address: Address, name: &[u8]) {
        self.define(session, definition::OBJECT_NAME, address, &[name]);
    }

    /// Names this thread.
    pub fn name_thread(&self, session: &Session, name: &[u8]) {
        self.define(session, definition::THREAD_NAME, 0, &[name]);
    }

    /// Records a loaded object file. Call this once for each module that is loaded at the start,
    /// and after each `dlopen` for the new ones.
    pub fn define_module(&self, session: &Session, module: ModuleInfo) {
        let build_id = &module.build_id[..module.build_id.len().min(64)];
        let [start, end] = [module.start.to_le_bytes(), module.end.to_le_bytes()];
        let parts: [&[u8]; 5] = [&start, &end, &[build_id.len() as u8], build_id, module.path];
        self.define(session, definition::MODULE, module.bias, &parts);
    }

    /// Writes a definition: a head record, the argument of which is the payload's length, and the
    /// payload in the records after it.
    fn define(&self, session: &Session, code: u8, object: u64, parts: &[&[u8]]) {
        let mut payload = [0u8; TEXT_BYTES];
        let mut len = 0;
        for part in parts {
            let take = part.len().min(TEXT_BYTES - len);
            payload[len..len + take].copy_from_slice(&part[..take]);
            len += take;
        }
        let Some(slot) = self.claim_slowly(session, 1 + len.div_ceil(PER_RECORD)) else { return };
        let time = slot.time_of(clock::now(session.source()));
        // Fills the head record first: a payload without a head means nothing, whereas a head shows
        // that its payload is cut short.
        slot.fill(time, Raw { code, object, arg: len as u32 & MASK_24 });
        for (i, chunk) in payload[..len].chunks(PER_RECORD).enumerate() {
            slot.plus(1 + i).fill_bytes(definition::BYTES, chunk);
        }
    }
}
