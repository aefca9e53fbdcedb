# Products of matrices on tensor cores. SPDX-License-Identifier: Apache-2.0
nvcc --version >/dev/null 2>&1 || { echo "skipped: no nvcc on PATH"; exit 77; }
[ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
out=$BUILD/tests/matrix src=$SOURCE/tests/programs/matrix
mkdir -p "$out" && cd "$out" || exit 1
. "$SOURCE/tests/programs/check.sh"

newer matrix && { "$SOURCE/tests/support/nvcc" -O2 -std=c++17 -gencode arch=compute_80,code=compute_80 -o matrix "$src/matrix.cu" || die matrix; }
check matrix 0 'half: 0 wrong
half, sums of halves: 0 wrong
bfloat16: 0 wrong
tf32: 0 wrong
double: 0 wrong
bytes: 0 wrong
wide tiles: 0 wrong
ldmatrix and mma: 0 wrong' ./matrix
exit $failed
