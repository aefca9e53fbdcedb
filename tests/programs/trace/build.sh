# Sourced: compiles advise.cu by weir cc into $tmp/advise, or skips. SPDX-License-Identifier: Apache-2.0
[ -f "$BUILD/lib/weir/devlib.bc" ] && [ -f "$BUILD/lib/libcudart.so.13" ] || { echo "skipped: this build has no weir cc"; exit 77; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
here=$SOURCE/tests/programs/trace
"$WEIR" cc -O2 -g "$here/advise.cu" -o "$tmp/advise" || fail 'compile'
trace() { LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" trace -o "$@"; }
