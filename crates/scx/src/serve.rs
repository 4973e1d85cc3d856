//! Lines in, answers out, until the end.

use crate::kernel::Kernel;
use crate::members::Members;
use crate::protocol::{self, Line};
use anyhow::Context;
use std::io::{Read, Write};
use std::process::ExitCode;
use std::time::Duration;

/// The longest line.
const LONGEST: usize = 256;

/// Reads lines until `end`, the end of standard input, or the kernel's end of the scheduler. Returns
/// 1 in the last case.
pub(crate) fn serve(kernel: Kernel, all: bool, look: Duration) -> anyhow::Result<ExitCode> {
    ignore_signals();
    let mut members = (!all).then(Members::begin);
    answer("ready");
    let served = read_lines(&kernel, members.as_mut(), look);
    let left = kernel.left();
    if let Some(why) = &left {
        answer(&format!("left {}", why.replace('\n', " ")));
    }
    let counts: Vec<String> = kernel.counts().iter().map(|(name, count)| format!("{name} {count}")).collect();
    drop(kernel);
    if let Some(members) = &members {
        members.leave();
    }
    answer(&format!("counts {}", counts.join(" ")));
    served?;
    Ok(ExitCode::from(u8::from(left.is_some())))
}

fn read_lines(kernel: &Kernel, mut members: Option<&mut Members>, look: Duration) -> anyhow::Result<()> {
    let (mut input, mut rest, mut bytes) = (std::io::stdin().lock(), Vec::new(), [0; 65536]);
    while kernel.left().is_none() {
        if !can_be_read(look) {
            continue;
        }
        let count = input.read(&mut bytes).context("cannot read standard input")?;
        if count == 0 {
            return Ok(());
        }
        rest.extend_from_slice(&bytes[..count]);
        let whole = rest.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<u8> = rest.drain(..whole).collect();
        anyhow::ensure!(rest.len() <= LONGEST, "a line on standard input is longer than {LONGEST} bytes");
        for line in String::from_utf8_lossy(&lines).lines() {
            match protocol::read(line) {
                Some(Line::Place(tid, class)) => {
                    kernel.place(tid, class)?;
                    if let Some(members) = &mut members {
                        members.join(tid);
                    }
                }
                Some(Line::Beat) => {}
                Some(Line::End) => return Ok(()),
                None => anyhow::bail!("`{line}` on standard input; expected place, beat or end"),
            }
        }
        kernel.beat()?;
    }
    Ok(())
}

/// Waits until standard input has something or has ended, for a time at most.
fn can_be_read(time: Duration) -> bool {
    let mut input = libc::pollfd { fd: 0, events: libc::POLLIN, revents: 0 };
    // SAFETY: the kernel writes one structure, a local variable.
    unsafe { libc::poll(&raw mut input, 1, time.as_millis() as i32) > 0 }
}

/// Writes a line. A daemon that has ended reads none.
fn answer(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Signals of the terminal are for the programs and the daemon, which ends this program by closing
/// its standard input.
fn ignore_signals() {
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGPIPE] {
        // SAFETY: the signals get the kernel's own action.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}
