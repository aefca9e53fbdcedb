#!/bin/sh
# usage: exports.sh LIBCUDART "NAMES OF THE TABLE" [REAL_LIBCUDART]
# The exported symbols are the table's, all with the version node; with NVIDIA's library at hand, exactly its own.
# SPDX-License-Identifier: Apache-2.0
set -eu
symbols() { nm -D --defined-only "$1" | awk '$2 ~ /[TWi]/ {print $3}' | sort; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
symbols "$1" >"$dir/ours"
"$2" | sed 's/$/@@libcudart.so.13/' | sort >"$dir/table"
diff "$dir/table" "$dir/ours" || { echo "the library differs from api/runtime.def"; exit 1; }
if [ $# -gt 2 ] && [ -e "$3" ]; then
    symbols "$3" >"$dir/real"
    diff "$dir/real" "$dir/ours" || { echo "the library differs from NVIDIA's"; exit 1; }
    echo "$(wc -l <"$dir/ours") symbols, as NVIDIA's"
else
    echo "$(wc -l <"$dir/ours") symbols; no libcudart.so.13 of NVIDIA's to compare with"
fi
