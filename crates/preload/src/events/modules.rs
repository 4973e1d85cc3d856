//! Records which object files are loaded where, so that the analysis can resolve addresses to
//! names.
//!
//! The loader's list is walked at start, before and after a `dlclose`, and, but for a fork's child,
//! at exit; and a single module is recorded whenever a call site turns up in an object file that is
//! not known yet. The list is read under the loader's lock, so only where the program is inside the
//! loader itself or about to be: anywhere else a thread that holds one of the program's locks could
//! wait for a constructor that waits for that lock. A single address is looked up without a lock
//! (`_dl_find_object`, glibc 2.35).

use super::session::SESSION;
use crate::hooks::lookup::found;
use crate::thread;
use baton_trace::What;
use baton_trace::writer::{ModuleInfo, SiteAnswer, SiteTable};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use libc::Elf64_Phdr;

/// The numbers of modules, by a hash of their place, path and build id. A module that is unloaded
/// keeps its number.
static SEEN: SiteTable<MODULES> = SiteTable::new();
const MODULES: usize = 4096;
/// State and place of each module, by its number.
static ALL: [Known; MODULES] = [const { Known::new() }; MODULES];
/// How many times any module was unloaded, the same one or different ones.
static UNLOADS: AtomicU32 = AtomicU32::new(0);

struct Known {
    /// Whether the module is loaded, and written into the trace.
    living: AtomicBool,
    start: AtomicU64,
    end: AtomicU64,
    /// The address of the loader's record of the module; 0 if it is not known.
    record: AtomicU64,
}

impl Known {
    const fn new() -> Known {
        Known {
            living: AtomicBool::new(false),
            start: AtomicU64::new(0),
            end: AtomicU64::new(0),
            record: AtomicU64::new(0),
        }
    }
}

/// A set of modules, a bit for each number.
struct Set([u64; MODULES / 64]);

impl Set {
    fn living() -> Set {
        let word = |word: usize| {
            let living = |bit: &usize| ALL[word * 64 + bit].living.load(Relaxed);
            (0..64).filter(living).fold(0, |bits, bit| bits | 1 << bit)
        };
        Set(core::array::from_fn(word))
    }

    fn remove(&mut self, module: u32) {
        self.0[module as usize / 64] &= !(1 << (module % 64));
    }

    fn each(&self, mut told: impl FnMut(u32)) {
        for (word, bits) in (0..).zip(self.0) {
            (0..64).filter(|bit| bits & 1 << bit != 0).for_each(|bit| told(word * 64 + bit));
        }
    }
}

/// Writes into the trace the modules that are new, and those that are unloaded.
pub fn list() {
    if !SESSION.is_open() {
        return;
    }
    // Takes the set before the walk: a module that another thread records from now on is not in it,
    // so it cannot be taken for one that has gone.
    let mut gone = Set::living();
    // SAFETY: the callback gets `gone`, which outlives the call, and keeps nothing of what it is
    // given.
    crate::base::errno::kept(|| unsafe { libc::dl_iterate_phdr(Some(listed), (&raw mut gone).cast()) });
    gone.each(unload_gone);
}

/// How many times any module was unloaded, the same one or different ones.
pub(super) fn unloads() -> u32 {
    UNLOADS.load(Relaxed)
}

/// Forgets all modules in a fork's child, whose trace has none yet.
pub(super) fn after_fork() {
    SEEN.clear();
    ALL.iter().for_each(|known| known.living.store(false, Relaxed));
}

/// Records that a module is unloaded, unless its address still leads to it. The loader's list alone
/// does not tell, because it lacks the modules of other namespaces (`dlmopen`). Reads nothing of the
/// module itself, which another thread may be unloading.
fn unload_gone(module: u32) {
    let known = &ALL[module as usize];
    let there = found::record_at(known.start.load(Relaxed));
    if there.is_none_or(|there| there != known.record.load(Relaxed)) {
        unload(module);
    }
}

/// Records that a module is unloaded.
fn unload(module: u32) {
    let known = &ALL[module as usize];
    if !known.living.swap(false, Relaxed) {
        return;
    }
    let place = known.start.load(Relaxed)..known.end.load(Relaxed);
    let pages = (place.end - place.start).div_ceil(4096) as u32;
    super::sites::unloaded(place.clone(), module);
    UNLOADS.fetch_add(1, Relaxed);
    thread::current().pen.post(&SESSION, What::Unloaded { start: place.start, pages });
}

