# What the tests run, form by form, then t_ptx_rows: each form of forms.ptx is in one of them.
#   sh rows.sh BIN SOURCE [-v]
# SPDX-License-Identifier: Apache-2.0
set -eu
bin=$1 source=$2 out=$1/ptx_rows
mkdir -p "$out"
for suite in ops kernels random; do "$bin/t_ptx" -t parse -s $suite -f "$out/$suite" >/dev/null; done
"$bin/t_ptx_memory_forms" "$source/forms.ptx" -t parse -f "$out/memory_forms" >/dev/null || :
"$bin/t_ptx_matrix" -t parse -f "$out/matrix" >/dev/null || :
"$bin/t_ptx_compiled" -t parse -f "$out/generated" -r 1-8 >/dev/null || :
"$bin/t_ptx_textures" -p "$out/textures.ptx"
"$bin/t_ptx_rows" ${3:-} "$source/forms.ptx" "$out/ops" "$out/kernels" "$out/random" "$out/memory_forms" "$out/matrix" \
    "$out/generated" "$source/compared.ptx" "$out/textures.ptx"
