# weir explain: every code has a text, every rule that a text names is one, and what people paste finds its entry.
# SPDX-License-Identifier: Apache-2.0
set -u
cd "$SOURCE" || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
fail() { echo "FAILED $*"; failed=1; }

{
    echo 0
    sed -nE 's/^WEIR_ERR\([A-Z0-9_]+, [a-zA-Z0-9]+, ([0-9]+),.*/\1/p' api/errors.def
    sed -nE 's/^WEIR_CU_RESULT\([A-Z0-9_]+, ([0-9]+)\)/\1/p' api/driver_results.def
} | sort -nu >"$tmp/codes"
sed -n 's/^@ //p' api/explain/errors.txt | sort -n >"$tmp/texts"
[ "$(wc -l <"$tmp/codes")" -gt 100 ] && diff "$tmp/codes" "$tmp/texts" || fail "not every code has one text"
"$WEIR" explain --list | awk '{ print $1 }' | sort -n >"$tmp/listed"
diff "$tmp/codes" "$tmp/listed" || fail "--list does not have every code"
for id in $(grep '^: ' api/explain/errors.txt | tr -d : | tr ' ' '\n' | sort -u); do
    grep -q "^### $id " docs/rules/*.md || fail "$id is no rule"
done
awk '!/^[@#]/ && length > 126 { print FILENAME ":" FNR ": too long"; bad = 1 } END { exit bad }' api/explain/*.txt || failed=1

# explain STATUS FIRST-LINE WORDS...
explain() {
    want=$1 first=$2
    shift 2
    "$WEIR" explain "$@" >"$tmp/out" 2>&1
    rc=$?
    if [ $rc = "$want" ] && head -n 1 "$tmp/out" | grep -q "$first"; then
        echo "ok $*"
    else
        fail "$*: status $rc, $(head -n 1 "$tmp/out")"
    fi
}
illegal='^cudaErrorIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS (700)$'
explain 0 "$illegal" 700
explain 0 "$illegal" cudaErrorIllegalAddress
explain 0 "$illegal" CUDA_ERROR_ILLEGAL_ADDRESS
explain 0 "$illegal" illegal_address
explain 0 "$illegal" 'RuntimeError: CUDA error: an illegal memory access was encountered'
explain 0 "$illegal" RuntimeError: CUDA error: an illegal memory access was encountered
explain 0 "$illegal" 'CUDARuntimeError: cudaErrorIllegalAddress: an illegal memory access was encountered'
explain 0 "$illegal" '[700] Call to cuMemcpyDtoH results in UNKNOWN_CUDA_ERROR'
explain 0 "$illegal" 'CUDA error code=700 at main.cu:17'
grep -q '^  ORD-021  A wait orders later work$' "$tmp/out" || fail "the rules of 700"
grep -q 'cudaErrorDevicesUnavailable (46)' "$tmp/out" || fail "700 stays"
explain 0 '(710)$' 'RuntimeError: CUDA error: device-side assert triggered'
explain 0 '(2)$' 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB'
grep -q 'It does not stay' "$tmp/out" || fail "2 does not stay"
explain 0 '(716)$' 'Triton Error [CUDA]: misaligned address'
explain 0 '(600)$' 'device not ready'
explain 0 '^cudaErrorInvalidConfiguration (9)$' invalidconfiguration
explain 0 "driver's alone" 916
explain 0 '^cudaSuccess' 0
explain 0 '^ORD-021 A wait orders later work$' ord-021
explain 0 '^CAP-010 ' CAP-010
explain 1 'is no rule' ORD-99'9'
explain 1 'no error of CUDA' 12345
explain 3 "Not CUDA's" 'stream disconnected before completion: error sending request'
explain 3 "Not CUDA's" 'org.apache.kafka.streams.errors.StreamsException: in thread'
explain 3 "Not CUDA's" 'HTTP/2 stream 7 was not closed cleanly'
explain 3 "host's memory" 'std::bad_alloc'
explain 3 'Of NCCL' 'NCCL error in ProcessGroup: unhandled cuda error'
explain 3 'Of cuBLAS' 'CUBLAS_STATUS_EXECUTION_FAILED when calling cublasSgemm'
explain 3 'PyTorch found' 'Torch not compiled with CUDA enabled'
explain 1 'nothing is known' cudaErrorIlegalAddres
grep -q 'cudaErrorIllegalAddress (700)' "$tmp/out" || fail "near names"
explain 1 'nothing is known' quite something else
explain 0 '^cudaFree: waits for the device$' cudaFree
grep -q '^  ORD-080  ' "$tmp/out" || fail "the rule of cudaFree"
explain 0 '^cuMemFree_v2: waits for the device$' cuMemFree
explain 0 '^cudaStreamQuery: queries$' cudaStreamQuery
explain 0 '^cudaGetDevice: waits for nothing$' cudaGetDevice
explain 0 '^cudaGLSetGLDevice: not supported' cudaGLSetGLDevice
# Numbers of old, in hexadecimal; what Weir's own commands say; logs of the kernel; slips of the pen.
explain 0 'Up to CUDA 10.0 the number 77' 77
grep -q "$illegal" "$tmp/out" || fail "what 77 was"
explain 0 'Up to CUDA 10.0 the number 59' 'CUDA error code=59 at main.cu:3'
explain 0 '(4)$' 4
grep -q 'the number 4 was the runtime.s cudaErrorLaunchFailure (719)' "$tmp/out" || fail "what 4 was"
explain 0 "$illegal" 0x2bc
explain 1 'no error of CUDA' 0x7fff
explain 0 '^lifetime: a hazard of weir check' lifetime
explain 0 '^race: a hazard of weir check' 'weir: hazard: race, 1 time'
explain 0 '^noop-wait: a note of weir check' 'weir: note: noop-wait, 2 times'
# Every kind of the table, and every policy: as it is written there, and as a report prints it.
sed -n 's/^| `\([a-z-]*\)`.* | \(hazard\|note\) | .*/\1 \2/p' docs/check.md | grep -v '^forbidden-' >"$tmp/kinds"
sed -n 's/^| `use-after-free`, `\([a-z-]*\)` | \(hazard\) | .*/\1 \2/p' docs/check.md >>"$tmp/kinds"
sed -n 's/^POLICY([A-Z_]*, "\([a-z-]*\)".*/forbidden-\1 hazard/p' src/check/policies.def >>"$tmp/kinds"
known=$(grep -c '^KIND(' src/check/kinds.def) policies=$(grep -c '^POLICY(' src/check/policies.def)
# of the kinds, "forbidden" is in the table with its policies alone
[ "$(sort -u "$tmp/kinds" | wc -l)" -eq $((known - 1 + policies)) ] || fail "docs/check.md has not every kind once: $(cat "$tmp/kinds")"
while read -r kind level; do
    explain 0 "^$kind: a $level of weir check" "$kind"
    explain 0 "^$kind: a $level of weir check" "weir: $level: $kind, 3 times"
done <"$tmp/kinds"
explain 0 '^pageable-sync: a finding of weir advise' '  1  pageable-sync: saves 2.159 ms (53.9%)'
explain 0 '^late-record: a finding of weir advise' late-record
explain 3 "driver's log" 'NVRM: Xid (PCI:0000:01:00): 31, pid=1234, Ch 00000008, MMU Fault'
explain 3 "driver's log" 'Xid 31'
explain 3 'No error: something waits' my program hangs
explain 1 'nothing is known' cudaStreamSynchonize
grep -q '^  cudaStreamSynchronize$' "$tmp/out" || fail "near functions"
explain 2 'what?'
exit $failed
