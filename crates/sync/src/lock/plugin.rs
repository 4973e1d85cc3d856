//! Locks of a shared library, for programs whose mutexes are replaced: `./libmylock.so:mylock`
//! names the lock `mylock` of that library.
//!
//! The library defines a `struct baton_lock_plugin` for each lock
//! (`crates/capi/include/baton_lock.h`). A process loads at most one such lock, which serves as
//! [`Plugin`]: a lock with room for any plug-in lock, whose functions call the loaded one's.

use super::{LOCKS, LockInfo, Posix, RawLock, TryLock, Waits, ZeroInit};
use baton_machine::wait::SPIN_TRIES;
use baton_machine::{Clock, Counted, Deadline, Native, Wait};
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::fmt;
use std::ffi::CString;
use std::sync::OnceLock;

/// The version of `baton_lock.h`.
pub const ABI: u32 = 1;
/// Bytes of the largest plug-in lock.
pub const SIZE: usize = 1024;
/// The largest alignment of a plug-in lock.
pub const ALIGN: usize = 128;

/// `struct baton_lock_plugin`.
#[repr(C)]
pub struct Descriptor {
    abi: u32,
    reserved: u32,
    what: *const c_char,
    size: usize,
    align: usize,
    init: Option<unsafe extern "C" fn(*mut c_void)>,
    lock: Option<unsafe extern "C" fn(*mut c_void)>,
    trylock: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
    unlock: Option<unsafe extern "C" fn(*mut c_void)>,
    timedlock: Option<unsafe extern "C" fn(*mut c_void, libc::clockid_t, *const libc::timespec) -> c_int>,
}

/// The functions of a plug-in lock, taken from a descriptor that [`check`] has accepted.
struct Verbs {
    init: unsafe extern "C" fn(*mut c_void),
    lock: unsafe extern "C" fn(*mut c_void),
    trylock: unsafe extern "C" fn(*mut c_void) -> c_int,
    unlock: unsafe extern "C" fn(*mut c_void),
    timedlock: Option<unsafe extern "C" fn(*mut c_void, libc::clockid_t, *const libc::timespec) -> c_int>,
}

/// The plug-in of this process.
static LOADED: OnceLock<(LockInfo, Verbs)> = OnceLock::new();

/// Why a plug-in lock cannot be used: one sentence that names the library, the lock and what was
/// expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoPlugin(String);

impl fmt::Display for NoPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoPlugin {}

/// Splits `text` into library and lock if it names a plug-in: a path with a slash, and the lock's
/// name behind the last colon.
pub fn parse(text: &str) -> Option<(&str, &str)> {
    text.rsplit_once(':').filter(|(library, lock)| library.contains('/') && !lock.contains('/'))
}

/// Whether `lock` describes the plug-in that [`load`] has loaded.
pub fn is_loaded(lock: &LockInfo) -> bool {
    LOADED.get().is_some_and(|(info, _)| info.name == lock.name)
}

/// Loads the plug-in that `text` names ([`parse`]), at most one in a process, and returns its
/// description. Its name is `text` with the absolute path of the library, so that a process in
/// another directory finds the library too.
///
/// # Errors
/// The library is not there or cannot be loaded, has no such lock, or one that does not fit; or
/// another plug-in was loaded.
pub fn load(text: &str) -> Result<&'static LockInfo, NoPlugin> {
    let (library, lock) = parse(text)
        .ok_or_else(|| NoPlugin(format!("`{text}`: expected a lock of a library, as in ./libmylock.so:mylock")))?;
    let path = std::fs::canonicalize(library).map_err(|error| NoPlugin(format!("plug-in `{library}`: {error}")))?;
    let path = path.to_str().ok_or_else(|| NoPlugin(format!("plug-in `{library}`: the path is not valid UTF-8")))?;
    let name = format!("{path}:{lock}");
    if let Some((info, _)) = LOADED.get() {
        let other = || NoPlugin(format!("plug-in `{text}`: a program takes one, and `{}` was named too", info.name));
        return if info.name == name { Ok(info) } else { Err(other()) };
    }
    let descriptor = find(path, lock)?;
    let (info, verbs) = check(descriptor, name)?;
    Ok(&LOADED.get_or_init(|| (info, verbs)).0)
}

