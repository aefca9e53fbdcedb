#!/bin/sh
# check-forms.sh PROGRAM "CLEAN FORMS" "BAD FORMS" "RUN OPTIONS" [ARGS...]: the clean forms of an example end with RESULT
# PASS and weir check finds nothing in them; in the bad ones it finds a race and nothing else. What bad forms compute is not
# looked at: a race may well go right.
# SPDX-License-Identifier: Apache-2.0
set -u
program=$1 clean=$2 bad=$3 options=$4
shift 4
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
failed=0
check() { # FORM STATUS KINDS ARGS...
    form=$1 status=$2 kinds=$3
    shift 3
    LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check $options -- "$program" --form "$form" "$@" >"$tmp/out" 2>"$tmp/err"
    got=$? found=$(sed -n 's/^weir: hazard: \([a-z-]*\).*/\1/p' "$tmp/err" | sort -u | tr '\n' ' ')
    if [ $got != "$status" ] || [ "$found" != "$kinds" ] || { [ "$status" = 0 ] && ! grep -q '^RESULT PASS' "$tmp/out"; }; then
        echo "FAILED $form: status $got, wanted $status; found '$found', wanted '$kinds'"
        cat "$tmp/out" "$tmp/err"
        failed=1
    else
        echo "ok $form ${found:-nothing found}"
    fi
}
for form in $clean; do check "$form" 0 '' "$@"; done
for form in $bad; do check "$form" 99 'race ' "$@"; done
exit $failed
