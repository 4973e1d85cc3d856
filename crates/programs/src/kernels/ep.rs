//! Embarrassingly parallel (NAS' EP; Bailey and others, RNR-94-007, section 2.1): pairs of normally
//! distributed numbers by the polar method, counted by the square ring about the origin in which
//! they lie. Threads meet to begin and to add up.

use super::near::near;
use super::random::{CYCLES, EP_SEED, JUMP_CYCLES, Sequence};
use super::rows::Rows;
use super::scene::{Member, Scene};
use super::{fourier::FUNCTION_CYCLES, scale::KernelScale};
use crate::places::Places;
use baton_machine::Machine;
use baton_machine::units::Cycles;
use baton_workloads::{Team, expect};
use std::sync::Arc;

/// Cycles of a pair: two products, their sum, and a comparison.
const PAIR_CYCLES: u64 = 6;
/// Cycles of a pair that is accepted: a logarithm, a division, a root, and the ring in which it
/// counts.
const ACCEPTED_CYCLES: u64 = 2 * FUNCTION_CYCLES + 20;

const RINGS: usize = 10;

/// Number of pairs in each ring, and the sums of both coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sums {
    rings: [u64; RINGS],
    x: f64,
    y: f64,
}

/// The data that the threads share.
struct Data<M: Machine> {
    /// The begin of the sequence, which the first thread writes.
    begin: Places<M, u64>,
    /// The numbers of a batch, by thread.
    numbers: Vec<Rows<M>>,
    /// The sums of all threads, written with the lock held.
    sums: Places<M, Sums>,
    /// Number of pairs accepted, which the first thread writes at the end.
    accepted: Places<M, u64>,
}

/// Makes the threads of the kernel, and the check of their result.
pub(super) fn team<M: Machine>(scene: &Scene) -> Team {
    let scale = scene.scale;
    let data = Arc::new(Data::<M> {
        begin: Places::new(1, |_| 0),
        numbers: (0..scene.threads()).map(|_| Rows::new(1, 2 * scale.grain as usize)).collect(),
        sums: Places::new(1, |_| Sums::default()),
        accepted: Places::new(1, |_| 0),
    });
    let worked = data.clone();
    let verify = move || {
        // SAFETY: the threads have ended.
        let (found, accepted) = unsafe { (data.sums.get(0), data.accepted.get(0)) };
        expect("pairs accepted", accepted, found.rings.iter().sum())?;
        let expected = published(scale).unwrap_or_else(|| plain(scale));
        for (ring, (found, expected)) in found.rings.iter().zip(expected.rings).enumerate() {
            expect(&format!("pairs in ring {ring}"), *found, expected)?;
        }
        // Threads add up in another order than one thread does: each pair may be rounded in another
        // way.
        let within = 1e-8 * expected.x.abs().max(expected.y.abs()).max(1.0);
        near("the sum of x", found.x, expected.x, within)?;
        near("the sum of y", found.y, expected.y, within)
    };
    scene.team(move |member| worked.work(member, scale), verify)
}

impl Sums {
    /// Counts a pair of numbers between 0 and 1 if the pair lies in the unit circle. Returns
    /// whether it does.
    fn count(&mut self, pair: [f64; 2]) -> bool {
        let [x, y] = pair.map(|number| 2.0 * number - 1.0);
        let square = x * x + y * y;
        if square > 1.0 {
            return false;
        }
        let factor = (-2.0 * square.ln() / square).sqrt();
        let (x, y) = (x * factor, y * factor);
        self.rings[x.abs().max(y.abs()) as usize] += 1;
        self.x += x;
        self.y += y;
        true
    }

    fn add(&mut self, other: &Sums) {
        self.rings.iter_mut().zip(other.rings).for_each(|(sum, one)| *sum += one);
        self.x += other.x;
        self.y += other.y;
    }
}

impl<M: Machine> Data<M> {
    fn work(&self, member: &mut Member, scale: KernelScale) {
        let grain = scale.grain as usize;
        member.alone(|| {
            M::work(Cycles(JUMP_CYCLES));
            // SAFETY: the other threads wait until this thread has written the begin.
            unsafe { self.begin.set(0, Sequence::new(EP_SEED, scale).state()) };
        });
        // SAFETY: the begin was written before the meeting at which `alone` ends, and is not
        // written again.
        let begin = Sequence::at(unsafe { self.begin.get(0) });
        let numbers = &self.numbers[member.thread as usize];
        let mut own = Sums::default();
        for batch in member.part(scale.size as usize / grain) {
            let mut sequence = begin.after(2 * (batch * grain) as u64);
            let made: Vec<f64> = (0..2 * grain).map(|_| sequence.next()).collect();
            M::work(Cycles(JUMP_CYCLES + made.len() as u64 * CYCLES));
            // SAFETY: the rows of `numbers` are this thread's own.
            let made = unsafe {
                numbers.write(0, &made);
                numbers.read(0)
            };
            let accepted = made.chunks_exact(2).filter(|pair| own.count([pair[0], pair[1]])).count();
            M::work(Cycles(grain as u64 * PAIR_CYCLES + accepted as u64 * ACCEPTED_CYCLES));
        }
        member.turn(|| {
            // SAFETY: this thread holds the lock that guards the sums.
            unsafe {
                let mut sums = self.sums.get(0);
                sums.add(&own);
                self.sums.set(0, sums);
            }
        });
        member.meet();
        member.alone(|| {
            M::work(Cycles(RINGS as u64));
            // SAFETY: all threads have added to the sums, and the other threads wait.
            unsafe { self.accepted.set(0, self.sums.get(0).rings.iter().sum()) };
        });
    }
}

/// Computes the sums on one thread, from the first number to the last without a jump.
fn plain(scale: KernelScale) -> Sums {
    let mut sequence = Sequence::new(EP_SEED, scale);
    let mut rings = [0; RINGS];
    let (mut sum_x, mut sum_y) = (0.0, 0.0);
    for _ in 0..scale.size {
        let (x, y) = (2.0 * sequence.next() - 1.0, 2.0 * sequence.next() - 1.0);
        let square: f64 = x * x + y * y;
        if square <= 1.0 {
            let radius = (-2.0 * square.ln()).sqrt();
            let (x, y) = (radius * x / square.sqrt(), radius * y / square.sqrt());
            // The search for a pair's ring goes from the outermost ring inwards.
            let ring = (0..RINGS).rev().find(|ring| x.abs() >= *ring as f64 || y.abs() >= *ring as f64);
            rings[ring.unwrap_or(0)] += 1;
            sum_x += x;
            sum_y += y;
        }
    }
    Sums { rings, x: sum_x, y: sum_y }
}

/// The published result for class S: 2^24 pairs.
fn published(scale: KernelScale) -> Option<Sums> {
    let rings = [6_140_517, 5_865_300, 1_100_361, 68_546, 1_648, 17, 0, 0, 0, 0];
    let class_s = Sums { rings, x: -3.247_834_652_034_74e3, y: -6.958_407_078_382_297e3 };
    (scale.size == 1 << 24 && scale.seed == 1).then_some(class_s)
}
