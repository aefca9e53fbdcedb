#!/bin/sh
# run.sh SOURCE [OPTIONS]: compiles with weir cc, runs under weir; the program's last line must be RESULT PASS.
# SPDX-License-Identifier: Apache-2.0
set -u
source=$1
shift
name=$(basename "$source") && name=${name%.*}
mkdir -p "$BUILD/tests/cc"
"$WEIR" cc -O2 "$@" "$source" -o "$BUILD/tests/cc/$name" || exit 1
out=$(LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" run -- "$BUILD/tests/cc/$name")
status=$?
printf '%s\n' "$out"
[ $status = 0 ] && printf '%s\n' "$out" | tail -n 1 | grep -q '^RESULT PASS'
