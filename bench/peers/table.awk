# table.awk: lines `kernel system ms ok` as a table of the lowest times, then Weir beside its peers.
# A time with ! had a wrong result, and is nobody's best.
# SPDX-License-Identifier: Apache-2.0
!/^#/ && NF >= 4 {
    if (!(($1, $2) in ms) || $3 < ms[$1, $2]) ms[$1, $2] = $3
    if ($4 != "ok") wrong[$1, $2] = 1
    if (!seen_kernel[$1]++) kernels[++nk] = $1
    if (!seen_system[$2]++) systems[++ns] = $2
}

function at_best(a, b) { return b != "" && (a == "" || b < a) ? b : a }

# The lowest time of a kernel's native forms by both compilers.
function native(kernel,   forms, i, best) {
    split(other_forms[kernel] " " kernel, forms, " ")
    for (i in forms) {
        best = at_best(best, ms[forms[i], "native"])
        best = at_best(best, ms[forms[i], "native-clang"])
    }
    return best
}

function peer(kernel,   i, best) {
    for (i = 1; i <= ns; i++)
        if (systems[i] !~ /^(native|weir)/ && !wrong[kernel, systems[i]])
            best = at_best(best, ms[kernel, systems[i]])
    return best
}

function cell(sum, n) { return n ? sprintf("%.2f", exp(sum / n)) : "-" }

function beside(which,   i, k, w, v) {
    for (i = 1; i <= nk; i++) {
        k = kernels[i]
        w = ms[k, which]
        if (w == "") continue
        printf "%-12s %-14s %12s", which, k, sprintf("%.2f", w)
        v = native(k)
        printf " %12s", v == "" ? "-" : sprintf("%.2f", v / w)
        if (v != "") { sum[which, 0] += log(v / w); n[which, 0]++ }
        v = peer(k)
        print sprintf(" %12s", v == "" ? "-" : sprintf("%.2f", v / w))
        if (v != "") { sum[which, 1] += log(v / w); n[which, 1]++ }
    }
    printf "%-12s %-14s %12s %12s %12s\n", which, "geometric mean", "", cell(sum[which, 0], n[which, 0]),
        cell(sum[which, 1], n[which, 1])
}

BEGIN {
    other_forms["heavy"] = "heavy_plain"
    other_forms["mat_tiled16"] = other_forms["mat_tiled32"] = "mat_tiled"
    other_forms["mandel"] = "mandel_simd"
}

END {
    printf "%-14s", "kernel"
    for (j = 1; j <= ns; j++) printf " %14s", systems[j]
    print ""
    for (i = 1; i <= nk; i++) {
        k = kernels[i]
        printf "%-14s", k
        for (j = 1; j <= ns; j++) {
            v = ms[k, systems[j]]
            printf " %14s", v == "" ? "-" : sprintf("%.2f%s", v, wrong[k, systems[j]] ? "!" : "")
        }
        print ""
    }
    printf "\n%-12s %-14s %12s %12s %12s\n", "", "", "ms", "native/Weir", "peer/Weir"
    beside("weir-nvcc")
    beside("weir-cc")
}
