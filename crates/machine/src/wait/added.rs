//! Wait policies that a command adds to the built-in ones.
//!
//! A policy is data: its description and its [`Steps`]. The variant [`Wait::Added`] or
//! [`Wait::AddedPark`] holds the policy's place in the list of added policies in its highest byte,
//! and the number that the policy takes in the lower bytes.

use super::{Argument, POLICIES, Steps, Wait, WaitInfo};
use crate::units::open::{NotAdded, OpenList};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Largest number of policies that a command can add.
const MOST: usize = 64;
/// The bits of a variant that hold the number which the policy takes.
const NUMBER: u32 = (1 << 24) - 1;

/// A policy that was added.
struct Own {
    info: WaitInfo,
    steps: fn(u32) -> Steps,
}

static LIST: OpenList<(Wait, WaitInfo)> = OpenList::new("wait policy", POLICIES, |(_, info)| info.name);
static ADDED: [OnceLock<Own>; MOST] = [const { OnceLock::new() }; MOST];

/// Returns every policy (with its bare name's number), the added ones behind the built-in ones.
pub fn policies() -> &'static [(Wait, WaitInfo)] {
    LIST.all()
}

/// Adds a policy. `steps` returns the policy's steps for a number, which is at most 16,777,215, and
/// 0 for a policy without a number.
///
/// # Errors
/// Fails if another policy has the name, if the name is empty or has characters that a name may not
/// have, if the description and the steps contradict each other, if the list of policies has been
/// read already, or if too many policies were added.
pub fn add(info: WaitInfo, steps: fn(u32) -> Steps) -> Result<(), NotAdded> {
    static ADDING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = ADDING.lock().unwrap_or_else(PoisonError::into_inner);
    let misfit = |why| Err(NotAdded::Misfit { kind: "wait policy", name: info.name, why });
    let argument = info.argument.map(|argument| Argument { most: argument.most.min(NUMBER), ..argument });
    if argument.is_some_and(|argument| !(argument.least..=argument.most).contains(&argument.bare)) {
        return misfit("the number that the bare name stands for is not allowed");
    }
    let info = WaitInfo { argument, ..info };
    let bare = steps(info.bare());
    if (bare.tries == u32::MAX) != bare.idle.is_none() {
        return misfit("an idle wait follows tries that end, and no others");
    }
    let Some(place) = ADDED.iter().position(|added| added.get().is_none()) else {
        return Err(NotAdded::Full { kind: "wait policy", name: info.name, most: MOST });
    };
    let bits = (place as u32) << 24 | info.bare();
    LIST.add((if bare.parks() { Wait::AddedPark(bits) } else { Wait::Added(bits) }, info))?;
    ADDED[place].get_or_init(|| Own { info, steps });
    Ok(())
}

/// Returns the added policy whose place is in these bits.
fn own(bits: u32) -> &'static Own {
    ADDED[(bits >> 24) as usize].get().expect("only `add` and `with_number` make bits, of policies that were added")
}

/// Returns the number that the policy takes (the 8 of `nap-park(8)`), from the lower bytes of these
/// bits.
pub(super) fn number(bits: u32) -> u32 {
    bits & NUMBER
}

/// Returns the steps of the added policy in these bits.
#[cold]
pub(super) fn steps(bits: u32) -> Steps {
    (own(bits).steps)(number(bits))
}

/// Returns the description of the added policy in these bits.
#[cold]
pub(super) fn info(bits: u32) -> &'static WaitInfo {
    &own(bits).info
}

/// Returns the added policy of this name with the number `n`, which is within the policy's bounds.
pub(super) fn with_number(name: &str, n: u32) -> Option<Wait> {
    let (bare, _) = LIST.added().iter().find(|(_, info)| info.name == name)?;
    match bare {
        Wait::Added(bits) => Some(Wait::Added(bits & !NUMBER | n)),
        Wait::AddedPark(bits) => Some(Wait::AddedPark(bits & !NUMBER | n)),
        _ => None,
    }
}
