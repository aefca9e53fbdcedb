#!/bin/sh
# compare.sh INCLUDE WORK: prints the facts of the toolkit's headers and of ours with one generated program, and compares.
# The program is made from OUR headers' text (facts.awk): every struct member's offset, every struct's size and alignment,
# every enumerator, every constant macro. Prototypes: one file includes the toolkit's header and redeclares all functions
# with our text. Skipped where there is no toolkit.
# SPDX-License-Identifier: Apache-2.0
set -eu
include=$1 work=$2/compare
here=$(cd "$(dirname "$0")" && pwd)
toolkit=${CUDA_PATH:-/usr/local/cuda}
command -v python3 >/dev/null || { echo 'skipped: no python3 here'; exit 77; }
command -v nvcc >/dev/null && toolkit=$(dirname "$(dirname "$(command -v nvcc)")")
[ -f "$toolkit/include/driver_types.h" ] || { echo 'skipped: no CUDA toolkit here'; exit 77; }
grep -q 'CUDART_VERSION *13000' "$toolkit/include/cuda_runtime_api.h" ||
    { echo 'skipped: the toolkit is not CUDA 13.0'; exit 77; }
mkdir -p "$work"
clang=${CLANG:-clang-19}

# 1. Facts, printed by one program compiled against each.
python3 "$here/facts.py" "$clang" "$include/cuda" >"$work/facts.c"
for side in ours theirs; do
    dir=$include/cuda
    [ $side = ours ] || dir=$toolkit/include
    "$clang" -w -I "$dir" "$work/facts.c" -o "$work/$side"
    "$work/$side" >"$work/$side.txt"
done
diff "$work/theirs.txt" "$work/ours.txt" || { echo 'headers: < the toolkit, > ours'; exit 1; }
echo "headers: $(wc -l <"$work/ours.txt") facts agree"

# 2. Prototypes: a compiler rejects a redeclaration with other types.
python3 "$here/facts.py" --prototypes "$clang" "$include/cuda" >"$work/prototypes.c"
"$clang" -w -fsyntax-only -I "$toolkit/include" "$work/prototypes.c"
echo "headers: $(grep -c '^extern' "$work/prototypes.c") prototypes agree"

# 3. The other way round: what the toolkit has and we have not.
python3 "$here/facts.py" --names "$clang" "$include/cuda" | sort >"$work/ours.names"
python3 "$here/facts.py" --names "$clang" "$toolkit/include" | sort >"$work/theirs.names"
missing=$(comm -13 "$work/ours.names" "$work/theirs.names" | grep -vxFf "$here/not-ours.txt" || true)
[ -z "$missing" ] || { echo "headers: in the toolkit, not in ours:"; echo "$missing"; exit 1; }
echo "headers: $(wc -l <"$work/theirs.names") names of the toolkit are all here"
