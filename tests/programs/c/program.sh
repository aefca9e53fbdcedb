# A C program on our library: with `weir run` and by itself. SPDX-License-Identifier: Apache-2.0
[ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
program=$BUILD/tests/c_program
ulimit -c 0
failed=0
check() { # CASE STATUS OUTPUT
    for run in '' "$WEIR run"; do
        # without weir run nobody keeps Weir's handler in front of one that the program installs
        [ -z "$run" ] && case $1 in handler*) continue ;; esac
        got=$(LD_PRELOAD=$SANITIZER_PRELOAD $run "$program" $1 2>&1)
        rc=$?
        if [ $1 = blocked ]; then # a kernel fails there, and is told of
            case $got in *'weir: kernel triple: cudaErrorIllegalAddress at '*) ;; *) got="no report: $got" ;; esac
            got=$(echo "$got" | grep -v '^weir: kernel triple: ')
        fi
        if [ $rc = "$2" ] && [ "$got" = "$3" ]; then
            echo "ok $1${run:+ (weir run)}"
        else
            echo "FAILED $1${run:+ (weir run)}: status $rc, wanted $2: $got"
            failed=1
        fi
    done
}
for case in plain lz4 zstd threads handler handler-first blocked fork exec; do
    check $case 0 "$case: 0 bad"
done
check status 23 ''
check abort 134 ''
export ASAN_OPTIONS=handle_segv=0 TSAN_OPTIONS="${TSAN_OPTIONS:-}:handle_segv=0" # its own report would change the status
check segv 139 ''
exit $failed
