# trace, summary, diff, export, view; a killed program; children.
# SPDX-License-Identifier: Apache-2.0
. "$SOURCE/tests/programs/trace/build.sh"
cd "$tmp" || exit 1
trace a.weir ./advise unneeded-wait bad >out || fail 'trace'
grep -q '^RESULT PASS' out || fail "the program's output"
LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" run --trace b.weir ./advise unneeded-wait good >out || fail 'run --trace'

"$WEIR" summary a.weir >s || fail 'summary'
grep -q ' 8 .* work$' s || { cat s; fail 'eight kernels in the summary'; }
grep -q ' 8 .*cudaLaunchKernel' s || { cat s; fail 'eight launches in the summary'; }
"$WEIR" summary --csv a.weir | grep -q '^kernels,100.000,' || fail 'summary --csv'
"$WEIR" summary --json a.weir | grep -q '"name": "work"' || fail 'summary --json'
# P77: what differs is named, not only what took longer
"$WEIR" diff a.weir b.weir | grep -q 'gone .*cudaStreamWaitEvent' || { "$WEIR" diff a.weir b.weir; fail 'diff'; }
"$WEIR" diff a.weir a.weir | grep -q 'each is' && fail 'a trace differs from itself'
for f in csv json chrome perfetto svg; do
    "$WEIR" export --format $f -o out.$f a.weir && [ -s out.$f ] || fail "export $f"
done
[ "$(grep -c '^kernel,work' out.csv)" = 8 ] || fail 'kernels in CSV'
grep -q '^kernel,.*,edge,21,' out.csv || fail 'a kernel that waited for an event'
grep -q 'launch_small' out.csv || { head -5 out.csv; fail 'call sites have names'; }
if command -v python3 >/dev/null; then
    for f in json chrome; do python3 -c 'import json, sys; json.load(open(sys.argv[1]))' out.$f || fail "$f is no JSON"; done
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' out.svg || fail 'SVG is no XML'
fi
# Each format is read by a reader that knows nothing of Weir, and all of them hold the same.
if command -v python3 >/dev/null; then
    trace n.weir ./advise shown bad >out || fail 'trace of names'
    for f in csv json chrome perfetto svg; do
        "$WEIR" export --format $f -o n.$f n.weir || fail "export $f of names"
    done
    "$WEIR" summary --csv n.weir >n.summary.csv && "$WEIR" diff --csv a.weir n.weir >n.diff.csv || fail 'CSV of names'
    python3 "$here/exports.py" n || fail 'an export is not what it says'
fi
"$WEIR" view a.weir && [ -s a.weir.html ] || fail 'view'
grep -qE '(src|href)=|https?://|@import|fetch\(' a.weir.html && fail 'the page asks for something outside'

# Killed in the middle: what was written is there.
cat >kill.sh <<'END'
"$@" & wait
END
trace k.weir sh -c './advise sync-in-loop bad >/dev/null; kill -9 $$' 2>/dev/null
ls k.weir* >/dev/null 2>&1 || fail 'no trace of a child'
for f in k.weir*; do "$WEIR" summary "$f" | grep -q cudaLaunchKernel || fail "the child's trace $f"; done

# Very short kernels behind one another: each has a time of its own, behind that of the one before.
bursts="$(dirname "$WEIR")/../tests/t_conform_bursts"
if [ -x "$bursts" ]; then
    WEIR_TRACE=bursts.weir "$bursts" >out 2>&1 || { cat out; fail 'bursts'; }
    "$WEIR" export --format csv -o bursts.csv bursts.weir || fail 'export of bursts'
    awk -F, '$1 == "kernel" { n++; if ($8 < $7 || $9 < $8 || $9 - $6 > 3e11 || ($3 in end && $8 < end[$3])) bad = bad $0 "\n"; end[$3] = $9 }
             END { printf "%s", bad; exit n < 1000 || bad != "" }' bursts.csv >bad || { head -3 bad; fail 'times of short kernels'; }
fi

# A program that uses no CUDA leaves no file, and its status passes through.
trace none.weir sh -c 'exit 7'
[ $? = 7 ] || fail 'exit status'
[ ! -e none.weir ] || fail 'a trace of nothing'

for c in summary view advise "export --format csv"; do
    "$WEIR" $c kill.sh 2>err && fail "$c reads anything"
    grep -q 'not a trace' err || fail "$c says what is wrong"
done
"$WEIR" export --format word a.weir 2>/dev/null
[ $? = 2 ] || fail 'an unknown format'
for c in "summary --format csv" "diff --title x a.weir" "view --csv" "export --format csv --json"; do
    "$WEIR" $c a.weir >out 2>err
    [ $? = 2 ] && grep -q 'unknown option --' err || fail "$c takes the option of another command"
done
echo ok
