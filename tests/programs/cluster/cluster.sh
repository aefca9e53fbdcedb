# Clusters of blocks. SPDX-License-Identifier: Apache-2.0
nvcc --version >/dev/null 2>&1 || { echo "skipped: no nvcc on PATH"; exit 77; }
[ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
out=$BUILD/tests/cluster src=$SOURCE/tests/programs/cluster
mkdir -p "$out" && cd "$out" || exit 1
. "$SOURCE/tests/programs/check.sh"

newer cluster && { "$SOURCE/tests/support/nvcc" -O2 -std=c++17 -gencode arch=compute_90,code=compute_90 -gencode arch=compute_80,code=compute_80 -o cluster "$src/cluster.cu" || die cluster; }
check cluster 0 'histogram: 0 wrong
places: 0 wrong
barriers: 0 wrong
inline: 0 wrong
graph: 0 wrong
between clusters: 0 wrong
launches: 0 wrong
occupancy: 0 wrong' --device h200 -- ./cluster
check none 0 'no clusters: cudaErrorInvalidClusterSize' ./cluster
exit $failed
