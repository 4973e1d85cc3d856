//! Where threads come from: beside [`Machine`](baton_machine::Machine), which starts none.

/// What a thread is to run.
pub type Body = Box<dyn FnOnce() + Send>;

/// Threads and CPUs of a machine.
pub trait Threads: Send + Sync + 'static {
    /// Starts a thread that runs `body` and that no thread joins. The error says why there is none.
    fn start(&self, body: Body) -> Result<(), String>;

    /// Told when a region that asked for `asked` threads gets `threads`, as no more can be started, for the reason `why`.
    fn refused(&self, asked: u32, threads: u32, why: &str) {
        let _ = (asked, threads, why);
    }

    /// How many CPUs the process may use; at least one.
    fn cpus(&self) -> u32;

    /// Binds the calling thread to these CPUs. Where that fails it stays where it is.
    fn bind(&self, cpus: &[u32]) {
        let _ = cpus;
    }

    /// Whether [`show`](Threads::show) is to be called.
    fn shows(&self) -> bool {
        false
    }

    /// Called by each thread of a region of several where their number or their places are not those of the last one at that level.
    fn show(&self) {}
}

/// The threads of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeThreads {
    /// Bytes of a worker's stack; `None`: the system's default.
    pub stack: Option<usize>,
}

impl Threads for NativeThreads {
    fn start(&self, body: Body) -> Result<(), String> {
        let builder = std::thread::Builder::new();
        let builder = match self.stack {
            Some(bytes) => builder.stack_size(bytes),
            None => builder.stack_size(8 << 20),
        };
        builder.spawn(body).map(drop).map_err(|error| error.to_string())
    }

    fn cpus(&self) -> u32 {
        std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
    }

    fn bind(&self, cpus: &[u32]) {
        let _ = baton_machine::discover::stay_on(cpus);
    }
}
