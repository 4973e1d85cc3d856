//! Leagues of teams. On the host, the initial threads of a league's teams run one after another.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; GCC's libgomp documents the interface")]

use crate::environment::{Environment, environment};
use crate::process::{place, runtime};
use baton_omp::settings::{Icv, NO_LIMIT};
use baton_omp::team::{Function, League};
use core::ffi::c_void;

/// The number of teams if neither the construct nor the environment names one; libgomp uses the
/// same number.
const TEAMS: u32 = 3;

/// Sets the limit of threads that a construct names; 0 means no limit, and changes nothing.
pub(crate) fn limit(icv: &mut Icv, limit: u32) {
    if limit != 0 {
        icv.limit = limit.min(NO_LIMIT);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_teams_reg(function: Function, data: *mut c_void, teams: u32, threads: u32, _flags: u32) {
    let set = environment();
    let threads = if threads == 0 { Environment::get(&set.teams_limit) } else { threads };
    let teams = [teams, Environment::get(&set.teams), TEAMS].into_iter().find(|n| *n != 0).unwrap_or(TEAMS);
    for team in 0..teams {
        // SAFETY: the compiler outlined the function for these data.
        runtime().apart(League { team, teams }, None, |icv| limit(icv, threads), || unsafe { function(data) });
    }
}

/// Begins a league in a target region of programs that GCC 4.9 to 11 compiled: the league has one
/// team.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_teams(_teams: u32, threads: u32) {
    set_limit(threads);
}

/// Limits the threads of the calling thread's regions; 0: no further limit.
pub(crate) fn set_limit(threads: u32) {
    let place = place();
    let mut icv = place.icv.get();
    limit(&mut icv, threads);
    place.icv.set(icv);
}

/// Begins the next team of a league in a target region. Returns false if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_teams4(least: u32, _most: u32, threads: u32, first: bool) -> bool {
    let place = place();
    let League { team, teams } = place.league.get();
    if first {
        set_limit(threads);
        place.league.set(League { team: 0, teams: least.max(1) });
    } else if team + 1 == teams {
        return false;
    } else {
        place.league.set(League { team: team + 1, teams });
    }
    true
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_set_num_teams(n: i32) {
    Environment::set(&environment().teams, n);
}

#[unsafe(no_mangle)]
pub extern "C" fn omp_set_teams_thread_limit(n: i32) {
    Environment::set(&environment().teams_limit, n);
}
