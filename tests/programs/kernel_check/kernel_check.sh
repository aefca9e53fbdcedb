#!/bin/sh
# kernel_check.sh SOURCES: what weir check knows of kernels: each form of access, byte by byte (forms.cu); accesses out of bounds
# and of memory that nothing has written, with their lines (wrong.cu).
# SPDX-License-Identifier: Apache-2.0
set -u
[ -x "$BUILD/bin/weir" ] && [ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
command -v nvcc >/dev/null || { echo "skipped: no nvcc"; exit 77; }
src=$1
mkdir -p "$BUILD/tests/kernel_check" && cd "$BUILD/tests/kernel_check" || exit 1
. "$SOURCE/tests/programs/check.sh"
for p in forms wrong; do
    if newer $p; then "$SOURCE/tests/support/nvcc" -O2 -lineinfo -std=c++17 -gencode arch=compute_80,code=compute_80 -o $p "$src/$p.cu" || die $p; fi
done
run_check() { LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check "$@" 2>err; }

run_check ./forms >names || { echo "FAILED: forms: $(cat err)"; failed=1; }
run_check ./forms race >out
[ $? = 99 ] && cmp -s names out || { echo "FAILED: forms race"; failed=1; }
count=$(grep -c '^weir: hazard: race' err)
[ "$count" = "$(wc -l <names)" ] || { echo "FAILED: forms race: found $count of $(wc -l <names):"; cat err; failed=1; }

# Each of the following is a process, which ThreadSanitizer makes slow and has nothing new to see in.
case "${SANITIZE:-}" in *thread*) exit $failed ;; esac

verdict() { # FORM KIND TEXT [OPTION]: KIND - is nothing; TEXT is in the report
    run_check ${4:-} ./wrong "$1" >out
    rc=$?
    kinds=$(sed -n 's/^weir: hazard: \([a-z-]*\).*/\1/p' err | grep -v failed-operation | sort -u | tr '\n' ' ')
    if [ "$2" = - ]; then want= status=0; else want="$2 " status=99; fi
    if [ "$kinds" != "$want" ] || [ $rc -ne $status ] || ! grep -q -e "$3" err; then
        printf 'FAILED %s %s: found "%s", wanted "%s" and "%s"; status %s\n%s\n' "$1" "${4:-}" "$kinds" "$want" "$3" $rc "$(cat err)"
        failed=1
    else
        echo "ok $1 ${4:-} $kinds"
    fi
}
line() { echo "wrong.cu:$(grep -n "/\\* $1 \\*/" "$src/wrong.cu" | cut -d: -f1)"; }

while read -r form kind text; do
    verdict "$form" "$kind" "${text:-.}"
done <<END
write-inside - .
write-behind out-of-bounds thread (232, 0, 0) of block (3, 0, 0) at .*$(line write) writes 4 bytes at 0x[0-9a-f]*: right behind the end of 4000 bytes (cudaMalloc
write-page-behind out-of-bounds behind the end of 400000 bytes (cudaMalloc
read-behind out-of-bounds $(line read) reads 4 bytes
scatter-behind out-of-bounds thread (17, 0, 0) of block (0, 0, 0) at .*$(line scatter) writes 4 bytes at 0x[0-9a-f]*: 28 bytes behind the end
scatter-before out-of-bounds 32 bytes before 4000 bytes
scatter-inside -
vector-behind out-of-bounds thread (250, 0, 0) of block (0, 0, 0) at .*$(line vector) writes 16 bytes
host-pointer out-of-bounds $(line write) writes 4 bytes
null out-of-bounds writes 4 bytes at 0x0: a null pointer
null-member out-of-bounds writes 4 bytes at 0x[0-9a-f]*: [0-9]* bytes behind a null pointer
freed out-of-bounds 4000 bytes that were freed
freed-in-order use-after-free bytes behind the begin of 4000 bytes that were freed (cudaMallocAsync at
freed-in-order-waited use-after-free the memory was given back by cudaFreeAsync at .*use_freed_in_order
graph-behind out-of-bounds thread (232, 0, 0) of block (3, 0, 0)
read-pool -
read-unwritten -
END
while read -r form kind text; do
    verdict "$form" "$kind" "${text:-.}" --init
done <<END
write-inside -
read-unwritten uninitialised $(line read) reads 4 bytes that nothing has written
read-part-unwritten uninitialised 3996 to 4000 of 4000, cudaMalloc
update-unwritten uninitialised $(line read) updates 4 bytes
read-set -
read-copied -
read-filled -
read-own -
read-variables -
read-pool -
read-pool-unwritten uninitialised cudaMallocAsync
read-reused -
END
# What is no access to memory of the program's is told as weir run does.
run_check ./wrong shared-far >out
[ $? = 99 ] && grep -q "^weir: hazard: failed-operation: an operation failed: kernel in_shared: .*$(line shared), by .*behind the end of the block's 256 bytes of shared memory" err ||
    { echo "FAILED shared-far: $(cat err)"; failed=1; }
for form in shared-read shared-write; do verdict $form - .; done
verdict shared-read - . --light
verdict shared-write race 'kernel take_and_give' --light
exit $failed
