#!/bin/sh
# What recording costs: (recorded - bare) / events, over 10 million uncontended lock and unlock pairs with a second thread alive.
# CPU time of the locking thread, page faults included; the least of five runs each. Arguments: a folder for the traces
# (its file system matters), and the most nanoseconds an event may take (then more is a failure). BATON_LIBRARY names a library
# that is built already.
set -eu
cd "$(dirname "$0")/.."
folder=${1:-target}
limit=${2:-}
library=${BATON_LIBRARY:-$PWD/target/release/libbaton_preload.so}
[ -n "${BATON_LIBRARY:-}" ] || cargo build --release --quiet --package baton-preload
scratch=$(mktemp -d "$folder/capture-cost.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
"${CC:-cc}" -O2 -pthread -o "$scratch/pairs" crates/preload/tests/programs/pairs.c
pairs=10000000

least() { # least of five runs: CPU nanoseconds a pair
    for _ in 1 2 3 4 5; do
        mkdir "$scratch/trace"
        "$@" | cut -d' ' -f1
        rm -r "$scratch/trace"
    done | sort -n | head -1
}

bare=$(least "$scratch/pairs" $pairs)
glibc=$(least env LD_PRELOAD="$library" BATON_TRACE="$scratch/trace" "$scratch/pairs" $pairs)
lock=$(least env LD_PRELOAD="$library" BATON_LOCK=spin-park "$scratch/pairs" $pairs)
both=$(least env LD_PRELOAD="$library" BATON_LOCK=spin-park BATON_TRACE="$scratch/trace" "$scratch/pairs" $pairs)
awk -v bare="$bare" -v glibc="$glibc" -v lock="$lock" -v both="$both" -v limit="$limit" 'BEGIN {
    event = (glibc - bare) / 2
    printf "glibc: %.1f ns a pair, recorded %.1f: %.1f ns an event\n", bare, glibc, event
    printf "spin-park: %.1f ns a pair, recorded %.1f: %.1f ns an event\n", lock, both, (both - lock) / 2
    if (limit != "" && event > limit) { printf "more than %s ns\n", limit; exit 1 }
}'