/// Loads the library at `path` and returns the descriptor that it defines under the name `lock`.
fn find(path: &str, lock: &str) -> Result<&'static Descriptor, NoPlugin> {
    let text =
        |text: &str| CString::new(text).map_err(|_| NoPlugin(format!("plug-in `{path}`: a zero byte in a name")));
    let (file, symbol) = (text(path)?, text(lock)?);
    // SAFETY: `file` is a string that ends with a zero. The library's author answers for what its
    // constructors do.
    let library = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        return Err(NoPlugin(format!("plug-in `{path}` cannot be loaded: {}", said())));
    }
    // SAFETY: `library` is loaded and is never closed; `symbol` is a string that ends with a zero.
    let found = unsafe { libc::dlsym(library, symbol.as_ptr()) };
    if found.is_null() {
        return Err(NoPlugin(format!(
            "plug-in `{path}` has no `{lock}`; expected `const struct baton_lock_plugin {lock}` (baton_lock.h)"
        )));
    }
    if !found.cast::<Descriptor>().is_aligned() {
        return Err(NoPlugin(format!("plug-in `{path}`: `{lock}` is no struct baton_lock_plugin (baton_lock.h)")));
    }
    // SAFETY: the pointer is aligned and lies in a library that stays loaded. By `baton_lock.h` a
    // symbol of this name is a descriptor; `check` tests its version before it uses anything else
    // of it.
    Ok(unsafe { &*found.cast::<Descriptor>() })
}

/// Returns the dynamic loader's message about the failure.
fn said() -> String {
    // SAFETY: dlerror takes no argument, and returns the message of this thread's failed `dlopen`.
    let error = unsafe { libc::dlerror() };
    if error.is_null() {
        return "the loader gives no reason".to_owned();
    }
    // SAFETY: `error` is a string that ends with a zero, and stays valid until this thread's next
    // call of the loader.
    unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned()
}

/// Checks that the descriptor is of this version of `baton_lock.h`, that its lock fits into a
/// [`Plugin`], and that no function is missing.
fn check(descriptor: &Descriptor, name: String) -> Result<(LockInfo, Verbs), NoPlugin> {
    let Descriptor { abi, size, align, .. } = *descriptor;
    let refuse = |why: String| Err(NoPlugin(format!("plug-in `{name}`: {why}")));
    if abi != ABI {
        return refuse(format!("it was built for version {abi} of baton_lock.h; expected {ABI}"));
    }
    if !(1..=SIZE).contains(&size) {
        return refuse(format!("a lock of {size} bytes; expected 1 to {SIZE}"));
    }
    if !align.is_power_of_two() || align > ALIGN {
        return refuse(format!("a lock aligned to {align} bytes; expected a power of two, at most {ALIGN}"));
    }
    let (Some(init), Some(lock), Some(trylock), Some(unlock)) =
        (descriptor.init, descriptor.lock, descriptor.trylock, descriptor.unlock)
    else {
        return refuse("expected init, lock, trylock and unlock, all not null".to_owned());
    };
    let what = match descriptor.what.is_null() {
        true => "a plug-in lock".to_owned(),
        // SAFETY: by `baton_lock.h`, `what` is null or a string that ends with a zero.
        false => unsafe { CStr::from_ptr(descriptor.what) }.to_string_lossy().into_owned(),
    };
    // Both strings are leaked: a process loads at most one plug-in, and keeps it to its end.
    let info = LockInfo { name: name.leak(), what: what.leak(), timed: descriptor.timedlock.is_some(), ..Plugin::INFO };
    Ok((info, Verbs { init, lock, trylock, unlock, timedlock: descriptor.timedlock }))
}

/// Returns the functions of the loaded plug-in.
fn verbs() -> &'static Verbs {
    &LOADED.get().expect("a plug-in is loaded before its locks are made").1
}

/// A lock of the loaded plug-in.
#[repr(C, align(128))]
pub struct Plugin(UnsafeCell<[u8; SIZE]>);

// SAFETY: only the plug-in's functions access the bytes, and any thread may call the functions of a
// lock.
unsafe impl Send for Plugin {}
// SAFETY: as above.
unsafe impl Sync for Plugin {}
// SAFETY: every lock is made by `new`, which lets the plug-in make a free lock of zeroed bytes
// before any other function sees them.
unsafe impl ZeroInit for Plugin {}

impl Plugin {
    fn at(&self) -> *mut c_void {
        self.0.get().cast()
    }

