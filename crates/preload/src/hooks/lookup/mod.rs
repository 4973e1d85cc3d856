//! Functions that a program reaches past the loader's usual order of look-up: by `dlsym` and
//! `dlvsym` with the C library's own handle, and from a library that was loaded with
//! `RTLD_DEEPBIND`. Both find the C library's functions where the rest of the program has this
//! library's. One mutex would then be locked by Baton's function and unlocked by glibc's.
//!
//! If a look-up in a handle finds a function of the C library that this library replaces, the
//! result is this library's function. The cells of a library loaded with `RTLD_DEEPBIND` are
//! rebound before the program gets its handle, or, if glibc had to search for the library, at the
//! program's next `dlopen`, or `dlsym` with a handle. What another library interposes stays as it
//! is.
//!
//! glibc's `dlsym` and `dlopen` look at their return address, to know the caller: for `RTLD_NEXT`,
//! and for the caller's search path. Where that matters, the hooks jump on to glibc's functions, as
//! the stubs do.

mod elf;
pub mod found;

use crate::hooks::real;
use crate::hooks::{Code, STUBS, slot};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};

/// Points the slots of the look-up functions to glibc's before anything else can be looked up,
/// because the library's own look-ups come through these slots too.
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
                // An allocator that the look-up calls may make a system call.
                (c"syscall", &slot::syscall),
            ];
            for (name, slot) in early {
                let at =
                    object.function(name).unwrap_or_else(|| crate::base::message::die("the C library has no dlsym"));
                slot.set(core::ptr::with_exposed_provenance(at));
            }
            // Such an allocator may ask for the number of CPUs.
            let asked = [
                (c"sysconf", &slot::sysconf),
                (c"get_nprocs", &slot::get_nprocs),
                (c"sched_getaffinity", &slot::sched_getaffinity),
                (c"pthread_getaffinity_np", &slot::pthread_getaffinity_np),
            ];
            for (name, slot) in asked {
                if let Some(at) = object.function(name) {
                    slot.set(core::ptr::with_exposed_provenance(at));
                }
            }
        }
        is_libc
    });
}

/// The offset that the loader adds to the addresses of glibc's file.
static LIBC: AtomicUsize = AtomicUsize::new(0);
/// glibc's functions, to which the hooks jump on.
static DLSYM: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());
static DLOPEN: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());
/// Whether glibc was asked to search for a library with `RTLD_DEEPBIND`, and nothing was rebound
/// since ([`settle`]).
static PENDING: AtomicBool = AtomicBool::new(false);
/// The offsets of the objects that were loaded before that, and their number.
static LOADED: [AtomicUsize; 1024] = [const { AtomicUsize::new(0) }; 1024];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Points the slots of the look-up functions to the functions of this file.
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

/// The addresses from glibc's first segment to its last.
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

/// The addresses of the first loaded object whose file has this name.
pub fn place_of(name: &[u8]) -> Option<core::ops::Range<usize>> {
    let mut place = None;
    elf::each(|object| {
        place = (object.file_name() == name).then(|| object.place());
        place.is_some()
    });
    place
}

/// The library's function in place of one of glibc's. `None` if the function at `found` is not
/// glibc's, if this library has none of that name, or if its function would go on to another
/// library's, which in turn would look up and call it again.
fn ours(name: &CStr, found: usize) -> Option<usize> {
    let (_, stub) = STUBS.iter().find(|(known, _)| *known == name)?;
    let next = real::ALL.iter().find(|real| real.name() == name).map_or(found, |real| real.address());
    (is_glibc(found) && is_glibc(next)).then_some(*stub as *const () as usize)
}

/// Stands in for `dlsym`. `RTLD_DEFAULT` (0) and `RTLD_NEXT` (-1) find the library's functions by
/// themselves, and depend on the caller; so glibc's function gets these calls by a jump.
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
    settle();
    // SAFETY: passed on.
    let found = unsafe { real::dlsym.get()(handle, name) };
    // SAFETY: the program's name is a string, if something was found by it.
    unsafe { answer(name, found) }
}

unsafe extern "C-unwind" fn dlvsym(
    handle: *mut c_void,
    name: *const c_char,
    version: *const c_char,
    _: usize,
) -> *mut c_void {
    settle();
    // SAFETY: passed on. With a version the caller does not matter, except for RTLD_NEXT, which
    // finds what comes behind this library.
    let found = unsafe { real::dlvsym.get()(handle, name, version) };
    // SAFETY: the program's name is a string, if something was found by it.
    if handle.addr() == usize::MAX { found } else { unsafe { answer(name, found) } }
}

