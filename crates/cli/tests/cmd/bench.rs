//! `baton bench epcc` on the installed libgomp: the program compiles, every measurement comes back.

use serde_json::Value;
use std::process::Command;

#[test]
fn every_measurement_has_its_overheads() {
    let mut bench = Command::new(env!("CARGO_BIN_EXE_baton"));
    bench.args(["bench", "epcc", "--runtime", "libgomp", "--threads", "1,2", "--runs", "2", "--outer", "3"]);
    bench.args(["--target", "20", "--delay", "50", "--json"]);
    let output = bench.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let whole: Value = serde_json::from_slice(&output.stdout).unwrap();
    let columns = whole["columns"].as_array().unwrap();
    assert_eq!(columns.len(), 2);
    for (column, threads) in columns.iter().zip([1, 2]) {
        assert_eq!((column["runtime"].as_str(), column["threads"].as_u64()), (Some("libgomp"), Some(threads)));
        let rows = column["rows"].as_array().unwrap();
        let group = |name: &str| rows.iter().filter(|row| row["group"] == *name).count();
        assert_eq!(["sync", "sched", "chunk", "array", "task", "manners"].map(group), [10, 10, 7, 12, 10, 4]);
        for row in rows {
            let runs = row["runs"].as_array().unwrap();
            assert!(runs.len() == 2 && runs.iter().all(|run| run.as_array().unwrap().len() == 3), "{row}");
            assert!(row["low_ns"].as_f64() <= row["median_ns"].as_f64(), "{row}");
        }
        // The compiler has not removed the measured work: the 1,900 or so delays of a loop take at
        // least 100 times as long as one delay.
        let reference = |name: &str| rows.iter().find(|row| row["name"] == *name).unwrap()["reference_ns"].as_f64();
        assert!(reference("dynamic,8") > reference("single").map(|delay| 100.0 * delay), "{rows:?}");
    }
}
