//! Files that the network reads: traces and routes, right and wrong ones.

mod netrace_files;
mod readers;
mod routes_file;