/// The number of the module around a code address. Writes the module into the trace if it is new.
/// Takes no lock, so it may be called anywhere.
pub(super) fn know(address: u64) -> Option<u32> {
    let loaded = found::at(address)?;
    // SAFETY: `found::at` has just found the module loaded, and it stays so while its code is being
    // called from.
    unsafe { module(loaded.bias, loaded.name, loaded.headers()?) }
}

unsafe extern "C" fn listed(info: *mut libc::dl_phdr_info, _: usize, gone: *mut c_void) -> c_int {
    // SAFETY: the loader passes a module that stays loaded during the call, and the pointer to the
    // set that `list` gave it.
    unsafe {
        let (info, gone) = (&*info, &mut *gone.cast::<Set>());
        let headers = core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
        if let Some(there) = module(info.dlpi_addr, info.dlpi_name, headers) {
            gone.remove(there);
        }
    }
    0
}

/// The number of a module. Writes the module into the trace if it is new.
///
/// # Safety
/// The module is loaded: `name` is null or its path, `headers` are its program headers, and `bias`
/// is added to its addresses.
unsafe fn module(bias: u64, name: *const c_char, headers: &[Elf64_Phdr]) -> Option<u32> {
    let (mut start, mut end, mut build_id) = (u64::MAX, 0, &[][..]);
    for header in headers {
        let at = bias + header.p_vaddr;
        match header.p_type {
            libc::PT_LOAD => {
                start = start.min(at & !0xfff);
                end = end.max(at + header.p_memsz);
            }
            libc::PT_NOTE => {
                // SAFETY: a note segment is loaded, and lies inside the module.
                let notes = unsafe { core::slice::from_raw_parts(at as *const u8, header.p_memsz as usize) };
                build_id = gnu_build_id(notes).unwrap_or(build_id);
            }
            _ => {}
        }
    }
    // SAFETY: the caller says that `name`, if it is not null, is a string.
    let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
    let words = name.to_bytes().iter().chain(build_id);
    let hash = words.fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    let number = match SEEN.number(hash | 1) {
        SiteAnswer::Known(number) | SiteAnswer::New(number) if start < end => number.0 - 1,
        _ => return None,
    };
    let known = &ALL[number as usize];
    if known.living.load(Relaxed) {
        return Some(number);
    }
    known.start.store(start, Relaxed);
    known.end.store(end, Relaxed);
    known.record.store(found::record_at(start).unwrap_or(0), Relaxed);
    if !known.living.swap(true, Relaxed) {
        // Ends every known module that overlaps the new one: such a module has been unloaded
        // without a `dlclose` of the program, for glibc closes some libraries itself.
        let mut others = Set::living();
        others.remove(number);
        others.each(|other| {
            let there = &ALL[other as usize];
            if there.start.load(Relaxed) < end && start < there.end.load(Relaxed) {
                unload(other);
            }
        });
        let mut buffer = [0u8; 1024];
        let path = if name.is_empty() { found::executable(&mut buffer) } else { name.to_bytes() };
        thread::current().pen.define_module(&SESSION, ModuleInfo { bias, start, end, build_id, path });
    }
    Some(number)
}

/// Finds the build id in a segment of notes. Each note is three words (length of the name, length
/// of the text, type), the name, and the text.
fn gnu_build_id(mut notes: &[u8]) -> Option<&[u8]> {
    const GNU_BUILD_ID: u32 = 3;
    loop {
        let word = |at: usize| Some(u32::from_ne_bytes(notes.get(at..at + 4)?.try_into().ok()?));
        let (name, text, sort) = (word(0)? as usize, word(4)? as usize, word(8)?);
        let text_at = 12 + name.next_multiple_of(4);
        if sort == GNU_BUILD_ID && notes.get(12..16) == Some(b"GNU\0") {
            return notes.get(text_at..text_at + text);
        }
        notes = notes.get(text_at + text.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_id_is_found_behind_other_notes() {
        let mut notes = Vec::new();
        for (sort, text) in [(1u32, &b"abc"[..]), (3, &[1, 2, 3, 4, 5][..])] {
            for word in [4, text.len() as u32, sort] {
                notes.extend(word.to_ne_bytes());
            }
            notes.extend(b"GNU\0");
            notes.extend(text);
            notes.resize(notes.len().next_multiple_of(4), 0);
        }
        assert_eq!(gnu_build_id(&notes), Some(&[1, 2, 3, 4, 5][..]));
        assert_eq!(gnu_build_id(&notes[..20]), None);
    }
}
