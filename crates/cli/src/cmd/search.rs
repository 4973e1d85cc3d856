//! `baton search`: searches a space for its best designs, by the Python module `baton.search`.

use super::sweep::python;
use std::ffi::OsString;
use std::process::ExitCode;

/// Options of `baton search`.
#[derive(clap::Args)]
#[command(after_help = "\
The search is done by Optuna, in the Python module that `make wheel` builds; so this needs Python
3.9 or newer and `pip install \"$(ls dist/*.whl)[search]\"`. BATON_PYTHON names another Python
than python3.
The points of a search are rows in the store of the space, and no point is run twice.

Options, which the module reads (docs/reference/studio.md):
  --minimize COLUMNS, --maximize COLUMNS   metrics or numeric settings; left out: the space's goal
  --require BOUND                          as in 'handoff<=500'; may be given several times
  --sampler tpe|cma-es|nsga2|random        left out: tpe, or nsga2 for several goals
  --trials N, --patience N                 most combinations; how many may leave the front as it was
  --prune KEY                              give up combinations that are behind at a fraction of KEY
  --against OTHER.toml, --seeds N          compare the best with another space's, with fresh seeds
  --decides morris|sobol, --samples N      which axes decide the goal?
  --surrogate                              fit a model to the rows of the store, and say its error
  --seed N, --store DIR, --jobs N, --json

Exit codes: 0 done, 1 no design is found, 2 bad input, or a Python package is missing, 130 ended by
Ctrl-C.

Examples:
  baton search space.toml
  baton search space.toml --minimize handoff,energy --require 'rate>=2'
  baton search space.toml --decides morris
  baton search examples/sweeps/design.toml --against examples/sweeps/chips.toml")]
pub(crate) struct Args {
    /// The file of the space, and options.
    #[arg(value_name = "SPACE.toml", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Runs the subcommand.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    python::module("baton.search", &args.arguments)
}
