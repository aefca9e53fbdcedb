# What --stats says about pages of managed memory. SPDX-License-Identifier: Apache-2.0
set -u
src=$SOURCE/tests/programs/stats
[ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
[ -r /proc/self/pagemap ] || { echo "skipped: no /proc/self/pagemap"; exit 77; }
mkdir -p "$BUILD/tests/stats" && cd "$BUILD/tests/stats" || exit 1
. "$SOURCE/tests/programs/check.sh"
! newer pages || "$WEIR" cc -O2 "$src/pages.cu" -o pages || die pages
# pages NAME OPTIONS -- PATTERNS...: the program is right, and says all of the patterns
pages() {
    name=$1 options=$2
    shift 2
    out=$(LD_PRELOAD=$SANITIZER_PRELOAD WEIR_STATS_FILE=$PWD/$name.txt "$WEIR" run --stats $options ./pages "$name") ||
        { echo "FAILED $name: $out"; failed=1; return; }
    [ "$out" = "pages: 0 wrong" ] || { echo "FAILED $name: $out"; failed=1; }
    for pattern; do
        grep -Eq "$pattern" "$name.txt" || { echo "FAILED $name: no $pattern in"; sed -n '/pages of/,$p' "$name.txt"; failed=1; }
    done
    echo "ok $name"
}
rm -f ./*.txt
# All 256 pages to the device; the two ends are read by the host, then a quarter is written.
to='host +to device 0' from='device 0 +to host'
pages plain '' "$to +a kernel touched them +256 +16777216 +1 " "$from +the host touched them +6[5-9] +4[23][0-9]{5} +1 " \
    'kernel add brought 16777216 bytes'
pages kept '' "$to +a kernel touched them +256 +16777216 +1 " "$from +the host touched them +6[5-9] "
pages prefetch '' "$to +prefetched +256 +16777216 +1 " "$from +the host touched them +6[5-9] "
! grep -q 'a kernel touched them' prefetch.txt || { echo 'FAILED prefetch: the kernel moved something'; failed=1; }
pages advised '' "$to +reached where they are, as advised +256 +16777216 +1 "
! grep -q 'touched them' advised.txt || { echo 'FAILED advised: something moved'; failed=1; }
# Two pages to and fro between the launches of a graph: the first each time, and once more for the check.
pages graph '' "$to +a kernel touched them +258 " "$from +the host touched them +3 +196608 +3 "
pages small '--memory 8M' "$to +a kernel touched them +256 " "$from +no room on the device .--memory. +128 +8388608 +1 "
exit $failed
