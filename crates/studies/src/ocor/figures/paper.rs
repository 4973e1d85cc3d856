//! The values that the paper's text prints of its programs. A value that only a bar of a figure
//! shows is left out.

/// A row of table 3: reductions of overhead and of the region's time.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) coh: f64,
    pub(super) roi: f64,
}

const fn row(name: &'static str, coh: f64, roi: f64) -> Row {
    Row { name, coh, roi }
}

/// Table 3.
const TABLE_3: [Row; 25] = [
    row("ferret", 35.5, 9.3),
    row("vips", 36.7, 9.7),
    row("fluidanimate", 32.0, 10.5),
    row("bodytrack", 33.0, 11.7),
    row("freqmine", 31.6, 13.1),
    row("streamcluster", 43.1, 13.9),
    row("x264", 44.8, 14.9),
    row("swaptions", 40.3, 15.7),
    row("facesim", 46.9, 16.0),
    row("dedup", 50.3, 16.9),
    row("canneal", 50.5, 19.5),
    row("imag", 12.5, 3.4),
    row("bt331", 20.8, 8.0),
    row("applu", 26.8, 9.9),
    row("smith", 29.4, 11.5),
    row("fma3d", 36.5, 12.5),
    row("bwaves", 33.9, 13.2),
    row("kdtree", 33.4, 13.3),
    row("md", 35.6, 14.1),
    row("nab", 39.7, 14.9),
    row("swim", 43.8, 17.1),
    row("mgrid", 55.7, 21.8),
    row("botsa", 58.1, 23.2),
    row("botss", 61.8, 24.4),
    row("ilbdc", 61.5, 24.5),
];

/// A program's row of table 3.
pub(super) fn table_3(name: &str) -> Option<&'static Row> {
    TABLE_3.iter().find(|row| row.name == name)
}

/// Figure 2: critical sections' share of the region, in percent.
pub(super) fn cs_share(name: &str) -> Option<f64> {
    let printed = [("bodytrack", 3.8), ("imag", 1.1), ("canneal", 9.3), ("ilbdc", 13.3)];
    printed.into_iter().find(|other| other.0 == name).map(|other| other.1)
}

/// Figures 2 and 14a, section 5.2.3: competition overhead's share of the region without marks, in percent.
pub(super) fn coh_share(name: &str) -> Option<f64> {
    let printed =
        [("bodytrack", 35.1), ("imag", 27.4), ("canneal", 38.6), ("ilbdc", 39.7), ("kdtree", 39.8), ("ferret", 26.1)];
    printed.into_iter().find(|other| other.0 == name).map(|other| other.1)
}

/// Figure 11b: acquisitions entered while spinning, without and with marks, in percent.
pub(super) fn spinning(name: &str) -> Option<[f64; 2]> {
    (name == "botss").then_some([25.7, 79.2])
}

/// Figure 15: reduction of overhead at 4, 16, 32 and 64 threads, in percent.
pub(super) const FIGURE_15: [(&str, [f64; 4]); 2] =
    [("imag", [1.7, 4.9, 9.2, 12.5]), ("ilbdc", [5.0, 18.3, 43.5, 61.5])];
