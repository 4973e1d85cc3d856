//! What can be set of the workloads that move packets, jobs and vectors, and what is wrong with a file that they read.

use std::fmt;
use std::path::Path;
use thiserror::Error;

/// Whether a thread pushes a packet's header out of its caches when it has passed the packet on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prepush {
    /// No.
    #[default]
    None,
    /// To the level that all cores share (the paper's basic form).
    Shared,
    /// To the caches of the thread that takes it, where only one can, else to the shared level (the paper's advanced form). Thread n
    /// must run on CPU n.
    Consumer,
}

/// How workers come by jobs, or by tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// One slot a worker; the producer goes round and fills those that are idle: the paper's software baseline.
    Slots,
    /// One queue, from which all workers draw.
    Shared,
    /// A queue a worker, in turn.
    Dealt,
    /// A queue a worker in a queue device, whose load balancer chooses: CAF's form.
    Balanced,
    /// A deque a worker, from which the others steal. For tasks alone.
    Steal,
}

/// What adds the workers' vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The first worker, which has a queue from and a queue to each of the others.
    Master,
    /// A queue device's data reducer: CAF's form.
    Device,
}

macro_rules! named {
    ($Type:ident { $($Variant:ident $name:literal,)+ }) => {
        impl $Type {
            /// All of them.
            pub const ALL: &[$Type] = &[$($Type::$Variant),+];

            /// Its name on the command line.
            pub const fn name(self) -> &'static str {
                match self { $($Type::$Variant => $name),+ }
            }
        }
    };
}

named! { Prepush { None "none", Shared "shared", Consumer "consumer", } }
named! { Dispatch { Slots "slots", Shared "shared", Dealt "dealt", Balanced "balanced", Steal "steal", } }
named! { Reduction { Master "master", Device "device", } }

/// The settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inputs<'a> {
    /// A capture of packets; left out: they are made.
    pub packets: Option<&'a Path>,
    /// A firewall's rules; left out: its own.
    pub rules: Option<&'a Path>,
    /// Rows to learn from; left out: they are made.
    pub data: Option<&'a Path>,
    /// Threads of each stage of a pipeline.
    pub clusters: &'a [u32],
    /// Packet buffers; left out: as many as are needed, and 256 at least.
    pub pool: Option<usize>,
    /// 64-byte blocks of a packet that threads write and read.
    pub blocks: u32,
    /// One made packet in so many is suspicious.
    pub suspicious: u32,
    /// Packets of a bulk that a thread prefetches ahead.
    pub prefetch: u32,
    /// Whether headers are pushed.
    pub prepush: Prepush,
    /// How jobs are handed out; left out: as the queue suggests.
    pub dispatch: Option<Dispatch>,
    /// What adds vectors; left out: as the queue suggests.
    pub reduction: Option<Reduction>,
    /// Rows that a worker looks at in an iteration.
    pub rows: u32,
    /// Step size of the descent.
    pub step: f64,
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
        }
    }
}

/// Where in a file something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// In the file as a whole.
    File,
    /// In a line, from 1.
    Line(usize),
    /// At a byte, from 0.
    Byte(usize),
    /// In a packet, from 1, at a byte of the file.
    Packet(usize, usize),
}

/// An input file that cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub struct InputError {
    /// The file.
    pub file: String,
    /// Where in it.
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

/// What is wrong with a text or with bytes whose file is not known yet.
pub type Problem = (Spot, String);

/// Largest file that is read: it is read whole.
const MOST_BYTES: u64 = 1 << 30;

/// Reads a file whole and has it parsed.
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

/// The text of a file.
pub fn text(bytes: &[u8]) -> Result<&str, Problem> {
    std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
        (Spot::Line(line), "is no text; expected UTF-8".to_owned())
    })
}
