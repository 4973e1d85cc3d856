//! Workloads that a command adds to the built-in ones.
//!
//! A workload is generic over the machine and the probe. The command says on which machines the
//! workload runs ([`Added::on`]); the probe comes behind a pointer ([`AnyProbe`]).

use super::WORKLOADS;
use baton_machine::units::open::{NotAdded, OpenList};
use baton_machine::{Machine, Wait};
use baton_workloads::{Charge, Knobs, Probe, Refused, Team, Workload, WorkloadInfo};
use std::any::{Any, TypeId};
use std::sync::{Arc, Mutex, PoisonError};

static LIST: OpenList<WorkloadInfo> = OpenList::new("workload", WORKLOADS, |workload| workload.name);
static ADDED: Mutex<Vec<Added>> = Mutex::new(Vec::new());

/// Returns every workload: the built-in ones, then the added ones.
pub fn workloads() -> &'static [WorkloadInfo] {
    LIST.all()
}

/// Makes a workload's threads on one machine.
type Make = fn(&dyn Any, Wait, AnyProbe) -> Result<Team, Refused>;

/// Makes a workload with its settings.
type Choose = fn(&Knobs<'_>, Vec<(TypeId, Make)>) -> Result<Box<dyn Own>, Refused>;

/// A workload to add: its description, and how its threads are made on each machine.
#[derive(Clone)]
pub struct Added {
    info: WorkloadInfo,
    choose: Choose,
    makes: Vec<(TypeId, Make)>,
}

impl Added {
    /// Describes workload `W` for no machine; [`Added::on`] adds machines.
    pub fn new<W: Workload + Send + Sync + 'static>() -> Added {
        let choose = |knobs: &Knobs<'_>, makes| {
            let workload = W::choose(knobs)?;
            Ok(Box::new(Typed { workload, makes }) as Box<dyn Own>)
        };
        Added { info: W::INFO, choose, makes: Vec::new() }
    }

    /// Lets the workload run on machine `M` too. `W` is the workload that was given to
    /// [`Added::new`].
    pub fn on<W: Workload + Send + Sync + 'static, M: Machine>(mut self) -> Added {
        let make: Make = |workload, wait, probe| {
            let workload: &W = workload.downcast_ref().expect("`on` names the workload that `new` named");
            workload.team::<M, AnyProbe>(wait, probe)
        };
        self.makes.push((TypeId::of::<M>(), make));
        self
    }

    /// Adds the workload to the list of workloads.
    ///
    /// # Errors
    /// Fails if the name is taken or is no valid name, or if workloads have been looked up already.
    pub fn add(self) -> Result<(), NotAdded> {
        LIST.add(self.info)?;
        ADDED.lock().unwrap_or_else(PoisonError::into_inner).push(self);
        Ok(())
    }
}

/// The added workload of that name with these settings, if there is one.
pub(crate) fn named(name: &str, knobs: &Knobs<'_>) -> Option<Result<Box<dyn Own>, Refused>> {
    let added = ADDED.lock().unwrap_or_else(PoisonError::into_inner);
    let found = added.iter().find(|added| added.info.name == name).cloned();
    drop(added);
    found.map(|Added { choose, makes, .. }| choose(knobs, makes))
}

/// An added workload with its settings, ready to run.
pub trait Own: Send + Sync {
    /// Returns a copy of the workload with its settings.
    fn copy(&self) -> Box<dyn Own>;
    /// Number of threads of the workload ([`Workload::threads`]).
    fn threads(&self) -> u32;
    /// How the threads wait if the user asked for `asked` ([`Workload::wait`]).
    fn wait(&self, asked: Option<Wait>) -> Wait;
    /// [`Workload::team`] on the machine of this type.
    ///
    /// # Errors
    /// Fails if a setting cannot be on this machine, or if the workload was not added for the
    /// machine.
    fn team(&self, machine: (TypeId, &'static str), wait: Wait, probe: AnyProbe) -> Result<Team, Refused>;
    /// The name of the lock, barrier or queue under test ([`Workload::algorithm`]).
    fn algorithm(&self) -> Option<&'static str>;
    /// The instructions that a simulated chip charges ([`Workload::charge`]).
    fn charge(&self) -> Charge;
    /// An estimate of the bytes of guest memory that the data takes ([`Workload::bytes`]).
    fn bytes(&self) -> usize;
}

impl Clone for Box<dyn Own> {
    fn clone(&self) -> Self {
        (**self).copy()
    }
}

#[derive(Clone)]
struct Typed<W> {
    workload: W,
    makes: Vec<(TypeId, Make)>,
}

impl<W: Workload + Send + Sync + 'static> Own for Typed<W> {
    fn copy(&self) -> Box<dyn Own> {
        Box::new(self.clone())
    }
    fn threads(&self) -> u32 {
        self.workload.threads()
    }
    fn wait(&self, asked: Option<Wait>) -> Wait {
        self.workload.wait(asked)
    }
    fn team(&self, (machine, name): (TypeId, &'static str), wait: Wait, probe: AnyProbe) -> Result<Team, Refused> {
        let made = self.makes.iter().find(|(on, _)| *on == machine);
        let missing = || Refused::Because(format!("workload `{}` was not added for the {name} machine", W::INFO.name));
        made.ok_or_else(missing)?.1(&self.workload, wait, probe)
    }
    fn algorithm(&self) -> Option<&'static str> {
        self.workload.algorithm()
    }
    fn charge(&self) -> Charge {
        self.workload.charge()
    }
    fn bytes(&self) -> usize {
        self.workload.bytes()
    }
}

/// A probe behind a pointer, for code that does not know the probe's type. All copies report to the
/// same probe.
#[derive(Clone)]
pub struct AnyProbe(Arc<dyn Hears>);

impl AnyProbe {
    /// Puts `probe` behind a pointer.
    pub fn new(probe: impl Probe + Sync) -> AnyProbe {
        AnyProbe(Arc::new(probe))
    }
}

/// The methods of [`Probe`] in a trait that a pointer can stand for.
trait Hears: Send + Sync {
    fn lock_at(&self, lock: u32, at: *const u8);
    fn request(&self, lock: u32) -> u64;
    fn acquired(&self, lock: u32, requested: u64);
    fn release(&self, lock: u32);
    fn begin(&self);
    fn end(&self);
}

impl<P: Probe + Sync> Hears for P {
    fn lock_at(&self, lock: u32, at: *const u8) {
        Probe::lock_at(self, lock, at);
    }
    fn request(&self, lock: u32) -> u64 {
        Probe::request(self, lock)
    }
    fn acquired(&self, lock: u32, requested: u64) {
        Probe::acquired(self, lock, requested);
    }
    fn release(&self, lock: u32) {
        Probe::release(self, lock);
    }
    fn begin(&self) {
        Probe::begin(self);
    }
    fn end(&self) {
        Probe::end(self);
    }
}

impl Probe for AnyProbe {
    fn lock_at(&self, lock: u32, at: *const u8) {
        self.0.lock_at(lock, at);
    }
    fn request(&self, lock: u32) -> u64 {
        self.0.request(lock)
    }
    fn acquired(&self, lock: u32, requested: u64) {
        self.0.acquired(lock, requested);
    }
    fn release(&self, lock: u32) {
        self.0.release(lock);
    }
    fn begin(&self) {
        self.0.begin();
    }
    fn end(&self) {
        self.0.end();
    }
}
