#!/bin/sh
# bench/pipe/h200.sh [OUT]: the pipelines of examples/ on a real GPU. Needs nvcc and the driver, nothing of Weir's but the
# sources. Builds, runs every form several times, the forms in turn, and prints one table; the same as JSON in OUT (default
# pipe.json), with the machine's data. About two minutes. Status 1 when a result was wrong.
# SPDX-License-Identifier: Apache-2.0
set -u
cd "$(dirname "$0")/../.."
out=${1:-pipe.json}
build=$(mktemp -d) && trap 'rm -rf "$build"' EXIT
command -v nvcc >/dev/null || { echo 'h200.sh: no nvcc on PATH'; exit 77; }
arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
begin=$(date +%s)
mkdir "$build/o"
for c in src/pipe/*.c; do nvcc -O3 -Iinclude -c "$c" -o "$build/o/$(basename "$c" .c).o" || exit 1; done
for program in video service big_vector two_devices training online; do
    nvcc -O3 ${arch:+-arch=sm_$arch} -Iinclude examples/$program.cu "$build"/o/*.o -o "$build/$program" -lpthread &
done
wait
[ -x "$build/video" ] || exit 1

# To try the script itself without a GPU: RUN='build/bin/weir run --' FEWER=500 ROUNDS=1.
n() { echo $(($1 / ${FEWER:-1} + 4)); }
results=$build/results failed=0
: >"$results"
# run NAME SECTION ARGS...: one line `SECTION NAME ms library_us` for each run.
run() {
    section=$1 name=$2
    shift 2
    text=$(timeout 60 ${RUN:-} "$build/video" "$@" 2>&1)
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

${RUN:-} "$build/video" --stages --form slot --frames $(n 200) >"$build/stages" 2>&1 || { cat "$build/stages"; exit 1; }
rounds=${ROUNDS:-5}
for round in $(seq "$rounds"); do
    [ $(($(date +%s) - begin)) -lt 130 ] || { rounds=$((round - 1)); break; }
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
for line in 'service bad usual good' 'big_vector bad usual good' 'two_devices bad usual good spread' 'training bad usual good' \
    'online bad usual good'; do
    set -- $line
    program=$1
    shift
    for form; do
        case $program in
        service) more="--requests $(n 20000)" ;;
        big_vector) more="--megabytes $(n 1024) --chunk-kib 8192" ;;
        two_devices) more="--items $(n 2000)" ;;
        training) more="--steps $(n 1000)" ;;
        online) more="--requests $(n 2000)" ;;
        esac
        text=$(timeout 60 ${RUN:-} "$build/$program" --form "$form" $more 2>&1)
        status=$?
        echo "$program: $(echo "$text" | grep -v '^RESULT' | tail -n 1)" >>"$build/workloads"
        [ $status = 0 ] || [ "$form" = bad ] || { echo "FAILED: $program --form $form $more"; echo "$text" | tail -n 5; failed=1; }
    done
done
${RUN:-} "$build/service" --sweep --requests $(n 20000) | grep -v '^RESULT' | sed 's/^/service: /' >>"$build/workloads"

grep '^ms_alone' "$build/stages"
nvidia-smi --query-gpu=name,driver_version,pcie.link.gen.current,pcie.link.width.current --format=csv,noheader 2>/dev/null | head -n 1
echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores; $(nvcc --version | grep release | sed 's/.*release //')"
# Minimum and median of the rounds, in the order of the first appearance.
awk '{ key = $1 " " $2; if (!(key in n)) order[++count] = key; v[key, ++n[key]] = $3; if ($4 != "-" && (!(key in lib) || $4 + 0 < lib[key] + 0)) lib[key] = $4 }
     END { printf "%-14s %-20s %9s %9s %9s\n", "source", "form", "ms least", "median", "lib us"
           for (k = 1; k <= count; k++) { key = order[k]; split(key, part, " ")
               for (i = 2; i <= n[key]; i++) for (j = i; j > 1 && v[key, j] + 0 < v[key, j - 1] + 0; j--) { t = v[key, j]; v[key, j] = v[key, j - 1]; v[key, j - 1] = t }
               printf "%-14s %-20s %9.4f %9.4f %9s\n", part[1], part[2], v[key, 1], v[key, int((n[key] + 1) / 2)], (key in lib) ? lib[key] : "" } }' \
    "$results" | tee "$build/table"
cat "$build/workloads"
{
    printf '{"machine": {"gpu": "%s", "cpu": "%s", "cores": %s, "nvcc": "%s", "date": "%s"},\n' \
        "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1)" \
        "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" \
        "$(nvcc --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')" "$(date -u +%Y-%m-%d)"
    sed -n 's/^ms_alone = upload \([0-9.]*\) compute \([0-9.]*\) download \([0-9.]*\)/ "ms_alone": {"upload": \1, "compute": \2, "download": \3},/p' "$build/stages"
    printf ' "rounds": %s, "ms_per_frame": [\n' "$rounds"
    awk 'NR > 1 { printf "%s  {\"source\": \"%s\", \"form\": \"%s\", \"least\": %s, \"median\": %s", (NR > 2 ? ",\n" : ""), $1, $2, $3, $4
                  if (NF > 4) printf ", \"library_us\": %s", $5
                  printf "}" } END { print "\n ]," }' "$build/table"
    printf ' "workloads": [\n%s\n ]}\n' "$(sed 's/.*/  "&",/; $s/,$//' "$build/workloads")"
} >"$out"
echo "$out: $(($(date +%s) - begin)) s; $([ $failed = 0 ] && echo 'every result right' || echo 'RESULTS WRONG')"
exit $failed
