//! The models of `baton-workloads` and the ring, with which queues are compared, on `caf16`. Each
//! run's team checks what it passed, and each run has a limit.

use super::queues::{chip, on};
use baton_chip::{Instructions, Options, Simulated, Simulation};
use baton_machine::Wait;
use baton_machine::units::Cycles;
use baton_sync::queue::qmd::Qmd;
use baton_sync::queue::ring::Ring;
use baton_sync::queue::ring_single::RingSingle;
use baton_workloads::Team;
use baton_workloads::models::posted::{Posted, PostedAhead};
use baton_workloads::models::posting::Posting;
use baton_workloads::models::{MODELS, Model, ModelVisitor, free_ring::FreeRing, haqu::Haqu, lanes::Lanes, visit};
use baton_workloads::ring::{BadTransport, Transport};

fn transport(pairs: u32, bulk: usize) -> Transport {
    let think = Cycles(0);
    Transport { producers: pairs, consumers: pairs, capacity: 64, think, spread: 0.0, iterations: 96, bulk, lines: 0 }
}

/// Cycles per item of a team.
fn an_item(settings: &[&str], at: Transport, team: impl FnOnce(Transport) -> Result<Team, BadTransport>) -> f64 {
    let limit = Some(Cycles(1_000_000));
    let options = Options { instructions: Instructions::NONE, limit, ..Options::default() };
    let mut simulation = Simulation::new(&chip(settings), &options).expect("the host has memory");
    let team = simulation.outside(|| team(at)).expect("a transport that can be");
    for (core, body) in (0..).zip(team.bodies) {
        simulation.spawn(on(core), body).expect("there is a core");
    }
    let outcome = simulation.run().expect("it ends");
    assert!(outcome.finished, "cut off");
    simulation.outside(team.verify).expect("what went in came out");
    outcome.cycles.0 as f64 / (at.iterations * u64::from(at.producers)) as f64
}

fn at<C: Model<Simulated>>(pairs: u32, bulk: usize) -> f64 {
    an_item(&[], transport(pairs, bulk), |at| at.team_of_model::<Simulated, C>(Wait::Pause))
}

fn ring(settings: &[&str], pairs: u32, bulk: usize) -> f64 {
    an_item(settings, transport(pairs, bulk), |at| at.team::<Simulated, Ring<Simulated, u64>>(Wait::Pause))
}

fn ring_single(bulk: usize) -> f64 {
    an_item(&[], transport(1, bulk), |at| at.team::<Simulated, RingSingle<Simulated, u64>>(Wait::Pause))
}

struct Every;

impl ModelVisitor<Simulated> for Every {
    type Out = ();
    fn visit<C: Model<Simulated>>(self) {
        for bulk in [1, 70] {
            at::<C>(1, bulk);
            if C::INFO.producers == baton_sync::queue::Side::Multi {
                at::<C>(3, bulk);
            }
        }
    }
}

#[test]
fn models_pass_all_items_on() {
    for model in MODELS {
        visit::<Simulated, _>(model.name, Every).expect("its own name");
    }
}

/// The ring whose critical section costs nothing (`FreeRing`) is faster than the real ring, and
/// lanes, a queue for each pair of threads, are more than three times as fast as `FreeRing`.
#[test]
fn models_are_what_they_stand_for() {
    for bulk in [1, 8] {
        let (real, free, apart) =
            (ring(&[], 4, bulk), at::<FreeRing<Simulated>>(4, bulk), at::<Lanes<Simulated>>(4, bulk));
        assert!(free < real && apart * 3.0 < free, "bulk {bulk}: ring {real}, free {free}, lanes {apart}");
    }
}

/// Queue state in the core saves the instructions of a bulk. (Item by item it does not help here:
/// the quicker consumer takes the producer's line away at every item.)
#[test]
fn queue_state_in_the_core_makes_bulks_faster() {
    let (software, hardware) = (ring_single(8), at::<Haqu<Simulated>>(1, 8));
    assert!(hardware < software, "ring-single {software}, haqu {hardware}");
}

/// A consumer that asks for items before it needs them does not wait for the way there and back.
/// One whose answers are written to its own cache does not wait for their lines.
#[test]
fn asking_ahead_hides_the_way() {
    let (posted, ahead) = (at::<Posted<Simulated>>(1, 1), at::<PostedAhead<Simulated>>(1, 1));
    assert!(ahead * 3.0 < posted, "posted {posted}, ahead {ahead}");
    let core = ["device.posted_to=core"];
    let near = an_item(&core, transport(1, 1), |at| at.team_of_model::<Simulated, Posted<Simulated>>(Wait::Pause));
    assert!(near + 45.0 < posted, "in the shared level {posted}, in the caches {near}");
}

/// The loads of a bulk overlap: without a window they come one by one, and an item takes longer.
#[test]
fn the_misses_of_a_bulk_overlap() {
    let narrow = ["core.load_queue=1", "core.rob=1"];
    let (with, without) = (ring(&[], 1, 32), ring(&narrow, 1, 32));
    assert!(with * 1.1 < without, "{with} {without}");
}

/// A producer that does not wait for its enqueues' answers goes on with its next item's stores at
/// once, or when the answer has come (`device.younger_stores`). The queue of the library waits for
/// each answer, so that the key changes nothing for it.
#[test]
fn younger_stores_pass_posted_enqueues() {
    let cycles = |younger: &str, posts: bool| {
        let at = Transport { lines: 16, ..transport(1, 1) };
        an_item(&[younger], at, |at| match posts {
            true => at.team_of_model::<Simulated, Posting<Simulated>>(Wait::Pause),
            false => at.team::<Simulated, Qmd<Simulated, u64>>(Wait::Pause),
        })
    };
    let [wait, pass] = ["device.younger_stores=wait", "device.younger_stores=pass"];
    assert_eq!(cycles(wait, false), cycles(pass, false));
    assert!(cycles(pass, true) * 1.05 < cycles(wait, true), "{} {}", cycles(pass, true), cycles(wait, true));
    assert!(cycles(wait, true) <= cycles(wait, false), "{} {}", cycles(wait, true), cycles(wait, false));
}
