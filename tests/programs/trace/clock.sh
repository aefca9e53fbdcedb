# weir run --clock model: times between events and in traces are the model's, each time the same, on every machine.
# SPDX-License-Identifier: Apache-2.0
. "$SOURCE/tests/programs/trace/build.sh"
cd "$tmp" || exit 1
"$WEIR" cc -O2 "$here/clock.cu" -o clock || fail 'compile'
by_model() { LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" "$@"; }
by_model run --clock model --device ./small.profile ./clock >one || { cat one; fail 'run'; }
cat one
# 16 MiB at 55.2 GB/s are 0.3039 ms; the event before it, 2.5 us after its submission, has seen 2.0 us of the copy's.
grep -q '^copy 0.305' one || fail 'the copy takes what the profile says'
grep -q 'less than in turn' one || fail 'blocks side by side'
grep -q 'beside each other: yes' one || fail 'streams side by side'
by_model trace --clock model --device ./small.profile -o t.weir ./clock >two || fail 'trace, its file named behind an option'
cmp one two || fail 'the same program, other times'
by_model trace --clock model --device ./small.profile -o u.weir ./clock >/dev/null || fail 'trace again'
"$WEIR" summary t.weir >t.txt && "$WEIR" summary u.weir >u.txt && cmp t.txt u.txt || { diff t.txt u.txt; fail 'summaries differ'; }
grep -q ' 303.94 us\| 304 us' t.txt || { cat t.txt; fail 'the copy in the summary'; }
"$WEIR" advise t.weir >t.txt && "$WEIR" advise u.weir >u.txt && cmp t.txt u.txt || fail 'advice differs'
grep -q '^Modelled: all times' t.txt || fail 'the advice is by the model'
"$WEIR" advise --clock wall t.weir >/dev/null || fail 'by the wall all the same'
# A device without costs is refused; a word that is no clock, too.
"$WEIR" run --clock model --device cpu ./clock 2>err && fail 'a device without costs'
grep -q 'says no costs' err || fail 'why it is refused'
"$WEIR" run --clock sun ./clock 2>/dev/null
[ $? = 2 ] || fail 'no such clock'
echo ok
