//! Functions that are reached past the loader's order of look-up: by `dlsym` and `dlvsym` with the C library's own handle, and
//! by a library that was loaded with `RTLD_DEEPBIND`. Both find the C library's functions where the program has ours, so that one
//! mutex would be locked by the one and unlocked by the other.
//!
//! So a look-up in a handle that finds a function of the C library that we serve answers with ours, and the cells of a library
//! loaded with `RTLD_DEEPBIND` are rebound before the program gets its handle. What another library interposes stays as it is.
//!
//! `dlsym` and `dlopen` look at their return address: at who calls, for `RTLD_NEXT` and for the caller's search path. Where that
//! counts, the hooks jump on to glibc's, as the stubs do.

mod elf;
pub mod found;

use crate::hooks::real;
use crate::hooks::{Code, STUBS, slot};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::Relaxed};

/// Lets our own look-ups, which come through the stubs like any other's, reach glibc before anything can be looked up.
pub fn start() {
    let known = libc::gnu_get_libc_version as *const () as usize;
    elf::each(|object| {
        let is_libc = object.contains(known);
        if is_libc {
            LIBC.store(object.bias, Relaxed);
            let early = [
                (c"dlsym", &slot::dlsym),
                (c"dlvsym", &slot::dlvsym),
                (c"dlopen", &slot::dlopen),
                // An allocator inside of a look-up may call the kernel.
                (c"syscall", &slot::syscall),
            ];
            for (name, slot) in early {
                let at =
                    object.function(name).unwrap_or_else(|| crate::base::message::die("the C library has no dlsym"));
                slot.set(core::ptr::with_exposed_provenance(at));
            }
        }
        is_libc
    });
}

/// Where glibc lies.
static LIBC: AtomicUsize = AtomicUsize::new(0);
/// Where the hooks go on.
static DLSYM: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());
static DLOPEN: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());
/// A library was loaded with `RTLD_DEEPBIND` and is yet to be rebound, when its handle is first seen.
static PENDING: AtomicBool = AtomicBool::new(false);

/// Points the slots here.
pub fn install() {
    DLSYM.store(real::dlsym.code().cast_mut(), Relaxed);
    DLOPEN.store(real::dlopen.code().cast_mut(), Relaxed);
    slot::dlsym.set(dlsym as Code);
    slot::dlvsym.set(dlvsym as Code);
    slot::dlopen.set(dlopen as Code);
}

/// Whether an address lies in glibc.
fn is_glibc(address: usize) -> bool {
    let mut found = false;
    elf::each(|object| {
        let is_libc = object.bias == LIBC.load(Relaxed);
        found = is_libc && object.contains(address);
        is_libc
    });
    found
}

/// Where glibc lies.
pub fn glibc() -> core::ops::Range<usize> {
    let mut place = 0..0;
    elf::each(|object| {
        let is_libc = object.bias == LIBC.load(Relaxed);
        if is_libc {
            place = object.place();
        }
        is_libc
    });
    place
}

/// Where the first loaded object lies whose file has this name.
pub fn place_of(name: &[u8]) -> Option<core::ops::Range<usize>> {
    let mut place = None;
    elf::each(|object| {
        place = (object.file_name() == name).then(|| object.place());
        place.is_some()
    });
    place
}

/// Our function for one of glibc's. `None` if we have none of that name, or go on to another library's from ours, which would
/// come back here.
fn ours(name: &CStr, found: usize) -> Option<usize> {
    let (_, stub) = STUBS.iter().find(|(known, _)| *known == name)?;
    let next = real::ALL.iter().find(|real| real.name() == name).map_or(found, |real| real.address());
    (is_glibc(found) && is_glibc(next)).then_some(*stub as *const () as usize)
}

