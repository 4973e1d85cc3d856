//! The options of `baton sim`.

use super::inputs::InputArgs;
use super::workload::{Direction, Name};
use crate::chips::ChipArgs;
use baton_machine::Wait;
use clap::builder::ArgPredicate;
use std::path::PathBuf;

/// Options of `baton sim`.
#[derive(Clone, clap::Args)]
#[command(after_help = "\
Examples:
  baton sim --workload lock --lock mcs --threads 64 --set core.count=64 --set core.per_cluster=64
  baton sim --chip chips/sample-host.toml --workload lock --lock ticket --wait spin-park \\
      --threads 8 --cs 200 --json
  baton sim --workload barrier --barrier dissemination --threads 2 --think 5000
  baton sim --workload ring --queue mpmc --threads 4
  baton sim --chip caf16 --workload ring --queue qmd --threads 8 --bulk 8 --think 0
  baton sim --chip caf16 --workload firewall --queue qmd --bulk 8 --prepush shared
  baton sim --chip caf16 --workload firewall --queue ring --packets dump.pcap --rules rules.txt
  baton sim --chip caf16 --workload clusters --clusters 2,2 --queue ring --bulk 8 --think 0
  baton sim --chip caf16 --workload distributor --queue qmd --sweep dispatch=slots,balanced
  baton sim --chip caf16 --workload regression --queue ring-single --threads 8 --data rows.csv
  baton sim --chip ocor64 --workload lock --lock mcs --threads 64 --cycles 1000000 --json
  baton sim --chip opteron6272x4 --workload lock --lock mcs --threads 64 --iterations 50 --energy
  baton sim --chip ocor64 --workload chase --sweep bytes=8K,64K,512K,4M,32M --plot chase.html
  baton sim --chip ocor64 --workload lock --sweep threads=1,2,4,8,16,32,64 \\
      --sweep lock=tas,ticket,mcs --plot zoo.html
  baton sim --chip opteron6272x4 --workload barrier --sweep think=1000,100000,10000000 \\
      --sweep wait.mwait.c1.exit=100,10000 --least wait=pause,mwait,futex --plot map.html
  baton sim --chip opteron6272x4 --workload pingpong --pairs --iterations 20 --plot distance.html
  baton sim --chip ocor64 --workload dedup --threads 16 --size 65536 --grain 512
  baton sim --chip 1fc-12sc --set os.scheduler=pa --workload mg --threads 13 --barrier tree
  baton sim --chip ocor64 --profile profiles/ocor/imag.toml --draw 3 --load 2 --json
  baton sim --chip ocor64 --cores 8 --workload lock --lock futex --threads 8 \\
      --off 6-7 --off 5@200000 --on 5@900000 \\
      --app kdtree,threads=4,runs=3 \\
      --app lock,name=noise,threads=2,lock=ticket,nice=10,runs=background
  baton sim --chip 1fc-12sc --set os.scheduler=pa --set os.time_slice=230_000 --threads 8 \\
      --iterations 500 --app barrier,threads=4,name=job,copies=6,arrive=400_000")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) chip: ChipArgs,
    /// What the threads do.
    #[arg(long, value_enum, default_value = "lock", default_value_if("profile", ArgPredicate::IsPresent, "profile"))]
    pub(super) workload: Name,
    /// The lock (`baton list locks`). Left out: mcs, or spin-park for a profile.
    #[arg(long, default_value = "mcs", default_value_if("profile", ArgPredicate::IsPresent, "spin-park"))]
    pub(super) lock: String,
    /// The barrier.
    #[arg(long, default_value = "central")]
    pub(super) barrier: String,
    /// The queue.
    #[arg(long, default_value = "mpmc")]
    pub(super) queue: String,
    /// How threads wait (`baton list waits`). Left out: the lock's own policy, else pause.
    #[arg(long)]
    pub(super) wait: Option<Wait>,
    /// Threads. Left out: 2, or 1 for chase, 7 for firewall, 5 for distributor, 4 for regression,
    /// tasks, actors and flows, or one a core for a profile.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(super) threads: Option<u32>,
    /// The CPU of each thread, in order, as in 0,1,8: none moves. Left out: the system places them. A core is a CPU, or,
    /// with core.contexts, several: N and N + core.count are siblings.
    #[arg(long, value_name = "CPUS", value_delimiter = ',')]
    pub(super) at: Vec<u32>,
    /// Thread N runs on CPU N and stays there.
    #[arg(long, conflicts_with = "at")]
    pub(super) pin: bool,
    /// The threads' nice values, from -20 to 19: one for all, or one each, as in 0,5,-3. Left out: 0. Policies fair and eevdf.
    #[arg(long, value_name = "NICE", value_delimiter = ',', allow_hyphen_values = true)]
    pub(super) nice: Vec<i64>,
    /// Cores that are off: from the beginning, as in 3,5-7, or from a cycle on, as in 3@100000. May be given several times.
    #[arg(long, value_name = "CORES[@CYCLE]")]
    pub(super) off: Vec<String>,
    /// Cores that are switched on again at a cycle, as in 3@200000. May be given several times.
    #[arg(long, value_name = "CORES@CYCLE")]
    pub(super) on: Vec<String>,
    /// Another application on the same chip: a workload and options of this command, as in
    /// lock,threads=4,lock=ticket. It may also have name=NAME; runs=N, runs=background (until all
    /// others are through) or runs=together:N (until all that say so have run N times);
    /// start=CYCLE; copies=N (N applications); and arrive=MEAN (mean cycles between the starts of
    /// copies, drawn by the seed). The values of at, nice and clusters have + between them. May be
    /// given several times. The account of locks is the first application's.
    #[arg(long, value_name = "WORKLOAD,NAME=VALUE,…")]
    pub(super) app: Vec<String>,
    /// Cycles computed with the lock held.
    #[arg(long, value_name = "CYCLES", default_value_t = 100)]
    pub(super) cs: u64,
    /// Cycles computed between two acquisitions, meetings or items.
    #[arg(long, value_name = "CYCLES", default_value_t = 1000)]
    pub(super) think: u64,
    /// Computations lie within this share of --think.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    pub(super) spread: f64,
    /// Shared lines that each holder of the lock writes, or that read-mostly reads; lines of its own
    /// that a producer of ring writes before each item.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=4096))]
    pub(super) lines: u32,
    /// Bytes of chase's range, or of each of stream's.
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = size)]
    pub(super) bytes: u64,
    /// What stream does.
    #[arg(long, value_enum, default_value = "read")]
    pub(super) stream: Direction,
    /// Bytes from one thread's word to the next in false-sharing.
    #[arg(long, value_name = "SIZE", default_value = "8", value_parser = size)]
    pub(super) spacing: u64,
    /// In read-mostly, one access in N is a write; 0: none.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(super) one_write_in: u64,
    /// Places in the queue.
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub(super) capacity: usize,
    /// Items that a thread of ring, clusters or firewall moves through a queue at a time.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(super) bulk: u32,
    #[command(flatten)]
    pub(super) inputs: InputArgs,
    /// A program's size: pixels a side of image-filter, bytes of dedup's input, points of kdtree, keys of sort, letters
    /// of align's sequences; pairs of ep, points a side of ft and mg, letters of search's database, rows of fft; iterations of loop.
    #[arg(long, value_name = "N")]
    pub(super) size: Option<u32>,
    /// A program's grain: rows, bytes, points, keys or letters that a thread takes at a time; pairs of a batch of ep, letters of a
    /// query of search, points a side of the grids that one thread of mg works on alone; iterations of loop, which is shared out
    /// beforehand without it.
    #[arg(long, value_name = "N")]
    pub(super) grain: Option<u32>,
    /// A profile file, as profiles/ocor/imag.toml (docs/reference/workloads.md).
    #[arg(long, value_name = "FILE")]
    pub(super) profile: Option<PathBuf>,
    /// The number of one of the profile's draws.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) draw: u32,
    /// A profile's own misses, as a multiple of what its draw says.
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = load)]
    pub(super) load: f64,
    /// Rounds a thread, as packets of a producer of flows; packets or jobs of clusters, firewall
    /// and distributor in all; steps of regression and ft, cycles of mg, queries of search,
    /// transforms of fft. Left out: 1000 (30 for a profile, 100 for regression, 20 for epcc, 10 for
    /// loop, 3 for stream, a capture's packets, a kernel's own number), or as many as --cycles
    /// allows.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) iterations: Option<u64>,
    /// End the run at this cycle.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) cycles: Option<u64>,
    /// Number of CPUs in use: the first N. Left out: all.
    #[arg(long, value_name = "N")]
    pub(super) cpus: Option<u32>,
    /// Seed of the noise.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Leave out blocking, critical-section and overhead figures (for long runs: they are made from recorded events).
    #[arg(long)]
    pub(super) no_trace: bool,
    /// A run for each value, as in threads=1,2,4. Names: a key of the chip file, or an option of
    /// this command that takes one number or name (an unknown name lists them). A second one makes
    /// a line of the plot for each of its values.
    #[arg(long, value_name = "NAME=VALUES")]
    pub(super) sweep: Vec<String>,
    /// At each point of the sweep, which of these values has the least of the figure, and how far the next one is behind, as in
    /// wait=pause,mwait,futex.
    #[arg(long, value_name = "NAME=VALUES", requires = "sweep", conflicts_with = "most")]
    pub(super) least: Option<String>,
    /// The same, for the most of the figure.
    #[arg(long, value_name = "NAME=VALUES", requires = "sweep")]
    pub(super) most: Option<String>,
    /// With pingpong: one for each pair of cores.
    #[arg(long, conflicts_with_all = ["sweep", "at", "pin"])]
    pub(super) pairs: bool,
    /// What a sweep shows: a number in the JSON, as in lock.rate_per_kilocycle (`baton list figures`). Left out: what the
    /// workload is about.
    #[arg(long, value_name = "NAME", requires = "sweep")]
    pub(super) figure: Option<String>,
    /// Print the energy of the run, at the prices of the chip file's table `energy`. A missing
    /// price is an error.
    #[arg(long)]
    pub(super) energy: bool,
    /// Draw the sweep, or the pairs, into this page; the picture alone if the name ends with .svg.
    #[arg(long, value_name = "FILE.html|svg")]
    pub(super) plot: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn share(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| format!("`{text}` is no share; expected a number from 0 to 1"))
}

pub(super) fn load(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|load| (0.0..=1000.0).contains(load))
        .ok_or_else(|| format!("`{text}` is no load; expected a number from 0 to 1000"))
}

/// Reads the bytes of a range, at most as many as the simulated memory has room for.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let bytes = crate::values::size(text)?;
    if bytes <= 1 << 32 { Ok(bytes) } else { Err(format!("`{text}` is too large; expected at most 4G")) }
}
