# Reports of users about streams that do not overlap, and their wishes for timelines: what the advisor has to say of each.
# SPDX-License-Identifier: Apache-2.0
[ -z "${SANITIZE:-}" ] || { echo 'skipped: covered by the plain builds; a sanitizer changes what costs time'; exit 77; }
. "$SOURCE/tests/programs/trace/build.sh"
cd "$tmp" || exit 1
"$WEIR" cc -O2 -g "$here/reports.cu" -o reports || fail 'compile'
line() { grep -n "$1" "$here/reports.cu" | cut -d: -f1; }
advise() { # advise CASE FORM: into the file out
    rm -f t.weir
    trace_counts t.weir ./reports $1 $2 >run 2>&1 || { cat run; fail "$1 $2 does not run"; }
    advise_by_model t.weir >out || fail "advise of $1 $2"
}
# says CASE FORM PATTERN; silent CASE FORM PATTERN: among the findings (what stands before the notes).
says() {
    advise $1 $2
    grep -qE -- "$3" out || { cat out; fail "$1 $2 does not say: $3"; }
    echo "$1 $2: says $3"
}
silent() {
    advise $1 $2
    sed '/^notes/,$d' out | grep -qE -- "$3" && { cat out; fail "$1 $2 says: $3"; }
    echo "$1 $2: silent about $3"
}
# Four streams one after the other: a wait in a helper; kernels that fill the device are another matter.
says hidden-wait bad 'It is blocked for [0-9.]+ ms in all, and no stream has other work meanwhile'
silent hidden-wait good 'one item at a time'
says full-kernels bad 'fill the device .*Copies still run beside them: that they do not would have another cause'
# Tiny kernels: launch-bound, whatever the streams.
says tiny-kernels bad 'the median of [0-9]+ kernels takes [0-9.]+ us, and the host launches one every [0-9.]+ us.* More streams cannot help'
grep -q 'single-stream' out && fail 'tiny kernels: the streams are blamed'
silent tiny-kernels good 'launch-bound'
# (The set-up's 32 launches are not in the graph.)
silent tiny-in-graph good 'median of [0-9]{4} kernels|single-stream'
# A launch without a stream.
says no-stream bad 'legacy-serialization'
grep -q "where: .*reports.cu:" out || { cat out; fail 'no-stream: where'; }
grep -q 'cudaStreamNonBlocking, or build with --default-stream per-thread' out || fail 'no-stream: the change'
silent no-stream good 'legacy-serialization'
mv reports legacy && "$WEIR" cc -O2 -g --default-stream per-thread "$here/reports.cu" -o reports || fail 'compile per thread'
silent no-stream bad 'legacy-serialization'
mv legacy reports
# Allocation between launches.
says allocation bad '[0-9]+ calls that allocate, free, pin or create \(cuda(Malloc|Free)'
silent allocation good 'alloc-in-loop'
says pinning bad '[0-9]+ calls that allocate, free, pin or create \(cuda(MallocHost|FreeHost)'
# A small copy behind a large one.
says large-copy bad 'a copy of 64 KiB waited [0-9.]+ ms for the engine that a copy of 48.0 MiB in another stream had'
silent large-copy good 'a copy of 64 KiB waited'
# Hardware queues.
says queues bad '16 streams share 8 hardware queues'
grep -q 'breadth first' out || fail 'queues: the change'
silent queues good 'hardware queues'
export CUDA_DEVICE_MAX_CONNECTIONS=32
silent queues bad 'hardware queues'
export CUDA_DEVICE_MAX_CONNECTIONS=1
says queues good 'run in the order of submission, by request'
unset CUDA_DEVICE_MAX_CONNECTIONS
# Order by side effect.
says by-legacy bad 'ordered only by the legacy default stream'
silent by-legacy good 'anything at all'
grep -q 'ordered only by' out && { cat out; fail 'by-legacy good'; }
says by-free bad 'ordered only by a call that allocates or frees'
advise by-free good
grep -q 'ordered only by' out && { cat out; fail 'by-free good'; }
# What is measured and what is modelled.
grep -q '^Modelled: ' out || fail 'modelled'
"$WEIR" advise t.weir | grep -q '^Measured: .*Modelled: ' || fail 'measured, modelled'
"$WEIR" advise --json t.weir | grep -q '"basis": "Measured' || fail 'measured, modelled, in JSON'
# Two traces: the second file is new, and the difference is named with its cause and place.
"$WEIR" trace -o a.weir ./reports stray-wait good || fail 'trace a'
cp a.weir first.weir
"$WEIR" trace -o a.weir ./reports stray-wait good || fail 'trace a again'
cmp -s a.weir first.weir && fail 'the older trace was kept'
"$WEIR" trace -o b.weir ./reports stray-wait bad || fail 'trace b'
"$WEIR" diff a.weir b.weir >out || fail 'diff'
grep -q "+12 cudaStreamSynchronize at reports.cu:$(line 'THE STRAY WAIT')" out || { cat out; fail 'diff: the wait and its place'; }
grep -qE 'copies hidden behind kernels: [0-9]+% -> [0-9]+%; not hidden: ' out || { cat out; fail 'diff: overlap'; }
changed() { # changed CASE PATTERN: weir diff of its good and its bad form says it, and of two good ones nothing of the kind
    for n in good bad again; do
        form=$n
        [ $n = again ] && form=good
        "$WEIR" trace -o $n.weir ./reports $1 $form >run 2>&1 || { cat run; fail "trace of $1 $n"; }
    done
    "$WEIR" diff good.weir bad.weir >out || fail "diff of $1"
    grep -qE -- "$2" out || { cat out; fail "diff of $1 does not say: $2"; }
    "$WEIR" diff good.weir again.weir >out && ! grep -qE -- "$2" out || { cat out; fail "diff of $1 good and good says: $2"; }
    echo "$1: weir diff says $2"
}
"$WEIR" diff a.weir a.weir | grep -q 'cudaStreamSynchronize at' && fail 'a difference between a trace and itself'
changed other-stream "cudaLaunchKernel at reports.cu:[0-9]+ .*: stream [0-9]+, stream [0-9]+ -> stream [0-9]+, default stream"
changed other-memory "cudaMemcpyAsync at reports.cu:$(line 'THE MEMORY').*: pinned memory -> pageable memory"
changed other-order "\\+4 cudaStreamWaitEvent at reports.cu:$(line 'THE EVENT')"
"$WEIR" diff good.weir bad.weir >out
grep -qE 'cudaLaunchKernel at .* -> ' out && { cat out; fail 'the numbers of streams have shifted, and no stream has changed'; }
"$WEIR" diff --json a.weir b.weir | grep -q '"changes": \["+12' || fail 'diff --json'
echo ok
