#!/bin/sh
# The pages on the simulated chips: the lock zoo, latency plateaus, memory bandwidth, a hot line, distances.
#
#   scripts/chip-plots.sh [FOLDER]        default: target/chip-plots
#
# BATON names the command, else target/release/baton. Each page is one `baton sim`; run one alone by its line.
set -eu
out=${1:-target/chip-plots}
baton=${BATON:-target/release/baton}
mkdir -p "$out"

# Throughput of one contended lock at 1 to 64 threads on four Opteron 6272; a critical section that writes two lines.
"$baton" sim --chip opteron6272x4 --workload lock --wait spin --pin --cs 100 --think 500 --spread 0.5 --lines 2 \
    --cycles 300000 --sweep threads=1,2,4,8,16,32,64 --sweep lock=tas,ttas,ticket,mcs,clh,hemlock,cohort \
    --plot "$out/lock-zoo.html"

# A load's latency against the range: L1, L2, the shared level, memory.
"$baton" sim --chip opteron6272x4 --workload chase --iterations 3000 \
    --sweep bytes=4K,8K,16K,32K,64K,128K,256K,512K,1M,2M,4M,8M,16M,32M --plot "$out/chase-opteron6272x4.html"
"$baton" sim --chip caf16 --workload chase --iterations 3000 \
    --sweep bytes=4K,8K,16K,32K,64K,128K,256K,512K,1M,2M,4M,8M,16M,32M,64M --plot "$out/chase-caf16.html"

# Bytes a cycle of a stream over more than the caches, at 1 to 16 threads and 1 to 4 controllers.
# Ranges of 25 rows: at a multiple of 8 rows all threads would be in the same bank at a time.
"$baton" sim --chip ocor64 --cores 16 --workload stream --bytes 200K --iterations 1 --pin \
    --set shared.size_bytes=65536 --sweep threads=1,2,4,8,16 --sweep dram.controllers=1,2,4 --plot "$out/stream.html"

# Additions to one word: at the home (far) it saturates at the home's rate, near at the hand-off's.
"$baton" sim --chip ocor64 --workload hot-line --pin --think 0 --iterations 400 --sweep threads=1,2,4,8,16,32,64 \
    --sweep core.atomics=far,near --plot "$out/hot-line.html"

# Ping-pong between all pairs of cores.
"$baton" sim --chip ocor64 --cores 16 --workload pingpong --wait spin --pairs --iterations 10 --plot "$out/distance-ocor16.html"
"$baton" sim --chip opteron6272x4 --workload pingpong --wait spin --pairs --iterations 4 --plot "$out/distance-opteron6272x4.html"
