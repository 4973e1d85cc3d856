//! Locks that a command adds to the built-in ones.
//!
//! Tools are compiled for the type of each built-in lock. Locks of other crates are not known at
//! that time, so tools are compiled for [`MOST`] places too, and each added lock takes the next
//! place. A place has room for the lock, and calls the lock's functions, its *verbs*, through a
//! table that the lock's own crate makes ([`on`]). Built-in locks therefore cost no more than
//! without added ones. An added lock costs an indirect call for each verb, which a simulated chip
//! does not count as an instruction.

use super::{
    LOCKS, LockError, LockInfo, LockVisitor, Posix, RawLock, Token, TryLock, TryVisitor, UnknownLock, Waits, ZeroInit,
};
use baton_machine::units::open::{NotAdded, OpenList};
use baton_machine::{Counted, Machine, Wait};
use core::alloc::Layout;
use core::any::TypeId;
use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use std::sync::OnceLock;

/// Largest number of locks that a command can add.
pub const MOST: usize = 4;
/// Bytes of the largest lock that can be added.
pub const SPACE: usize = 512;

static LIST: OpenList<LockInfo> = OpenList::new("lock", LOCKS, |lock| lock.name);
static PLACES: [OnceLock<Own>; MOST] = [const { OnceLock::new() }; MOST];

/// A lock that was added: its name, and its verbs on each of its machines.
struct Own {
    name: &'static str,
    verbs: Vec<Verbs>,
}

/// The functions of an added lock on one machine. Each takes the address of the lock.
#[derive(Clone, Copy, Debug)]
pub struct Verbs {
    machine: TypeId,
    info: LockInfo,
    make: unsafe fn(*mut u8),
    clear: unsafe fn(*mut u8),
    provide: fn(fn(Layout) -> *mut u8) -> bool,
    lock: unsafe fn(*const u8, Wait) -> usize,
    try_lock: unsafe fn(*const u8) -> Option<usize>,
    unlock: unsafe fn(*const u8, usize, Wait),
}

/// Returns the verbs of lock `L` on machine `M`. It does not compile for a lock of more than
/// [`SPACE`] bytes, or one that must be aligned to more than 128 bytes.
pub fn on<M: Machine, L: TryLock<M> + ZeroInit>() -> Verbs {
    const {
        assert!(
            size_of::<L>() <= SPACE && align_of::<L>() <= align_of::<Added<M, 0>>(),
            "the lock is too large to be added"
        );
    }
    Verbs {
        machine: TypeId::of::<M>(),
        info: L::INFO,
        // SAFETY: the room fits an `L`, as asserted above, and holds nothing yet.
        make: |room| unsafe { room.cast::<L>().write(L::new()) },
        // SAFETY: `make` put an `L` into the room, and no thread uses it any more.
        clear: |room| unsafe { room.cast::<L>().drop_in_place() },
        provide: L::provide,
        // SAFETY: `make` put an `L` into the room, and the lock is only shared.
        lock: |room, wait| unsafe { &*room.cast::<L>() }.lock(wait).to_word(),
        // SAFETY: as for `lock`.
        try_lock: |room| unsafe { &*room.cast::<L>() }.try_lock().map(Token::to_word),
        // SAFETY: `make` put an `L` into the room. The word is that of the token by which the
        // caller holds the lock.
        unlock: |room, token, wait| unsafe { (*room.cast::<L>()).unlock(L::Token::from_word(token), wait) },
    }
}

/// Returns every lock: the built-in locks, then the added ones.
pub fn locks() -> &'static [LockInfo] {
    LIST.all()
}

/// Whether the lock called `name` was added. The libraries that a command puts into programs know
/// no added locks.
pub fn is_added(name: &str) -> bool {
    LIST.added().iter().any(|lock| lock.name == name)
}

/// Adds a lock with its verbs on each machine that it is to run on. The lock has no timed wait, and
/// does not replace mutexes of running programs.
///
/// # Errors
/// Fails if `verbs` is empty, or names differ between machines; if the name is taken or is no valid
/// name; if the list of locks has been read already, or [`MOST`] locks are added; or if the lock's
/// description has not `try_lock: true` and `timed: false`.
pub fn add(verbs: &[Verbs]) -> Result<(), NotAdded> {
    let Some(Verbs { info, .. }) = verbs.first().copied() else {
        return Err(NotAdded::Misfit { kind: "lock", name: "?", why: "it has no machine" });
    };
    let misfit = |why| Err(NotAdded::Misfit { kind: "lock", name: info.name, why });
    if verbs.iter().any(|other| other.info.name != info.name) {
        return misfit("it has another name on another machine");
    }
    if !info.try_lock || info.timed {
        return misfit("an added lock has `try_lock: true` and `timed: false`");
    }
    let full = NotAdded::Full { kind: "lock", name: info.name, most: MOST };
    if PLACES[MOST - 1].get().is_some() {
        return Err(full);
    }
    let place = PLACES.get(LIST.add(info)?).ok_or(full)?;
    place.get_or_init(|| Own { name: info.name, verbs: verbs.to_vec() });
    Ok(())
}

