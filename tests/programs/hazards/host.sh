#!/bin/sh
# host.sh SOURCES: host.cu, form by form, under weir check: what must be found of the program's own accesses, or nothing; the
# exit status; and that the report names the lines.
# SPDX-License-Identifier: Apache-2.0
set -u
[ -x "$BUILD/bin/weir" ] && [ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
"$WEIR" cc --version >/dev/null 2>&1 || { echo "skipped: this build has no weir cc"; exit 77; }
src=$1
mkdir -p "$BUILD/tests/hazards_host" && cd "$BUILD/tests/hazards_host" || exit 1
. "$SOURCE/tests/programs/check.sh"
if newer host; then "$WEIR" cc -O2 -g -lineinfo -o host "$src/host.cu" -lpthread || die host; fi

# ThreadSanitizer: each form takes seconds there, and it does not see how code synchronises that its own read() calls.
few=
[ "${SANITIZE:-}" = thread ] && few=' reuse waits-early threads host-func-elsewhere replay kernel-tells '

verdict() { # KIND FORM [MEMORY]: KIND - is nothing
    kind=$1
    shift
    out=$(LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check $light -- ./host "$@" 2>err)
    rc=$?
    kinds=$(sed -n 's/^weir: hazard: \([a-z-]*\).*/\1/p' err | sort -u | tr '\n' ' ')
    if [ "$kind" = - ]; then want= status=0; else want="$kind " status=99; fi
    if [ "$kinds" != "$want" ] || [ $rc -ne $status ] || [ "$out" != done ]; then
        printf 'FAILED %s: found "%s", wanted "%s"; status %s; %s\n%s\n' "$light $*" "$kinds" "$want" $rc "$out" "$(cat err)"
        failed=1
    else
        echo "ok $light $* $kinds"
    fi
    mv err "$1.err"
}
light=

while read -r form kind; do
    [ -z "$few" ] || case $few in *" $form "*) ;; *) continue ;; esac
    verdict "$kind" "$form"
done <<EOF
reuse race
waits-reuse -
early race
waits-early -
memset race
waits-memset -
io race
waits-io -
io-beside -
mapped race
waits-mapped -
managed race
waits-managed -
managed-through race
managed-through-beside -
waits-managed-through -
managed-variable race
managed-variable-beside -
waits-managed-variable -
both-read -
neighbours -
neighbours-overlap race
threads -
event -
event-early race
recorded-anew race
waits-recorded-anew -
host-func -
host-func-elsewhere race
host-func-before -
host-func-signals -
host-func-waits -
replay race
waits-replay -
replay-reads -
replay-writes -
kernel-tells -
kernel-told -
destroyed race
EOF
[ -z "$few" ] || exit $failed
# Memory that the system gets back.
for how in munmap madvise mmap mremap; do
    verdict lifetime given-back-$how
    verdict - waits-given-back-$how
done
verdict - waits-given-back-heap
# (A sanitizer has its own malloc, and what is before it in line sees no call.)
if [ -z "${SANITIZE:-}" ]; then
    for how in small big realloc; do
        verdict lifetime freed-$how
        verdict - waits-freed-$how
    done
    verdict - waits-freed-registered
    grep -q 'note: still-registered' waits-freed-registered.err || { echo 'FAILED: still-registered'; cat waits-freed-registered.err; failed=1; }
fi
# Registered memory: of malloc's with pages of its own, or the inner pages of an array.
while read -r form kind; do
    verdict "$kind" "$form" registered
    verdict "$kind" "$form" inner
done <<EOF
reuse race
waits-reuse -
early race
waits-early -
memset race
io race
waits-io -
io-beside -
waits-mapped -
mapped-ended race
waits-mapped-ended -
neighbours -
neighbours-overlap race
threads -
event -
host-func -
host-func-elsewhere race
host-func-waits -
replay race
replay-reads -
replay-writes -
kernel-tells -
kernel-told -
unregistered lifetime
forks -
EOF
if [ -z "${SANITIZE:-}" ]; then # as the C library's malloc does it
    verdict lifetime given-back-heap
    for form in early reuse; do # the first byte, which the chunk's header shares a page with
        verdict race "first-$form" registered
    done
fi
# --light: what the pointers of kernels and copies stand for.
light=--light
while read -r form kind; do
    verdict "$kind" "$form"
done <<EOF
reuse race
waits-reuse -
early race
io race
mapped race
waits-mapped -
managed race
waits-managed -
both-read -
neighbours -
threads -
host-func -
replay race
replay-writes -
EOF
verdict race early registered
verdict - waits-early registered
# The places: what the host does, where, and the operation; a library's access is its caller's.
for what in 'the host reads at host.cu:' '(read_all)' 'copy writes' 'host.cu:'; do
    grep -qF "$what" early.err || { echo "FAILED: the report does not say: $what"; cat early.err; failed=1; }
done
grep -q 'the host writes at host.cu:.*(run)' memset.err || { echo "FAILED: memset is nobody's"; cat memset.err; failed=1; }
grep -q 'the host reads; write at host.cu:.*(io)' io.err || { echo 'FAILED: write is not told'; cat io.err; failed=1; }
exit $failed
