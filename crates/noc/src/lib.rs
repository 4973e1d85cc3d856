//! Network on chip: topology, routing, router, arbitration, traffic.
