//! Finds the loaded object file around an address without a lock, by `_dl_find_object`, which glibc
//! has from 2.35 on.

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

/// Looks up `_dl_find_object`, at a time when symbols can still be looked up. False if the C
/// library does not have it.
pub fn start() -> bool {
    // SAFETY: the name that `dlsym` gets ends with a zero byte.
    let at = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
    FIND_OBJECT.store(at, Relaxed);
    !at.is_null()
}

/// Whether [`start`] has found what it looked for.
pub fn is_ready() -> bool {
    !FIND_OBJECT.load(Relaxed).is_null()
}

/// A loaded object file.
pub struct Loaded {
    /// The offset that is added to the file's addresses.
    pub bias: u64,
    /// The file's path; null or empty for the program's own file, which the loader does not name.
    pub name: *const c_char,
    start: *const Elf64_Ehdr,
}

impl Loaded {
    /// The file's path; empty for the program's own file.
    ///
    /// # Safety
    /// The file is loaded, and stays so while the path is used.
    pub unsafe fn path<'a>(&self) -> &'a [u8] {
        // SAFETY: the loader's name, if it is not null, ends with a zero byte.
        if self.name.is_null() { b"" } else { unsafe { CStr::from_ptr(self.name) }.to_bytes() }
    }

    /// The file's program headers, if its first segment holds them.
    ///
    /// # Safety
    /// The file is loaded, and stays so while the headers are used.
    pub unsafe fn headers<'a>(&self) -> Option<&'a [Elf64_Phdr]> {
        // SAFETY: the first segment is loaded, so the file's header at its beginning can be read;
        // if it is there, the program headers that it tells of are loaded too.
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

/// What the loader knows of the object file around an address of its code or data.
fn find(address: u64) -> Option<Found> {
    let find = FIND_OBJECT.load(Relaxed);
    if find.is_null() {
        return None;
    }
    // SAFETY: the function has this type in <dlfcn.h> and fills the structure.
    unsafe {
        let find: FindObject = core::mem::transmute(find);
        let mut found: Found = core::mem::zeroed();
        (find(core::ptr::with_exposed_provenance(address as usize), &mut found) == 0).then_some(found)
    }
}

/// The object file around an address of its code or data; `None` for an address of the heap or a
/// stack, and always if glibc lacks `_dl_find_object`. Takes no lock, so it may be called anywhere
/// where the object file stays loaded.
pub fn at(address: u64) -> Option<Loaded> {
    let found = find(address)?;
    // SAFETY: the loader's own record of an object lives as long as the object is loaded.
    let map = unsafe { &*found.link_map };
    Some(Loaded { bias: map.bias, name: map.name, start: found.start })
}

/// The addresses of the object file around an address; `None` as for [`at`].
pub fn range_at(address: u64) -> Option<core::ops::Range<usize>> {
    find(address).map(|found| found.start.addr()..found.end.addr())
}

/// The address of the loader's record of the object file around an address; `None` as for [`at`].
/// Reads nothing of the object file, which another thread may be unloading.
pub fn record_at(address: u64) -> Option<u64> {
    Some(find(address)?.link_map.expose_provenance() as u64)
}

/// The path of the program's own file, read into `buffer`; empty if the kernel does not tell.
pub fn executable(buffer: &mut [u8; 1024]) -> &[u8] {
    // SAFETY: the kernel writes at most as many bytes as the buffer has.
    let length = crate::base::errno::kept(|| unsafe {
        libc::readlink(c"/proc/self/exe".as_ptr(), buffer.as_mut_ptr().cast(), buffer.len())
    });
    &buffer[..usize::try_from(length).unwrap_or(0)]
}
