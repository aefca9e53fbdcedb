#!/bin/sh
# bench/pipe/h200.sh [OUT]: the pipelines of examples/ on a real GPU. Needs nvcc and the driver, nothing of Weir's but the
# sources. Builds, runs every form several times, the forms in turn, and prints one table; the same as JSON in OUT (default
# pipe.json), with the machine's data. Less than four minutes. Status 1 when a result was wrong.
# bench/pipe/h200.sh --build FOLDER: only builds, into FOLDER, where there is no GPU (ARCH=90); then, on the machine that has
# one and need not have nvcc: BIN=FOLDER bench/pipe/h200.sh [OUT].
# SPDX-License-Identifier: Apache-2.0
set -u
cd "$(dirname "$0")/../.."

build() { # FOLDER
    mkdir -p "$1/o"
    for c in src/pipe/*.c; do nvcc -O3 -Iinclude -c "$c" -o "$1/o/$(basename "$c" .c).o" || return 1; done
    for program in video service big_vector two_devices training online; do
        nvcc -O3 ${ARCH:+-arch=sm_$ARCH} -Iinclude examples/$program.cu "$1"/o/*.o -o "$1/$program" -lpthread &
    done
    wait
    rm -r "$1/o"
    for program in video service big_vector two_devices training online; do [ -x "$1/$program" ] || return 1; done
    nvcc --version | sed -n 's/.*release \(.*\)/\1/p' >"$1/nvcc"
}

tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
if [ "${1:-}" = --build ]; then
    ARCH=${ARCH:-90} && build "$2"
    exit
fi
out=${1:-pipe.json}
bin=${BIN:-$tmp}
begin=$(date +%s)
if [ "$bin" = "$tmp" ]; then
    command -v nvcc >/dev/null || { echo 'h200.sh: no nvcc on PATH'; exit 77; }
    ARCH=${ARCH:-$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)}
    build "$bin" || exit 1
fi

# To try the script itself without a GPU: RUN='build/bin/weir run --device h200 --' FEWER=500 ROUNDS=1.
n() { echo $(($1 / ${FEWER:-1} + 4)); }
results=$tmp/results failed=0
: >"$results"
# run NAME SECTION ARGS...: one line `SECTION NAME ms library_us` for each run.
run() {
    section=$1 name=$2
    shift 2
    text=$(timeout 60 ${RUN:-} "$bin/video" "$@" 2>&1)
    if [ $? != 0 ]; then
        echo "FAILED: $name: video $*"
        echo "$text" | tail -n 5
        failed=1
        return
    fi
    ms=$(echo "$text" | sed -n 's/^ms_per_frame = //p')
    us=$(echo "$text" | sed -n 's/^library_us_per_item = \([0-9.]*\),.*/\1/p')
    echo "$section $name $ms ${us:--}" >>"$results"
}

${RUN:-} "$bin/video" --stages --form slot --frames $(n 200) >"$tmp/stages" 2>&1 || { cat "$tmp/stages"; exit 1; }
rounds=${ROUNDS:-5}
for round in $(seq "$rounds"); do
    [ $(($(date +%s) - begin)) -lt 110 ] || { rounds=$((round - 1)); break; }
    # The device's part alone: buffers filled once.
    run device serial-pageable --form serial-pageable --source none --frames $(n 500)
    run device serial-pinned --form serial-pinned --source none --frames $(n 1000)
    run device round --form round --source none --frames $(n 2000)
    for slots in 3 4; do
        run device "slot/$slots" --form slot --source none --frames $(n 4000) --slots $slots
        run device "chain/$slots" --form chain --source none --frames $(n 4000) --slots $slots
        run device "pipe/$slots" --form pipe --source none --frames $(n 4000) --slots $slots --workers 0
        run device "pipe-split/$slots" --form pipe-split --source none --frames $(n 4000) --slots $slots --workers 0
        run device "pipe-graph/$slots" --form pipe-graph --source none --frames $(n 4000) --slots $slots --workers 0
        run device "pipe-split-graph/$slots" --form pipe-split-graph --source none --frames $(n 4000) --slots $slots --workers 0
        run device "pipe-worker/$slots" --form pipe --source none --frames $(n 4000) --slots $slots --workers 1
        run device "pipe-spin/$slots" --form pipe --source none --frames $(n 4000) --slots $slots --workers 1 --spin 50
    done
    # Every frame filled and read.
    run real serial-pageable --form serial-pageable --frames $(n 300)
    run real serial-pinned --form serial-pinned --frames $(n 300)
    run real round --form round --frames $(n 500)
    run real slot --form slot --frames $(n 500)
    run real chain --form chain --frames $(n 500)
    run real pipe --form pipe --frames $(n 500) --workers 0
    run real "pipe-spin:4+4" --form pipe --frames $(n 1000) --slots 16 --producers 4 --workers 4 --spin 100
    for threads in 1 2 4 8; do
        run real "pipe:$threads+$threads" --form pipe --frames $(n 1000) --slots 16 --producers $threads --workers $threads
        run real "pipe-graph:$threads+$threads" --form pipe-graph --frames $(n 1000) --slots 16 --producers $threads \
            --workers $threads
    done
    # Four cameras, a thread and two or three streams each.
    for slots in 2 3; do
        for form in round slot pipe pipe-graph; do
            run feeds "$form/4x$slots" --form $form --feeds 4 --slots $slots --frames $(n 300) --workers 0
            run feeds-device "$form/4x$slots" --form $form --feeds 4 --slots $slots --frames $(n 1000) --workers 0 --source none
        done
    done
