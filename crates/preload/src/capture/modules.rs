//! Which object files are loaded where, so that addresses can be told by name afterwards.
//!
//! Taken down at start, before a `dlclose` and at exit. The loader's list is read under the loader's lock, so only where the
//! program is inside the loader itself or about to be: anywhere else a thread that holds one of the program's locks
//! could wait for a constructor that waits for that lock.

use super::SESSION;
use crate::thread;
use baton_trace::writer::{ModuleInfo, SiteAnswer, SiteTable};
use core::ffi::{CStr, c_int, c_void};

/// Modules written down: their first address and the hash of their path.
static SEEN: SiteTable<4096> = SiteTable::new();

/// Writes down the modules that are new.
pub fn record() {
    if SESSION.is_open() {
        // SAFETY: the callback keeps nothing of what it is given.
        crate::errno::kept(|| unsafe { libc::dl_iterate_phdr(Some(module), core::ptr::null_mut()) });
    }
}

/// Before the program unloads one.
pub fn before_dlclose() {
    record();
}

/// In a fork's child, whose file knows none.
pub fn after_fork() {
    SEEN.clear();
}

unsafe extern "C" fn module(info: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
    // SAFETY: the loader hands us a module that stays loaded during the call.
    let info = unsafe { &*info };
    // SAFETY: as above.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let (mut start, mut end, mut build_id) = (u64::MAX, 0, &[][..]);
    for header in headers {
        let at = info.dlpi_addr + header.p_vaddr;
        match header.p_type {
            libc::PT_LOAD => {
                start = start.min(at & !0xfff);
                end = end.max(at + header.p_memsz);
            }
            libc::PT_NOTE => {
                // SAFETY: a note segment is loaded, and inside the module.
                let notes = unsafe { core::slice::from_raw_parts(at as *const u8, header.p_memsz as usize) };
                build_id = gnu_build_id(notes).unwrap_or(build_id);
            }
            _ => {}
        }
    }
    let mut buffer = [0u8; 1024];
    // SAFETY: a name, where there is one, ends with a zero byte.
    let name = if info.dlpi_name.is_null() { c"" } else { unsafe { CStr::from_ptr(info.dlpi_name) } };
    let path = if name.is_empty() { executable(&mut buffer) } else { name.to_bytes() };
    let hash = path.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    if start < end && matches!(SEEN.number(hash | 1), SiteAnswer::New(_)) {
        let module = ModuleInfo { bias: info.dlpi_addr, start, end, build_id, path };
        thread::current().pen.define_module(&SESSION, module);
    }
    0
}

/// The program's own file, which the loader does not name.
fn executable(buffer: &mut [u8; 1024]) -> &[u8] {
    // SAFETY: the kernel writes at most the buffer's length.
    let length = unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), buffer.as_mut_ptr().cast(), buffer.len()) };
    &buffer[..usize::try_from(length).unwrap_or(0)]
}

/// The build id in a segment of notes: each is three words (lengths of name and text, type), the name, and the text.
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
