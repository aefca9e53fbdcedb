#!/bin/sh
# calls.sh SOURCES: calls.cu under weir check: system calls on a page of an unfinished copy all work and are no finding; each that
# names the copy's bytes is one, and it is the call that the report names.
# SPDX-License-Identifier: Apache-2.0
set -u
[ -x "$BUILD/bin/weir" ] && [ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
"$WEIR" cc --version >/dev/null 2>&1 || { echo "skipped: this build has no weir cc"; exit 77; }
src=$1
mkdir -p "$BUILD/tests/hazards_calls" && cd "$BUILD/tests/hazards_calls" || exit 1
. "$SOURCE/tests/programs/check.sh"
if newer calls; then "$WEIR" cc -O2 -g -o calls "$src/calls.cu" -lpthread || die calls; fi

run() { # STATUS [FORM]
    status=$1
    shift
    out=$(LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check -- ./calls "$@" 2>err)
    rc=$?
    if [ $rc -ne "$status" ] || [ "$out" != done ]; then
        printf 'FAILED %s: status %s, wanted %s; %s\n%s\n' "$*" $rc "$status" "$out" "$(cat err)"
        failed=1
    else
        echo "ok $*"
    fi
}

run 0
# ThreadSanitizer: each run takes seconds there.
[ "${SANITIZE:-}" = thread ] && exit $failed
while read -r form call; do
    run 99 "$form"
    grep -q "the host [a-z]*; $call at calls.cu" err || { echo "FAILED $form: the report does not name $call"; cat err; failed=1; }
done <<EOF
read read
recv recv
readv readv
recvmsg recvmsg
recvmmsg recvmmsg
by-number syscall
vm-readv process_vm_readv
getrandom getrandom
pread pread
aio aio_read
write write
send send
writev writev
sendmsg sendmsg
sendmmsg sendmmsg
vm-writev process_vm_writev
vm-itself process_vm_readv
vmsplice vmsplice
msgsnd msgsnd
msgrcv msgrcv
EOF
exit $failed
