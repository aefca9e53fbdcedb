# weir plan on the command line: tables, designs, what is expected of them, what is refused.
# SPDX-License-Identifier: Apache-2.0
set -u
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
has() { grep -q -e "$2" "$tmp/$1" || { cat "$tmp/$1"; fail "no \"$2\" in $1"; }; }
plan() { "$WEIR" plan "$@"; }
ends() { # ends STATUS ARGS...: prints to $tmp/out
    want=$1
    shift
    plan "$@" >"$tmp/out" 2>"$tmp/err"
    got=$?
    [ $got = "$want" ] || { cat "$tmp/out" "$tmp/err"; fail "plan $*: ends with $got, not $want"; }
}

# On the device's own figures the short kernel's best comes within 6 % of what both directions of copies allow.
ends 0 --stages h2d=4.87ms,kernel=0.29ms,d2h=4.86ms --chunks 1..64 --streams 1..8
has out '^\* best: [0-9]* chunks in 3 streams, 5\.[67]'
has out '^bound: 5\.44. ms, the copies both ways'
ends 0 --stages h2d=4.87ms,kernel=6.2ms,d2h=4.86ms --copy-engines 1 --streams 1..4
has out 'the one copy engine'
ends 0 --stages h2d=4.87ms,kernel=6.2ms,d2h=4.86ms --streams 3 --chunks 32 --json
has out '"best": {"chunks": 32, "streams": 3, "ms": 6\.5'
! command -v python3 >/dev/null || python3 -m json.tool "$tmp/out" >/dev/null || fail 'no JSON'
ends 0 --stages h2d=256MiB,kernel=0.29ms,d2h=256MiB --pageable --chunks 1..8
has out 'best: 1 chunk in 1 stream'
ends 0 --stages kernel=1ms@25% --chunks 4 --streams 1..4 --device rtx4090 -o "$tmp/table"
has table 'RTX 4090'

ends 2 --stages h2d=0,kernel=0ms
has err 'no stage takes any time'

for f in two-streams slots events; do
    ends 0 "$SOURCE/examples/plan/$f.plan"
    has out '^right:'
done
ends 1 --expect 'makespan<=1ms' "$SOURCE/examples/plan/two-streams.plan"
has out '^wrong: makespan is 1.200 ms, expected at most 1.000 ms'
sed 's/^engines.*/engines unlimited/; s/^expect.*/expect speedup=2/' "$SOURCE/examples/plan/two-streams.plan" >"$tmp/free.plan"
ends 0 --expect 'makespan<=1ms' "$tmp/free.plan"
sed 's/^\(kernel.*0\.6\)/\1 fill 100%/; s/^expect.*/expect speedup=1.25/' "$SOURCE/examples/plan/two-streams.plan" >"$tmp/full.plan"
ends 0 "$tmp/full.plan"
has out 'the engine had kernel of a'

# A recorded program elsewhere: its kernels take what is said, its copies what the device's bus allows.
trace=$SOURCE/tests/fuzz/corpus/trace/overlap
ends 0 "$trace"
has out '^recorded on Weir CPU; planned on the same'
ends 0 --device h200 --kernel advance=0.5ms "$trace"
has out '^  advance .* 500.00 us   15'
has out 'planned on NVIDIA H200'
! grep -q 'takes as long as in the trace' "$tmp/out" || fail 'a kernel that is named counts as guessed'
ends 0 --device rtx4090 --kernels 0.01 --chunks 1..4 "$trace"
has out 'No pipeline of chunks was found'
ends 0 --device rtx4090 --kernels 0.01 --html -o "$tmp/moved.html" "$trace"
has moved.html '<canvas'
ends 2 --device h200 --kernel advance=0.5ms@-3 "$trace"
ends 2 --kernel advance=0.5ms "$trace"
echo 'kernel nowhere 1' >"$tmp/bad.plan"
ends 1 "$tmp/bad.plan"
has err 'bad.plan: line 1: a stream was expected'
ends 2 --stages 'work=3ms'
ends 2 --stages 'h2d=1ms' --chunks 0
ends 2 --stages 'h2d=1ms' --device cpu
has err 'says no costs'
ends 2 --stages 'h2d=1ms' --device nothing
ends 2 --expect 'speed=3' "$tmp/full.plan"
ends 2
ends 1 "$tmp/none.plan"
ends 0 --help
echo 'plans as it should'
