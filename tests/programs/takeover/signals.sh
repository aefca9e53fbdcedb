# Signals with Weir's handler in front. SPDX-License-Identifier: Apache-2.0
cd "$BUILD/tests/takeover" || exit 1
ulimit -c 0
failed=0
# The kernel's own behaviour is the oracle: each case gives the same output and status with the signals claimed and without.
for case in $(./signals list); do
    for claim in early late; do
        want=$(./signals $case 2>&1; echo "status $?")
        got=$(bin/weir run ./signals $case $claim 2>&1; echo "status $?")
        if [ "$want" = "$got" ]; then
            echo "ok $case $claim"
        else
            printf 'FAILED %s %s\n--- wanted\n%s\n--- got\n%s\n' $case $claim "$want" "$got"
            failed=1
        fi
    done
done
exit $failed
