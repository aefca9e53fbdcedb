# Sourced: compiles advise.cu by weir cc into $tmp/advise, or skips. SPDX-License-Identifier: Apache-2.0
[ -f "$BUILD/lib/weir/devlib.bc" ] && [ -f "$BUILD/lib/libcudart.so.13" ] || { echo "skipped: this build has no weir cc"; exit 77; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
here=$SOURCE/tests/programs/trace
"$WEIR" cc -O2 -g "$here/advise.cu" -o "$tmp/advise" || fail 'compile'
# What is asserted of advice rests on the model alone: kernels count, nothing measured is left, and the answer is the same on
# every machine, whatever else it does. A small GPU of the tests' own: 8 SMs, all else as an H200.
sed 's/^attribute 16 .*/attribute 16 8/; s/^name .*/name Test GPU/' "$SOURCE/profiles/h200.profile" >"$tmp/small.profile"
advise_by_model() { "$WEIR" advise --clock model --device "$tmp/small.profile" "$@"; }
trace_counts() { "$WEIR" run --counts --trace "$@"; }
trace() { LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" trace -o "$@"; }
# Findings and notes of a report as JSON.
kinds() { grep -oE '"kind": "[a-z-]*"' "$1" | cut -d'"' -f4; }
# answers KIND bad|good: --all says of the question what is right of the form: of a good one no, or a note of what gains little
answers() {
    case $(grep -oE "\"$1\": \"(yes|note|no|unknown)\"" "$tmp/out.json" | cut -d'"' -f4)=$2 in
        yes=bad | note=bad | no=good | note=good) return 0 ;;
        *) return 1 ;;
    esac
}
