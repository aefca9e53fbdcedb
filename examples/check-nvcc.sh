#!/bin/sh
# check-nvcc.sh SOURCE PATTERN [ARGS...]: the same example as people build it (build-nvcc.sh), with the static and with the shared
# runtime. Skipped where there is no nvcc.
# SPDX-License-Identifier: Apache-2.0
set -u
command -v nvcc >/dev/null || { echo 'skipped: no nvcc on PATH'; exit 77; }
name=$(basename "$1") && name=${name%.*}
pattern=$2
shift 2
for runtime in static shared; do
    echo "nvcc -cudart $runtime:"
    sh "$(dirname "$0")/check.sh" "$BUILD/examples/nvcc/$name-$runtime" "$pattern" "$@" || exit 1
done