done

# The other workloads: the program's own line. What a bad form computes is not judged: it has a race.
# workload PROGRAM "FORMS" ARGS...
workload() {
    program=$1 forms=$2
    shift 2
    for form in $forms; do
        text=$(timeout 60 ${RUN:-} "$bin/$program" --form "$form" "$@" 2>&1)
        status=$?
        echo "$program $*: $(echo "$text" | grep -v '^RESULT' | tail -n 1)" >>"$tmp/workloads"
        [ $status = 0 ] || [ "$form" = bad ] || { echo "FAILED: $program --form $form $*"; echo "$text" | tail -n 5; failed=1; }
    done
}
workload service "bad usual good" --requests $(n 20000)
workload big_vector "bad usual good" --megabytes $(n 1024) --chunk-kib 8192
workload two_devices "bad usual good spread" --items $(n 1000)
for again in 1 2 3; do
    workload training "usual good" --steps $(n 300) --layer-kib 256 --work 1000
    workload training "usual good" --steps $(n 300) --layer-kib 1024 --work 4000
    workload training "usual good" --steps $(n 100) --layer-kib 1024 --work 16000
    workload online "usual good" --requests $(n 1000) --bulk-kib 1024
    workload online "usual good" --requests $(n 1000) --bulk-kib 4096
done
workload training bad --steps $(n 300) --layer-kib 1024 --work 4000
workload online bad --requests $(n 1000) --bulk-kib 4096
${RUN:-} "$bin/service" --sweep --requests $(n 20000) | grep -v '^RESULT' | sed 's/^/service: /' >>"$tmp/workloads"

grep '^ms_alone' "$tmp/stages"
nvidia-smi --query-gpu=name,driver_version,pcie.link.gen.current,pcie.link.width.current --format=csv,noheader 2>/dev/null | head -n 1
echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores; $(cat "$bin/nvcc")"
# Minimum and median of the rounds, in the order of the first appearance.
awk '{ key = $1 " " $2; if (!(key in n)) order[++count] = key; v[key, ++n[key]] = $3; if ($4 != "-" && (!(key in lib) || $4 + 0 < lib[key] + 0)) lib[key] = $4 }
     END { printf "%-14s %-20s %9s %9s %9s\n", "source", "form", "ms least", "median", "lib us"
           for (k = 1; k <= count; k++) { key = order[k]; split(key, part, " ")
               for (i = 2; i <= n[key]; i++) for (j = i; j > 1 && v[key, j] + 0 < v[key, j - 1] + 0; j--) { t = v[key, j]; v[key, j] = v[key, j - 1]; v[key, j - 1] = t }
               printf "%-14s %-20s %9.4f %9.4f %9s\n", part[1], part[2], v[key, 1], v[key, int((n[key] + 1) / 2)], (key in lib) ? lib[key] : "" } }' \
    "$results" | tee "$tmp/table"
cat "$tmp/workloads"
{
    printf '{"machine": {"gpu": "%s", "cpu": "%s", "cores": %s, "nvcc": "%s", "date": "%s"},\n' \
        "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1)" \
        "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" \
        "$(sed 's/,.*//' "$bin/nvcc")" "$(date -u +%Y-%m-%d)"
    sed -n 's/^ms_alone = upload \([0-9.]*\) compute \([0-9.]*\) download \([0-9.]*\)/ "ms_alone": {"upload": \1, "compute": \2, "download": \3},/p' "$tmp/stages"
    printf ' "rounds": %s, "ms_per_frame": [\n' "$rounds"
    awk 'NR > 1 { printf "%s  {\"source\": \"%s\", \"form\": \"%s\", \"least\": %s, \"median\": %s", (NR > 2 ? ",\n" : ""), $1, $2, $3, $4
                  if (NF > 4) printf ", \"library_us\": %s", $5
                  printf "}" } END { print "\n ]," }' "$tmp/table"
    printf ' "workloads": [\n%s\n ]}\n' "$(sed 's/.*/  "&",/; $s/,$//' "$tmp/workloads")"
} >"$out"
echo "$out: $(($(date +%s) - begin)) s; $([ $failed = 0 ] && echo 'every result right' || echo 'RESULTS WRONG')"
exit $failed
