//! Message sequence charts, drawn from runs of the protocol itself.

use super::{Config, Model, Move, Packet, World};
use crate::cache::{Access, Event};
use crate::{Agent, Kind, Policy};
use baton_units::CoreId;
use std::fmt::Write;

/// One step of a scenario.
#[derive(Clone, Copy, Debug)]
pub enum Scene {
    /// The core presents an access.
    Core(u32, Event),
    /// The first core pushes the line to the second.
    Push(u32, u32),
    /// The message of this kind arrives at that core.
    At(u32, Kind),
    /// The message of this kind arrives at the home, from that core.
    Home(u32, Kind),
    /// All messages arrive, in any order; not drawn.
    Settle,
}

/// Runs `scenes` with three cores and one line, and draws them as a Mermaid sequence diagram.
/// Everything up to the last [`Scene::Settle`] only prepares the chart and is not drawn.
///
/// # Errors
/// If a scene cannot happen, if the protocol has a fault, or if anything is still under way after
/// the last scene.
pub fn draw(policy: Policy, scenes: &[Scene]) -> Result<String, String> {
    let model = Model::new(Config::one_line("chart", policy, 3));
    let mut world = model.start();
    let start = scenes.iter().rposition(|scene| matches!(scene, Scene::Settle)).map_or(0, |place| place + 1);
    for scene in &scenes[..start] {
        play(&model, &mut world, *scene)?;
    }
    let mut text = String::from("```mermaid\nsequenceDiagram\n");
    let cores: Vec<u32> = (0..3).filter(|core| takes_part(*core, &scenes[start..])).collect();
    let line = |text: &mut String, what: String| writeln!(text, "    {what}").expect("a string takes everything");
    let place = if cores.len() > 1 { 1 } else { cores.len() };
    for (i, core) in cores.iter().enumerate() {
        if i == place {
            line(&mut text, "participant H as home".to_owned());
        }
        line(&mut text, format!("participant C{core} as core {core}"));
    }
    if place == cores.len() {
        line(&mut text, "participant H as home".to_owned());
    }
    let states = |world: &World| -> Vec<(String, String)> {
        let cores = cores.iter().map(|core| (format!("C{core}"), world.copies[*core as usize][0].state.to_string()));
        cores.chain([("H".to_owned(), world.homes[0].state.to_string())]).collect()
    };
    for (who, state) in states(&world) {
        line(&mut text, format!("Note over {who}: {state}"));
    }
    for scene in &scenes[start..] {
        let before = states(&world);
        let waiting = world.waiting.len();
        let packet = play(&model, &mut world, *scene)?;
        line(&mut text, arrow(*scene, packet));
        if world.waiting.len() > waiting {
            line(&mut text, "Note over H: the request waits".to_owned());
        }
        for ((who, old), (_, new)) in before.iter().zip(states(&world)) {
            if *old != new {
                line(&mut text, format!("Note over {who}: {old} → {new}"));
            }
        }
    }
    if !world.is_quiet() {
        return Err(format!("the scenario ends in the midst: {:?}", world.network));
    }
    text.push_str("```\n");
    Ok(text)
}

fn takes_part(core: u32, scenes: &[Scene]) -> bool {
    scenes.iter().any(|scene| match scene {
        Scene::Core(who, _) | Scene::At(who, _) | Scene::Home(who, _) => *who == core,
        Scene::Push(who, to) => *who == core || *to == core,
        Scene::Settle => false,
    })
}

fn arrow(scene: Scene, packet: Option<Packet>) -> String {
    let name = |agent| match agent {
        Agent::Home => "H".to_owned(),
        Agent::Core(CoreId(core)) => format!("C{core}"),
    };
    match (scene, packet) {
        (_, Some(packet)) => {
            let message = packet.message;
            let acks = match message.kind {
                Kind::DataM | Kind::FwdGetM | Kind::Count => format!(", {} acks", message.acks),
                _ => String::new(),
            };
            format!("{}->>{}: {}{acks}", name(message.from), name(packet.to), message.kind)
        }
        (Scene::Core(core, event), None) => format!("Note over C{core}: {event}"),
        (Scene::Push(core, to), None) => format!("Note over C{core}: PushTo core {to}"),
        (scene, None) => format!("Note over H: {scene:?}"),
    }
}

fn play(model: &Model, world: &mut World, scene: Scene) -> Result<Option<Packet>, String> {
    let core = |core, event, to| Move::Core { core: CoreId(core), line: 0, access: Access { event, to: CoreId(to) } };
    let arrive = |world: &World, to: Agent, from: Option<Agent>, kind| {
        let mut arrivals = world.arrivals(model.config.ordered(), usize::MAX);
        let fits = |packet: &Packet| {
            packet.to == to && packet.message.kind == kind && from.is_none_or(|from| packet.message.from == from)
        };
        let place = arrivals.find(|place| fits(&world.network[*place]));
        place.ok_or(format!("{scene:?} cannot happen: {:?}", world.network))
    };
    let step = match scene {
        Scene::Core(who, event) => core(who, event, who),
        Scene::Push(who, to) => core(who, Event::PushTo, to),
        Scene::At(who, kind) => {
            Move::Arrive { place: arrive(world, Agent::Core(CoreId(who)), None, kind)?, pick: 0, order: 0 }
        }
        Scene::Home(who, kind) => {
            let from = Some(Agent::Core(CoreId(who)));
            Move::Arrive { place: arrive(world, Agent::Home, from, kind)?, pick: 0, order: 0 }
        }
        Scene::Settle => {
            loop {
                let Some(place) = world.arrivals(model.config.ordered(), usize::MAX).next() else { break };
                *world = model.carried_out(world, Move::Arrive { place, pick: 0, order: 0 });
            }
            return Ok(None);
        }
    };
    let packet = match step {
        Move::Arrive { place, .. } => Some(world.network[place]),
        _ => None,
    };
    *world = model.carried_out(world, step);
    match world.fault {
        Some(fault) => Err(format!("{scene:?}: {fault}")),
        None => Ok(packet),
    }
}
