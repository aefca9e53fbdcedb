#!/bin/sh
# check-advice.sh PROGRAM "GOOD FORMS" "FORM=KIND ..." "RUN OPTIONS" [ARGS...]: weir advise finds nothing to change in the
# good forms of an example, as an H200 would run it; in each other form it finds KIND. By the model's clock and counted
# kernels, so that the machine's load is no part of the answer.
# SPDX-License-Identifier: Apache-2.0
set -u
program=$1 good=$2 other=$3 options=$4
shift 4
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
failed=0
check() { # FORM KIND ARGS...; no KIND: nothing at all
    form=$1 kind=$2
    shift 2
    LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" trace --clock model -o "$tmp/trace" $options -- "$program" --form "$form" "$@" \
        >"$tmp/out" 2>&1 || { echo "FAILED $form: does not run"; cat "$tmp/out"; failed=1; return; }
    "$WEIR" advise --clock model --exit-code "$tmp/trace" >"$tmp/said"
    status=$?
    if [ $status != "${kind:+1}" ] && [ "$status$kind" != 0 ] || { [ "$kind" ] && ! grep -q "^ *[0-9]*  $kind: saves" "$tmp/said"; }; then
        echo "FAILED $form: wanted ${kind:-nothing}, status $status"
        cat "$tmp/said"
        failed=1
    else
        echo "ok $form ${kind:-nothing to change}"
    fi
}
for form in $good; do check "$form" '' "$@"; done
for pair in $other; do check "${pair%=*}" "${pair#*=}" "$@"; done
exit $failed
