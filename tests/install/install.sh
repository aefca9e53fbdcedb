# Installs into a fresh prefix; builds and runs a C program with what is there, through pkg-config and through find_package;
# then a CMake project in the CUDA language, with the installed compiler.
# SPDX-License-Identifier: Apache-2.0
[ -f "$BUILD/lib/libweir.so" ] || { echo "skipped: this build has no libweir.so"; exit 77; }
[ -z "$SANITIZE" ] || { echo "skipped: a sanitizer build is not installed"; exit 77; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
prefix=$tmp/prefix
here=$SOURCE/tests/install
want='1 device, 1000 values right'
fail() { echo "FAILED: $*"; exit 1; }

"$CMAKE" --install "$BUILD" --prefix "$prefix" >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
(cd "$prefix" && find . -type f -o -type l | sort)
mv "$prefix" "$tmp/moved" && prefix=$tmp/moved # nothing may point to where it was installed
lib=$(dirname "$(find "$prefix" -type f -name libweir.so)")

# Only what ships depends on nothing that a user does not have.
for f in "$prefix"/bin/weir "$lib"/libweir*.so "$lib"/libcudart.so.13; do
    [ -f "$f" ] || fail "$f is missing"
    objdump -p "$f" | grep -E 'NEEDED +(libLLVM|libz|libzstd|liblz4|libstdc|libasan)' && fail "$f needs a library of the development set-up"
done

export PKG_CONFIG_PATH=$lib/pkgconfig
pkg-config --exists weir || fail 'pkg-config does not find weir'
"$CC" -Wall -Wextra -Werror $(pkg-config --cflags weir) -o "$tmp/by-pc" "$here/main.c" $(pkg-config --libs weir) || fail 'pkg-config build'
[ "$(LD_LIBRARY_PATH=$lib "$tmp/by-pc")" = "$want" ] || fail 'run with LD_LIBRARY_PATH'
[ "$("$prefix/bin/weir" run "$tmp/by-pc")" = "$want" ] || fail 'run with weir run'

"$CMAKE" -S "$here/project" -B "$tmp/b" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$CC" >"$tmp/log" 2>&1 &&
    "$CMAKE" --build "$tmp/b" >>"$tmp/log" 2>&1 || { cat "$tmp/log"; fail 'find_package build'; }
[ "$("$tmp/b/by-cmake")" = "$want" ] || fail 'run of the find_package build'
pipe='100 of 100 items'
[ "$("$tmp/b/pipe-by-cmake")" = "$pipe" ] || fail 'run of the pipeline by find_package'
"${CXX:-c++}" -Wall -Wextra -Werror $(pkg-config --cflags weir-pipe) -o "$tmp/pipe-by-pc" "$here/pipe.cpp" $(pkg-config --libs weir-pipe) ||
    fail 'pkg-config build of the pipeline'
[ "$(LD_LIBRARY_PATH=$lib "$tmp/pipe-by-pc")" = "$pipe" ] || fail 'run of the pipeline by pkg-config'
"${CXX:-c++}" $(pkg-config --cflags weir-pipe) -o "$tmp/pipe-static" "$here/pipe.cpp" "$lib/libweir-pipe.a" $(pkg-config --libs weir) ||
    fail 'static build of the pipeline'
[ "$(LD_LIBRARY_PATH=$lib "$tmp/pipe-static")" = "$pipe" ] || fail 'run of the static pipeline'

# A CUDA project whose build files know nothing of Weir.
if [ -e "$lib/weir/devlib.bc" ]; then
    "$CMAKE" -S "$here/cuda" -B "$tmp/cuda" -G Ninja -DCMAKE_CUDA_COMPILER="$lib/weir/cuda/bin/nvcc" \
        -DUNITS="$SOURCE/tests/programs/cc/rdc" >"$tmp/log" 2>&1 && "$CMAKE" --build "$tmp/cuda" >>"$tmp/log" 2>&1 || {
        cat "$tmp/log"
        fail 'CUDA project'
    }
    for p in units host; do
        "$tmp/cuda/$p" | grep -q '^RESULT PASS' || fail "$p of the CUDA project"
    done
    "$CMAKE" --build "$tmp/cuda" | grep -q 'no work to do' || fail 'the CUDA project is made again'
fi
echo ok
