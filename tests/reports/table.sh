# tests/reports/README.md: every report that it lists has its program in a file of its row, every program of a report is listed, and what it
# says of weir check is in checked.sh. Where the list that the reports were taken from is present, none of it is missing.
# SPDX-License-Identifier: Apache-2.0
set -u
cd "$SOURCE/tests/reports" || exit 1
failed=0 count=0
fail() { echo "FAILED $*"; failed=1; }
ids() { grep -oE 'P[0-9]{2}' | sort -u; }
rows=$(grep -E '^\|.*P[0-9]{2}' README.md)
listed=$(printf '%s\n' "$rows" | awk -F'|' '{ print $3 }' | ids)

# holds FILE ID: the file has the report: as a row of its group, or by its comment
holds() {
    case $1 in
    */*) file=$SOURCE/$1 ;;
    *) file=$1 ;;
    esac
    [ -e "$file" ] || { fail "$1: there is no such file"; return; }
    if grep -q 'REPORT_GROUP' "$file"; then
        grep -qE "\{\"$2(-[a-z-]+)?\", " "$file"
    else
        grep -qE "(^|[^A-Z0-9])$2([^0-9]|$)" "$file"
    fi
}

for id in $listed; do
    found=
    for file in $(printf '%s\n' "$rows" | awk -F'|' -v id="$id" '$3 ~ id { print $4 }' | grep -oE '`[a-z_/0-9]+\.(c|cu|sh)`' | tr -d '`'); do
        holds "$file" "$id" && found=yes
    done
    [ -n "$found" ] || fail "$id has no program in the files of its row"
    count=$((count + 1))
done
for id in $(grep -ohE '\{"P[0-9]{2}' ./*.c ./checked.cu | ids); do
    printf '%s\n' "$listed" | grep -qx "$id" || fail "$id has a program and no row"
done
for id in $(awk '/^What `weir check` must say/,/^$/' README.md | ids); do
    grep -qE "^(wrong|noted|without [a-z]+|run [0-9]+) $id( |$)" checked.sh ||
        grep -qE "/\* $id \*/" "$SOURCE/tests/programs/hazards/misuse.cu" || fail "$id is not in checked.sh"
done
source=$SOURCE/../shared/cases/user-reports.md
if [ -e "$source" ]; then
    for id in $(grep -E '^### P[0-9]' "$source" | ids); do
        printf '%s\n' "$listed" | grep -qx "$id" || fail "$id is not listed"
    done
fi
[ $count -ge 40 ] || fail "only $count reports"
echo "$count reports"
exit $failed
