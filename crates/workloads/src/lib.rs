//! Micro-workloads and kernels over Machine.
