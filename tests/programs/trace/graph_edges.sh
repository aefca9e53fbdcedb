# Edges between the nodes of a graph: which of them order what shares no data, and where a trace shows them.
# SPDX-License-Identifier: Apache-2.0
. "$SOURCE/tests/programs/trace/build.sh"
cd "$tmp" || exit 1
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" # they leave behind what they made
"$WEIR" cc -O2 "$here/graph_edges.cu" -o graph_edges || fail 'compile'
says() { # says FORM PATTERN: what the advice on it matches; '' when no edge is called needless
    rm -f t.weir
    LD_PRELOAD=$SANITIZER_PRELOAD trace_counts t.weir ./graph_edges $1 >run 2>&1 || { cat run; fail "$1 does not run"; }
    advise_by_model --json t.weir >out.json || fail "advise of $1"
    got=$(grep -oE '[0-9]+ edges? of a graph of [0-9]+ nodes, launched [0-9]+ times, orders? nodes that share no data' out.json)
    echo "$1: ${got:-no needless edge}"
    [ "$got" = "$2" ] || { cat out.json; fail "$1: $2"; }
}
says chain '3 edges of a graph of 4 nodes, launched 10 times, order nodes that share no data'
grep -q '"kind": "unneeded-wait"' out.json || fail 'chain: the kind'
grep -q 'work follows work (GRA-001)' out.json || fail 'chain: an example'
"$WEIR" export --format json t.weir -o t.json || fail 'export'
[ "$(grep -c '"follows": \[{"rule": "GRA-001", "guaranteed": true, "operation"' t.json)" = 30 ] || fail 'chain: the edges are not in the trace'
"$WEIR" export --format csv t.weir -o t.csv || fail 'export csv'
[ "$(grep -c '^kernel,.*,edge,0,' t.csv)" = 30 ] || { cat t.csv; fail 'chain: why the nodes began when they did'; }
says pipeline '3 edges of a graph of 12 nodes, launched 10 times, order nodes that share no data'
for form in data fork host; do
    says $form ''
done
# (All begin with the graph.)
says fork ''
"$WEIR" export --format json t.weir -o t.json || fail 'export'
grep -q 'GRA-001' t.json && fail 'fork: edges'
echo ok
