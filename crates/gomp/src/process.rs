//! The process's only runtime, and how it is set up before `main`.

use crate::environment::{environment, is_llvms, stack};
use crate::ompt;
use crate::shown;
use crate::variables::{self, variable};
use baton_machine::discover::{Topology, allowed_cpus, stay_on};
use baton_machine::native::{notices, sanitizer};
use baton_machine::{Machine, Native};
use baton_omp::team::Context;
use baton_omp::threads::Body;
use baton_omp::tool::Tool;
use baton_omp::{NativeThreads, Runtime, Schedule, ScheduleKind, Settings, Threads, settings};
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};

/// Where the runtime's threads come from. With OMP_DISPLAY_AFFINITY each thread prints its
/// affinity.
struct Shown(NativeThreads);

impl Threads for Shown {
    fn start(&self, body: Body) -> Result<(), String> {
        self.0.start(body)
    }

    fn refused(&self, asked: u32, threads: u32, why: &str) {
        static SAID: Once = Once::new();
        SAID.call_once(|| {
            eprintln!(
                "libbaton_gomp: a region asked for {asked} threads and gets {threads}: no more can be started: {why}"
            );
        });
    }

    fn cpus(&self) -> u32 {
        self.0.cpus()
    }

    fn bind(&self, cpus: &[u32]) {
        self.0.bind(cpus);
    }

    fn allowed(&self) -> Vec<u32> {
        self.0.allowed()
    }

    fn shows(&self, threads: u32) -> bool {
        // LLVM's library shows threads that are alone in their teams too.
        threads > 1 || is_llvms()
    }

    fn tool(&self) -> Option<&'static dyn Tool> {
        let was_on = ompt::is_on();
        let tool = ompt::start::tool(runtime(), variable, variables::warn);
        if was_on && tool.is_none() && !ompt::is_on() {
            // The tool does not want to be told.
            PLAIN.store(COULD_BE_PLAIN.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        tool
    }

    fn show(&self) {
        shown::show_affinity(place(), &shown::format());
    }
}

static RUNTIME: OnceLock<Runtime<Native>> = OnceLock::new();

/// The algorithm whose locks are words in place.
pub(crate) const IN_PLACE: &str = "adaptive";

/// Whether locks are words in place, and neither a checker of races nor a scheduler nor a tool must be
/// told of them. False until the settings are known.
pub(crate) static PLAIN: AtomicBool = AtomicBool::new(false);

/// The value of [`PLAIN`] if there is no tool.
static COULD_BE_PLAIN: AtomicBool = AtomicBool::new(false);

/// Whether a tool must be told of what the calling thread does. The first call starts the tool.
#[inline(always)]
pub(crate) fn has_tool() -> bool {
    #[cold]
    #[inline(never)]
    fn started() -> bool {
        place();
        ompt::is_on()
    }
    ompt::is_on() && started()
}

/// What `schedule(runtime)` means by LLVM's rules, under the name of its library: static if
/// OMP_SCHEDULE says nothing, and two kinds more. `None`: OMP_SCHEDULE is read as in libgomp.
fn llvms_schedule() -> Option<Schedule> {
    const MORE: [(&str, ScheduleKind); 2] =
        [("trapezoidal", ScheduleKind::Trapezoidal), ("static_steal", ScheduleKind::Dynamic)];
    if !is_llvms() {
        return None;
    }
    variable("OMP_SCHEDULE").map_or(Some(Schedule::default()), |text| settings::schedule(text.trim(), &MORE))
}

/// Prints the settings if OMP_DISPLAY_ENV or KMP_SETTINGS asks for it.
fn display(settings: &Settings) {
    if is_llvms() && variables::shows_settings() {
        shown::show_as_llvm(settings);
        if std::env::var_os("OMP_DISPLAY_ENV").is_none() {
            return;
        }
    }
    match variable("OMP_DISPLAY_ENV").unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "true" | "1" => shown::show_settings(settings, 0),
        "verbose" => shown::show_settings(settings, 1),
        _ => {}
    }
}

