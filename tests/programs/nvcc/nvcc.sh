# Programs of nvcc, in every form of its runtime. SPDX-License-Identifier: Apache-2.0
nvcc --version >/dev/null 2>&1 || { echo "skipped: no nvcc on PATH"; exit 77; }
[ -f "$BUILD/lib/libweir.so" ] || { echo "skipped: this build has no libweir.so"; exit 77; }
[ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
out=$BUILD/tests/nvcc
mkdir -p "$out" && cd "$out" || exit 1
app=$SOURCE/tests/programs/nvcc/app.cu
. "$SOURCE/tests/programs/check.sh"

# build TARGET OPTIONS...: only when the source is newer
build() {
    target=$1
    shift
    [ -n "$(find "$target" -newer "$app" 2>/dev/null)" ] || "$SOURCE/tests/support/nvcc" -O2 -o "$target" "$app" "$@" || { echo "FAILED: nvcc $target"; exit 1; }
}

build static -arch=sm_80 -Xcompiler -pthread
build nopie -arch=sm_80 -Xcompiler -pthread,-fno-pie,-no-pie
build shared -arch=sm_80 -cudart shared -Xcompiler -pthread -Xlinker -rpath="$(dirname "$(command -v nvcc)")/../lib64"
build old -Xfatbin -compress-mode=speed -gencode arch=compute_75,code=compute_75 -Xcompiler -pthread
build plain -arch=sm_80 -Xfatbin -compress-mode=none -default-stream per-thread -Xcompiler -pthread
build liblibrary.so -arch=sm_80 -DLIBRARY -shared -Xcompiler -fPIC
build linked -arch=sm_80 -DLINKED -L. -llibrary -Xcompiler -pthread -Xlinker -rpath='$ORIGIN'
cp static stripped && strip stripped

program='program: constructor: 1 device, 1 4'
library='library: constructor: 1 device, 1 4'
for form in static nopie shared old plain; do
    check $form 0 "$program
program: 0 bad" ./$form
done
check linked 0 "$library
$program
library: 0 bad
program: 0 bad" ./linked
check opened 0 "$program
$library
library: 0 bad
program: 0 bad" ./static open "$PWD/liblibrary.so"
check opened-by-shared 0 "$program
$library
library: 0 bad
program: 0 bad" ./shared open ./liblibrary.so
# Where the program and the user say the real library is does not matter.
export LD_LIBRARY_PATH=$(dirname "$(command -v nvcc)")/../lib64
check shared-with-path 0 "$program
program: 0 bad" ./shared
unset LD_LIBRARY_PATH
for form in static shared; do
    message='^weir: kernel .*: cudaErrorIllegalAddress at ' # the kernel that fails is told of
    check $form-all 0 "$program
program: 0 bad
handler: still installed 1
handler: signal 11, right address 1, on the alternate stack 1, context 1
handler: work after the fault: 0 bad
$program
exit: 0 bad
child: status 9
illegal: cudaErrorIllegalAddress, host value 5" ./$form all
done
check exit 9 "$program
exit: 0 bad" ./static exit 9
check abort 134 "$program" sh -c './static abort 2>/dev/null; exit $?' 2>/dev/null
export ASAN_OPTIONS=handle_segv=0 TSAN_OPTIONS="${TSAN_OPTIONS:-}:handle_segv=0" # its own report would change the status
check segv 139 "$program" ./static segv
LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" run ./stripped >/dev/null 2>err
[ $? = 125 ] && grep -q 'cudart shared' err || { echo "FAILED stripped"; cat err; failed=1; }
rm -f err
exit $failed
