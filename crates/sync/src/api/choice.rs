//! Queues whose algorithm the user of the program chooses when the program starts: by
//! `baton run --queue ring`, or by the environment variable `BATON_QUEUE`.

use super::queue::{Kind, ManyReceivers, ManySenders, ManyToMany, ManyToOne, OneToMany, OneToOne, Seen, sealed, seen};
use super::record;
use crate::event::chain::Chain;
use crate::queue::BadBound;
use crate::queue::chosen::{Algorithm, Asked, Chosen};
use baton_machine::Native;
use core::marker::PhantomData;
use std::sync::OnceLock;

/// A queue for the threads of kind `K`, of an algorithm that the user of the program chooses when it
/// starts: `baton run --queue ring -- program`, or `BATON_QUEUE=ring program`. `ring=64` also gives it a
/// capacity. Without a choice the queue is that of `K`. An algorithm for one sender and one receiver
/// serves `Choice<OneToOne>` alone; other queues then stay as they are, and the program says so.
///
/// ```
/// use baton_sync::{Choice, OneToOne, queue_of};
///
/// let (mut sender, mut receiver) = queue_of::<u64, Choice<OneToOne>>(100).unwrap();
/// sender.send(7).unwrap();
/// assert_eq!(receiver.receive(), Ok(7));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Choice<K>(PhantomData<K>);

/// A kind of queue that can be chosen.
pub trait Choosable: Kind {
    /// The algorithm if nothing is chosen.
    #[doc(hidden)]
    const OWN: Algorithm;
    /// Whether one sender and one receiver use the queue.
    #[doc(hidden)]
    const ONE: bool;
    /// The threads of the kind, for a message.
    #[doc(hidden)]
    const FOR: &'static str;
}

impl Choosable for OneToOne {
    const OWN: Algorithm = Algorithm::Spsc;
    const ONE: bool = true;
    const FOR: &'static str = "one sender and one receiver";
}
impl Choosable for OneToMany {
    const OWN: Algorithm = Algorithm::Mpmc;
    const ONE: bool = false;
    const FOR: &'static str = "one sender and many receivers";
}
impl Choosable for ManyToOne {
    const OWN: Algorithm = Algorithm::Mpmc;
    const ONE: bool = false;
    const FOR: &'static str = "many senders and one receiver";
}
impl Choosable for ManyToMany {
    const OWN: Algorithm = Algorithm::Mpmc;
    const ONE: bool = false;
    const FOR: &'static str = "many senders and many receivers";
}

impl<K: Choosable> sealed::Sealed for Choice<K> {}
impl<K: Choosable> Kind for Choice<K> {
    type Queue<T: Send + 'static> = Seen<Chosen<Native, T>>;
    type Bell = Chain<Native>;

    fn make<T: Send + 'static>(capacity: usize) -> Result<Self::Queue<T>, BadBound> {
        make::<T, K>(capacity, asked())
    }
}
impl<K: Choosable + ManySenders> ManySenders for Choice<K> {}
impl<K: Choosable + ManyReceivers> ManyReceivers for Choice<K> {}

/// Makes the queue inside of a [`Choice`], for interfaces to other languages.
///
/// # Errors
/// Fails if the capacity is not allowed.
///
/// # Safety
/// The queue is used by as many threads as the kind `K` allows.
#[doc(hidden)]
pub unsafe fn choose<T: Send + 'static, K: Choosable>(capacity: usize) -> Result<Chosen<Native, T>, BadBound> {
    // SAFETY: guaranteed by the caller.
    unsafe { chosen::<T, K>(capacity, asked()) }
}

fn make<T: Send + 'static, K: Choosable>(
    capacity: usize,
    asked: Option<Asked>,
) -> Result<Seen<Chosen<Native, T>>, BadBound> {
    // SAFETY: the kind `K` says which ends can be cloned.
    Ok(seen(unsafe { chosen::<T, K>(capacity, asked) }?))
}

