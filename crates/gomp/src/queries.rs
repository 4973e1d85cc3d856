//! `omp_get_*` and `omp_set_*`.

use crate::environment::{Environment, environment, is_llvms};
use crate::process::{bound_place, place, runtime};
use baton_machine::{Clock, Machine, Native};
use baton_omp::settings::{Icv, MOST_LEVELS};
use baton_omp::team::Context;
use baton_omp::{Schedule, ScheduleKind};

/// LLVM's number of the trapezoidal schedule.
const TRAPEZOIDAL: u32 = 101;

/// The place number that is reported for a thread that is not bound.
const NOT_BOUND: i32 = -1;

/// Defines queries without an argument, each with its Fortran form.
macro_rules! queries {
    ($($name:ident $fortran:ident -> $out:ty $body:block)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> $out $body
        #[unsafe(no_mangle)]
        pub extern "C" fn $fortran() -> $out {
            $name()
        }
    )*};
}

queries! {
    omp_get_thread_num omp_get_thread_num_ -> i32 { place().id as i32 }
    omp_get_num_threads omp_get_num_threads_ -> i32 { place().team().size as i32 }
    omp_get_max_threads omp_get_max_threads_ -> i32 { place().icv.get().threads as i32 }
    omp_get_num_procs omp_get_num_procs_ -> i32 { runtime().cpus as i32 }
    omp_in_parallel omp_in_parallel_ -> i32 { i32::from(place().region.active > 0) }
    omp_get_dynamic omp_get_dynamic_ -> i32 { i32::from(place().icv.get().dynamic) }
    omp_get_nested omp_get_nested_ -> i32 {
        let levels = place().icv.get().levels;
        i32::from(levels > 1 && levels > place().region.active)
    }
    omp_get_thread_limit omp_get_thread_limit_ -> i32 { place().icv.get().limit as i32 }
    omp_get_max_active_levels omp_get_max_active_levels_ -> i32 { place().icv.get().levels as i32 }
    omp_get_supported_active_levels omp_get_supported_active_levels_ -> i32 { MOST_LEVELS as i32 }
    omp_get_level omp_get_level_ -> i32 { place().region.level as i32 }
    omp_get_active_level omp_get_active_level_ -> i32 { place().region.active as i32 }
    omp_in_final omp_in_final_ -> i32 { i32::from(place().is_final()) }
    omp_in_explicit_task omp_in_explicit_task_ -> i32 { i32::from(place().depth.get() != 0) }
    omp_get_cancellation omp_get_cancellation_ -> i32 { i32::from(runtime().settings.cancellation) }
    omp_get_proc_bind omp_get_proc_bind_ -> i32 { place().icv.get().bind as i32 }
    omp_get_num_places omp_get_num_places_ -> i32 { runtime().settings.places.len() as i32 }
    omp_get_place_num omp_get_place_num_ -> i32 { bound_place().seat.map_or(NOT_BOUND, |seat| seat.place as i32) }
    omp_get_partition_num_places omp_get_partition_num_places_ -> i32 { bound_place().seat.map_or(0, |seat| seat.count as i32) }
    omp_get_num_devices omp_get_num_devices_ -> i32 { 0 }
    omp_get_default_device omp_get_default_device_ -> i32 { place().icv.get().device }
    omp_get_device_num omp_get_device_num_ -> i32 { 0 }
    omp_get_initial_device omp_get_initial_device_ -> i32 { 0 }
    omp_is_initial_device omp_is_initial_device_ -> i32 { 1 }
    omp_get_num_teams omp_get_num_teams_ -> i32 { place().league.get().teams as i32 }
    omp_get_team_num omp_get_team_num_ -> i32 { place().league.get().team as i32 }
    omp_get_max_teams omp_get_max_teams_ -> i32 { Environment::get(&environment().teams) as i32 }
    omp_get_teams_thread_limit omp_get_teams_thread_limit_ -> i32 { Environment::get(&environment().teams_limit) as i32 }
    omp_get_max_task_priority omp_get_max_task_priority_ -> i32 { environment().priority }
    omp_get_wtime omp_get_wtime_ -> f64 { Native::now(Clock::Monotonic).0 as f64 / 1e9 }
    omp_get_wtick omp_get_wtick_ -> f64 { 1e-9 }
}

