//! Compares latency against load with the reference, at a few points per curve to keep the tests
//! short. The whole table comes from `cargo run --release -p baton-noc --example reference_table`.

use crate::common::{CURVES, Curve};

fn curve(name: &str) -> &'static Curve {
    CURVES.iter().find(|c| c.name == name).unwrap()
}

/// Checks the reference's points at these loads: within 1% up to 80% of the saturation load, within
/// 4% up to 95%.
fn assert_near(name: &str, points: &[(f64, u64)]) {
    let curve = curve(name);
    for &(load, cycles) in points {
        let (_, reference) = curve.points().into_iter().find(|(l, _)| *l == load).unwrap();
        let part = load / curve.saturation_load();
        assert!(part <= 0.95, "{name} {load}: beyond the range that is promised");
        let tolerance = if part <= 0.80 { 0.01 } else { 0.04 };
        let result = curve.at(load, cycles, 3).run().unwrap();
        let error = result.packet_latency.mean / reference - 1.0;
        assert!(!result.saturated && error.abs() <= tolerance, "{name} {load}: {:.2}% off", 100.0 * error);
    }
}

/// Checks that the mean latency reaches three times its zero-load value within 2% of the
/// reference's range.
fn assert_saturates(name: &str, cycles: u64) {
    let curve = curve(name);
    let limit = 3.0 * curve.points()[0].1;
    let below = curve.at(0.98 * curve.saturation.0, cycles, 4).run().unwrap();
    assert!(!below.saturated && below.packet_latency.mean < limit, "{name}: saturates too early");
    let above = curve.at(1.02 * curve.saturation.1, cycles, 4).run().unwrap();
    assert!(above.saturated || above.packet_latency.mean >= limit, "{name}: saturates too late");
}

#[test]
fn mesh4_uniform() {
    assert_near("mesh4_uniform_1flit", &[(0.3, 20_000), (0.6, 20_000), (0.76, 40_000)]);
    assert_saturates("mesh4_uniform_1flit", 20_000);
}

#[test]
fn mesh8_uniform() {
    assert_near("mesh8_uniform_1flit", &[(0.05, 20_000), (0.34, 10_000), (0.41, 15_000)]);
    assert_saturates("mesh8_uniform_1flit", 8_000);
}

#[test]
fn mesh8_uniform_eight_flits() {
    assert_near("mesh8_uniform_8flit", &[(0.02, 20_000), (0.034, 30_000), (0.042, 30_000)]);
    assert_saturates("mesh8_uniform_8flit", 15_000);
}

#[test]
fn mesh8_transpose() {
    assert_near("mesh8_transpose_1flit", &[(0.07, 20_000), (0.11, 15_000), (0.13, 20_000)]);
    assert_saturates("mesh8_transpose_1flit", 15_000);
}

#[test]
fn mesh8_bitcomp() {
    assert_near("mesh8_bitcomp_1flit", &[(0.1, 15_000), (0.19, 10_000), (0.22, 15_000)]);
    assert_saturates("mesh8_bitcomp_1flit", 10_000);
}

#[test]
fn mesh16_uniform() {
    assert_near("mesh16_uniform_1flit", &[(0.12, 4_000), (0.205, 6_000)]);
    assert_saturates("mesh16_uniform_1flit", 4_000);
}
