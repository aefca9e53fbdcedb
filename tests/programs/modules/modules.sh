# Several modules in one process: objects of one program, libraries linked and opened. SPDX-License-Identifier: Apache-2.0
nvcc --version >/dev/null 2>&1 || { echo "skipped: no nvcc on PATH"; exit 77; }
[ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
out=$BUILD/tests/modules src=$SOURCE/tests/programs/modules
mkdir -p "$out" && cd "$out" || exit 1
. "$SOURCE/tests/programs/check.sh"
# Stubs of templates are private to their object unless CUDA 13 and later are told otherwise.
stubs=$(nvcc --help | grep -q static-global-template-stub && echo -static-global-template-stub=false -device-entity-has-hidden-visibility=false)
# library NAME NUMBER OPTIONS...
library() {
    target=lib$1.so number=$2
    shift 2
    newer $target || return 0
    "$SOURCE/tests/support/nvcc" -O2 -arch=sm_80 $stubs -DNUMBER=$number -Xcompiler -fPIC -shared -o $target "$src/module.cu" "$@" || die $target
}
library static 1
library shared 2 -cudart shared -Xcompiler -fvisibility=hidden
library hidden 3 -Xcompiler -fvisibility=hidden
library rdc 4 -rdc=true
library early 5 "$src/early.cc"
rpath="-Xlinker -rpath=\$ORIGIN -Xlinker -rpath=$(dirname "$(command -v nvcc)")/../lib64"
for form in static shared; do
    newer linked-$form && { "$SOURCE/tests/support/nvcc" -O2 -arch=sm_80 -cudart $form -DNUMBER=0 -DLINKED $rpath -o linked-$form "$src/main.cc" "$src/module.cu" \
        -L. -lstatic -lshared || die linked-$form; }
    newer main-$form && { "$SOURCE/tests/support/nvcc" -O2 -arch=sm_80 -cudart $form $stubs -DNUMBER=0 -Xlinker -export-dynamic -o main-$form "$src/main.cc" "$src/module.cu" || die main-$form; }
done
newer main-none && { "$SOURCE/tests/support/nvcc" -O2 -cudart none -DNO_MODULE -o main-none "$src/main.cc" -Xlinker -ldl || die main-none; }
# (Sanitizers keep freed memory: no growth can be measured.)
[ -z "$SANITIZE" ] || TIMES=12
all="1=./libstatic.so 2=./libshared.so 3=./libhidden.so 4=./librdc.so"
for form in static shared; do
    check linked-$form 0 '0 failures' ./linked-$form linked
    check opened-often-$form 0 '0 failures' ./main-$form open now ${TIMES:-100} $all
    [ -n "$SANITIZE" ] || # which refuses RTLD_DEEPBIND
        check opened-deep-$form 0 '0 failures' ./main-$form open deep 3 $all
done
# Kernels inside dlopen and dlclose, with nothing in the cache: the compiler's library is opened meanwhile.
export WEIR_CACHE=off
check early 0 '0 failures' ./main-none open now 2 5=./libearly.so 1=./libstatic.so
check early-by-static 0 '0 failures' ./main-static open now 2 1=./libstatic.so 5=./libearly.so
unset WEIR_CACHE
check opened-often-by-none 0 '0 failures' ./main-none open now ${TIMES:-100} $all

newer managed && { "$SOURCE/tests/support/nvcc" -O2 -arch=sm_80 -o managed "$src/managed.cu" || die managed; }
check managed-one 0 '1 devices, 0 bad: 1060, 1 3 3, 1, 14 2' ./managed
check managed-three 0 '3 devices, 0 bad: 106230, 4 3 5, 1, 56 8' --devices 3 ./managed
rm -f err
exit $failed
