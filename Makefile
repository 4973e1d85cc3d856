# The two commands of a fresh clone are `make demo` and `make test`. Both need cargo, a C compiler and make.

CARGO ?= cargo
CC    ?= cc
# What the tests skipped for want of a program; each line says which test and which program.
SKIPPED := $(CURDIR)/target/skipped.txt

.PHONY: all build test lint docs bench tools

all: build

## build: the command, the preload library and the C library, in target/release
build: tools
	$(CARGO) build --release

## test: every test; names what it skips, and with CI=true a skip is a failure
test: tools
	@mkdir -p target && rm -f '$(SKIPPED)'
	BATON_SKIPPED='$(SKIPPED)' $(CARGO) test --workspace --no-fail-fast
	@scripts/skipped '$(SKIPPED)'

## lint: formatting and clippy, warnings are errors
lint: tools
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

## docs: the Rust documentation, warnings are errors
docs: tools
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps

## bench: the benchmarks
bench: tools
	$(CARGO) bench --workspace

tools:
	@scripts/need $(CARGO) $(CC)
