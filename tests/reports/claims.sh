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
# A claim's own row names a program, or says why there is none.
sed '/^## Each with a pair/,$d' "$page" | grep '^| ' | grep -vE '^\| (claim|---) ' | awk -F'|' '{ print $(NF - 1) }' >"$BUILD/claims-tests"
[ "$(grep -c . "$BUILD/claims-tests")" -ge 30 ] || fail "fewer rows than claims"
grep -vE '`|not here' "$BUILD/claims-tests" && fail "a claim without a program"
# Two claims about durations, by the model: a pipeline takes its longest stage, not the kernel's time and a copy's; and from some number of
# chunks on more of them change little.
"$WEIR" plan --stages h2d=2ms,kernel=6ms,d2h=1ms --chunks 1..64 --streams 4 | awk '
    /^bound: 6\.000 ms, the kernels/ { bound = 1 }
    $1 == "1" { one = $2 }
    $1 == "32" { many = $2 }
    $1 == "64" { most = $2 }
    END { exit !(bound && one > 9 && many < 6.3 && most < 6.3 && most > 6) }' || fail "the durations of weir plan"
[ $rows -gt 25 ] || fail "only $rows names"
for name in $(sed -nE 's/^ *\{"([a-z-]+)", .*/\1/p' tests/reports/claims.c); do
    grep -q "\`$name\`" "$page" || fail "$name is not on the page"
done
for id in $(grep -oE '(ORD|GRA|CAP)-[0-9]{3}' "$page" | sort -u); do
    grep -q "^### $id " docs/rules/*.md || fail "$id is no rule"
done
echo "$rows names"
exit $failed
