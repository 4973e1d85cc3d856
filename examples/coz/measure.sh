#!/bin/sh
# measure.sh PROGRAM ROUNDS PART…: rounds a second as it is and with each part made half as long; median of five interleaved runs.
program=$1 rounds=$2
shift 2
out=$(mktemp -d)
for run in 1 2 3 4 5; do
    for part in nothing "$@"; do
        "$program" "$rounds" "$part" | sed 's| rounds/s||' >> "$out/$part"
    done
done
for part in nothing "$@"; do
    sort -n "$out/$part" | awk -v part="$part" '{ v[NR] = $1 } END { printf "%-10s %6d rounds/s  (%d to %d)\n", part, v[3], v[1], v[5] }'
done
rm -r "$out"
