#!/bin/sh
# Counts the instructions of an uncontended lock-unlock pair of every lock under callgrind, those of an item's way, and of a bulk's,
# through every queue, those of an episode of every barrier (eight participants, played by one thread), and those of a wait for every
# event. Fails if a lock takes more than its file says (`counted`, which docs/reference/locks.md shows and the simulated
# chip charges), if that figure is stale (off by more than an instruction and a twentieth), or if the generic MCS lock takes
# more than docs/reference/locks.md says or more than a hand-written one. Counts do not vary between runs; another compiler may give
# others, and then the figures are to be written anew.
# Arguments: the locks to count (all of them if none is named; all that is no lock always is).
set -eu
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || { echo "sync-instructions: valgrind is missing" >&2; exit 2; }
cargo build --quiet --release -p baton-sync --example mcs_pair --example queue_pair --example queue_bulk --example meeting
examples=${CARGO_TARGET_DIR:-target}/release/examples
program=mcs_pair
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The instructions of a whole run: kind, number of pairs, items of a bulk.
count() {
    valgrind --tool=callgrind --callgrind-out-file="$scratch/out" "$examples/$program" "$@" >"$scratch/log" 2>&1 ||
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

# What the files of the algorithms say: kind, name, tenths of an instruction.
"$examples/mcs_pair" list >"$scratch/registry"

# What a file says, in tenths: kind, name.
said() {
    sed -n "s/^$1 $2 //p" "$scratch/registry"
}

# The most that a lock may take, in whole instructions.
documented() {
    case "$1" in
        hand) row='| MCS with the caller.s node, hand-written' ;;
        generic) row='| MCS with the caller.s node, generic' ;;
        *)
            tenths=$(said lock "$1")
            echo "${tenths:+$(((tenths + 5) / 10))}"
            return
            ;;
    esac
    sed -n '/^| lock | instructions |/,/^$/p' docs/reference/locks.md | grep "^$row" | sed 's/.*| \([0-9]*\) |$/\1/'
}

status=0
# Kind, name, and what was counted.
check_file() {
    have=$(said "$1" "$2")
    off=$(($3 > have ? $3 - have : have - $3))
    if [ "$off" -gt 10 ] && [ $((off * 20)) -gt "$3" ]; then
        echo "sync-instructions: \`counted\` of the $1 $2 is stale in its file: $(tenths "$3") were counted" >&2
        status=1
    fi
}

# Names have no blanks.
[ $# -ne 0 ] || set -- $(sed -n 's/^lock \([^ ]*\) .*/\1/p' "$scratch/registry")
for lock in generic hand "$@"; do
    counted=$(pair "$lock")
    most=$(documented "$lock")
    echo "$lock $(tenths "$counted"), documented ${most:-nothing}"
    if [ -z "$most" ] || [ $(((counted + 5) / 10)) -gt "$most" ]; then
        echo "sync-instructions: $lock costs more than is documented" >&2
        status=1
    fi
    case "$lock" in generic | hand) ;; *) check_file lock "$lock" "$counted" ;; esac
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
for queue in $(sed -n 's/^queue \([^ ]*\) .*/\1/p' "$scratch/registry"); do
    counted=$(pair "$queue")
    echo "$queue $(tenths "$counted")"
    check_file queue "$queue" "$counted"
done
# A bulk of so many items has a part for the call and one for each item: both are held at three sizes.
program=queue_bulk
"$examples/$program" list >"$scratch/bulks"
while read -r queue items have; do
    rest=$(count "$queue" 0 "$items")
    counted=$((($(count "$queue" 2000 "$items") - rest + 100) / 200))
    echo "$queue, bulks of $items $(tenths "$counted"), said $(tenths "$have")"
    off=$((counted > have ? counted - have : have - counted))
    if [ $((off * 20)) -gt "$counted" ]; then
        echo "sync-instructions: \`counted_bulk\` of the queue $queue is stale in its file" >&2
        status=1
    fi
done <"$scratch/bulks"
program=meeting
"$examples/$program" list >"$scratch/registry"
while read -r kind name have; do
    rest=$(count "$kind" "$name" 100)
    counted=$((($(count "$kind" "$name" 1100) - rest + 50) / 100))
    echo "$kind $name $(tenths "$counted"), said $(tenths "$have")"
    check_file "$kind" "$name" "$counted"
done <"$scratch/registry"
exit $status
