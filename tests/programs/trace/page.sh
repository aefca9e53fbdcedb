# The page of weir view in a real browser. SPDX-License-Identifier: Apache-2.0
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
for b in chromium chromium-browser google-chrome; do command -v $b >/dev/null && browser=$b; done
[ -n "${browser:-}" ] || { echo "skipped: no chromium"; exit 77; }
[ -z "$SANITIZE" ] || { echo "skipped: the page is the same without a sanitizer"; exit 77; }
. "$SOURCE/tests/programs/trace/build.sh"
trace "$tmp/t.weir" "$tmp/advise" unneeded-wait bad >/dev/null || fail 'trace'
"$WEIR" view --title 'A test' -o "$tmp/page.html" "$tmp/t.weir" || fail 'view'
python3 "$here/page.py" "$tmp/page.html" "$tmp"
