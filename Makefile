# The two commands of a fresh clone are `make demo` and `make test`. Both need cargo, a C compiler and make.

CARGO ?= cargo
CC    ?= cc
RUFF  ?= ruff
# What renders the book; `make book` installs it where it is missing.
MDBOOK_VERSION := 0.5.4
MDBOOK ?= target/tools/bin/mdbook
# What the tests skipped for want of a program; each line says which test and which program.
SKIPPED := $(CURDIR)/target/skipped.txt

PREFIX  ?= /usr/local
DESTDIR ?=
# Where cargo left what is installed.
BUILT   ?= target/release

# How cargo runs each program of tests.
RUNNER = CARGO_TARGET_$(shell $(CARGO) -vV 2>/dev/null | sed -n 's/^host: //p' | tr a-z- A-Z_)_RUNNER=scripts/test-program

# The names by which programs of clang ask for their OpenMP library: Debian's, LLVM's own, Intel's.
LLVM_NAMES := libomp.so.5 libomp.so libiomp5.so

# The demo: threads that share a cache under one lock, more of them than a small machine has CPUs.
DEMO          ?= demo
DEMO_THREADS  ?= 4
DEMO_REQUESTS ?= 150000
DEMO_RUNS     ?= 5
DEMO_SEEDS    ?= 3
# Locks that are predicted; the three that are predicted best are measured.
DEMO_LOCKS    ?= spin-park,adaptive,ttas,mcs-barging,mcs,ticket

.PHONY: all demo build test counts lint tables docs book bench peers scx install install-c tools wheel python python-lock

all: build

## build: the command, the preload library, the C library and the OpenMP library, in target/release
build: tools
	$(CARGO) build --release -p baton-cli -p baton-preload -p baton-capi -p baton-gomp
	CC='$(CC)' scripts/link-gomp $(BUILT)/libbaton_gomp.a $(BUILT)/libbaton_gomp.so
	mkdir -p $(BUILT)/openmp && ln -f $(BUILT)/libbaton_gomp.so $(BUILT)/openmp/libgomp.so.1
	for name in $(LLVM_NAMES); do ln -sf libgomp.so.1 $(BUILT)/openmp/$$name || exit; done

# What locks cost on this machine: the demo predicts with it.
chips/this-host-fixed.toml: | build
	$(BUILT)/baton doctor --calibrate --fixed --output $@ > /dev/null

## demo: profiles a C program, predicts locks for it, measures the best of them, and leaves demo/report.html
demo: build chips/this-host-fixed.toml
	@mkdir -p $(DEMO)
	$(CC) -O2 -g -o $(DEMO)/cache examples/demo/cache.c -lpthread
	$(BUILT)/baton profile --force -o $(DEMO)/profile -- $(DEMO)/cache $(DEMO_THREADS) 1 $(DEMO_REQUESTS)
	$(BUILT)/baton whatif $(DEMO)/profile --lock $(DEMO_LOCKS) --seeds $(DEMO_SEEDS) --check $(DEMO_RUNS) --json > $(DEMO)/whatif.json
	$(BUILT)/baton measure $(DEMO)/profile --predictions $(DEMO)/whatif.json --best 3 --runs $(DEMO_RUNS)
	@cp $(DEMO)/profile/report.html $(DEMO)/report.html
	@echo "Open $(DEMO)/report.html: where the threads waited, and what was predicted beside what was measured."

## test: every test; names what it skips, and with CI=true a skip is a failure
test: tools
	@mkdir -p target && rm -f '$(SKIPPED)'
	# Examples are no tests: clippy builds them.
	BATON_SKIPPED='$(SKIPPED)' $(RUNNER) $(CARGO) test --workspace --no-fail-fast --tests
	$(CARGO) test --workspace --no-fail-fast --doc
	@scripts/skipped '$(SKIPPED)'

## counts: instructions of the simulator, the network, scheduling decisions and replays, by callgrind; fails where one has grown by 5%
counts: build
	scripts/check/chip-instructions
	scripts/check/noc-instructions --network
	scripts/check/noc-instructions $(BUILT)/baton
	scripts/check/decision-instructions
	scripts/check/whatif-instructions