/// The runtime. The first call reads the environment; a bad BATON_OMP_* value ends the process with
/// exit status 2.
pub fn runtime() -> &'static Runtime<Native> {
    RUNTIME.get_or_init(|| {
        sanitizer::find();
        let threads = Shown(NativeThreads { stack: stack() });
        variables::tell();
        let before = variables::stay_on_subset();
        let warn = |text: String| variables::warn_of(&text);
        let schedule = llvms_schedule();
        let others = |name: &str| if name == "OMP_SCHEDULE" && schedule.is_some() { None } else { variable(name) };
        match Settings::read(threads.cpus(), others, warn) {
            Ok(mut settings) => {
                settings.llvms = is_llvms();
                settings.resets = variables::resets();
                settings.shows = environment().display_affinity;
                settings.read_places(variable, warn, || (Topology::discover(), allowed_cpus()));
                settings.icv.device = environment().device;
                settings.icv.allocator = environment().allocator;
                settings.block_ns = variables::block_ns();
                settings.throttles = variables::throttles();
                settings.icv.schedule = schedule.unwrap_or(settings.icv.schedule);
                let page = std::env::var(notices::VARIABLE).ok().and_then(|path| CString::new(path).ok());
                let is_told = page.is_some_and(|page| notices::open(&page)) && notices::are_heard();
                ompt::start::look(variable, variables::warn);
                let plain = settings.lock == IN_PLACE && !sanitizer::is_there() && !is_told;
                COULD_BE_PLAIN.store(plain, Ordering::Relaxed);
                // Relaxed: a thread that does not see this yet finds the same lock by the longer
                // way.
                PLAIN.store(plain && !ompt::is_on(), Ordering::Relaxed);
                display(&settings);
                let runtime = Runtime::new(settings, Box::new(threads));
                // Threads that are bound to places, which lie in the subset, are bound in time.
                if let Some(before) = before.filter(|_| !runtime.settings.places.is_empty()) {
                    _ = stay_on(&before);
                }
                runtime
            }
            Err(error) => {
                eprintln!("libbaton_gomp: {error}");
                // SAFETY: `_exit` ends the process without the program's exit handlers, which must
                // not run before its `main`.
                unsafe { libc::_exit(2) }
            }
        }
    })
}

/// The calling thread's context in its team. A function of the interface uses it until the function
/// returns, and not after it has ended a region.
#[inline]
pub fn place() -> &'static Context<Native> {
    known_place().unwrap_or_else(first_place)
}

/// Does what [`place`] does for a thread that has a place already.
#[inline(always)]
pub(crate) fn known_place() -> Option<&'static Context<Native>> {
    // A thread with a place got it from this runtime, as the process has no other.
    // SAFETY: see above.
    unsafe { Runtime::known() }
}

/// Does what [`place`] does. An initial thread is bound to its place first, if it is still to be.
pub(crate) fn bound_place() -> &'static Context<Native> {
    runtime().bind_initial();
    place()
}

#[cold]
#[inline(never)]
fn first_place() -> &'static Context<Native> {
    // SAFETY: as in `known_place`.
    unsafe { runtime().context() }
}

extern "C" fn child() {
    notices::forked();
    // SAFETY: called in the child of a fork, which has no other thread.
    RUNTIME.get().into_iter().for_each(|runtime| unsafe { runtime.forked() });
}

/// Whether the environment is read before `main`. Under the name of LLVM's library it is read when
/// the program calls the library first, as there: `main` may set variables before. A tool, and a
/// variable `BATON_OMP_*`, are looked at in any case before the program runs.
fn reads_at_once() -> bool {
    let ours = || std::env::vars_os().any(|(name, _)| name.as_encoded_bytes().starts_with(b"BATON_OMP_"));
    !is_llvms() || ours() || ompt::start::may_be(variable)
}

extern "C" fn set_up() {
    // The thread that loads the library gets the number 0, as a rule the initial thread.
    Native::local();
    if reads_at_once() {
        runtime();
        // A tool is started before `main`, as LLVM's library does.
        Shown(NativeThreads { stack: None }).tool();
    }
    // SAFETY: `child` only releases memory of the forking thread, the only thread of a fork's
    // child.
    unsafe { libc::pthread_atfork(None, None, Some(child)) };
}

/// Called by the dynamic loader before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static SET_UP: extern "C" fn() = set_up;
