#!/bin/sh
# tests/model/wasm.sh SOURCE_DIR BUILD_DIR: the model compiles and links freestanding for wasm32 and imports nothing: no
# libc call, not even one that the compiler made of a loop. 77: no compiler for it here.
# SPDX-License-Identifier: Apache-2.0
set -eu
src=$1 out=$2/wasm
cc=${WEIR_WASM_CC:-clang-19}
ld=${WEIR_WASM_LD:-wasm-ld-19}
command -v "$cc" >/dev/null || { echo "skipped: no $cc"; exit 77; }
mkdir -p "$out"
objects=
for f in "$src"/src/model/*.c; do
    o=$out/$(basename "$f" .c).o
    "$cc" --target=wasm32 -std=c17 -O2 -ffreestanding -fno-builtin -nostdlib -Wall -Wextra -Werror -I"$src/src" -c "$f" -o "$o"
    objects="$objects $o"
done
command -v "$ld" >/dev/null || { echo "compiled; link skipped: no $ld"; exit 77; }
# The allocator comes as function pointers: nothing at all may be undefined, or the link fails. --whole-archive is not needed,
# objects are linked whole; every function is exported, so that none is dropped before it is looked at.
"$ld" --no-entry --export-all --fatal-warnings -o "$out/model.wasm" $objects
echo "model.wasm: $(wc -c <"$out/model.wasm") bytes, no imports"