fn change(set: impl FnOnce(&mut Icv)) {
    let place = place();
    let mut icv = place.icv.get();
    set(&mut icv);
    place.icv.set(icv);
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_set_num_threads(n: i32) {
    change(|icv| icv.threads = n.max(1) as u32);
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_set_dynamic(on: i32) {
    change(|icv| icv.dynamic = on != 0);
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_set_max_active_levels(levels: i32) {
    if let Ok(levels) = u32::try_from(levels) {
        change(|icv| icv.levels = levels.min(MOST_LEVELS));
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_set_nested(on: i32) {
    change(|icv| icv.levels = if on != 0 { MOST_LEVELS } else { 1 });
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_set_schedule(kind: u32, chunk: i32) {
    let monotonic = kind >> 31 != 0;
    let kind = match kind & 0x7fff_ffff {
        1 => ScheduleKind::Static,
        2 => ScheduleKind::Dynamic,
        3 => ScheduleKind::Guided,
        4 => ScheduleKind::Auto,
        TRAPEZOIDAL if is_llvms() => ScheduleKind::Trapezoidal,
        _ => return,
    };
    let least = i32::from(kind != ScheduleKind::Static);
    change(|icv| {
        // `auto` has no chunk: the chunk that was set before is kept, and still reported, as in
        // libgomp.
        let chunk = if kind == ScheduleKind::Auto { icv.schedule.chunk } else { chunk.max(least) as u64 };
        icv.schedule = Schedule { kind, chunk, monotonic };
    });
}

/// Writes the kind and the chunk of the calling task's `schedule(runtime)`.
///
/// # Safety
/// `kind` and `chunk` point to variables of the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_schedule(kind: *mut u32, chunk: *mut i32) {
    let schedule = place().icv.get().schedule;
    let number = match schedule.kind {
        ScheduleKind::Static => 1,
        ScheduleKind::Dynamic => 2,
        ScheduleKind::Guided => 3,
        ScheduleKind::Auto => 4,
        ScheduleKind::Trapezoidal => TRAPEZOIDAL,
    };
    // SAFETY: by contract.
    unsafe {
        kind.write(number | u32::from(schedule.monotonic) << 31);
        chunk.write(schedule.chunk as i32);
    }
}

/// The context, at the nesting level `level`, of the calling thread or of the thread from which it
/// descends; `None` if there is no such level.
fn at_level(level: i32) -> Option<&'static Context<Native>> {
    let mut at = place();
    if level < 0 || level as u32 > at.region.level {
        return None;
    }
    while at.region.level > level as u32 {
        at = at.outer()?;
    }
    Some(at)
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_get_ancestor_thread_num(level: i32) -> i32 {
    if level == place().region.level as i32 {
        return place().id as i32;
    }
    at_level(level).map_or(-1, |at| at.id as i32)
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_get_team_size(level: i32) -> i32 {
    at_level(level).map_or(-1, |at| at.team().size as i32)
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_set_default_device(device: i32) {
    change(|icv| icv.device = device.max(0));
}

/// The CPUs of a place; none if the place does not exist.
fn cpus_of(place: i32) -> &'static [u32] {
    let places = &runtime().settings.places;
    usize::try_from(place).ok().and_then(|place| places.get(place)).map_or(&[], Vec::as_slice)
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_get_place_num_procs(place: i32) -> i32 {
    cpus_of(place).len() as i32
}

/// Writes the CPUs of a place.
///
/// # Safety
/// `ids` has room for as many numbers as `omp_get_place_num_procs` returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_place_proc_ids(place: i32, ids: *mut i32) {
    for (at, cpu) in cpus_of(place).iter().enumerate() {
        // SAFETY: by contract.
        unsafe { ids.add(at).write(*cpu as i32) };
    }
}

/// Writes the numbers of the places in the partition.
///
/// # Safety
/// `places` has room for as many numbers as `omp_get_partition_num_places` returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_partition_place_nums(places: *mut i32) {
    let Some(seat) = bound_place().seat else { return };
    for at in 0..seat.count {
        // SAFETY: by contract.
        unsafe { places.add(at as usize).write((seat.first + at) as i32) };
    }
}
