#!/bin/sh
# Separately compiled units, linked in the ways that projects do it: at once, from objects, by a device link before the host's
# linker, out of an archive, in a shared library; files of the same name in two folders; and together with a unit of nvcc.
# SPDX-License-Identifier: Apache-2.0
set -u
here=$(dirname "$0")/rdc
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
mkdir "$work/a" "$work/b" && cp "$here/main.cu" "$work/a/unit.cu" && cp "$here/other.cu" "$work/b/unit.cu"
lib=$BUILD/lib
bad=0
right() {
    out=$(LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" run -- "$1" 2>&1)
    if [ "$(printf '%s\n' "$out" | tail -n 1)" != 'RESULT PASS' ]; then
        printf '%s: wrong\n%s\n' "$2" "$out"
        bad=1
    fi
}
cd "$work" || exit 1
"$WEIR" cc -rdc=true "$here/main.cu" "$here/other.cu" -o at-once && right ./at-once 'at once' || bad=1
(cd a && "$WEIR" cc -dc unit.cu) && (cd b && "$WEIR" cc -Xcompiler -fPIC -rdc=true -c unit.cu -o unit.o) || exit 1
"$WEIR" cc a/unit.o b/unit.o -o objects && right ./objects 'from objects of the same name' || bad=1
"$WEIR" cc -dlink a/unit.o b/unit.o -o device.o &&
    "$CXX" a/unit.o b/unit.o device.o -L"$lib" -lcudart -o by-host && right ./by-host 'device link, then the host linker' || bad=1
"$WEIR" cc -lib b/unit.o -o libother.a && "$WEIR" cc a/unit.o -L. -lother -o archive && right ./archive 'archive' || bad=1
"$WEIR" cc -shared -rdc=true -Xcompiler -fPIC "$here/main.cu" b/unit.o -o libboth.so &&
    echo >empty.c && "$WEIR" cc empty.c -L. -lboth -Xlinker -rpath,. -o shared && right ./shared 'shared library' || bad=1
if command -v nvcc >/dev/null; then
    "$SOURCE/tests/support/nvcc" -std=c++17 -arch=sm_80 -dc "$here/other.cu" -o n.o &&
        "$WEIR" cc -rdc=true -DOTHER_COMPILER "$here/main.cu" n.o -o mixed && right ./mixed 'with a unit of nvcc' ||
        bad=1
fi
[ $bad = 0 ] && echo 'rdc: right'
exit $bad
