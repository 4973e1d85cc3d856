//! A program with its arguments and its environment, ready to be executed.

use super::program::Program;
use super::signals::inherit_pipe;
use crate::error::Failed;
use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicPtr;

/// The variable whose value is the id of the process that will run the program. The id is known
/// only after the fork.
const ONLY_PID: &str = "BATON_ONLY_PID";
/// The number of digits that are reserved for the id.
const DIGITS: usize = 10;

/// A program to execute.
pub struct Exec {
    program: Program,
    /// The arguments, beginning with the command's name.
    args: Vec<OsString>,
    env: BTreeMap<OsString, OsString>,
    only_it: bool,
    silent: bool,
    mortal: bool,
    stops: bool,
    blocked: Option<libc::sigset_t>,
}

impl Exec {
    /// The program with its arguments; the first argument is the command as the user typed it. The
    /// environment is Baton's own without the variables that control the preload library.
    pub fn new(program: Program, args: Vec<OsString>) -> Exec {
        let ours = |key: &OsStr| key.as_bytes().starts_with(b"BATON_");
        let env = std::env::vars_os().filter(|(key, _)| !ours(key)).collect();
        Exec { program, args, env, only_it: false, silent: false, mortal: false, stops: false, blocked: None }
    }

    /// The program's name, for messages.
    pub fn name(&self) -> &str {
        self.program.path.file_name().and_then(OsStr::to_str).unwrap_or("the program")
    }

    /// Sets an environment variable.
    pub fn set(&mut self, key: &str, value: impl AsRef<OsStr>) -> &mut Exec {
        self.env.insert(key.into(), value.as_ref().into());
        self
    }

    /// Loads `library` before every other library. Libraries that the user preloads come after it.
    pub fn preload(&mut self, library: &Path) -> &mut Exec {
        let mut value = library.as_os_str().to_owned();
        if let Some(theirs) = self.env.get(OsStr::new("LD_PRELOAD")).filter(|v| !v.is_empty()) {
            value.push(":");
            value.push(theirs);
        }
        self.set("LD_PRELOAD", value)
    }

    /// Runs the program without input and discards what it writes to standard output, which is
    /// reserved for Baton's own answer.
    pub fn silent(&mut self) -> &mut Exec {
        self.silent = true;
        self
    }

    /// Has the kernel kill the program when the thread that starts it ends, and so also when this
    /// process ends, in whatever way. Processes that the program started are not killed.
    pub fn ends_with_us(&mut self) -> &mut Exec {
        self.mortal = true;
        self
    }

    /// Stops the program when it is executed, traced by the thread that starts it, for
    /// [`Entries::of`](super::entries::Entries::of).
    pub fn stops_when_executed(&mut self) -> &mut Exec {
        self.stops = true;
        self
    }

    /// Has the program begin with these signals blocked, instead of those of the thread that starts it.
    pub fn blocks(&mut self, signals: libc::sigset_t) -> &mut Exec {
        self.blocked = Some(signals);
        self
    }

    /// Makes the preload library act in the program's own process only, and not in processes that
    /// the program starts.
    pub fn only_it(&mut self) -> &mut Exec {
        self.only_it = true;
        self
    }

    /// The command that executes the program.
    ///
    /// The child writes its own process id into its environment, which `Command` does not support.
    /// All memory is therefore laid out before the fork, and the child fills in the digits just
    /// before it becomes the program.
    pub fn into_command(mut self) -> Result<Command, Failed> {
        if self.only_it {
            self.set(ONLY_PID, "0".repeat(DIGITS));
        }
        let zero = || Failed::because("an argument or a variable has a zero byte in it");
        let path = CString::new(self.program.path.as_os_str().as_bytes()).map_err(zero())?;
        let args: Vec<CString> =
            self.args.into_iter().map(|arg| CString::new(arg.into_vec())).collect::<Result<_, _>>().map_err(zero())?;
        let mut env: Vec<Vec<u8>> = Vec::new();
        let mut pid_at = None;
        for (key, value) in self.env {
            if key == ONLY_PID {
                pid_at = Some((env.len(), key.len() + 1));
            }
            env.push([key.as_bytes(), b"=", value.as_bytes(), b"\0"].concat());
        }
        let argv = pointers(args.iter().map(|arg| arg.as_ptr().cast_mut()));
        let envp = pointers(env.iter().map(|entry| entry.as_ptr().cast_mut().cast()));
        let mut command = Command::new(&self.program.path);
        if self.silent {
            command.stdin(Stdio::null()).stdout(Stdio::null());
        }
        let (parent, stops, blocked) = (self.mortal.then(std::process::id), self.stops, self.blocked);
        let execute = move || {
            if let Some(parent) = parent {
                die_with(parent);
            }
            if stops {
                // SAFETY: `ptrace` may be called between fork and exec, and gets no pointer.
                unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) };
            }
            if let Some((entry, start)) = pid_at {
                write_digits(&mut env[entry][start..start + DIGITS], std::process::id());
            }
            let _kept_alive = &args;
            inherit_pipe();
            if let Some(signals) = &blocked {
                // SAFETY: `sigprocmask` may be called between fork and exec, and reads a set that the closure owns.
                unsafe { libc::sigprocmask(libc::SIG_SETMASK, signals, std::ptr::null_mut()) };
            }
            // SAFETY: an AtomicPtr lies in memory as a pointer does. Both lists end in a null pointer, every string in
            // a zero byte, and the strings are alive: the closure owns them, and writing digits moved none.
            unsafe { libc::execve(path.as_ptr(), argv.as_ptr().cast(), envp.as_ptr().cast()) };
            Err(std::io::Error::last_os_error())
        };
        // SAFETY: between fork and exec the closure allocates nothing; it writes into memory that
        // is the child's own copy and calls prctl, getppid, ptrace, getpid, signal, sigprocmask and
        // execve, which may be called there.
        unsafe { command.pre_exec(execute) };
        Ok(command)
    }
}