    /// Takes the lock, waiting until `deadline` at the latest. Returns whether it was taken; `None`
    /// if the plug-in has no timed lock.
    pub fn timedlock(&self, deadline: Deadline) -> Option<bool> {
        let timedlock = verbs().timedlock?;
        let clock = match deadline.clock {
            Clock::Monotonic => libc::CLOCK_MONOTONIC,
            Clock::Realtime => libc::CLOCK_REALTIME,
        };
        let at = baton_machine::native::futex::timespec(deadline.at);
        // SAFETY: `new` made the lock, and `at` is a valid time during the call.
        Some(unsafe { timedlock(self.at(), clock, &raw const at) } != 0)
    }
}

// SAFETY: the plug-in's author promises mutual exclusion of `lock`, `trylock` and `unlock`.
unsafe impl RawLock<Native> for Plugin {
    type Token = ();

    /// A description that stands for all plug-ins; [`load`] returns the description of the loaded
    /// one.
    const INFO: LockInfo = LockInfo {
        name: "plug-in",
        what: "a plug-in lock",
        source: "-",
        limits: "",
        fifo: false,
        try_lock: true,
        timed: false,
        hints: false,
        posix: Posix::Yes,
        general: false,
        // The plug-in waits in its own way, whatever this says. Code that waits beside the lock,
        // such as a condition variable, uses this policy.
        waits: Waits::Fixed(Wait::SpinPark(SPIN_TRIES)),
        counted: Counted { instructions: 0.0, accesses: 0 },
        // The first number after those of the registry's locks.
        c_number: LOCKS.len() as u32,
    };

    fn new() -> Self {
        let lock = Plugin(UnsafeCell::new([0; SIZE]));
        // SAFETY: the memory is zeroed, and `check` has compared the lock's size and alignment with
        // it.
        unsafe { (verbs().init)(lock.at()) };
        lock
    }

    fn lock(&self, _: Wait) {
        // SAFETY: `new` has made the lock.
        unsafe { (verbs().lock)(self.at()) }
    }

    unsafe fn unlock(&self, (): (), _: Wait) {
        // SAFETY: `new` has made the lock, and the caller holds it.
        unsafe { (verbs().unlock)(self.at()) }
    }
}

// SAFETY: as `RawLock`.
unsafe impl TryLock<Native> for Plugin {
    fn try_lock(&self) -> Option<()> {
        // SAFETY: `new` has made the lock.
        (unsafe { (verbs().trylock)(self.at()) } != 0).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_a_path_names_a_plug_in() {
        assert_eq!(parse("./libmylock.so:mylock"), Some(("./libmylock.so", "mylock")));
        assert_eq!(parse("/a:b/l.so:x"), Some(("/a:b/l.so", "x")));
        for other in ["mcs", "mcs:spin", "./libmylock.so", "a=./l:m/n"] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_what_was_expected() {
        unsafe extern "C" fn nothing(_: *mut c_void) {}
        unsafe extern "C" fn taken(_: *mut c_void) -> c_int {
            1
        }
        let fits = || Descriptor {
            abi: ABI,
            reserved: 0,
            what: c"counts".as_ptr(),
            size: 8,
            align: 8,
            init: Some(nothing),
            lock: Some(nothing),
            trylock: Some(taken),
            unlock: Some(nothing),
            timedlock: None,
        };
        let check =
            |descriptor: Descriptor| check(&descriptor, "/l.so:x".to_owned()).map(|(info, _)| (info.name, info.what));
        assert_eq!(check(fits()), Ok(("/l.so:x", "counts")));
        for (descriptor, why) in [
            (Descriptor { abi: 2, ..fits() }, "it was built for version 2 of baton_lock.h; expected 1"),
            (Descriptor { size: 1025, ..fits() }, "a lock of 1025 bytes; expected 1 to 1024"),
            (Descriptor { size: 0, ..fits() }, "a lock of 0 bytes; expected 1 to 1024"),
            (Descriptor { align: 256, ..fits() }, "a lock aligned to 256 bytes; expected a power of two, at most 128"),
            (Descriptor { unlock: None, ..fits() }, "expected init, lock, trylock and unlock, all not null"),
        ] {
            assert_eq!(check(descriptor), Err(NoPlugin(format!("plug-in `/l.so:x`: {why}"))));
        }
    }
}
