# Numba as it comes from PyPI: nothing in it knows of Weir. NUMBA_PYTHON is a Python that has it. SPDX-License-Identifier: Apache-2.0
[ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
[ -z "$SANITIZE" ] || { echo "skipped: Python without a sanitizer"; exit 77; }
python=${NUMBA_PYTHON:-python3}
command -v "$python" >/dev/null || { echo "skipped: no $python"; exit 77; }
"$python" -c 'import numba_cuda' 2>/dev/null || { echo "skipped: no numba-cuda in $python (pip install numba-cuda numba numpy)"; exit 77; }
got=$("$WEIR" run "$python" "$SOURCE/tests/programs/driver/numba_program.py" 2>&1)
want='add True
total 5000.0
time True
device True'
case $got in
*'No NVVM'* | *'libNVVM'*' not found'* | *'DynamicLibNotFoundError'*) echo "skipped: Numba finds no CUDA compiler: $got"; exit 77 ;;
esac
[ "$got" = "$want" ] && echo ok && exit 0
printf 'FAILED:\n%s\n' "$got"
exit 1
