# For each kind of finding a program that has it and one that has not. Figures of time are not asserted: only that the kind is
# named (as a finding, or as a note where the machine made it cheap), and that the good form has no such finding.
# SPDX-License-Identifier: Apache-2.0
[ -z "${SANITIZE:-}" ] || { echo 'skipped: covered by the plain builds; a sanitizer changes what costs time'; exit 77; }
. "$SOURCE/tests/programs/trace/build.sh"
judge() { # judge KIND FORM
    trace_counts "$tmp/t.weir" "$tmp/advise" $1 $2 >/dev/null || fail "$1 $2 does not run"
    "$WEIR" advise --json "$tmp/t.weir" >"$tmp/out.json" || fail "advise of $1 $2, as measured"
    advise_by_model --json --all "$tmp/t.weir" >"$tmp/out.json" || fail "advise of $1 $2"
    echo "$1 $2: $(kinds "$tmp/out.json" | tr '\n' ' ')"
    answers $1 $2
}
for kind in single-stream default-stream legacy-serialization pageable-sync sync-in-loop alloc-in-loop copy-engine-bound \
            launch-bound unneeded-wait small-copies timing-events; do
    for form in bad good; do
        judge $kind $form || { cat "$tmp/out.json"; fail "$kind $form: the wrong answer"; }
    done
done
# What a profile's host does with pageable memory is said with the price; as measured here there is no profile.
judge pageable-sync bad >/dev/null
grep -q "profile's host, which copies such memory at [0-9.]* GB/s from the device: .*weir plan --calibrate" "$tmp/out.json" ||
    { cat "$tmp/out.json"; fail 'the rates that the price rests on'; }
"$WEIR" advise --json "$tmp/t.weir" | grep -q "profile's host" && fail 'a profile that nobody named'
# An event that keeps data in order is never called needless.
trace_counts "$tmp/t.weir" "$tmp/advise" needed-wait good >/dev/null || fail 'needed-wait does not run'
advise_by_model --json "$tmp/t.weir" >"$tmp/out.json"
kinds "$tmp/out.json" | grep -qx unneeded-wait && { cat "$tmp/out.json"; fail 'a needed wait is called needless'; }
advise_by_model --all "$tmp/t.weir" | grep -q 'no    does an event wait order work' || fail '--all'
echo ok
