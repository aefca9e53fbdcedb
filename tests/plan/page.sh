# The page of weir plan --html in a real browser: its numbers are the command line's. SPDX-License-Identifier: Apache-2.0
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
for b in chromium chromium-browser google-chrome; do command -v $b >/dev/null && browser=$b; done
[ -n "${browser:-}" ] || { echo "skipped: no chromium"; exit 77; }
[ -z "${SANITIZE:-}" ] || { echo "skipped: the page is the same without a sanitizer"; exit 77; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
stages=h2d=4.87ms,kernel=0.29ms,d2h=4.86ms
"$WEIR" plan --stages $stages --html -o "$tmp/plan.html" || { [ $? = 2 ] && { echo "skipped: this build has no page"; exit 77; }; exit 1; }
"$WEIR" plan --stages $stages --json -o "$tmp/pinned.json" || exit 1
"$WEIR" plan --stages $stages --json --pageable -o "$tmp/pageable.json" || exit 1
"$WEIR" plan --stages $stages --json --copy-engines 1 --breadth --device rtx4090 -o "$tmp/one.json" || exit 1
PYTHONPATH="$SOURCE/tests/programs/trace" python3 "$SOURCE/tests/plan/page.py" "$tmp"
