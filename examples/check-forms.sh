#!/bin/sh
# check-forms.sh PROGRAM "CLEAN FORMS" "FORM=ONE/OTHER ..." "RUN OPTIONS" [ARGS...]: the clean forms of an example end with
# RESULT PASS and weir check finds nothing in them; in each bad one it finds races and nothing else, and one of them is the
# planted: between ONE and OTHER, in its words with . for a space (kernel.blur.writes, the.host.reads). What bad forms compute
# is not looked at: a race may well go right.
# SPDX-License-Identifier: Apache-2.0
set -u
program=$1 clean=$2 bad=$3 options=$4
shift 4
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
failed=0
# Is there a report of the two, in whichever order?
tells() { # ONE OTHER FILE
    awk -v a="$1" -v b="$2" '
        /^weir:   one: / { one = $0 }
        /^weir:   other: / { if ((one ~ a && $0 ~ b) || (one ~ b && $0 ~ a)) found = 1 }
        END { exit !found }' "$3"
}
check() { # FORM STATUS KINDS ONE OTHER ARGS...
    form=$1 status=$2 kinds=$3 one=$4 other=$5
    shift 5
    LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check $options -- "$program" --form "$form" "$@" >"$tmp/out" 2>"$tmp/err"
    got=$? found=$(sed -n 's/^weir: hazard: \([a-z-]*\).*/\1/p' "$tmp/err" | sort -u | tr '\n' ' ')
    if [ $got != "$status" ] || { [ "$one" ] && ! tells "$one" "$other" "$tmp/err"; } || [ "$found" != "$kinds" ] || { [ "$status" = 0 ] && ! grep -q '^RESULT PASS' "$tmp/out"; }; then
        echo "FAILED $form: status $got, wanted $status; found '$found', wanted '$kinds' $one $other"
        cat "$tmp/out" "$tmp/err"
        failed=1
    else
        echo "ok $form ${found:-nothing found}$one${one:+ and }$other"
    fi
}
for form in $clean; do check "$form" 0 '' '' '' "$@"; done
for planted in $bad; do
    pair=${planted#*=}
    check "${planted%%=*}" 99 'race ' "${pair%/*}" "${pair#*/}" "$@"
done
exit $failed
