//! Coroutines of guest threads and their stacks.

use crate::engine::current::{memory, own, with};
use crate::engine::state::Engine;
use crate::guest::stack::{GuestStack, STACK};
use crate::issue::requests::leave;
use crate::machine::thread::Guest;
use crate::os::app::Spawn;
use crate::os::refused::Refused;
use baton_machine::Local;
use corosensei::Coroutine;
use std::cell::RefCell;
use std::ptr::NonNull;

pub(crate) type Routine = Coroutine<(), (), (), GuestStack>;

/// Coroutines and stacks. They are separate from the engine, because guests run while they are in
/// use.
pub(crate) struct Routines {
    pub(crate) all: Vec<Option<NonNull<Routine>>>,
    pub(crate) free_stacks: Vec<usize>,
    pub(crate) next_stack: usize,
}

thread_local! {
    pub(crate) static ROUTINES: std::cell::Cell<Option<NonNull<RefCell<Routines>>>> = const { std::cell::Cell::new(None) };
}

/// Adds a thread to the current simulation.
pub(crate) fn create(spawn: Spawn, f: Box<dyn FnOnce()>) -> Result<Guest, Refused> {
    let Some(routines) = ROUTINES.get() else { panic!("a guest thread was started outside of a simulation") };
    // SAFETY: `Inside` keeps the simulation with its coroutines alive, and the run loop holds no
    // borrow of them while guests run.
    let routines = unsafe { routines.as_ref() };
    let mut routines = routines.borrow_mut();
    let id = routines.all.len() as u32;
    let (arena, most) = memory(|memory| (memory.arena.clone(), memory.arena.size()));
    let offset = match routines.free_stacks.pop() {
        Some(offset) => offset,
        None if routines.next_stack + STACK <= most => {
            routines.next_stack += STACK;
            routines.next_stack - STACK
        }
        None => return Err(Refused::Threads(routines.all.iter().flatten().count())),
    };
    let stack = GuestStack::open(&arena, offset).map_err(|error| Refused::Memory(error.to_string()));
    let added = stack.and_then(|stack| with(|engine| engine.add_thread(id, spawn)).map(|()| stack));
    let stack = added.inspect_err(|_| routines.free_stacks.push(offset))?;
    let routine = Routine::with_stack(stack, move |yielder, ()| {
        own(|thread| thread.yielder = yielder);
        Engine::attend();
        f();
        leave();
        let local: *const Local = own(|thread| &raw const *thread.local);
        // SAFETY: the `Local` is boxed, and kept as long as the engine.
        unsafe { (*local).finish() };
    });
    routines.all.push(Some(NonNull::from(Box::leak(Box::new(routine)))));
    Ok(Guest(id))
}
