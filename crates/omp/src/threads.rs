//! Where threads come from. [`Machine`](baton_machine::Machine) starts none, so the runtime asks
//! this trait.

/// The function that a thread runs.
pub type Body = Box<dyn FnOnce() + Send>;

/// Threads and CPUs of a machine.
pub trait Threads: Send + Sync + 'static {
    /// Starts a thread that runs `body` and is never joined. The error says why no thread was
    /// started.
    fn start(&self, body: Body) -> Result<(), String>;

    /// Called when a region that asked for `asked` threads gets only `threads`, because no more can
    /// be started, for the reason `why`.
    fn refused(&self, asked: u32, threads: u32, why: &str) {
        let _ = (asked, threads, why);
    }

    /// How many CPUs the process may use; at least one.
    fn cpus(&self) -> u32;

    /// Binds the calling thread to these CPUs. If that fails, the thread's binding stays as it was.
    fn bind(&self, cpus: &[u32]) {
        let _ = cpus;
    }

    /// The CPUs that the calling thread may run on; none if that is not known.
    fn allowed(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Whether [`show`](Threads::show) is to be called by the threads of a region of `threads`.
    fn shows(&self, threads: u32) -> bool {
        let _ = threads;
        false
    }

    /// The tool that is told of threads, regions and tasks; `None`: there is none. Called before a
    /// thread becomes an initial thread or a worker; each call returns the same.
    fn tool(&self) -> Option<&'static dyn crate::tool::Tool> {
        None
    }

    /// Called by each thread of a region, if the user asks for it and the number or the places of its
    /// threads differ from those of the last region at the same level.
    fn show(&self) {}
}

/// The threads of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeThreads {
    /// Bytes of a worker's stack; `None`: 8 MiB.
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

    fn allowed(&self) -> Vec<u32> {
        baton_machine::discover::allowed_cpus()
    }
}
