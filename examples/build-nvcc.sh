#!/bin/sh
# build-nvcc.sh SOURCE: compiles an example with nvcc and links it with the static and with the shared runtime, for check-nvcc.sh.
# Skipped where there is no nvcc.
# SPDX-License-Identifier: Apache-2.0
set -u
command -v nvcc >/dev/null || { echo 'skipped: no nvcc on PATH'; exit 77; }
source=$1
name=$(basename "$source") && name=${name%.*}
here=$(dirname "$0")
out=$BUILD/examples/nvcc
mkdir -p "$out"
pipe= # what includes weir/pipe.h has the library compiled in
grep -q '"weir/pipe.h"' "$source" && pipe=1
built() { # nothing that the program is made of is newer
    [ "$1" -nt "$source" ] && [ "$1" -nt "$here/common.h" ] &&
        [ -z "${pipe:+$(find "$here/../src/pipe" "$here/../include/weir" -newer "$1")}" ]
}
built "$out/$name-static" && built "$out/$name-shared" && exit 0
nvcc -O3 ${pipe:+"-I$here/../include"} -c "$source" -o "$out/$name.o" || exit 1
for runtime in static shared; do
    set -- "$out/$name.o"
    [ -z "$pipe" ] || set -- "-I$here/../include" "$@" "$here"/../src/pipe/*.c
    nvcc -O3 -cudart "$runtime" "$@" -o "$out/$name-$runtime" || exit 1
done