/// Has the kernel kill the calling process when the thread that forked it ends. Kills the process at
/// once if `parent` is not its parent any more: then that thread has ended already.
fn die_with(parent: u32) {
    // SAFETY: `prctl`, `getppid` and `raise` may be called between fork and exec, and get no pointer.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() as u32 != parent {
            libc::raise(libc::SIGKILL);
        }
    }
}

/// A list of pointers for execve that ends with a null pointer. The pointers are atomic, because
/// bare pointers cannot be moved to another thread.
fn pointers(strings: impl Iterator<Item = *mut libc::c_char>) -> Vec<AtomicPtr<libc::c_char>> {
    strings.chain(std::iter::once(std::ptr::null_mut())).map(AtomicPtr::new).collect()
}

/// Writes `number` in decimal, padded with zeros on the left.
fn write_digits(place: &mut [u8], mut number: u32) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::program;

    fn output(exec: Exec) -> String {
        let mut command = exec.into_command().unwrap();
        String::from_utf8(command.stdout(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap().stdout).unwrap()
    }

    fn sh(script: &str) -> Exec {
        let args = vec!["sh".into(), "-c".into(), script.into(), "zero".into(), "one".into()];
        Exec::new(program::find(OsStr::new("sh")).unwrap(), args)
    }

    #[test]
    fn arguments_and_variables_arrive() {
        let mut exec = sh("echo $0 $1 $KEY; env | grep -c '^PATH='");
        exec.set("KEY", "value");
        assert_eq!(output(exec), "zero one value\n1\n");
    }

    #[test]
    fn the_process_knows_that_it_is_the_one() {
        let mut exec = sh("test $$ -eq ${BATON_ONLY_PID#000} && echo yes || echo $$ $BATON_ONLY_PID");
        exec.only_it();
        assert_eq!(output(exec), "yes\n");
        assert_eq!(output(sh("echo ${BATON_ONLY_PID-unset}")), "unset\n");
    }

    #[test]
    fn a_program_whose_parent_has_ended_before_it_could_say_so_is_killed() {
        use std::os::unix::process::ExitStatusExt;
        let status = |parent: u32| {
            let mut command = Command::new("true");
            // SAFETY: `die_with` may be called between fork and exec.
            unsafe {
                command.pre_exec(move || {
                    die_with(parent);
                    Ok(())
                })
            };
            command.spawn().map(|mut child| child.wait().unwrap())
        };
        assert_eq!(status(std::process::id()).unwrap().code(), Some(0));
        // Process 1 is not the child's parent.
        match status(1) {
            Ok(status) => assert_eq!(status.signal(), Some(libc::SIGKILL)),
            Err(error) => panic!("{error}"),
        }
        let mut exec = sh("echo alive");
        exec.ends_with_us();
        assert_eq!(output(exec), "alive\n");
    }

    #[test]
    fn a_program_blocks_the_signals_that_it_is_to_block() {
        std::thread::spawn(|| {
            // SAFETY: the sets are local variables, and all-zero bytes are a valid set.
            let none = unsafe {
                let (mut none, mut usr1): (libc::sigset_t, libc::sigset_t) = (std::mem::zeroed(), std::mem::zeroed());
                libc::sigaddset(&raw mut usr1, libc::SIGUSR1);
                libc::pthread_sigmask(libc::SIG_SETMASK, &raw const usr1, &raw mut none);
                libc::sigemptyset(&raw mut none);
                none
            };
            let grep = || {
                let args = ["grep", "SigBlk", "/proc/self/status"].map(OsString::from).to_vec();
                Exec::new(program::find(OsStr::new("grep")).unwrap(), args)
            };
            assert_eq!(output(grep()), format!("SigBlk:\t{:016x}\n", 1 << (libc::SIGUSR1 - 1)));
            let mut exec = grep();
            exec.blocks(none);
            assert_eq!(output(exec), format!("SigBlk:\t{:016x}\n", 0));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn our_library_comes_first() {
        let mut exec = sh("true");
        exec.set("LD_PRELOAD", "theirs.so");
        exec.preload(Path::new("/ours.so"));
        assert_eq!(exec.env[OsStr::new("LD_PRELOAD")], "/ours.so:theirs.so");
    }

    #[test]
    fn a_zero_byte_is_an_error() {
        let exec = Exec::new(program::find(OsStr::new("sh")).unwrap(), vec!["a\0b".into()]);
        assert!(exec.into_command().unwrap_err().to_string().contains("zero byte"));
    }
}
