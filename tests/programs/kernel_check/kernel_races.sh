#!/bin/sh
# kernel_races.sh SOURCES: what weir check --kernel-races says of races.cu: what is wrong is found, at its lines, and nothing of
# what is right. Compiled by nvcc, where there is one, and by weir cc, where there is clang.
# SPDX-License-Identifier: Apache-2.0
set -u
[ -x "$BUILD/bin/weir" ] && [ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
src=$1
mkdir -p "$BUILD/tests/kernel_races" && cd "$BUILD/tests/kernel_races" || exit 1
. "$SOURCE/tests/programs/check.sh"
cp "$src/races.cu" races.cu # so that it lies below the folder that programs are started in
compilers=
if command -v nvcc >/dev/null; then
    compilers=nvcc
    if newer races-nvcc "$src/races.cu"; then
        nvcc -O2 -lineinfo -std=c++17 -diag-suppress 128 -gencode arch=compute_90,code=compute_90 -o races-nvcc races.cu ||
            die races-nvcc
    fi
fi
if "$WEIR" cc -O2 -lineinfo -std=c++17 -arch=sm_90 -o races-cc races.cu >cc.log 2>&1; then
    compilers="$compilers cc"
fi
[ -n "$compilers" ] || { echo "skipped: no nvcc, and weir cc compiles nothing here"; exit 77; }
line() { echo "races.cu:$(grep -n "/\\* $1 \\*/" "$src/races.cu" | cut -d: -f1)"; }
verdict() { # FORM KINDS TEXT: TEXT is in the report
    for c in $compilers; do
        LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check --kernel-races --device h200 -- "./races-$c" "$1" >out 2>err
        rc=$?
        kinds=$(sed -n 's/^weir: hazard: \([a-z-]*\).*/\1/p' err | grep -v failed-operation | sort -u | paste -sd,)
        if [ "$kinds" != "$2" ] || [ $rc -ne 99 ] || ! grep -q -e "$3" err; then
            printf 'FAILED %s by %s: found "%s", wanted "%s" and "%s"; status %s\n%s\n' "$1" "$c" "$kinds" "$2" "$3" $rc "$(cat err)"
            failed=1
        else
            echo "ok $1 by $c: $kinds"
        fi
    done
}

# Nothing without being asked.
c=${compilers%% *}
LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check --device h200 -- "./races-$c" tree-unordered >out 2>err || { echo "FAILED: unasked: $(cat err)"; failed=1; }

"$WEIR" check --kernel-races --light ./none >out 2>err
[ $? = 2 ] && grep -q 'kernel-races needs' err || { echo "FAILED: --light: $(cat err)"; failed=1; }

# What is right, all of it in one program.
right='product tree warp-sync warp-volatile warp-shuffle histogram count bound bound-global flag look-back last-block grid spin named early-return async object bulk'
for c in $compilers; do
    LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check --kernel-races --device h200 -- "./races-$c" $right >out 2>err || { echo "FAILED: right by $c: $(cat err)"; failed=1; }
done

# Files as seen from the folder that the program was started in.
LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check --kernel-races --device h200 -- "./races-$c" tree-unordered >out 2>err
grep -q " at $(line unordered) reads .* at $(line unordered) wrote" err || { echo "FAILED: paths: $(cat err)"; failed=1; }

# Others update what a thread reads: common, and no hazard.
for c in $compilers; do
    LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check --kernel-races --device h200 -- "./races-$c" relax >out 2>err &&
        grep -q "^weir: note: plain-read: thread .* updates 4 bytes at .*, which thread (.*) at $(line relax) read" err ||
        { echo "FAILED: relax by $c: $(cat err)"; failed=1; }
done

# Copies that land late: right ones are right, and the wrong ones have wrong results, which they have not otherwise.
late() { # FORM STATUS ANSWER [OPTION]
    for c in $compilers; do
        LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check --kernel-races ${4:-} --device h200 -- "./races-$c" $1 >out 2>err
        [ $? = $2 ] && [ "$(sort -u out)" = $3 ] || { echo "FAILED: late: $1 by $c: $(cat out err)"; failed=1; }
    done
}
late 'async object bulk' 0 right --late-async
for form in async-no-wait async-short-wait bulk-no-wait; do
    late $form 99 right
    late $form 99 wrong --late-async
done
"$WEIR" check --late-async ./none >out 2>err
[ $? = 2 ] && grep -q 'late-async needs' err || { echo "FAILED: --late-async alone: $(cat err)"; failed=1; }

while read -r form kind text; do
    verdict "$form" "$kind" "$text"
done <<END
product-before kernel-race $(line product) reads 4 bytes at byte [0-9]* of [xy] (shared memory), which thread (.*) of block (.*) at .*$(line tile) wrote
product-after kernel-race $(line product) reads 4 bytes at byte
tree-last kernel-race thread (33, 0, 0) of block ([0-9], 0, 0) at .*$(line result) reads 4 bytes at byte 0 of s (shared memory), which thread (0, 0, 0) of .*$(line step) wrote
tree-unordered kernel-race $(line unordered) reads 4 bytes at byte
warp-nothing kernel-race $(line own) writes 4 bytes at byte [0-9]* of s (shared memory), which thread (.*) at .*$(line lane) read
histogram-clear kernel-race which thread (.*) at .*$(line clear) wrote
histogram-plain kernel-race $(line increment) writes 4 bytes at byte
count-unset kernel-race at .*:[0-9]* updates 4 bytes at byte 0 of odd (shared memory), which thread (0, 0, 0) of block (.*) at .*$(line set) wrote
count-warp kernel-race thread (3[2-9], 0, 0) of .*at .*:[0-9]* updates 4 bytes at byte 0 of .*, which thread (0, 0, 0) of block (.*) at .*$(line set) wrote
count-early kernel-race thread (3[2-9], 0, 0) of .*at .*:[0-9]* updates 4 bytes at byte 0 of .*, which thread (0, 0, 0) of block (.*) at .*$(line early) read
dynamic kernel-race $(line dynamic) reads 4 bytes at byte 8 of more (shared memory), which thread
lowest-lane kernel-race thread (0, 0, 0) of .*$(line lowest) writes 4 bytes at byte 0 of .*, which thread (1, 0, 0) of block
total-block kernel-race thread (32, 0, 0) of block (0, 0, 0) at .*$(line total) reads 4 bytes at 0x
total-blocks kernel-race thread (0, 0, 0) of block (.*) at .*$(line total) reads 4 bytes at 0x
neighbour kernel-race $(line mine) wr
named-no-wait kernel-race $(line take) reads 4 bytes at byte [0-9]* of box (shared memory), which thread (.*) at .*$(line give) wrote
half-warp divergent-barrier thread (16, 0, 0) of block (.*) does not come to the barrier at .*$(line some), and has gone on: 16 of the block's 256 threads
half-block divergent-barrier thread (128, 0, 0) of block (.*) does not come to the barrier at .*$(line half), and has gone on: 128 of
two-kinds divergent-barrier waits at a barrier that never completes: 64 threads
async-no-wait unfinished-copy $(line use) reads [0-9]* bytes at byte [0-9]* of s (shared memory), where an asynchronous copy at .*races.cu:[0-9]* may not
async-short-wait unfinished-copy $(line use) reads
async-no-barrier kernel-race,unfinished-copy $(line use) reads [0-9]* bytes at byte [0-9]* of s (shared memory)
async-too-early kernel-race,unfinished-copy :[0-9]* writes 16 bytes at byte [0-9]* of s (shared memory), which thread
object-no-wait kernel-race,unfinished-copy $(line object) reads
bulk-no-wait unfinished-copy $(line bulk) reads [0-9]* bytes at byte [0-9]* of s (shared memory), where an asynchronous copy
END
# Pipelines, barriers and groups of libraries.
if command -v nvcc >/dev/null; then
    if newer pipelines; then
        "$SOURCE/tests/support/nvcc" -O2 -lineinfo -std=c++17 -gencode arch=compute_80,code=compute_80 -o pipelines "$src/pipelines.cu" || die pipelines
    fi
    for option in '' --late-async; do
        LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check --kernel-races $option -- ./pipelines stages block barrier group >out 2>err &&
            [ "$(sort -u out)" = right ] || { echo "FAILED: pipelines $option: $(cat out err)"; failed=1; }
    done
    for form in stages block barrier group; do
        LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check --kernel-races --late-async -- ./pipelines $form-no-wait >out 2>err
        [ $? = 99 ] && grep -q '^weir: hazard: unfinished-copy' err && grep -q wrong out || { echo "FAILED: pipelines: $form-no-wait: $(cat out err)"; failed=1; }
    done
fi

# Files for machines, and lines for annotations and suppressions, name the places inside of the kernel.
cat >silent <<END
kind=kernel-race file=races.cu
END
for form in tree-last total-blocks half-warp; do
    LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check --kernel-races --json r.json --sarif r.sarif --device h200 -- "./races-$c" $form >out 2>err
    command -v python3 >/dev/null || continue
    python3 "$src/report.py" r.json r.sarif $form "$(line step)" "$(line result)" "$(line total)" "$(line some)" || { echo "FAILED: report of $form"; failed=1; }
done
LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check --kernel-races --format github --device h200 -- "./races-$c" tree-last >out 2>err
grep -q "^::error file=races.cu,line=$(line result | cut -d: -f2),title=weir check%3A kernel-race::" err || { echo "FAILED: github: $(cat err)"; failed=1; }
LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check --kernel-races --suppress silent --device h200 -- "./races-$c" tree-last >out 2>err ||
    { echo "FAILED: suppressed by a kernel's file: $(cat err)"; failed=1; }
exit $failed
