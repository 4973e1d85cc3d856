//! Makes a store of many rows, then opens and filters it, and prints how many seconds of a CPU each
//! of these steps took: `cargo run --release -p baton-studio --example million [ROWS]`.

use baton_studio::expr::Expr;
use baton_studio::hash::Pieces;
use baton_studio::store::{Column, Manifest, Role, Row, SpaceText, Store, Writer};
use baton_studio::value::{Kind, Value};
use std::error::Error;

/// Seconds that this thread has had a CPU.
fn cpu() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: u64 = text.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanoseconds as f64 * 1e-9)
}

fn main() -> Result<(), Box<dyn Error>> {
    let rows: u64 = std::env::args().nth(1).map_or(Ok(1_000_000), |rows| rows.parse())?;
    let folder = tempfile::tempdir()?;
    let column = |name: &str, role, kind| Column {
        name: name.into(),
        role,
        kind,
        unit: String::new(),
        what: String::new(),
        source: String::new(),
    };
    let columns = vec![
        column("lock", Role::Coordinate, Kind::Text),
        column("threads", Role::Coordinate, Kind::Whole),
        column("think", Role::Coordinate, Kind::Whole),
        column("noise.latency", Role::Coordinate, Kind::Number),
        column("rate", Role::Figure, Kind::Number),
        column("cycles", Role::Figure, Kind::Whole),
        column("handoff", Role::Figure, Kind::Whole),
    ];
    let manifest = Manifest::new("an example".into(), "sim", columns, SpaceText::default());
    let mut writer = Writer::open(folder.path(), &manifest, &[])?;
    let began = cpu()?;
    for i in 0..rows {
        let lock = ["tas", "ticket", "mcs", "clh"][(i % 4) as usize];
        let (threads, think, noise) = ((i / 4 % 64) as i64, (i / 256) as i64, (i % 10) as f64 / 10.0);
        let key = Pieces::default().and(i.to_le_bytes()).key();
        let mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        writer.record(Row {
            key,
            coordinates: vec![
                Some(Value::Text(lock.into())),
                Some(Value::Whole(threads)),
                Some(Value::Whole(think)),
                Some(Value::Number(noise)),
            ],
            seed: 1,
            figures: vec![
                Some(Value::Number(mixed as f64 / 1e18)),
                Some(Value::Whole((mixed >> 40) as i64)),
                Some(Value::Whole((mixed >> 54) as i64)),
            ],
            failure: None,
            command: format!(
                "baton sim --lock={lock} --threads={threads} --think={think} --set=noise.latency={noise} --seed=1"
            ),
        })?;
    }
    writer.close()?;
    println!("{rows} rows written in {:.2} s", cpu()? - began);
    let began = cpu()?;
    let condition = Expr::parse("lock == 'mcs' and threads >= 32").map_err(|fault| fault.to_string())?;
    let table = Store::open(folder.path())?.table(Some(&["lock", "threads", "rate"]), Some(&condition))?;
    println!("opened, filtered to {} rows and ordered in {:.2} s", table.len(), cpu()? - began);
    let began = cpu()?;
    let writer = Writer::open(folder.path(), &manifest, &[])?;
    println!("opened for a sweep in {:.2} s, with {} keys", cpu()? - began, writer.len());
    let bytes: u64 = folder.path().read_dir()?.flatten().filter_map(|entry| Some(entry.metadata().ok()?.len())).sum();
    println!("{:.1} bytes a row on the disk", bytes as f64 / rows as f64);
    Ok(())
}
