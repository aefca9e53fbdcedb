# For each kind of finding that needs more of a trace than order and lengths a program that has it and one that has not.
# No figure is asserted: the kind is named (as a finding, or as a note where the machine made it cheap), and the good form
# has no such finding.
# SPDX-License-Identifier: Apache-2.0
[ -z "${SANITIZE:-}" ] || { echo 'skipped: covered by the plain builds; a sanitizer changes what costs time'; exit 77; }
. "$SOURCE/tests/programs/trace/build.sh"
"$WEIR" cc -O2 -g "$here/questions.cu" -o "$tmp/questions" || fail 'compile'
"$WEIR" cc -O2 -shared -fPIC "$here/library.cu" -o "$tmp/libtest_own.so" || fail 'compile the library'
export TEST_LIBRARY=$tmp/libtest_own.so
judge() { # judge KIND FORM [OPTION OF WEIR RUN ...]
    kind=$1 form=$2
    shift 2
    rm -f "$tmp/t.weir"
    trace_counts "$tmp/t.weir" "$@" "$tmp/questions" $kind $form >"$tmp/run" 2>&1 ||
        { cat "$tmp/run"; fail "$kind $form does not run"; }
    "$WEIR" advise --json --all "$tmp/t.weir" >"$tmp/out.json" || fail "advise of $kind $form, as measured"
    # (What loading takes is measured, or not known.)
    [ $kind = module-load ] || advise_by_model --json --all "$tmp/t.weir" >"$tmp/out.json" || fail "advise of $kind $form"
    echo "$kind $form: $(kinds "$tmp/out.json" | tr '\n' ' ')"
    answers $kind $form
}
both() { # both KIND [OPTION ...]
    k=$1
    shift
    for f in bad good; do
        judge $k $f "$@" || { cat "$tmp/out.json"; fail "$k $f: the wrong answer"; }
    done
}
for k in late-record wrong-record host-wait too-many-streams graph-in-turn queue-full unused-event busy-polling \
         timing-mistake managed-thrashing library-default-stream kernel-fills-device \
         priority-without-effect module-load queue-order pinned-memory; do
    both $k
done
both peer-access --devices 2
(CUDA_LAUNCH_BLOCKING=1; export CUDA_LAUNCH_BLOCKING; judge serialising-setting bad) || fail 'serialising-setting bad'
judge serialising-setting good || fail 'serialising-setting good'
grep -q '"kind": "serialising-setting"' "$tmp/out.json" && fail 'a setting that is not there'

# Each of the 30 questions has its programs, here or in advise.sh and examples.sh.
"$WEIR" advise --json --all "$tmp/t.weir" | grep -oE '"[a-z-]+": "(yes|no|note|unknown)"' | cut -d'"' -f2 | sort -u >"$tmp/all"
[ "$(wc -l <"$tmp/all")" = 30 ] || { cat "$tmp/all"; fail '30 kinds'; }
for k in $(cat "$tmp/all"); do
    sed 's/#.*//' "$here/advise.sh" "$here/questions.sh" "$here/examples.sh" | grep -qE "(^| )$k( |$|;)" || fail "$k: no program has it"
done

# Exit status by severity.
judge busy-polling bad >/dev/null
"$WEIR" advise --exit-code=note "$tmp/t.weir" >/dev/null && fail '--exit-code=note with a note'
judge serialising-setting good >/dev/null
[ "$("$WEIR" advise --all "$tmp/t.weir" | grep -cE '^  (yes|no|\(yes\)) +(is|are|do|does|could|would) ')" = 30 ] || fail '--all answers 30 questions'
advise_by_model --all "$tmp/t.weir" | grep -qE '^  \? +is code loaded' || fail '--all: what no model knows'
echo ok
