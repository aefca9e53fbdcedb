#!/bin/sh
# usage: exports.sh LIBCUDA NAMES_PROGRAM [REAL_STUB_LIBCUDA]
# The exported symbols are the table's; with NVIDIA's stub at hand, exactly its own.
# SPDX-License-Identifier: Apache-2.0
set -eu
symbols() { nm -D --defined-only "$1" | awk '$2 ~ /[TWi]/ {print $3}' | grep '^cu' | sort; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
symbols "$1" >"$dir/ours"
"$2" | sort >"$dir/table"
diff "$dir/table" "$dir/ours" || { echo "the library differs from api/driver.def"; exit 1; }
readelf -d "$1" | grep -q 'SONAME.*\[libcuda.so.1\]' || { echo "another soname"; exit 1; }
if [ $# -gt 2 ] && [ -e "$3" ]; then
    symbols "$3" >"$dir/real"
    diff "$dir/real" "$dir/ours" || { echo "the library differs from NVIDIA's"; exit 1; }
    echo "$(wc -l <"$dir/ours") symbols, as NVIDIA's"
else
    echo "$(wc -l <"$dir/ours") symbols; no libcuda.so of NVIDIA's to compare with"
fi