/// Makes the queue that the user asks for, if it serves the kind.
///
/// # Safety
/// As [`choose`].
unsafe fn chosen<T: Send + 'static, K: Choosable>(
    capacity: usize,
    asked: Option<Asked>,
) -> Result<Chosen<Native, T>, BadBound> {
    let served = asked.filter(|asked| K::ONE || !asked.algorithm.is_for_one());
    let (algorithm, places) = served.map_or((K::OWN, None), |asked| (asked.algorithm, asked.capacity));
    // SAFETY: an algorithm for one producer and one consumer is taken for a kind with one of each.
    let queue = unsafe { Chosen::of(algorithm, places.unwrap_or(capacity)) }?;
    match (asked, served) {
        (None, _) => {}
        (Some(_), Some(_)) => _ = record::choice(record::Choice::Chosen),
        (Some(asked), None) => {
            if !record::choice(record::Choice::Kept) {
                stays(asked.algorithm, K::FOR, K::OWN);
            }
        }
    }
    Ok(queue)
}

/// What the user of the program asks for.
fn asked() -> Option<Asked> {
    static ASKED: OnceLock<Option<Asked>> = OnceLock::new();
    *ASKED.get_or_init(|| {
        let text = std::env::var("BATON_QUEUE").ok().filter(|text| !text.is_empty())?;
        match Asked::parse(&text) {
            Ok(asked) => Some(asked),
            Err(why) => {
                eprintln!("baton-sync: BATON_QUEUE=`{text}`: {why}; queues stay as they are");
                None
            }
        }
    })
}

/// Says, once, that a queue cannot be as the user asks.
#[cold]
fn stays(asked: Algorithm, threads: &str, own: Algorithm) {
    static SAID: OnceLock<()> = OnceLock::new();
    SAID.get_or_init(|| {
        eprintln!(
            "baton-sync: BATON_QUEUE: `{}` is for one sender and one receiver; a queue for {threads} stays `{}`",
            asked.name(),
            own.name()
        );
    });
}

#[cfg(test)]
mod tests {
    use super::super::policy::Park;
    use super::super::queue::queue_with;
    use super::*;
    use crate::queue::RawQueue;

    fn took<K: Choosable>(asked: Option<Asked>) -> (&'static str, usize) {
        let queue = make::<u64, K>(5, asked).unwrap();
        (RawQueue::<Native>::took(&queue), RawQueue::<Native>::capacity(&queue))
    }

    #[test]
    fn a_kind_gets_the_algorithm_that_serves_it() {
        let asked = |algorithm, capacity| Some(Asked { algorithm, capacity });
        for algorithm in Algorithm::ALL {
            assert_eq!(took::<OneToOne>(asked(algorithm, None)), (algorithm.name(), 5));
            let serves = !algorithm.is_for_one();
            let other = if serves { (algorithm.name(), 7) } else { ("mpmc", 5) };
            assert_eq!(took::<OneToMany>(asked(algorithm, Some(7))), other);
            assert_eq!(took::<ManyToOne>(asked(algorithm, Some(7))), other);
            assert_eq!(took::<ManyToMany>(asked(algorithm, Some(7))), other);
        }
        assert_eq!((took::<OneToOne>(None), took::<ManyToMany>(None)), (("spsc", 5), ("mpmc", 5)));
    }

    #[test]
    fn items_pass_through_a_chosen_queue() {
        let (sender, receiver) = queue_with::<u64, Choice<ManyToMany>, Park>(3).unwrap();
        let sum: u64 = std::thread::scope(|s| {
            for mut sender in [sender.clone(), sender] {
                s.spawn(move || (0..1_000).for_each(|n| sender.send(n).unwrap()));
            }
            let receivers = [receiver.clone(), receiver].map(|receiver| s.spawn(move || receiver.sum::<u64>()));
            receivers.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(sum, 2 * 999 * 1_000 / 2);
        assert_eq!(queue_with::<u64, Choice<OneToOne>, Park>(0).err(), Some(BadBound(0)));
    }
}
