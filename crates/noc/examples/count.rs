use baton_noc::experiment::Experiment;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let rate: f64 = a[1].parse().unwrap();
    let cycles: u64 = a[2].parse().unwrap();
    let side: u32 = a.get(3).map_or(8, |s| s.parse().unwrap());
    let mut e = Experiment::default();
    e.network.topology = baton_noc::topology::TopologyConfig::Mesh { size: [side; 2] };
    e.traffic[0].rate = rate;
    e.cycles = cycles;
    let t = std::time::Instant::now();
    let r = e.run().unwrap();
    println!("{} {} {:.1}ns/hop", r.flit_hops, r.cycles, t.elapsed().as_nanos() as f64 / r.flit_hops as f64);
}
