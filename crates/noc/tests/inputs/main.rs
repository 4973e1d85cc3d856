//! Tests of the files that the network reads: valid and invalid traces and routing tables.

mod netrace_files;
mod readers;
mod routes_file;
