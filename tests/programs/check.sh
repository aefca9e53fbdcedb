# Sourced by the tests of whole programs, in the folder of what they build, with $src: where the sources are.
# SPDX-License-Identifier: Apache-2.0
ulimit -c 0
failed=0 message=

# newer TARGET: the sources are newer than the target, which has to be built again
newer() { [ ! -e "$1" ] || [ -n "$(find "$src" "$SOURCE/tests/programs/ok.h" -newer "$1" 2>/dev/null)" ]; }
die() { echo "FAILED: building $*"; exit 1; }
# check NAME STATUS WANTED COMMAND...: exit status and output under weir run. Standard error, which goes to the file err, is
# empty, or with $message says that.
check() {
    name=$1 status=$2 want=$3
    shift 3
    got=$(LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" run "$@" 2>err)
    rc=$?
    sed -i '/^==[0-9]*==Running thread [0-9]* was not suspended/d' err # LeakSanitizer, of threads that end just then
    if [ $rc -ne "$status" ] || [ "$got" != "$want" ] || { [ -s err ] && [ -z "$message" ]; }; then
        printf 'FAILED %s: status %s, wanted %s\n%s\n--- stderr\n%s\n' "$name" $rc "$status" "$got" "$(cat err)"
        failed=1
    elif [ -n "$message" ] && ! grep -q "$message" err; then
        printf 'FAILED %s: not said: %s\n%s\n' "$name" "$message" "$(cat err)"
        failed=1
    else
        echo "ok $name"
    fi
    message=
}
