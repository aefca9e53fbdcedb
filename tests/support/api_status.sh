# api_status.sh PROGRAM PAGE: the page is what the program prints, but for the last column (tests come and go).
# SPDX-License-Identifier: Apache-2.0
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
rows() { sed 's/^\(| `.*\) | [^|]* |$/\1/'; }
"$1" --status /dev/null | rows >"$tmp/now" && rows <"$2" >"$tmp/page" && diff "$tmp/page" "$tmp/now" ||
    { echo "$2 is not what the table says: run tools/api-status"; exit 1; }
