#!/bin/sh
# check-nvcc.sh SOURCE PATTERN [ARGS...]: the same example as people build it, with the static and with the shared runtime.
# Skipped where there is no nvcc.
# SPDX-License-Identifier: Apache-2.0
set -u
command -v nvcc >/dev/null || { echo 'skipped: no nvcc on PATH'; exit 77; }
source=$1 pattern=$2
shift 2
name=$(basename "$source") && name=${name%.*}
here=$(dirname "$0")
pipe= # what includes weir/pipe.h has the library compiled in
grep -q '"weir/pipe.h"' "$source" && pipe="-I$here/../include $here/../src/pipe/*.c"
mkdir -p "$BUILD/examples/nvcc"
for runtime in static shared; do
    program=$BUILD/examples/nvcc/$name-$runtime
    if [ ! "$program" -nt "$source" ] || [ ! "$program" -nt "$here/common.h" ] ||
        { [ -n "$pipe" ] && [ -n "$(find "$here/../src/pipe" "$here/../include/weir" -newer "$program")" ]; }; then
        nvcc -O3 -cudart "$runtime" "$source" $pipe -o "$program" || exit 1
    fi
    echo "nvcc -cudart $runtime:"
    sh "$here/check.sh" "$program" "$pattern" "$@" || exit 1
done