## lint: formatting, clippy, ruff for the Python scripts, plain English, stale mutants; warnings are errors
lint: tools
	@scripts/need $(RUFF)
	$(RUFF) check $$(grep -rlE '^#!.*python3' scripts crates examples) scripts
	# All files by name: cargo fmt does not see the modules that a registry's macro declares.
	rustfmt --edition 2024 --check $$(find crates -name '*.rs')
	scripts/check/english
	scripts/mutate/mutate --stale
	$(CARGO) clippy --workspace --all-targets -- -D warnings

## tables: writes what follows from registries and declarations anew: tables of the documentation, the schema of sim, the locks of baton.h
tables: tools
	BLESS=1 $(CARGO) test -p baton-sync --test docs
	BLESS=1 $(CARGO) test -p baton-capi --lib
	BLESS=1 $(CARGO) test -p baton-gomp --test symbols
	BLESS=1 $(CARGO) test -p baton-cli --test house figures::
	BLESS=1 $(CARGO) test -p baton-cli --test house python::
	BLESS=1 $(CARGO) test -p baton-cli --test house floors::arrows_inside

## docs: the Rust documentation, warnings are errors
docs: tools
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps

## book: the documentation as a book with a search, in target/book; its links are checked
book: tools
	command -v '$(MDBOOK)' >/dev/null || $(CARGO) install mdbook --version $(MDBOOK_VERSION) --locked --root target/tools
	'$(MDBOOK)' build
	scripts/check/links target/book

## bench: the benchmarks
bench: tools
	$(CARGO) bench --workspace

## peers: the program of `baton bench locks`, `queues`, `barriers` and `waits`, with the crates of others that it times
peers: tools
	CARGO_TARGET_DIR=target/peers $(CARGO) build --release --locked --manifest-path crates/bench/peers/Cargo.toml

## scx: baton-scx, the loader of the scheduler inside of the kernel, and its tests; needs clang and the headers of libelf and zlib
scx: tools
	@scripts/need pkg-config
	CARGO_TARGET_DIR=target/scx $(CARGO) clippy --locked --all-targets --manifest-path crates/scx/Cargo.toml -- -D warnings
	CARGO_TARGET_DIR=target/scx $(CARGO) test --locked --manifest-path crates/scx/Cargo.toml
	CARGO_TARGET_DIR=target/scx $(CARGO) build --release --locked --manifest-path crates/scx/Cargo.toml

