//! What threads tell of locks, and the answers that they get.

use super::{Programs, Run};
use crate::error::Error;
use crate::setup::Setup;
use crate::sys::page::Page;
use crate::sys::proc::Stat;
use baton_machine::native::notices::{ANSWERS_MASKS, HEARS_LOCKS};

/// Makes a page for each program that is started, if there is something to tell or to answer. Where
/// no `masks` are changed, programs see the users' masks anyhow.
pub(super) fn make(setup: &Setup, what: &Programs, masks: bool) -> Result<Vec<Page>, Error> {
    let hears = if setup.policy.hears_locks { HEARS_LOCKS } else { 0 };
    let listens = hears | if masks { ANSWERS_MASKS } else { 0 };
    let Programs::Start { programs, .. } = what else { return Ok(Vec::new()) };
    let pages = programs.iter().filter(|_| listens != 0).map(|_| Page::make(listens)).collect::<std::io::Result<_>>();
    pages.map_err(Error::because("cannot make the page on which programs tell of locks"))
}

impl Run {
    /// Reads what threads have written on their pages, and acts upon it.
    pub(super) fn look_at_pages(&mut self, now: u64) -> Result<(), Error> {
        let found = self.locks.look(now, &self.live, &self.core);
        let late = found.late.into_iter().filter(|&late| late <= now.saturating_sub(self.start));
        late.for_each(|late| self.figures.waits.add(late));
        for input in found.inputs {
            self.hear(now, input)?;
        }
        for id in found.own {
            self.sets_own(id, now)?;
        }
        let mut search = false;
        for (page, number, row) in found.unknown {
            match Stat::of(row.pid, row.tid).filter(Stat::lives) {
                None => self.locks.free(page, number, &row),
                Some(_) => search |= self.locks.is_new(now, &row),
            }
        }
        if search { self.search(now) } else { Ok(()) }
    }

    /// Writes on the pages which CPUs of each kind are on.
    pub(super) fn tell_kinds(&self) {
        let of = |fast: bool| {
            let all = self.core.setup().of_kind(fast);
            all.into_iter().filter(|&cpu| self.core.is_on(baton_units::CpuId(cpu))).collect::<Vec<u32>>()
        };
        self.locks.kinds(&of(true), &of(false));
    }
}
