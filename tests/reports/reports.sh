# reports.sh cc|nvcc LIBRARY: the reports, with kernels by that compiler. SPDX-License-Identifier: Apache-2.0
set -u
compiler=$1 library=$2
[ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
src=$SOURCE/tests/reports
out=$BUILD/tests/reports/$compiler
mkdir -p "$out" && cd "$out" || exit 1
. "$SOURCE/tests/programs/check.sh"
program=./reports
if newer $program || [ "$library" -nt $program ]; then
    case $compiler in
    cc) "$WEIR" cc -O2 "$src/kernels.cu" "$library" -o $program || die weir cc ;;
    nvcc)
        nvcc --version >/dev/null 2>&1 || { echo "skipped: no nvcc on PATH"; exit 77; }
        "$SOURCE/tests/support/nvcc" -O2 -arch=sm_80 "$src/kernels.cu" "$library" -o $program -Xcompiler -pthread || die nvcc
        ;;
    esac
fi
# run [NAME=VALUE...] REPORTS: all of them are fine
run() {
    if got=$(env LD_PRELOAD="$SANITIZER_PRELOAD" "$@" 2>err) && ! printf '%s\n' "$got" | grep -v ': ok$'; then
        printf '%s\n' "$got" | sed 's/^/ok /; s/: ok$//'
    else
        printf 'FAILED %s: %s\n%s\n' "$*" "$got" "$(cat err)"
        failed=1
    fi
}
run "$WEIR" run $program streams order capture events errors pools managed claims
run CUDA_MODULE_LOADING=LAZY "$WEIR" run $program hangs
run CUDA_MODULE_LOADING=EAGER CUDA_DEVICE_MAX_CONNECTIONS=1 "$WEIR" run $program P26 P10
run CUDA_DEVICE_MAX_CONNECTIONS=32 "$WEIR" run $program P10
run "$WEIR" run --device h200 $program P50
run "$WEIR" run $program P53
run CUDA_LAUNCH_BLOCKING=1 "$WEIR" run $program P53-blocking
run "$WEIR" run --devices 2 $program devices
run "$WEIR" run --late-dma=60 $program late
run "$WEIR" run --strict managed $program strict
if grep -q 'the host reads managed memory at 0x[0-9a-f]* while kernel spin of stream [0-9]* is active' err && [ "$(grep -c ORD-092 err)" = 1 ]; then
    echo "ok strict: told once"
else
    echo "FAILED strict: told once"; cat err
    failed=1
fi
# P76: a timeline without a daemon or rights, twice into one file: the second is new, and can be exported.
timeline() { LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" trace -o t.weir $program "$1" >/dev/null && "$WEIR" summary t.weir >"$1.txt"; }
rm -f t.weir
if timeline P02 && timeline P50 && grep -q add P02.txt && grep -q append P50.txt && ! grep -q append P02.txt &&
    ! grep -q 'add' P50.txt && "$WEIR" export --format chrome t.weir -o t.json && [ -s t.json ]; then
    echo "ok P76"
else
    echo "FAILED P76"
    failed=1
fi
exit $failed
