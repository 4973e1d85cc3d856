//! Critical sections of clang: each has a name, a cell of 32 bytes that are zero at first.

use super::super::interface::Ident;
use super::super::{forward, late, replace};
use crate::events::{self, Probe};
use crate::hooks::{Code, slot};
use baton_trace::Mode;
use core::ffi::{c_int, c_uint};

type Name = *mut *mut ();

/// Points the slots to the functions of this file that call the runtime.
pub(in super::super) fn forwarded<P: Probe>() {
    slot::__kmpc_critical.set(start::<P> as Code);
    slot::__kmpc_critical_with_hint.set(start_with_hint::<P> as Code);
    slot::__kmpc_end_critical.set(end::<P> as Code);
}

/// Points the slots to the functions of this file that call the named lock.
pub(in super::super) fn replaced<P: Probe>() {
    slot::__kmpc_critical.set(take::<P> as Code);
    slot::__kmpc_critical_with_hint.set(take_with_hint::<P> as Code);
    slot::__kmpc_end_critical.set(give::<P> as Code);
}

unsafe extern "C-unwind" fn start<P: Probe>(place: *const Ident, number: c_int, name: Name, site: usize) {
    let (runtime, inner) = late::__kmpc_critical.called(site);
    // SAFETY: passed on.
    entering::<P>(name, site, inner, || unsafe { runtime(place, number, name) });
}

unsafe extern "C-unwind" fn start_with_hint<P: Probe>(
    place: *const Ident,
    number: c_int,
    name: Name,
    hint: c_uint,
    site: usize,
) {
    let (runtime, inner) = late::__kmpc_critical_with_hint.called(site);
    // SAFETY: passed on.
    entering::<P>(name, site, inner, || unsafe { runtime(place, number, name, hint) });
}

/// Enters a critical section by `enter`; records it, unless the call is an inner one.
fn entering<P: Probe>(name: Name, site: usize, inner: bool, enter: impl FnOnce()) {
    if inner {
        enter();
    } else {
        forward::entering::<P>(forward::critical(Some(name)), site, enter);
    }
}

unsafe extern "C-unwind" fn end<P: Probe>(place: *const Ident, number: c_int, name: Name, site: usize) {
    let (runtime, inner) = late::__kmpc_end_critical.called(site);
    if !inner {
        events::lock_release::<P>(forward::critical(Some(name)), Mode::Exclusive, site);
    }
    // SAFETY: passed on.
    unsafe { runtime(place, number, name) };
    if !inner {
        events::lock_released::<P>();
    }
}

unsafe extern "C-unwind" fn take<P: Probe>(place: *const Ident, number: c_int, name: Name, site: usize) {
    let (runtime, inner) = late::__kmpc_critical.called(site);
    if inner {
        // The runtime guards something of its own.
        // SAFETY: passed on.
        return unsafe { runtime(place, number, name) };
    }
    replace::enter::<P>(name, site);
}

unsafe extern "C-unwind" fn take_with_hint<P: Probe>(
    place: *const Ident,
    number: c_int,
    name: Name,
    _: c_uint,
    site: usize,
) {
    // The hint would choose the algorithm, and `BATON_LOCK` has chosen it.
    // SAFETY: passed on.
    unsafe { take::<P>(place, number, name, site) };
}

unsafe extern "C-unwind" fn give<P: Probe>(place: *const Ident, number: c_int, name: Name, site: usize) {
    let (runtime, inner) = late::__kmpc_end_critical.called(site);
    if inner {
        // SAFETY: passed on.
        return unsafe { runtime(place, number, name) };
    }
    replace::leave::<P>(name, site);
}
