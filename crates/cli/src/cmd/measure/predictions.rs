//! The predictions of `baton whatif --json`: the part of its output that is compared with
//! measurements.

use crate::error::BadInput;
use baton_replay::doubt::Interval;
use baton_report::html::Predicted;
use baton_units::Nanos;
use serde::Deserialize;
use std::path::Path;

/// A lock's prediction.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct LockPrediction {
    pub(super) lock: String,
    pub(super) wait: String,
    #[serde(default)]
    pub(super) recorded: bool,
    pub(super) time_ns: Spread,
    #[serde(default)]
    interval_ns: Option<Interval>,
    overhead_ns: Spread,
    /// Number of seeds whose run was cut off, because it took much longer than the recorded run.
    #[serde(default)]
    pub(super) cut_off: u32,
    /// The network of the simulated chip, where the user asked for several networks.
    #[serde(default)]
    network: Option<Named>,
    /// The reason why the whole prediction should not be trusted; set from the document.
    #[serde(skip)]
    doubt: Option<String>,
}

/// A network, by its name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Named {
    name: String,
}

/// A figure over seeds.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Spread {
    pub(super) median: u64,
    low: u64,
    high: u64,
}

/// The JSON document.
#[derive(Deserialize)]
struct Document {
    results: Vec<LockPrediction>,
    trustworthy: bool,
    #[serde(default)]
    reasons: Vec<String>,
}

/// Reads the document.
pub(super) fn read(path: &Path) -> Result<Vec<LockPrediction>, BadInput> {
    let text = baton_trace::files::read(path, 256 << 20)
        .map_err(|e| BadInput::new(format!("cannot read {}: {e}", path.display())))?;
    parse(&text).map_err(|e| {
        BadInput::new(format!("{}: line {}, column {}: {e}", path.display(), e.line(), e.column()))
            .hint("expected what `baton whatif DIR --json` prints")
    })
}

fn parse(text: &[u8]) -> serde_json::Result<Vec<LockPrediction>> {
    let document: Document = serde_json::from_slice(text)?;
    let doubt = (!document.trustworthy).then(|| format!("untrustworthy: {}", document.reasons.join("; ")));
    // This machine has one network: if the document has several, the first represents it.
    let first = document.results.iter().find_map(|said| said.network.clone());
    // A lock whose every replay failed has no figures.
    let here = document.results.into_iter().filter(|said| said.network.is_none() || said.network == first);
    let here = here.filter(|said| said.time_ns.median != 0);
    Ok(here.map(|said| LockPrediction { doubt: doubt.clone(), ..said }).collect())
}

impl LockPrediction {
    /// Whether a run was cut off: the predicted time is a lower bound.
    pub(super) fn collapses(&self) -> bool {
        self.cut_off > 0
    }

    /// The prediction as a row of a page.
    pub(super) fn row(&self) -> Predicted {
        // The whole reason stands once, at the recorded lock; it holds for all rows.
        let doubt = self.doubt.as_ref().map(|why| if self.recorded { why.clone() } else { "untrustworthy".into() });
        let cut_off = self.collapses().then(|| "collapses: at least this long".to_owned());
        Predicted {
            lock: self.lock.clone(),
            wait: self.wait.clone(),
            predicted_ns: Nanos(self.time_ns.median),
            low_ns: Nanos(self.time_ns.low),
            high_ns: Nanos(self.time_ns.high),
            interval_ns: self.interval_ns.map(|of| (Nanos(of.low), of.high.map(Nanos))),
            overhead_ns: Some(Nanos(self.overhead_ns.median)),
            measured_ns: None,
            measured_range_ns: None,
            recorded: self.recorded,
            remark: cut_off.or(doubt),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = r#"{"trustworthy":false,"reasons":["the check is off by 20%"],"results":[
        {"lock":"mcs","wait":"pause","recorded":true,"time_ns":{"median":5,"low":4,"high":6},
         "interval_ns":{"low":3,"high":null},"overhead_ns":{"median":1,"low":1,"high":1},"cut_off":0,"speedup":1.5}]}"#;

    #[test]
    fn a_document_is_read_and_its_doubts_are_kept() {
        let row = parse(DOCUMENT.as_bytes()).unwrap()[0].row();
        assert_eq!((row.predicted_ns, row.overhead_ns), (Nanos(5), Some(Nanos(1))));
        assert_eq!(row.remark.unwrap(), "untrustworthy: the check is off by 20%");
        assert_eq!(row.interval_ns, Some((Nanos(3), None)));
        let other = parse(DOCUMENT.replace("true", "false").as_bytes()).unwrap()[0].row();
        assert_eq!(other.remark.unwrap(), "untrustworthy");
        assert!(parse(b"{}").is_err());
    }
}