## install: everything, under PREFIX (and DESTDIR)
install: build
	install -D -m 755 $(BUILT)/baton '$(DESTDIR)$(PREFIX)/bin/baton'
	if [ -f target/peers/release/baton-peers ]; then \
		install -D -m 755 target/peers/release/baton-peers '$(DESTDIR)$(PREFIX)/lib/baton/baton-peers'; \
	fi
	if [ -f target/scx/release/baton-scx ]; then \
		install -D -m 755 target/scx/release/baton-scx '$(DESTDIR)$(PREFIX)/lib/baton/baton-scx'; \
	fi
	install -D -m 755 $(BUILT)/libbaton_preload.so '$(DESTDIR)$(PREFIX)/lib/baton/libbaton_preload.so'
	install -D -m 755 $(BUILT)/libbaton_gomp.so '$(DESTDIR)$(PREFIX)/lib/baton/openmp/libgomp.so.1'
	for name in $(LLVM_NAMES); do ln -sf libgomp.so.1 '$(DESTDIR)$(PREFIX)/lib/baton/openmp/'$$name || exit; done
	install -m 644 crates/gomp/valgrind.supp '$(DESTDIR)$(PREFIX)/lib/baton/openmp/valgrind.supp'
	$(BUILT)/baton man --dir '$(DESTDIR)$(PREFIX)/share/man/man1'
	install -d '$(DESTDIR)$(PREFIX)/share/baton/chips' '$(DESTDIR)$(PREFIX)/share/baton/profiles'
	install -m 644 $(filter-out chips/this-host%,$(wildcard chips/*.toml)) '$(DESTDIR)$(PREFIX)/share/baton/chips'
	cp -R profiles/. '$(DESTDIR)$(PREFIX)/share/baton/profiles'
	install -d '$(DESTDIR)$(PREFIX)/share/bash-completion/completions'
	$(BUILT)/baton completions bash > '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/baton'
	$(MAKE) install-c

## install-c: baton.h, baton.hpp, baton_queues.hpp, baton_lock.h, the C library, its pkg-config and its CMake files, as built
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
MAJOR   := $(firstword $(subst ., ,$(VERSION)))
MINOR   := $(word 2,$(subst ., ,$(VERSION)))
# Libraries with the same number fit the same programs: below 1.0, those of one minor version.
ABI     := $(if $(filter 0,$(MAJOR)),0.$(MINOR),$(MAJOR))
install-c:
	install -D -m 644 crates/capi/include/baton.h '$(DESTDIR)$(PREFIX)/include/baton.h'
	install -D -m 644 crates/capi/include/baton.hpp '$(DESTDIR)$(PREFIX)/include/baton.hpp'
	install -D -m 644 crates/capi/include/baton_queues.hpp '$(DESTDIR)$(PREFIX)/include/baton_queues.hpp'
	install -D -m 644 crates/capi/include/baton_lock.h '$(DESTDIR)$(PREFIX)/include/baton_lock.h'
	install -D -m 755 $(BUILT)/libbaton.so '$(DESTDIR)$(PREFIX)/lib/libbaton.so.$(VERSION)'
	ln -sf libbaton.so.$(VERSION) '$(DESTDIR)$(PREFIX)/lib/libbaton.so.$(ABI)'
	ln -sf libbaton.so.$(ABI) '$(DESTDIR)$(PREFIX)/lib/libbaton.so'
	install -D -m 644 $(BUILT)/libbaton.a '$(DESTDIR)$(PREFIX)/lib/libbaton.a'
	install -d '$(DESTDIR)$(PREFIX)/lib/pkgconfig'
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' crates/capi/baton.pc.in > '$(DESTDIR)$(PREFIX)/lib/pkgconfig/baton.pc'
	install -d '$(DESTDIR)$(PREFIX)/lib/cmake/Baton'
	for file in BatonConfig BatonConfigVersion; do \
	    sed -e 's|@VERSION@|$(VERSION)|' -e 's|@MAJOR@|$(MAJOR)|' -e 's|@MINOR@|$(MINOR)|' -e 's|@ABI@|$(ABI)|' crates/capi/$$file.cmake.in \
	        > '$(DESTDIR)$(PREFIX)/lib/cmake/Baton/'$$file.cmake || exit; \
	done

# The Python module, its virtual environment and what is built for it.
PYTHON   ?= python3
PY        = target/python-module
PY_BUILD  = CARGO_TARGET_DIR='$(CURDIR)/$(PY)/build' PYO3_PYTHON='$(CURDIR)/$(PY)/venv/bin/python'

$(PY)/venv/ready: crates/python/requirements.txt
	$(PYTHON) -m venv $(PY)/venv
	$(PY)/venv/bin/pip install --quiet -r crates/python/requirements.txt
	touch $@

## wheel: the Python module with its chips and profiles, in dist; for every Python from 3.9 on
wheel: tools $(PY)/venv/ready
	rm -rf crates/python/baton/share && mkdir -p crates/python/baton/share/chips
	cp $(filter-out chips/this-host%,$(wildcard chips/*.toml)) crates/python/baton/share/chips
	cp -R profiles crates/python/baton/share
	cd crates/python && $(PY_BUILD) '$(CURDIR)/$(PY)/venv/bin/maturin' build --release --locked --out '$(CURDIR)/dist'

## python: the tests of the Python module, beside the command's results; needs Python and pip
python: tools $(PY)/venv/ready
	@scripts/need $(RUFF)
	$(CARGO) build -p baton-cli
	cd crates/python && $(PY_BUILD) $(CARGO) clippy --locked -- -D warnings
	cd crates/python && $(PY_BUILD) $(CARGO) build --locked
	cp $(PY)/build/debug/libbaton_python.so crates/python/baton/_baton.abi3.so
	$(RUFF) check crates/python
	cd crates/python && '$(CURDIR)/$(PY)/venv/bin/mypy' baton
	cd crates/python && BATON_NOTEBOOKS='$(CURDIR)/$(PY)/notebooks' PYTHONPATH='$(CURDIR)/crates/python' \
	    PATH='$(CURDIR)/$(PY)/venv/bin':"$$PATH" '$(CURDIR)/$(PY)/venv/bin/pytest'

## python-lock: gives the Python module the workspace's versions of packages
python-lock: tools
	cp Cargo.lock crates/python/Cargo.lock
	cd crates/python && $(CARGO) metadata --format-version 1 >/dev/null

tools:
	@scripts/need $(CARGO) $(CC)
