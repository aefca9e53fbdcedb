# docs/guide/claims.md: each test, example or form of one that it names is one, each program of claims.c stands there, each rule is one.
# SPDX-License-Identifier: Apache-2.0
set -u
cd "$SOURCE" || exit 1
page=docs/guide/claims.md
failed=0
fail() { echo "FAILED $*"; failed=1; }
# Not from ctest -N: that begins the log anew that the ctest around this test writes.
tests=$(find "$BUILD" -name CTestTestfile.cmake -exec sed -nE 's/^add_test\([^A-Za-z]*([A-Za-z0-9_-]+).*/\1/p' {} +)
[ -n "$tests" ] || { echo "FAILED: no tests in $BUILD"; exit 1; }
rows=0
for name in $(grep '^| ' "$page" | awk -F'|' '{ print $(NF - 1) }' | grep -oE '`[A-Za-z_0-9-]+`' | tr -d '`' | sort -u); do
    rows=$((rows + 1))
    grep -qE "\{\"$name\", " tests/reports/*.c || printf '%s\n' "$tests" | grep -qx "$name" || [ -e "examples/$name.cu" ] ||
        grep -qE "[\" ]$name[\" ]" examples/*.cu examples/CMakeLists.txt || fail "$name is no test and no example"
done
[ $rows -gt 25 ] || fail "only $rows names"
for name in $(sed -nE 's/^ *\{"([a-z-]+)", .*/\1/p' tests/reports/claims.c); do
    grep -q "\`$name\`" "$page" || fail "$name is not on the page"
done
for id in $(grep -oE '(ORD|GRA|CAP)-[0-9]{3}' "$page" | sort -u); do
    grep -q "^### $id " docs/rules/*.md || fail "$id is no rule"
done
echo "$rows names"
exit $failed
