#!/bin/sh
# usage: exports.sh LIBCUDART NAMES-PROGRAM REAL_LIBCUDART|none [OPTION OF NAMES-PROGRAM]
# The exported symbols are the table's, all with the version node; with NVIDIA's library at hand, exactly its own.
# SPDX-License-Identifier: Apache-2.0
set -eu
symbols() { nm -D --defined-only "$1" | awk '$2 ~ /[TWi]/ {print $3}' | sort; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
symbols "$1" >"$dir/ours"
version=$(basename "$1")
"$2" ${4-} | sed "s/\$/@@$version/" | sort >"$dir/table"
diff "$dir/table" "$dir/ours" || { echo "the library differs from api/runtime.def"; exit 1; }
if [ -e "$3" ]; then
    symbols "$3" >"$dir/real"
    diff "$dir/real" "$dir/ours" || { echo "the library differs from NVIDIA's"; exit 1; }
    echo "$(wc -l <"$dir/ours") symbols, as NVIDIA's"
else
    echo "$(wc -l <"$dir/ours") symbols; no $version of NVIDIA's to compare with"
fi
