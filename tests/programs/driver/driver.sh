# How a program finds libcuda.so.1 under weir run: linked to it, opened by name, opened by a path that does not exist here.
# SPDX-License-Identifier: Apache-2.0
[ -f "$BUILD/lib/libcuda.so.1" ] || { echo "skipped: this build has no libcuda.so.1"; exit 77; }
out=$BUILD/tests/driver
mkdir -p "$out" && cd "$out" || exit 1
failed=0
# check NAME COMMAND...
check() {
    name=$1
    shift
    got=$(LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" run "$@" 2>&1)
    rc=$?
    if [ $rc = 0 ] && [ -z "$got" ]; then
        echo "ok $name"
    else
        echo "FAILED $name: status $rc: $got"
        failed=1
    fi
}
# Linked without a run path: what the loader would find is a GPU's driver, or nothing.
${CC:-cc} -I "$SOURCE/include/cuda" -o linked "$SOURCE/tests/driver/before.c" -L "$BUILD/lib" -l:libcuda.so.1 \
    -Wl,-rpath-link,"$BUILD/lib" -pthread || exit 1
check linked ./linked
check 'opened by name' "$BUILD/tests/t_driver_entry"
check 'opened as libcuda.so' "$BUILD/tests/t_driver_entry" libcuda.so
check 'opened by a path' "$BUILD/tests/t_driver_entry" /usr/lib/somewhere/libcuda.so.1
exit $failed
