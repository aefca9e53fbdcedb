#!/bin/sh
# run.sh SOURCE [OPTIONS]: compiles with nvcc, runs under weir; the program's last line must be "NAME: 0 bad".
# FORM in the environment: what the executable is called behind the source's name.
# SPDX-License-Identifier: Apache-2.0
set -u
nvcc --version >/dev/null 2>&1 || { echo "skipped: no nvcc on PATH"; exit 77; }
[ -f "$BUILD/lib/libweir.so" ] || { echo "skipped: this build has no libweir.so"; exit 77; }
[ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
source=$1
shift
program=$(basename "$source") && program=${program%.*}
name=$program${FORM:-}
mkdir -p "$BUILD/tests/device" && cd "$BUILD/tests/device" || exit 1
if [ -z "$(find "$name" -newer "$source" -newer "$SOURCE/tests/programs/device/check.h" 2>/dev/null)" ]; then
    "$SOURCE/tests/support/nvcc" -std=c++17 -arch=sm_80 -O2 --extended-lambda "$@" -o "$name" "$source" || exit 1
fi
ulimit -c 0
out=$(LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" run -- "./$name")
status=$?
printf '%s\n' "$out"
[ $status = 0 ] && [ "$(printf '%s\n' "$out" | tail -n 1)" = "$program: 0 bad" ]
