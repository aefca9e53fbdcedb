#!/bin/sh
# repeat.sh SOURCES CASES [REPEATS]: each program of the hazard suite with a race (CASES/manifest.tsv), and each wrong form of
# orders.cu, fails within 20 runs of weir explore, and again each time under the schedule that was printed: with the same decisions,
# exit status, output and findings. Twice: with the checker, and by results alone where they can show it. NAMES: only these.
# SPDX-License-Identifier: Apache-2.0
set -u
[ -x "$BUILD/bin/weir" ] && [ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
src=$1 cases=$2 repeats=${3:-100}
mkdir -p "$BUILD/tests/explore_repeat" && cd "$BUILD/tests/explore_repeat" || exit 1
here=$PWD
. "$SOURCE/tests/programs/check.sh"
tab=$(printf '\t')
fail() { printf 'FAILED %s\n' "$*"; failed=1; }
# Compiles SOURCE into the program NAME; options follow.
compile() {
    source=$1 name=$2
    shift 2
    [ ! -e "$name" ] || [ -n "$(find "$source" -newer "$name")" ] || return 0
    if command -v nvcc >/dev/null; then
        "$SOURCE/tests/support/nvcc" -O2 -lineinfo -gencode arch=compute_80,code=compute_80 "$@" -o "$name" "$source"
    else
        "$WEIR" cc -O2 -g -lineinfo "$@" -o "$name" "$source"
    fi
}
# One run under `weir COMMAND --schedule SPEC`: decisions, status, output and findings, in one text. Addresses are not compared
# in it, since the kernel chooses them.
once() {
    rm -f log
    LD_PRELOAD=$SANITIZER_PRELOAD WEIR_SCHEDULE_LOG=$here/log "$WEIR" $command --schedule "$spec" $options -- "$@" >stdout 2>stderr
    echo "status $?"
    cat stdout
    grep '^weir: hazard' stderr | sed 's/0x[0-9a-f]*/ADDRESS/g'
    cat log
}
# NAME WORD OPTIONS... -- PROGRAM: must it be found (WORD "must"), and does it repeat?
explore() {
    name=$1 word=$2 options=
    shift 2
    flags=
    while [ "$1" != -- ]; do
        case $1 in --check | --same-*) flags="$flags $1" ;; *) options="$options $1" ;; esac
        shift
    done
    shift
    LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" explore $flags --stop --runs 20 --jobs 1 $options -- "$@" >out 2>&1
    rc=$?
    command=$(sed -n 's/^  again: weir \([a-z]*\) --schedule .*/\1/p' out | head -1)
    spec=$(sed -n "s/^  again: weir [a-z]* --schedule '\{0,1\}\([^ ']*\).*/\1/p" out | head -1)
    if [ $rc -ne 99 ] || [ -z "$spec" ]; then
        if [ "$word" = must ]; then fail "$name$flags: not within 20 runs: $(cat out)"; else echo "-- $name$flags: not seen"; fi
        return
    fi
    once "$@" >wanted
    same=1
    while [ $same -lt "$repeats" ]; do
        once "$@" >got
        cmp -s wanted got || break
        same=$((same + 1))
    done
    if [ $same -eq "$repeats" ]; then
        echo "ok $name$flags: $(sed -n 's/^run \([0-9]*\) .*/run \1/p' out | head -1) ($spec), $same of $same the same"
    else
        fail "$name$flags: $spec: the same $same times, then: $(diff wanted got | head -20)"
    fi
}

if compile "$src/orders.cu" orders -I"$src" -std=c++17; then
    for form in streams kernel source threads graph; do explore orders-$form must -- ./orders $form; done
    for form in unseen carried; do explore orders-$form must --same-memory -- ./orders $form; done
else
    fail 'building orders.cu'
fi
if [ -f "$cases/manifest.tsv" ]; then
    while IFS="$tab" read -r name expected _ _ _ _ flags needs _; do
        case $expected in hazard:race*) ;; *) continue ;; esac
        case " ${NAMES:-$name} " in *" $name "*) ;; *) continue ;; esac
        [ "$flags" != - ] || flags=
        devices=
        case $needs in *devices*) devices='--devices 2' ;; esac
        compile "$cases/$name.cu" "$name" $flags >build.log 2>&1 || { fail "building $name: $(cat build.log)"; continue; }
        explore "$name" must --check $devices -- "./$name"
        explore "$name" may --same-output --same-memory $devices -- "./$name"
    done <"$cases/manifest.tsv"
else
    echo "the hazard suite is not here: only orders.cu"
fi
exit $failed
