#!/bin/sh
# The plots of docs/results/waiting.md: what a waiting thread costs its sibling, and in joules.
#
#   scripts/waiting-plots.sh [FOLDER]        pages; default: target/waiting-plots
#   scripts/waiting-plots.sh docs/img svg    pictures alone
#
# BATON names the command, else target/release/baton. Each page is one `baton sim`; run one alone by its line.
set -eu
out=${1:-target/waiting-plots}
form=${2:-html}
baton=${BATON:-target/release/baton}
mkdir -p "$out"

# Two siblings at a barrier, of which one comes early: the one that still computes is as fast as the waiter lets it be.
# A reorder buffer (and queues) twice as large as the slots can use costs nothing to divide.
"$baton" sim --chip netburst-ht --workload barrier --barrier central --threads 2 --pin --think 1000000 --spread 0.9 \
    --iterations 40 --set core.load_queue=1000 --set core.store_queue=1000 --sweep core.rob=63,126,252,378,504,630 --sweep wait=spin,pause,mwmon,halt,futex --plot "$out/sibling-barrier.$form"

# Two siblings and a lock: short critical sections are for spinners, long ones for who stands still.
"$baton" sim --chip netburst-ht --workload lock --lock mcs --threads 2 --pin --think 2000 --spread 0.5 --iterations 100 \
    --sweep cs=1000,10000,100000,1000000 --sweep wait=spin,pause,mwmon,halt,futex --plot "$out/sibling-lock.$form"

# The lock zoo on 8 cores with two contexts each, a thread a context.
"$baton" sim --chip opteron6272x4 --cores 8 --set core.contexts=2 --set core.result_latency=4 --workload lock \
    --threads 16 --pin --cs 2000 --think 8000 --spread 0.5 --lines 2 --cycles 300000 \
    --sweep lock=tas,ttas,ticket,mcs,clh,cohort --sweep wait=spin,pause,mwait --plot "$out/sibling-zoo.$form"

# Energy of the same number of acquisitions by who waits how, with the platform's base and without it.
for figure in total without_base; do
    "$baton" sim --chip opteron6272x4 --cores 8 --workload lock --lock mcs --threads 8 --think 2000 --spread 0.5 --iterations 50 \
        --energy --figure "energy.${figure}_joules" --sweep cs=1000,10000,100000 --sweep wait=spin,pause,mwait,futex \
        --plot "$out/energy-$figure.$form"
done

# Locks and barriers from 2 to 64 threads of one board, whose waiters rest in a monitor or try with PAUSE.
for wait in mwait pause; do
    "$baton" sim --chip opteron6272x4 --workload lock --pin --cs 100 --think 1000 --spread 0.5 --iterations 60 --wait "$wait" \
        --sweep threads=2,4,8,16,32,64 --sweep lock=ticket,mcs,1spinner,hybrid --plot "$out/locks-$wait.$form"
    "$baton" sim --chip opteron6272x4 --workload barrier --pin --think 2100 --iterations 100 --wait "$wait" \
        --sweep threads=2,4,8,16,32,64 --sweep barrier=central,gomp,two-level --plot "$out/barriers-$wait.$form"
done
