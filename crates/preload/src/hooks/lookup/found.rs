//! The loaded object file around an address, without a lock: `_dl_find_object`, which glibc has from 2.35 on.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use libc::{Elf64_Ehdr, Elf64_Phdr};

/// The beginning of glibc's `struct dl_find_object`.
#[repr(C)]
struct Found {
    flags: u64,
    start: *const Elf64_Ehdr,
    end: *const u8,
    link_map: *const LinkMap,
    rest: [usize; 12],
}

/// The beginning of glibc's `struct link_map`, the part that debuggers know too.
#[repr(C)]
struct LinkMap {
    bias: u64,
    name: *const c_char,
}

type FindObject = unsafe extern "C" fn(*const c_void, *mut Found) -> c_int;
/// glibc's `_dl_find_object`; null if it has none.
static FIND_OBJECT: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Looks up what will be needed where nothing can be looked up any more. False if the C library does not have it.
pub fn start() -> bool {
    // SAFETY: the name ends with a zero byte.
    let at = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
    FIND_OBJECT.store(at, Relaxed);
    !at.is_null()
}

/// A loaded object file.
pub struct Loaded {
    /// What is added to the file's addresses.
    pub bias: u64,
    /// Its path; null or empty: the program's own file, which the loader does not name.
    pub name: *const c_char,
    start: *const Elf64_Ehdr,
}

impl Loaded {
    /// Its path; empty: the program's own file.
    ///
    /// # Safety
    /// It is loaded, and stays so while the path is used.
    pub unsafe fn path<'a>(&self) -> &'a [u8] {
        // SAFETY: a name, where there is one, ends with a zero byte.
        if self.name.is_null() { b"" } else { unsafe { CStr::from_ptr(self.name) }.to_bytes() }
    }

    /// Its program headers, where its first segment holds them.
    ///
    /// # Safety
    /// It is loaded, and stays so while they are used.
    pub unsafe fn headers<'a>(&self) -> Option<&'a [Elf64_Phdr]> {
        // SAFETY: the first segment is loaded. With the file's header in it, it has the program headers; else there is nothing to
        // read.
        unsafe {
            let header = &*self.start;
            if !header.e_ident.starts_with(b"\x7fELF") {
                return None;
            }
            let at = self.start.byte_add(header.e_phoff as usize).cast();
            Some(core::slice::from_raw_parts(at, header.e_phnum.into()))
        }
    }
}

/// The object file around an address of its code or its data; `None` for heap and stack. Usable anywhere.
pub fn at(address: u64) -> Option<Loaded> {
    let find = FIND_OBJECT.load(Relaxed);
    if find.is_null() {
        return None;
    }
    // SAFETY: this is the function's type in <dlfcn.h>; it fills what it is given, and the loader's own record of an object lives
    // as long as the object is loaded.
    unsafe {
        let find: FindObject = core::mem::transmute(find);
        let mut found: Found = core::mem::zeroed();
        if find(core::ptr::with_exposed_provenance(address as usize), &mut found) != 0 {
            return None;
        }
        Some(Loaded { bias: (*found.link_map).bias, name: (*found.link_map).name, start: found.start })
    }
}

/// The path of the program's own file; empty if the kernel does not tell.
pub fn executable(buffer: &mut [u8; 1024]) -> &[u8] {
    // SAFETY: the kernel writes at most the buffer's length.
    let length = crate::base::errno::kept(|| unsafe {
        libc::readlink(c"/proc/self/exe".as_ptr(), buffer.as_mut_ptr().cast(), buffer.len())
    });
    &buffer[..usize::try_from(length).unwrap_or(0)]
}
