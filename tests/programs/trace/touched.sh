# What kernels touched, in a trace of weir check: waits are judged by it, not by the pointers that kernels were given.
# SPDX-License-Identifier: Apache-2.0
. "$SOURCE/tests/programs/trace/build.sh"
cd "$tmp" || exit 1
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" # they leave behind what they made
"$WEIR" cc -O2 "$here/touched.cu" -o touched || fail 'compile'
says() { # says FORM yes|no HOW...: is the wait called needless in a trace made by weir HOW?
    form=$1 want=$2
    shift 2
    rm -f t.weir
    LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" "$@" --trace t.weir ./touched $form >run 2>&1 || { cat run; fail "$form does not run by weir $*"; }
    advise_by_model --json t.weir >out.json || fail "advise of $form"
    got=no
    grep -q '"kind": "unneeded-wait"' out.json && got=yes
    echo "$form by weir $*: needless: $got"
    [ $got = $want ] || { cat out.json; fail "$form by weir $*: $want expected"; }
}
says halves no run
says halves yes check
says halves no check --light --exit-code 0
# One value, all values, columns that lie between each other (more places than a record holds: they are joined), reads before a write.
for form in halo same columns reads; do
    says $form no check
done
# Graphs: all that their nodes touched; without that nobody knows.
says graph-halves no run
advise_by_model --all t.weir | grep -qE '^  \? +does an event wait order work' || fail 'graphs: not known'
says graph-halves yes check
says graph-same no check
says graph-halves no check --light --exit-code 0
echo ok
