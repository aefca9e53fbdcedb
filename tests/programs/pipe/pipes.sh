#!/bin/sh
# pipes.sh: weir/pipe.h in many legal orders (pipes.c): no form of it loses, doubles or mixes up an item; and a library that
# does not wait where it has to is found out, and so is a program that reads a result when it has given it back.
# SPDX-License-Identifier: Apache-2.0
set -u
LD_PRELOAD=$SANITIZER_PRELOAD
export LD_PRELOAD
out=$(mktemp) && trap 'rm -f "$out"' EXIT
failed=0
# explore NAME STATUS PROGRAM FORM OPTIONS...
explore() {
    name=$1 status=$2 program=$BUILD/tests/t_$3 form=$4
    shift 4
    "$WEIR" explore "$@" --devices 2 -- "$program" "$form" >"$out" 2>&1
    rc=$?
    if [ $rc = "$status" ]; then echo "ok $name"; else echo "FAILED $name: status $rc, wanted $status"; cat "$out"; failed=1; fi
}
for form in slot split graph split-graph stages lanes unordered cancel; do
    explore "$form" 0 pipes $form --runs 12
    for strategy in random pct:3; do explore "$form, $strategy" 0 pipes $form --runs 6 --strategy $strategy; done
done
explore 'nobody waits for the device' 99 pipes_unwaited slot --runs 12 --stop
explore 'nobody waits for the upload' 99 pipes_unordered split --runs 12 --stop
explore 'the same, in graphs' 99 pipes_unordered split-graph --runs 12 --stop
explore 'a result that was given back' 99 pipes keeps --runs 100 --stop
exit $failed
