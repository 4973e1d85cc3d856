//! Where several queue devices hang on a mesh: at the nodes from which all others are the fewest
//! hops away on average, as the paper has it for 8 and 16 of them (figure 15); and the device from
//! which each core takes its items.

/// The nodes along a side of the mesh.
const SIDE: u32 = 8;
/// The number of nodes of the mesh.
pub(super) const NODES: u32 = SIDE * SIDE;

fn hops(a: u32, b: u32) -> u32 {
    (a % SIDE).abs_diff(b % SIDE) + (a / SIDE).abs_diff(b / SIDE)
}

/// The sum over all nodes of the hops to the nearest of `places`.
fn cost(places: &[u32]) -> u32 {
    (0..NODES).map(|node| places.iter().map(|place| hops(node, *place)).min().unwrap_or(0)).sum()
}

/// The nodes of `devices` devices. Starting from an even spread, each device in turn moves to where
/// the sum of hops is least, until none moves.
pub(super) fn places(devices: u32) -> Vec<u32> {
    let mut places: Vec<u32> = (0..devices).map(|device| (2 * device + 1) * NODES / (2 * devices)).collect();
    loop {
        let before = cost(&places);
        for device in 0..places.len() {
            let with = |node: u32| {
                let mut places = places.clone();
                places[device] = node;
                places
            };
            let free = (0..NODES).filter(|node| !places.contains(node) || places[device] == *node);
            let best = free.min_by_key(|node| (cost(&with(*node)), *node != places[device], *node));
            places = best.map_or_else(|| places.clone(), with);
        }
        if cost(&places) == before {
            places.sort_unstable();
            return places;
        }
    }
}

/// For each core its nearest device; of several nearest devices the one that the fewest cores have
/// so far.
pub(super) fn nearest(places: &[u32]) -> Vec<usize> {
    let mut taken = vec![0; places.len()];
    let choose = |node: u32| {
        let best = (0..places.len()).min_by_key(|device| (hops(node, places[*device]), taken[*device])).unwrap_or(0);
        taken[best] += 1;
        best
    };
    (0..NODES).map(choose).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caf_places_have_few_hops_and_no_core_a_far_device() {
        let mean = |devices: u32| f64::from(cost(&places(devices))) / f64::from(NODES);
        // A device in the middle of the mesh is four hops away on average. With four devices, each
        // in the middle of a quarter, it is two hops; `places` does no worse.
        assert_eq!(mean(1), 4.0);
        assert!(mean(4) <= 2.0, "{}", mean(4));
        assert!(mean(8) < 1.5 && mean(16) <= 0.9, "{} {}", mean(8), mean(16));
        for devices in [1, 4, 8, 16] {
            let places = places(devices);
            let nearest = nearest(&places);
            let far = (0..NODES).any(|node| {
                let own = hops(node, places[nearest[node as usize]]);
                places.iter().any(|other| hops(node, *other) < own)
            });
            assert!(!far && places.len() == devices as usize);
            assert!((0..places.len()).all(|device| nearest.contains(&device)));
        }
    }
}
