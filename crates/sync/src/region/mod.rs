//! Monitored regions: lines that a thread watches with a monitor while another thread stores to
//! them (Anastopoulos and Koziris, 2008, section 3). [`printed`] is the paper's form with its
//! faults; [`Regions`] is a form without them.
//!
//! | what the paper does | consequence | what [`Regions`] do instead |
//! | --- | --- | --- |
//! | any byte of the region may be stored to, but the system call reads only the first one | a notice by another byte is lost | a region is one number, which a notice increments |
//! | the first thread that wakes resets the byte | a third thread waits for ever | no thread resets it: a waiter keeps the number that it saw |
//! | the loop looks at nothing but the byte | a waiter cannot be killed, and has no deadline | a wait is [`Machine::wait_while`], which allows both; closing a region ends all its waits |
//! | there is one region in the system | one barrier of one program | any number of regions, in a table of each process |

pub mod printed;

use baton_machine::Ordering::{AcqRel, Acquire, Relaxed, Release};
use baton_machine::{Atomic, Deadline, Machine, OwnedSlice, Wait, WaitResult};
use thiserror::Error;

/// The low bits of a region's number count its notices, the bits above count how often it was
/// opened and closed: an odd count means open. 2^48 notices take longer than a region lives: nine
/// years at a million a second.
const NOTICES: u32 = 48;
const OPENED: u64 = 1 << NOTICES;

/// A region's number, alone in its pair of cache lines, so that no other store ends a wait.
#[repr(C, align(128))]
struct Line<M: Machine>(M::Atomic<u64>);

/// The regions of a process.
pub struct Regions<M: Machine> {
    lines: OwnedSlice<M, Line<M>>,
    wait: Wait,
}

/// An open region: its index in its process's table, and the opening that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    place: u32,
    opening: u16,
}

/// The notices of a region that a thread has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen(u64);

/// Why a call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RegionError {
    /// The region was closed, before the call or while it waited.
    #[error("region {0} is closed")]
    Closed(u32),
    /// All regions of the process are open, or have used up their openings.
    #[error("all {0} regions of this process are in use")]
    Full(u32),
}

impl<M: Machine> Regions<M> {
    /// Creates a table of `regions` regions, all closed, whose waiters wait by policy `wait`.
    pub fn new(regions: u32, wait: Wait) -> Regions<M> {
        Regions { lines: OwnedSlice::new(regions as usize, |_| Line(M::Atomic::new(0))), wait }
    }

    /// Opens a region.
    ///
    /// # Errors
    /// Fails if no region is left.
    pub fn open(&self) -> Result<Region, RegionError> {
        for (place, line) in self.lines.iter().enumerate() {
            // Relaxed: the exchange below decides.
            let now = line.0.load(Relaxed);
            let opening = (now >> NOTICES) as u16 + 1;
            // If `opening` is even, the region is open. If it is the maximum, the openings are used
            // up, so that no region gets the name of an older one.
            if opening.is_multiple_of(2) || opening == u16::MAX {
                continue;
            }
            // Acquire: see what earlier users of the region did. No thread depends on the Release.
            if line.0.compare_exchange(now, u64::from(opening) << NOTICES, AcqRel, Relaxed).is_ok() {
                return Ok(Region { place: place as u32, opening });
            }
        }
        Err(RegionError::Full(self.lines.len() as u32))
    }

    /// Returns the region's number, if it is open. The writes that came before the notices in the
    /// number are visible to the caller.
    fn number(&self, region: Region) -> Result<(&M::Atomic<u64>, u64), RegionError> {
        let closed = RegionError::Closed(region.place);
        let number = &self.lines.get(region.place as usize).ok_or(closed)?.0;
        // Acquire: see what the notifiers wrote before.
        let now = number.load(Acquire);
        if now >> NOTICES == u64::from(region.opening) { Ok((number, now)) } else { Err(closed) }
    }

    /// Returns the notices that have come so far. Check the condition after this and before
    /// [`Regions::wait`].
    ///
    /// # Errors
    /// Fails if the region is closed.
    pub fn seen(&self, region: Region) -> Result<Seen, RegionError> {
        Ok(Seen(self.number(region)?.1))
    }

    /// Waits until a notice comes that is not in `seen`, until `deadline` at the latest.
    ///
    /// # Errors
    /// Fails if the region is closed, or is closed during the wait.
    pub fn wait(
        &self,
        region: Region,
        seen: Seen,
        deadline: Option<Deadline>,
    ) -> Result<WaitResult<Seen>, RegionError> {
        let (number, _) = self.number(region)?;
        match M::wait_while(number, seen.0, self.wait, deadline) {
            WaitResult::Changed(_) => Ok(WaitResult::Changed(Seen(self.number(region)?.1))),
            WaitResult::Expired => Ok(WaitResult::Expired),
        }
    }

    /// Ends all waits that have begun: increments the region's number once, and wakes the threads
    /// that sleep on it.
    ///
    /// # Errors
    /// Fails if the region is closed.
    pub fn notify(&self, region: Region) -> Result<(), RegionError> {
        let (number, _) = self.number(region)?;
        // Release: a woken thread sees what came before. If the region has been closed since the
        // check, this at worst ends a wait for the next region at the same index without need.
        number.fetch_add(1, Release);
        M::wake::<u64>(number, u32::MAX, self.wait);
        Ok(())
    }

    /// Closes a region. Its waiters return with an error.
    ///
    /// # Errors
    /// Fails if the region is closed already.
    pub fn close(&self, region: Region) -> Result<(), RegionError> {
        let (number, mut now) = self.number(region)?;
        // Release: the thread that opens it next sees what came before.
        while let Err(changed) = number.compare_exchange(now, (now & !(OPENED - 1)) + OPENED, Release, Relaxed) {
            if changed >> NOTICES != u64::from(region.opening) {
                return Err(RegionError::Closed(region.place));
            }
            now = changed;
        }
        M::wake::<u64>(number, u32::MAX, self.wait);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_machine::{Native, units::Nanos};

    #[test]
    fn a_closed_region_is_named_and_its_place_used_again() {
        let table = Regions::<Native>::new(2, Wait::Futex);
        let [first, second] = [(); 2].map(|()| table.open().unwrap());
        assert_eq!(table.open(), Err(RegionError::Full(2)));
        let seen = table.seen(second).unwrap();
        table.close(second).unwrap();
        let closed = RegionError::Closed(1);
        assert_eq!(closed.to_string(), "region 1 is closed");
        let calls = [
            table.close(second),
            table.notify(second),
            table.seen(second).map(|_| ()),
            table.wait(second, seen, None).map(|_| ()),
        ];
        assert_eq!(calls, [Err(closed); 4]);
        let third = table.open().unwrap();
        assert_ne!(third, second);
        assert_eq!((table.notify(second), table.notify(first)), (Err(closed), Ok(())));
        // A notice that came before the wait began ends it; one that was already seen does not.
        let seen = table.seen(third).unwrap();
        table.notify(third).unwrap();
        let WaitResult::Changed(seen) = table.wait(third, seen, None).unwrap() else { panic!("no deadline was given") };
        let over = Deadline { at: Nanos(0), clock: Default::default() };
        assert_eq!(table.wait(third, seen, Some(over)), Ok(WaitResult::Expired));
    }

    #[test]
    fn a_place_is_not_opened_more_often_than_it_has_names() {
        let table = Regions::<Native>::new(1, Wait::Futex);
        let mut openings = 0;
        while let Ok(region) = table.open() {
            table.close(region).unwrap();
            openings += 1;
        }
        assert_eq!((openings, table.open()), (32_767, Err(RegionError::Full(1))));
    }
}
