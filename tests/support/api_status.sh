# api_status.sh PROGRAM PAGE: the page is what the program prints, but for the last column (tests come and go).
# SPDX-License-Identifier: Apache-2.0
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
rows() { sed 's/^\(| `.*\) | [^|]* |$/\1/'; }
"$1" --status /dev/null | rows >"$tmp/now" && rows <"$2" >"$tmp/page" && diff "$tmp/page" "$tmp/now" ||
    { echo "$2 is not what the table says: run tools/api-status"; exit 1; }
# Every function of the runtime that is there has a test, when the page was made.
if grep -E '^\| `cuda[A-Z].*\|  \|$' "$2" | grep -v '\*\*no\*\*'; then
    echo "$2: no test calls these"
    exit 1
fi
