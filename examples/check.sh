#!/bin/sh
# check.sh PROGRAM PATTERN [ARGS...]: runs an example under weir. It must end with status 0, print a line that matches
# PATTERN, end its output with RESULT PASS, and nothing (of Weir's, above all) may stand on stderr.
# SPDX-License-Identifier: Apache-2.0
set -u
program=$1 pattern=$2
shift 2
err=$(mktemp) && trap 'rm -f "$err"' EXIT
out=$(LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" run -- "$program" "$@" 2>"$err")
status=$?
printf '%s\n' "$out"
fail() { echo "check: $1"; exit 1; }
[ ! -s "$err" ] || { cat "$err"; fail "$program wrote on stderr"; }
[ "$status" = 0 ] || fail "$program ended with status $status"
printf '%s\n' "$out" | grep -qE -- "$pattern" || fail "no line matches: $pattern"
printf '%s\n' "$out" | tail -n 1 | grep -q '^RESULT PASS' || fail 'the last line is not RESULT PASS'