/// A lock that was added: room for it, free when zero.
#[repr(C, align(128))]
pub struct Added<M: Machine, const PLACE: usize> {
    room: UnsafeCell<[MaybeUninit<u8>; SPACE]>,
    machine: PhantomData<fn() -> M>,
}

// SAFETY: the room holds a lock, and `RawLock` locks are `Send` and `Sync`.
unsafe impl<M: Machine, const PLACE: usize> Send for Added<M, PLACE> {}
// SAFETY: only the lock's verbs access the room, and they take the lock by `&`.
unsafe impl<M: Machine, const PLACE: usize> Sync for Added<M, PLACE> {}
// SAFETY: the lock in the room is free when zero, because `on` accepts only such locks.
unsafe impl<M: Machine, const PLACE: usize> ZeroInit for Added<M, PLACE> {}

impl<M: Machine, const PLACE: usize> Added<M, PLACE> {
    fn verbs() -> &'static Verbs {
        verbs::<M>(PLACE).expect("a visitor is called for a place with the lock's verbs on its machine")
    }

    fn at(&self) -> *const u8 {
        self.room.get().cast()
    }
}

impl<M: Machine, const PLACE: usize> Drop for Added<M, PLACE> {
    fn drop(&mut self) {
        // SAFETY: `new` (or zeroed memory) made a lock in the room, and no thread uses it any more.
        unsafe { (Self::verbs().clear)(self.room.get().cast()) }
    }
}

/// A token as its word.
#[derive(Clone, Copy, Debug)]
pub struct Held(usize);

impl Token for Held {
    fn to_word(self) -> usize {
        self.0
    }
    fn from_word(word: usize) -> Held {
        Held(word)
    }
}

// SAFETY: the verbs are those of a `RawLock`, which keeps its contract.
unsafe impl<M: Machine, const PLACE: usize> RawLock<M> for Added<M, PLACE> {
    type Token = Held;

    /// Stands for all added locks; tools find a lock's own description by its name
    /// ([`info`](super::info)).
    const INFO: LockInfo = LockInfo {
        name: "added",
        what: "a lock that the command added",
        source: "-",
        limits: "",
        fifo: false,
        try_lock: true,
        timed: false,
        hints: false,
        posix: Posix::No("the program does not have it"),
        general: false,
        waits: Waits::Any,
        counted: Counted { instructions: 0.0, accesses: 0 },
        c_number: u32::MAX,
    };

    fn new() -> Self {
        let lock = Added { room: UnsafeCell::new([MaybeUninit::zeroed(); SPACE]), machine: PhantomData };
        // SAFETY: the room is large enough and aligned (`on`).
        unsafe { (Self::verbs().make)(lock.room.get().cast()) };
        lock
    }

    fn provide(memory: fn(Layout) -> *mut u8) -> bool {
        (Self::verbs().provide)(memory)
    }

    fn lock(&self, wait: Wait) -> Held {
        // SAFETY: the room holds the lock.
        Held(unsafe { (Self::verbs().lock)(self.at(), wait) })
    }

    unsafe fn unlock(&self, token: Held, wait: Wait) {
        // SAFETY: the room holds the lock, and the caller holds it by the token.
        unsafe { (Self::verbs().unlock)(self.at(), token.0, wait) }
    }
}

// SAFETY: as `RawLock`.
unsafe impl<M: Machine, const PLACE: usize> TryLock<M> for Added<M, PLACE> {
    fn try_lock(&self) -> Option<Held> {
        // SAFETY: the room holds the lock.
        unsafe { (Self::verbs().try_lock)(self.at()) }.map(Held)
    }
}

/// The verbs on machine `M` of the lock in a place.
fn verbs<M: Machine>(place: usize) -> Option<&'static Verbs> {
    PLACES[place].get()?.verbs.iter().find(|verbs| verbs.machine == TypeId::of::<M>())
}

/// The place of the lock of this name, if it runs on machine `M`.
fn place<M: Machine>(name: &str) -> Option<usize> {
    let named = |place: &usize| PLACES[*place].get().is_some_and(|own| own.name == name);
    (0..MOST).find(named).filter(|&place| verbs::<M>(place).is_some())
}

/// Calls the visitor with the place of the lock of this name.
macro_rules! at_place {
    ($name:expr, $visitor:expr, $($place:literal)*) => {
        match place::<M>($name) {
            $(Some($place) => Ok($visitor.visit::<Added<M, $place>>()),)*
            _ => Err(UnknownLock($name.to_owned()).into()),
        }
    };
}

/// Calls the visitor with an added lock, as [`visit`](super::visit) does with a built-in one.
pub(super) fn visit<M: Machine, V: LockVisitor<M>>(name: &str, visitor: V) -> Result<V::Out, UnknownLock> {
    at_place!(name, visitor, 0 1 2 3)
}

/// Calls the visitor with an added lock, as [`visit_try`](super::visit_try) does with a built-in
/// one.
pub(super) fn visit_try<M: Machine, V: TryVisitor<M>>(name: &str, visitor: V) -> Result<V::Out, LockError> {
    at_place!(name, visitor, 0 1 2 3)
}

const _: () = assert!(MOST == 4, "`at_place!` names each place");
