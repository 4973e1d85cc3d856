//! The settings of the workloads that move packets, jobs and vectors, and the errors of the files
//! that they read.

use baton_machine::flows::FlowOrder;
use std::fmt;
use std::path::Path;
use thiserror::Error;

/// Whether a thread pushes a packet's header out of its caches after it has passed the packet on
/// (CAF's prepush: Wang and others, PACT 2016).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prepush {
    /// Headers are not pushed.
    #[default]
    None,
    /// Headers go to the cache level that all cores share (the basic form in CAF's paper).
    Shared,
    /// Headers go to the caches of the thread that takes the packet, where only one thread can take
    /// it, otherwise to the shared level (the advanced form in CAF's paper). Thread n must run on
    /// CPU n.
    Consumer,
}

/// How workers get their jobs or tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// One slot for each worker; the producer goes round and fills the slots of idle workers: the
    /// software baseline in CAF's paper.
    Slots,
    /// One queue, from which all workers take.
    Shared,
    /// A queue for each worker; jobs go to the queues in turn.
    Dealt,
    /// A queue for each worker in a queue device, whose load balancer chooses the queue: CAF's
    /// form.
    Balanced,
    /// A deque for each worker, from which the other workers steal. Only for tasks.
    Steal,
}

/// Whether the first worker or a queue device adds the workers' vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The first worker adds them. It has a queue from each of the other workers and a queue to
    /// each.
    Master,
    /// The data reducer of a queue device adds them: CAF's form.
    Device,
}

/// The name on the command line of what a queue with flows promises.
pub const fn kind_name(kind: FlowOrder) -> &'static str {
    match kind {
        FlowOrder::Directed => "directed",
        FlowOrder::Parallel => "parallel",
        FlowOrder::Atomic => "atomic",
        FlowOrder::Ordered => "ordered",
    }
}

macro_rules! named {
    ($Type:ident { $($Variant:ident $name:literal,)+ }) => {
        impl $Type {
            /// All variants.
            pub const ALL: &[$Type] = &[$($Type::$Variant),+];

            /// The name of the variant on the command line.
            pub const fn name(self) -> &'static str {
                match self { $($Type::$Variant => $name),+ }
            }
        }
    };
}

named! { Prepush { None "none", Shared "shared", Consumer "consumer", } }
named! { Dispatch { Slots "slots", Shared "shared", Dealt "dealt", Balanced "balanced", Steal "steal", } }
named! { Reduction { Master "master", Device "device", } }

/// The settings of the workloads with inputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inputs<'a> {
    /// A capture of packets; `None`: the packets are generated.
    pub packets: Option<&'a Path>,
    /// A file of a firewall's rules; `None`: the firewall's own rules.
    pub rules: Option<&'a Path>,
    /// A file of rows to learn from; `None`: the rows are generated.
    pub data: Option<&'a Path>,
    /// Number of threads of each stage of a pipeline.
    pub clusters: &'a [u32],
    /// Number of packet buffers; `None`: as many as the program needs, at least 256.
    pub pool: Option<usize>,
    /// Number of 64-byte blocks of a packet that threads write and read.
    pub blocks: u32,
    /// The reciprocal of the share of generated packets that are suspicious.
    pub suspicious: u32,
    /// Number of packets of a bulk that a thread prefetches ahead.
    pub prefetch: u32,
    /// Whether headers are pushed, and where to.
    pub prepush: Prepush,
    /// How jobs are handed out; `None`: as the queue suggests.
    pub dispatch: Option<Dispatch>,
    /// Which party adds vectors; `None`: as the queue suggests.
    pub reduction: Option<Reduction>,
    /// Number of rows that a worker looks at in an iteration.
    pub rows: u32,
    /// Step size of the descent.
    pub step: f64,
    /// What a queue with flows promises; `None`: nothing, if the workload runs on such a queue.
    pub kind: Option<FlowOrder>,
    /// Number of flows.
    pub flows: u32,
    /// Exponent of the flows' shares (Zipf); 0: all the same.
    pub zipf: f64,
    /// Share of the packets that the first flow has beyond that.
    pub elephant: f64,
    /// The window of a queue with flows.
    pub window: u16,
    /// Mean number of cycles that a producer of flows computes before each packet.
    pub gap: u64,
}

impl Default for Inputs<'_> {
    fn default() -> Self {
        Inputs {
            packets: None,
            rules: None,
            data: None,
            clusters: &[1, 4, 4, 1],
            pool: None,
            blocks: 3,
            suspicious: 8,
            prefetch: 3,
            prepush: Prepush::None,
            dispatch: None,
            reduction: None,
            rows: 8,
            step: 0.5,
            kind: None,
            flows: 64,
            zipf: 0.0,
            elephant: 0.0,
            window: 16,
            gap: 0,
        }
    }
}

/// Where in a file an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// The error is in the file as a whole.
    File,
    /// The number of a line, from 1.
    Line(usize),
    /// The number of a byte, from 0.
    Byte(usize),
    /// The number of a packet, from 1, and a byte of the file.
    Packet(usize, usize),
}

/// An input file that cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub struct InputError {
    /// The name of the file.
    pub file: String,
    /// Where in the file the error is.
    pub spot: Spot,
    /// What is wrong, and what was expected.
    pub problem: String,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InputError { file, spot, problem } = self;
        match spot {
            Spot::File => write!(f, "{file}: {problem}"),
            Spot::Line(line) => write!(f, "{file}:{line}: {problem}"),
            Spot::Byte(byte) => write!(f, "{file}: at byte {byte}: {problem}"),
            Spot::Packet(packet, byte) => write!(f, "{file}: packet {packet}, at byte {byte}: {problem}"),
        }
    }
}

/// What is wrong with a text or with bytes whose file name the caller knows.
pub type Problem = (Spot, String);

/// Bytes of the largest file that is read. A file is read whole.
const MOST_BYTES: u64 = 1 << 30;

/// Reads a file whole and has `parse` parse it.
pub fn open<T>(path: &Path, parse: impl FnOnce(&[u8]) -> Result<T, Problem>) -> Result<T, InputError> {
    let bad = |(spot, problem)| InputError { file: path.display().to_string(), spot, problem };
    let unreadable = |error: std::io::Error| bad((Spot::File, format!("cannot be read: {error}")));
    let about = std::fs::metadata(path).map_err(unreadable)?;
    if !about.is_file() {
        return Err(bad((Spot::File, "is no regular file; expected one".to_owned())));
    }
    if about.len() > MOST_BYTES {
        return Err(bad((Spot::File, format!("has {} bytes; expected at most {MOST_BYTES}", about.len()))));
    }
    parse(&std::fs::read(path).map_err(unreadable)?).map_err(bad)
}

/// The bytes of a file as text.
pub fn text(bytes: &[u8]) -> Result<&str, Problem> {
    std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
        (Spot::Line(line), "is no text; expected UTF-8".to_owned())
    })
}
