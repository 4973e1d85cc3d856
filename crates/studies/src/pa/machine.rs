//! Configurations of fast and slow cores: the paper's three, and others to compare with.

use serde::Serialize;

/// The machines of set 1.
pub(super) const MACHINES: [Machine; 2] = [Machine::One, Machine::Four];

/// The number of cores of the chip file.
pub(super) const CORES: u32 = 16;
/// The clock of a fast core, in hertz.
const FAST: u64 = 2_300_000_000;

/// Which cores are fast, which are slow, and which are off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Machine {
    /// 1FC-12SC: one fast core, alone on its processor, and three processors of four slow ones.
    One,
    /// 4FC-12SC: a fast core and three slow ones on each of four processors.
    Four,
    /// 1FC-3SC: one processor, one of its cores fast.
    Single,
    /// Like 1FC-12SC, but with the fast core beside three slow ones on its processor.
    Near,
    /// Eight fast cores and eight slow ones, two and two on each processor.
    Half,
}

impl Machine {
    pub(super) fn name(self) -> &'static str {
        match self {
            Machine::One => "1FC-12SC",
            Machine::Four => "4FC-12SC",
            Machine::Single => "1FC-3SC",
            Machine::Near => "1FC-12SC, the fast core beside slow ones",
            Machine::Half => "8FC-8SC",
        }
    }

    /// The slow cores, and the cores that are off.
    fn cores(self) -> [&'static [u32]; 2] {
        match self {
            Machine::One => [&[4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], &[1, 2, 3]],
            Machine::Four => [&[1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15], &[]],
            Machine::Single => [&[1, 2, 3], &[]],
            Machine::Near => [&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], &[13, 14, 15]],
            Machine::Half => [&[2, 3, 6, 7, 10, 11, 14, 15], &[]],
        }
    }

    /// The number of cores to which the chip is resized; `None` to keep it.
    pub(super) fn resized(self) -> Option<u32> {
        (self == Machine::Single).then_some(4)
    }

    fn all(self) -> u32 {
        self.resized().unwrap_or(CORES)
    }

    /// The cores that are on.
    pub(super) fn on(self) -> Vec<u32> {
        (0..self.all()).filter(|core| !self.cores()[1].contains(core)).collect()
    }

    /// The cores that are fast.
    pub(super) fn fast(self) -> Vec<u32> {
        self.on().into_iter().filter(|core| !self.cores()[0].contains(core)).collect()
    }

    /// A fast core and a slow one.
    pub(super) fn ends(self) -> [u32; 2] {
        [self.fast()[0], self.cores()[0][0]]
    }

    /// The keys that make the machine of the chip file. The clock of slow cores is that of the fast
    /// ones divided by `ratio`, which is in tenths. At equal clocks, all cores have the clock that
    /// slow cores have at a ratio of 2, and the fast cores are named.
    pub(super) fn settings(self, ratio: u64) -> Vec<String> {
        let [slow, off] = self.cores();
        let text = |cores: &[u32]| cores.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        let clocks = |cores: &[u32], clock: u64| {
            let each: Vec<String> = cores.iter().map(|core| format!("{core}:{clock}")).collect();
            format!("core.clocks={}", each.join(" "))
        };
        let mut settings = match ratio {
            10 => vec![
                clocks(&(0..self.all()).collect::<Vec<_>>(), FAST / 2),
                format!("os.amp.fast_cores={}", text(&self.fast())),
            ],
            _ => vec![clocks(slow, FAST * 10 / ratio)],
        };
        // The list may be empty: it replaces that of a chip file that has cores off itself.
        settings.push(format!("os.off={}", text(off)));
        settings
    }
}
