//! The source is opened, and the programs are started or attached.

use super::{Programs, Started};
use crate::error::Error;
use crate::journal::{self, Journal};
use crate::live::Live;
use crate::restore;
use crate::setup::Setup;
use crate::source::{Poll, Source, Switches};
use crate::sys::proc;
use baton_host::BadInput;
use baton_host::launch::exec::Exec;
use baton_machine::native::notices;
use baton_sched::AppId;
use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::process::{Child, Stdio};

/// The source, why it is not the better one, and the programs.
type Begun = (Source, Option<String>, Started);

/// What programs begin with.
pub(super) struct With<'a> {
    /// The variable by which the run's programs are known.
    pub(super) programs: &'a str,
    /// The path of each application's page.
    pub(super) pages: Vec<String>,
    /// The signals that they block.
    pub(super) blocked: libc::sigset_t,
}

/// Opens the source and starts the programs.
pub(super) fn begin_source(
    what: Programs,
    poll: bool,
    setup: &Setup,
    With { programs, pages, blocked }: With,
    live: &mut Live,
) -> Result<Begun, Error> {
    let (commands, to_stderr) = match what {
        Programs::Attach(pids) => {
            for (app, &pid) in (0..).map(AppId).zip(&pids) {
                live.expect(pid, app);
            }
            let because = "records cover only programs that the daemon starts".to_owned();
            return Ok((Source::Poll(Poll::begin(&pids)), Some(because), Started::Attached));
        }
        Programs::Start { programs, to_stderr } => (programs, to_stderr),
    };
    // Programs may leave the CPUs that this process may use, so all that are on are looked at.
    let usable = || (0..).zip(&setup.usable).filter(|(_, usable)| **usable).map(|(cpu, _)| cpu).collect();
    let online: Vec<u32> = proc::online().unwrap_or_else(usable);
    let (name, value) = programs.split_once('=').unwrap_or((programs, ""));
    let run = (name.to_owned(), value.to_owned());
    // The events follow the descendants of the thread that opens them, so a thread that does nothing
    // else starts the programs.
    let starter = std::thread::spawn(move || {
        let switches = if poll { Err(None) } else { Switches::open(&online).map_err(Some) };
        let mut children = Vec::new();
        for (at, mut exec) in commands.into_iter().enumerate() {
            let program = exec.name().to_owned();
            exec.blocks(blocked).set(&run.0, &run.1);
            if let Some(page) = pages.get(at) {
                exec.set(notices::VARIABLE, page);
            }
            match spawn(exec, to_stderr) {
                Ok(child) => children.push((child, None)),
                Err(error) => {
                    for (child, _) in &mut children {
                        let _ = child.kill().and_then(|()| child.wait().map(|_| ()));
                    }
                    return Err(Error::because(format!("cannot start {program}"))(error));
                }
            }
        }
        Ok((switches, children))
    });
    let (switches, children) = starter.join().expect("the thread does not panic")?;
    for (app, (child, _)) in (0..).map(AppId).zip(&children) {
        live.expect(child.id(), app);
    }
    let pids: Vec<u32> = children.iter().map(|(child, _): &(Child, Option<u8>)| child.id()).collect();
    let (source, because) = match switches {
        Ok(switches) => (Source::Switches(switches), None),
        Err(None) => (Source::Poll(Poll::begin(&pids)), Some("you asked for /proc".to_owned())),
        Err(Some(error)) => {
            (Source::Poll(Poll::begin(&pids)), Some(format!("the kernel gives no context-switch records: {error}")))
        }
    };
    Ok((source, because, Started::Children(children)))
}

fn spawn(exec: Exec, to_stderr: bool) -> std::io::Result<Child> {
    let mut command = exec.into_command().map_err(std::io::Error::other)?;
    if to_stderr {
        command.stdout(Stdio::from(std::io::stderr().as_fd().try_clone_to_owned()?));
    }
    command.spawn()
}

/// Checks that processes can be attached.
///
/// # Errors
/// If there is no such process, it is this one, it is named twice, or it belongs to another user.
pub fn check_attach(pids: &[u32]) -> Result<(), BadInput> {
    let user = journal::own_user();
    for (at, &pid) in pids.iter().enumerate() {
        if pid == std::process::id() {
            return Err(BadInput::new(format!("process {pid} is this command; expected another process")));
        }
        if pids[..at].contains(&pid) {
            return Err(BadInput::new(format!("process {pid} is named twice")));
        }
        if let Some(leader) = proc::leader(pid).filter(|&leader| leader != pid) {
            let hint = format!("attach {leader}");
            return Err(BadInput::new(format!("{pid} is a thread of process {leader}")).hint(hint));
        }
        match proc::owner(pid) {
            None => return Err(BadInput::new(format!("there is no process {pid}"))),
            Some(owner) if owner != user && user != 0 => {
                let hint = "attach processes of your own";
                return Err(BadInput::new(format!("process {pid} belongs to user {owner}, not to you")).hint(hint));
            }
            Some(_) if proc::command(pid).is_empty() => {
                return Err(BadInput::new(format!("process {pid} is a thread of the kernel or has ended")));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Checks that no other run places these processes, or children of them. Two daemons would each take the
/// other's masks for the user's.
///
/// # Errors
/// If a run that lives places one.
pub fn check_free(pids: &[u32]) -> Result<(), BadInput> {
    for path in journal::all() {
        let Some(journal) = Journal::read(&path).ok().filter(|journal| journal.head.is_live()) else { continue };
        let placed = restore::descendants(&journal);
        let above = placed.keys().flat_map(|&pid| ancestors(pid)).collect::<BTreeSet<u32>>();
        if let Some(pid) = pids.iter().find(|pid| placed.contains_key(pid) || above.contains(pid)) {
            let (daemon, _) = journal.head.daemon;
            let which = if *pid == std::process::id() { "this command's programs" } else { "its threads" };
            let why = format!("process {pid}: another baton sched (process {daemon}) places {which} already");
            return Err(BadInput::new(why).hint("end that run first; a --dry-run changes no masks"));
        }
    }
    Ok(())
}

/// The parent of a process, its parent, and so on.
fn ancestors(pid: u32) -> impl Iterator<Item = u32> {
    let parent = |&pid: &u32| proc::Stat::of(pid, pid).map(|stat| stat.parent).filter(|&parent| parent != 0);
    std::iter::successors(parent(&pid), parent)
}

/// The command of a process, for people.
pub fn command_of(pid: u32) -> String {
    proc::command(pid)
}
