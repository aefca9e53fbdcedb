# Every way an object with a runtime inside comes into a process. SPDX-License-Identifier: Apache-2.0
cd "$BUILD/tests/takeover" || exit 1
ours='101 102 103 104 105 106 106 107 7'
failed=0

# check NAME WANTED-STATUS WANTED-LINES COMMAND...
check() {
    name=$1 status=$2 want=$3
    shift 3
    got=$(bin/weir run "$@" 2>err)
    rc=$?
    if [ $rc -ne "$status" ] || [ "$got" != "$want" ]; then
        echo "FAILED $name: status $rc, wanted $status"
        echo "$got" | diff - /dev/fd/3 3<<END
$want
END
        cat err
        failed=1
    else
        echo "ok $name"
    fi
}
lines() { who=$1; shift; for when; do echo "$who $when: $ours"; done; }

check pie 3 "$(lines program constructor main thread)" ./pie
check no-pie 3 "$(lines program constructor main thread)" ./nopie
check linked-library 3 "$(lines library constructor main thread)" ./linked
check opened-library 3 "$(lines program constructor; lines library constructor main; lines program main)" \
    ./pie "$PWD/lib/libfake.so"
check opened-relative 3 "$(lines program constructor; lines library constructor main; lines program main)" \
    ./nopie lib/libfake.so
got=$(bin/weir run ./pie "$PWD/lib/libfake.so" again 2>&1 | sort | uniq -c | tr -s ' ')
case $got in
*" 301 library constructor: $ours"*" 1 maps few"*) echo ok opened-often ;;
*) echo "FAILED opened-often: $got"; failed=1 ;;
esac
check stripped-library-that-exports 3 \
    "$(lines program constructor; lines stripped constructor main; lines program main)" ./pie lib/libfake_stripped.so
check exec 3 "$(lines program constructor main constructor main; echo child: 3)" -- ./pie - exec
check through-sh 5 "$(lines program constructor main thread)" sh -c './pie; [ $? = 3 ] && exit 5'
check cuda12 3 "$(lines program constructor main thread | sed 's/ 107 / 112 /')" ./cuda12
[ -s err ] && { echo "FAILED cuda12: a message"; cat err; failed=1; }
check stripped 125 '' ./stripped
grep -q 'cudart shared' err || { echo "FAILED stripped: the message"; cat err; failed=1; }

check static 125 '' ./static
grep -q 'linked statically' err || { echo "FAILED static: the message"; cat err; failed=1; }

# Where `weir` itself has no sanitizer, which would insist on being the first to be preloaded:
if [ -z "$SANITIZE" ]; then
# An allocator of the user's, which counts: it is used, and everything works.
export LD_PRELOAD=$PWD/lib/libmalloc.so
check allocator 3 "$(lines program constructor; lines library constructor main; lines program main)" \
    ./pie "$PWD/lib/libfake.so"
unset LD_PRELOAD
[ "$(cat err)" = 'malloc used 1' ] || { echo "FAILED allocator"; cat err; failed=1; }

# What the user has in these variables stays, in front.
got=$(LD_PRELOAD=libm.so.6 bin/weir run sh -c 'echo $LD_PRELOAD')
case $got in libm.so.6:*libweir-preload.so:*libweir.so) echo ok preload ;; *) echo "FAILED LD_PRELOAD: $got"; failed=1 ;; esac
got=$(LD_PRELOAD='libm.so.6 /other/lib/libweir.so:/other/lib/libweir-preload.so' LD_AUDIT=/other/libweir-audit.so \
    bin/weir run bin/weir run sh -c 'echo $LD_PRELOAD $LD_AUDIT' 2>/dev/null)
want="libm.so.6:$PWD/lib/libweir-preload.so:$PWD/lib/libweir.so $PWD/lib/libweir-audit.so"
[ "$got" = "$want" ] && echo ok nested || { echo "FAILED weir run in weir run: $got"; failed=1; }
fi

# No CUDA: nothing printed, status and streams untouched.
check true 0 '' /bin/true
[ -s err ] && { cat err; failed=1; }
check streams 4 out sh -c 'cat; echo err >&2; exit 4' <<END
out
END
[ "$(cat err)" = err ] || { echo FAILED stderr; failed=1; }
check killed 137 '' sh -c 'kill -KILL $$'
check not-found 127 '' ./no-such-program

got=$(GLIBC_TUNABLES=glibc.malloc.arena_max=2 bin/weir run sh -c 'echo $GLIBC_TUNABLES')
case $got in glibc.malloc.arena_max=2:glibc.rtld.optional_static_tls=*) ;; *) echo "FAILED tunables: $got"; failed=1 ;; esac

# Options.
for bad in --nonsense '--memory 5Q' '--devices x' --devices '--device nonsense' '--stats=3' '--hang x' '--inject cudaMalloc:3' \
    '--inject device:1=lost' --strict=nothing '--strict hw-queues=64' '--strict lazy-loading,nothing' --late-dma=x; do
    bin/weir run $bad ./pie >/dev/null 2>err
    [ $? = 2 ] && [ "$(wc -l <err)" = 1 ] || { echo "FAILED option $bad"; cat err; failed=1; }
done
got=$(bin/weir run --memory=2G --devices 3 --stats --fidelity --device cpu -- sh -c \
    'echo $WEIR_MEMORY $WEIR_DEVICES $WEIR_STATS $WEIR_FIDELITY $WEIR_DEVICE')
[ "$got" = '2G 3 1 1 cpu' ] || { echo "FAILED options: $got"; failed=1; }
got=$(bin/weir run --hang 3 --inject 'cudaMalloc:3=2' --inject kernel:k=trap --strict hw-queues=4 --late-dma \
    sh -c 'echo "$WEIR_HANG $WEIR_INJECT $WEIR_STRICT $WEIR_LATE_DMA"')
[ "$got" = '3 cudaMalloc:3=2;kernel:k=trap hw-queues=4 default' ] || { echo "FAILED options: $got"; failed=1; }
got=$(bin/weir run --strict -- sh -c 'echo "$WEIR_STRICT"')
[ "$got" = all ] || { echo "FAILED --strict: $got"; failed=1; }
# Without arguments each says in one line what it lacks, or that it is still to come.
for command in check explore trace view advise plan; do
    bin/weir $command >/dev/null 2>err
    [ $? = 2 ] && [ "$(wc -l <err)" = 1 ] || { echo "FAILED $command"; failed=1; }
done
rm -f err
exit $failed
