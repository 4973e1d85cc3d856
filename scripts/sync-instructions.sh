#!/bin/sh
# Counts the instructions of an uncontended lock-unlock pair of every lock under callgrind, and those of an item's way
# through every queue, and fails if a lock takes more than the table in docs/locks.md says, the generic MCS lock more than
# a hand-written one, or if what the simulated chip charges (crates/chip/data/instructions.toml) is stale: off by more than
# an instruction and a twentieth. Counts do not vary between runs; another compiler may give others, and then both are to
# be written anew.
# Arguments: the locks to count (all of them if none is named; `generic`, `hand` and the queues always are).
set -eu
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || { echo "sync-instructions: valgrind is missing" >&2; exit 2; }
cargo build --quiet --release -p baton-sync --example mcs_pair --example queue_pair
examples=${CARGO_TARGET_DIR:-target}/release/examples
program=mcs_pair
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The instructions of a whole run: kind, number of pairs.
count() {
    valgrind --tool=callgrind --callgrind-out-file="$scratch/out" "$examples/$program" "$1" "$2" >"$scratch/log" 2>&1 ||
        { cat "$scratch/log" >&2; exit 1; }
    sed -n 's/^\(summary\|totals\): \([0-9]*\).*/\2/p' "$scratch/out" | head -n 1
}

# What starting and ending the program takes, and a pair less that: in tenths, as finding a lock by its name takes a few
# instructions more or less.
rest=$(count generic 0)
pair() {
    echo $((($(count "$1" 10000) - rest + 500) / 1000))
}

# Tenths as people write them.
tenths() {
    echo "$(($1 / 10)).$(($1 % 10))"
}

# The table's figure for a lock.
documented() {
    case "$1" in
        hand) row='| MCS with the caller.s node, hand-written' ;;
        generic) row='| MCS with the caller.s node, generic' ;;
        *) row="| \`$1\`" ;;
    esac
    sed -n '/^| lock | instructions |/,/^$/p' docs/locks.md | grep "^$row" | sed 's/.*| \([0-9]*\)[^0-9|]*|$/\1/'
}

# What the simulated chip charges, in tenths.
charged() {
    sed -n "/^\\[$1\\]$/,/^\$/s/^instructions = \\([0-9]*\\)\\.\\([0-9]\\)\$/\\1\\2/p" crates/chip/data/instructions.toml
}

status=0
# Kind and name, and what was counted.
check_charged() {
    have=$(charged "$1")
    if [ -z "$have" ]; then
        echo "sync-instructions: crates/chip/data/instructions.toml has no [$1]: $(tenths "$2") were counted" >&2
        status=1
        return
    fi
    off=$(($2 > have ? $2 - have : have - $2))
    if [ "$off" -gt 10 ] && [ $((off * 20)) -gt "$2" ]; then
        echo "sync-instructions: [$1] in crates/chip/data/instructions.toml is stale: $(tenths "$2") were counted" >&2
        status=1
    fi
}

[ $# -ne 0 ] || set -- tas ttas ticket ticket-prop mcs clh k42 hemlock cohort spin-park spin-park-wakes spin-park-once adaptive futex
for lock in generic hand "$@"; do
    counted=$(pair "$lock")
    most=$(documented "$lock")
    echo "$lock $(tenths "$counted"), documented ${most:-nothing}"
    if [ -z "$most" ] || [ $(((counted + 5) / 10)) -gt "$most" ]; then
        echo "sync-instructions: $lock costs more than docs/locks.md says" >&2
        status=1
    fi
    case "$lock" in generic | hand) ;; *) check_charged "lock.$lock" "$counted" ;; esac
    case "$lock" in
        generic) generic=$counted ;;
        hand)
            if [ "$generic" -gt "$counted" ]; then
                echo "sync-instructions: the generic MCS lock costs more than the hand-written one" >&2
                status=1
            fi
            ;;
    esac
done
program=queue_pair
rest=$(count spsc 0)
for queue in spsc ring mpmc; do
    counted=$(pair "$queue")
    echo "$queue $(tenths "$counted")"
    check_charged "queue.$queue" "$counted"
done
exit $status
