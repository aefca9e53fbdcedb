#!/bin/sh
# alone.sh INCLUDE: every header of include/cuda and include/weir by itself, gcc and clang, C11, C++11 and C++17, all warnings errors.
# (C17 is C11 with its mistakes mended: by clang.)
# SPDX-License-Identifier: Apache-2.0
set -u
include=$1 bad=0 count=0
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
try() { # compiler language standard header
    count=$((count + 1))
    "$1" -x "$2" -std="$3" -Wall -Wextra -Wpedantic -Werror -Wno-unused-function -fsyntax-only -I "$include/cuda" -I "$include" \
        "$work/t.$2" || { echo "headers: $4 with $1 -x $2 -std=$3"; bad=1; }
}
for h in "$include"/cuda/*.h "$include"/cuda/*/*.h "$include"/weir/*.h; do
    name=${h#"$include"/cuda/}
    name=${name#"$include"/}
    # Twice: the guard. The declaration: no translation unit is empty.
    printf '#include <%s>\n#include <%s>\nextern int t;\n' "$name" "$name" | tee "$work/t.c" >"$work/t.c++"
    for compiler in gcc "${CLANG:-clang-19}"; do
        command -v "$compiler" >/dev/null || continue
        if [ "$compiler" = gcc ]; then std=c11; else std=c17; fi
        try "$compiler" c $std "$name"
        for std in c++11 c++17; do try "$compiler" c++ $std "$name"; done
    done
done
[ $count -gt 0 ] || { echo 'skipped: neither gcc nor clang'; exit 77; }
[ $bad = 0 ] && echo "headers: $count compilations clean"
exit $bad