/// `dlsym`: `RTLD_DEFAULT` (0) and `RTLD_NEXT` (-1) find ours by themselves, and look at who calls.
#[unsafe(naked)]
unsafe extern "C" fn dlsym() {
    core::arch::naked_asm!(
        "lea rax, [rdi + 1]",
        "cmp rax, 1",
        "ja 2f",
        "jmp qword ptr [rip + {real}]",
        "2:",
        "jmp {explicit}",
        real = sym DLSYM,
        explicit = sym explicit,
    );
}

unsafe extern "C-unwind" fn explicit(handle: *mut c_void, name: *const c_char, _: usize) -> *mut c_void {
    rebind_pending(handle);
    // SAFETY: passed on.
    let found = unsafe { real::dlsym.get()(handle, name) };
    // SAFETY: a name that was found is a string.
    unsafe { answer(name, found) }
}

unsafe extern "C-unwind" fn dlvsym(
    handle: *mut c_void,
    name: *const c_char,
    version: *const c_char,
    _: usize,
) -> *mut c_void {
    // SAFETY: passed on. A version says which library is meant, so that who calls makes no difference but for RTLD_NEXT, which
    // finds what comes behind us.
    let found = unsafe { real::dlvsym.get()(handle, name, version) };
    // SAFETY: a name that was found is a string.
    if handle.addr() == usize::MAX { found } else { unsafe { answer(name, found) } }
}

/// # Safety
/// `name` is a string if `found` is not null.
unsafe fn answer(name: *const c_char, found: *mut c_void) -> *mut c_void {
    if found.is_null() {
        return found;
    }
    // SAFETY: as the caller says.
    let ours = ours(unsafe { CStr::from_ptr(name) }, found.expose_provenance());
    ours.map_or(found, core::ptr::with_exposed_provenance_mut)
}

/// `dlopen`.
#[unsafe(naked)]
unsafe extern "C" fn dlopen() {
    core::arch::naked_asm!(
        "test esi, {deep_bind}",
        "jz 2f",
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {deeply}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "test rax, rax",
        "jz 2f",
        "ret",
        "2:",
        "jmp qword ptr [rip + {real}]",
        deep_bind = const libc::RTLD_DEEPBIND,
        deeply = sym deeply,
        real = sym DLOPEN,
    );
}

/// Loads a library and rebinds it. Null if that failed, or if the file is to be searched for, which depends on who calls.
unsafe extern "C-unwind" fn deeply(file: *const c_char, mode: c_int) -> *mut c_void {
    // SAFETY: the caller hands us a string, or null for the program itself.
    if file.is_null() || !unsafe { CStr::from_ptr(file) }.to_bytes().contains(&b'/') {
        PENDING.store(true, Relaxed);
        return core::ptr::null_mut();
    }
    // SAFETY: passed on.
    let handle = unsafe { real::dlopen.get()(file, mode) };
    if !handle.is_null() {
        rebind(handle);
    }
    handle
}

fn rebind_pending(handle: *mut c_void) {
    if PENDING.load(Relaxed) && PENDING.swap(false, Relaxed) {
        rebind(handle);
    }
}

/// Points the cells of the library behind a handle, and of those loaded after it, to our functions, where they are glibc's.
fn rebind(handle: *mut c_void) {
    // What the library itself would find, looked up before the loader's list is locked. A failed look-up leaves a message.
    let mut found = [None; STUBS.len()];
    for ((name, _), found) in STUBS.iter().zip(&mut found) {
        // SAFETY: the program has just got the handle, or is using it.
        let at = unsafe { real::dlsym.get()(handle, name.as_ptr()) };
        *found = if at.is_null() { None } else { ours(name, at.expose_provenance()) };
    }
    // SAFETY: takes no argument.
    unsafe { libc::dlerror() };
    // SAFETY: a handle of glibc's is a pointer to its `struct link_map`, which begins with the bias.
    let first = unsafe { *handle.cast::<usize>() };
    let mut begun = false;
    elf::each(|object| {
        begun |= object.bias == first;
        if begun && object.bias != LIBC.load(Relaxed) {
            object.rebind(|name| STUBS.iter().position(|(known, _)| *known == name).and_then(|i| found[i]));
        }
        false
    });
}
