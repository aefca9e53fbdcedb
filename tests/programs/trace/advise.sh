# For each kind of finding a program that has it and one that has not. Figures of time are not asserted: only that the kind is
# named (as a finding, or as a note where the machine made it cheap), and that the good form has no such finding.
# SPDX-License-Identifier: Apache-2.0
. "$SOURCE/tests/programs/trace/build.sh"
# kinds FILE findings|notes|all
kinds() {
    awk -v want="$2" '/"notes": \[/ { notes = 1 }
        match($0, /"kind": "[a-z-]*"/) && (want == "all" || notes == (want == "notes")) { print substr($0, RSTART + 9, RLENGTH - 10) }' "$1"
}
for kind in single-stream default-stream legacy-serialization pageable-sync sync-in-loop alloc-in-loop copy-engine-bound \
            launch-bound unneeded-wait small-copies timing-events; do
    for form in bad good; do
        trace "$tmp/t.weir" "$tmp/advise" $kind $form >/dev/null || fail "$kind $form does not run"
        "$WEIR" advise --json "$tmp/t.weir" >"$tmp/out.json" || fail "advise of $kind $form"
        found=$(kinds "$tmp/out.json" all | tr '\n' ' ')
        echo "$kind $form: $found"
        case $form in
            bad) case " $found" in *" $kind "*) ;; *) cat "$tmp/out.json"; fail "$kind is not found" ;; esac ;;
            good) kinds "$tmp/out.json" findings | grep -qx "$kind" && { cat "$tmp/out.json"; fail "$kind is found where it is not"; } ;;
        esac
    done
done
# An event that keeps data in order is never called needless.
trace "$tmp/t.weir" "$tmp/advise" needed-wait good >/dev/null || fail 'needed-wait does not run'
"$WEIR" advise --json "$tmp/t.weir" >"$tmp/out.json"
kinds "$tmp/out.json" all | grep -qx unneeded-wait && { cat "$tmp/out.json"; fail 'a needed wait is called needless'; }
"$WEIR" advise --all "$tmp/t.weir" | grep -q 'no   does an event wait order work' || fail '--all'
echo ok
