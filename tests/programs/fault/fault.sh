#!/bin/sh
# What is said of a kernel that fails: its name, the line, who, which address and what is near. Names and lines in gdb,
# names in perf's file.
# SPDX-License-Identifier: Apache-2.0
set -eu
command -v clang-19 >/dev/null || { echo 'skipped: weir cc needs clang-19'; exit 77; }
[ -z "${SANITIZE:-}" ] || { echo 'skipped: covered by the plain builds; the program has no sanitizer'; exit 77; }
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WEIR_CACHE_DIR="$work/cache"
"$WEIR" cc -O2 -lineinfo "$source" -o "$work/fault"
"$WEIR" cc -O2 "$source" -o "$work/plain"

line() { grep -n "@$1 " "$source" | cut -d: -f1; }
fail() { echo "FAILED: $*"; cat "$work/err"; exit 1; }
run() { "$WEIR" run "$@" >"$work/out" 2>"$work/err" || fail "status $? of $*"; }
# says NAME ERROR LINE WHAT...: one line, which has all of it
says() {
    kernel=$1 error=$2 at=$3
    shift 3
    [ "$(wc -l <"$work/err")" = 1 ] || fail "more or less than one line"
    grep -q "^$error$" "$work/out" || fail "the program saw $(cat "$work/out")"
    grep -q "^weir: kernel $kernel: $error at .*fault\.cu:$at, by " "$work/err" || fail "$kernel $error $at"
    for part in "$@"; do grep -qF -- "$part" "$work/err" || fail "no \"$part\""; done
}

for again in compiled cached; do
    run "$work/fault" behind
    says behind cudaErrorIllegalAddress "$(line behind)" 'one of the threads (0, 0, 0) to (31, 0, 0) of block (2, 0, 0)' ', address 0x' \
        'behind the end of 4096 bytes of device memory at 0x'
    run "$work/fault" longer
    says longer cudaErrorIllegalAddress "$(line longer)" 'of block (0, 0, 0)' 'behind the end of 4096 bytes'
done
WEIR_JIT_TIER=best run "$work/fault" longer
says longer cudaErrorIllegalAddress "$(line longer)"
run "$work/fault" null
says null cudaErrorIllegalAddress "$(line null)" 'thread (37, 0, 0) of block (1, 0, 0), address 0x0: a null pointer'
run "$work/fault" misaligned
says misaligned cudaErrorMisalignedAddress "$(line misaligned)" 'thread (0, 0, 0) of block (0, 0, 0)' ': 2 bytes behind the begin of 4096 bytes of device memory'
run "$work/fault" shared
says shared cudaErrorIllegalAddress "$(line shared)" 'thread (32, 0, 0)' "right behind the end of the block's 256 bytes of shared memory"
run "$work/fault" trap
says trap cudaErrorLaunchFailure "$(line trap)" 'one of the threads (64, 0, 0) to (95, 0, 0) of block (0, 0, 0)'
run "$work/fault" graph
says behind cudaErrorIllegalAddress "$(line behind)" 'of block (2, 0, 0)'
run "$work/plain" null
grep -q '^weir: kernel null: cudaErrorIllegalAddress at line [0-9]* of its PTX, by thread (37, 0, 0)' "$work/err" || fail 'no line of the PTX'
run "$work/fault" none
[ ! -s "$work/err" ] || fail 'something is said of a program that is good'

# perf: each function once for each tier, in hexadecimal without 0x.
"$WEIR" run --perf "$work/fault" none >"$work/out" 2>"$work/err" &
pid=$!
wait $pid || fail 'run --perf'
[ ! -e "/tmp/perf-$pid.map" ] || { rm -f "/tmp/perf-$pid.map"; fail 'a file for perf without kernels'; }
"$WEIR" run --perf "$work/fault" null >"$work/out" 2>"$work/err" &
pid=$!
wait $pid || fail 'run --perf'
cp "/tmp/perf-$pid.map" "$work/map" || fail 'no file for perf'
rm -f "/tmp/perf-$pid.map"
grep -qE '^[0-9a-f]+ [0-9a-f]+ null \[(best|quick)\]$' "$work/map" || { cat "$work/map"; fail 'no kernel in the file for perf'; }

command -v gdb >/dev/null || { echo 'ok, but for gdb, which is not here'; exit 0; }
cat >"$work/commands" <<END
set pagination off
set confirm off
set breakpoint pending on
set debuginfod enabled off
break fault.cu:$(line behind)
run
backtrace 1
END
timeout 120 gdb -q -nx -batch -x "$work/commands" --args "$WEIR" run --gdb "$work/fault" behind >"$work/err" 2>&1 || true
grep -qi 'ptrace\|could not trace' "$work/err" && { echo 'ok, but for gdb, which may not trace here'; exit 0; }
grep -q "^#0 .*behind () at .*fault.cu:$(line behind)" "$work/err" || fail "gdb does not stop at the line"
echo ok
