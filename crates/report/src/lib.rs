//! Tables, plots, HTML, Perfetto, pprof, Parquet, CSV and JSON from a trace.