/// Replaces a function that was found by the library's own, if it has one.
///
/// # Safety
/// `name` is a string if `found` is not null.
unsafe fn answer(name: *const c_char, found: *mut c_void) -> *mut c_void {
    if found.is_null() {
        return found;
    }
    // SAFETY: the caller says that `name` is a string, as `found` is not null.
    let ours = ours(unsafe { CStr::from_ptr(name) }, found.expose_provenance());
    ours.map_or(found, core::ptr::with_exposed_provenance_mut)
}

/// Stands in for `dlopen`. A call with `RTLD_DEEPBIND`, and the first call after one that is
/// pending, goes to [`deeply`]; any other call, and one for which `deeply` returns null, jumps on to
/// glibc's function.
#[unsafe(naked)]
unsafe extern "C" fn dlopen() {
    core::arch::naked_asm!(
        "test esi, {deep_bind}",
        "jnz 3f",
        "cmp byte ptr [rip + {pending}], 0",
        "je 2f",
        "3:",
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
        pending = sym PENDING,
        deeply = sym deeply,
        real = sym DLOPEN,
    );
}

/// Rebinds a library that is pending. With `RTLD_DEEPBIND`, loads the library `file` and rebinds it.
/// Returns null if loading failed, and without loading if `file` is null or has no slash: glibc
/// searches for such a file along a path that depends on the caller. After a null, [`dlopen`] jumps
/// on to glibc's function.
unsafe extern "C-unwind" fn deeply(file: *const c_char, mode: c_int) -> *mut c_void {
    settle();
    if mode & libc::RTLD_DEEPBIND == 0 {
        return core::ptr::null_mut();
    }
    // SAFETY: the program passes a string, or null for itself.
    if file.is_null() || !unsafe { CStr::from_ptr(file) }.to_bytes().contains(&b'/') {
        note_loaded();
        return core::ptr::null_mut();
    }
    // SAFETY: passed on.
    let handle = unsafe { real::dlopen.get()(file, mode) };
    if !handle.is_null() {
        rebind(handle);
    }
    handle
}

/// Notes which objects are loaded, before glibc searches for one more.
fn note_loaded() {
    let mut count = 0;
    elf::each(|object| {
        if let Some(cell) = LOADED.get(count) {
            cell.store(object.bias, Relaxed);
            count += 1;
        }
        false
    });
    COUNT.store(count, Relaxed);
    // Release: who sees that a library is pending sees the objects from before.
    PENDING.store(true, Release);
}

/// Rebinds the library for which glibc has searched since [`note_loaded`], with those that came with
/// it. Does nothing if none is pending, or none was found.
fn settle() {
    if !PENDING.load(Relaxed) || !PENDING.swap(false, Acquire) {
        return;
    }
    let before = &LOADED[..COUNT.load(Relaxed)];
    let mut path = [0u8; 1024];
    elf::each(|object| {
        let is_new = !before.iter().any(|bias| bias.load(Relaxed) == object.bias);
        is_new && object.path_into(&mut path)
    });
    let Ok(path) = CStr::from_bytes_until_nul(&path) else { return };
    if path.is_empty() {
        return;
    }
    // SAFETY: with NOLOAD, `dlopen` only finds a loaded object; the handle is given back once.
    unsafe {
        let handle = real::dlopen.get()(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            libc::dlerror();
        } else {
            rebind(handle);
            real::dlclose.get()(handle);
        }
    }
}

/// In the library behind `handle` and those loaded after it, points the cells that hold functions
/// of glibc to this library's functions.
fn rebind(handle: *mut c_void) {
    // Looks up what the library itself would find under each name, before the loader's list is
    // locked. A failed look-up leaves a message, which `dlerror` below takes away.
    let mut found = [None; STUBS.len()];
    for ((name, _), found) in STUBS.iter().zip(&mut found) {
        // SAFETY: the handle is valid: the program has just got it, or is using it.
        let at = unsafe { real::dlsym.get()(handle, name.as_ptr()) };
        *found = if at.is_null() { None } else { ours(name, at.expose_provenance()) };
    }
    // SAFETY: `dlerror` takes no argument.
    unsafe { libc::dlerror() };
    // SAFETY: a handle of glibc's points to its `struct link_map`, whose first word is the bias.
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
