// The page of `weir plan --html`. The simulator is Weir's own, compiled to WebAssembly; here are only inputs and drawing. PLAN (machines,
// the first pipeline, the module) stands before this script; places of inputs and outputs are those of src/plan/wasm.c.
// SPDX-License-Identifier: Apache-2.0
"use strict";
(async () => {
const {$, fmt, esc, bar, label, readColors} = Draw; // draw.js
const ENGINES = ["kernel", "copy in", "copy out", "on device", "host function"], WHY = ["the host submitted it", "it followed", "the engine had"];
const COPY_ENGINES = 4, DEVICE = 4, STAGES = 19, STAGE = 20; // inputs
const LENGTH = 0, BOUND = 1, LIMIT = 2, OPS = 3, STEPS = 4;  // outputs
const bytes = Uint8Array.from(atob(PLAN.wasm), c => c.charCodeAt(0));
const sim = (await WebAssembly.instantiate(bytes, {})).instance.exports;
const numbers = (at, n) => new Float64Array(sim.memory.buffer, at, n);

// ---- state ----
const state = {machine: 0, chunks: PLAN.chunks, streams: PLAN.streams, breadth: +PLAN.breadth, pageable: +PLAN.pageable,
    engines: PLAN.machines[0].values[0], stages: PLAN.stages.map(s => Object.assign({}, s))};
let css = {}, ops = [], host = [], result = {}, grid = [], boxes = [];
window.weirPlan = {state, get length() { return result.length; }, get bound() { return result.bound; }, get best() { return result.best; },
    get ops() { return ops.length; }, get boxes() { return boxes; }, set: o => { Object.assign(state, o); show(); update(); }};

// ---- the simulator ----
function write() {
    const m = PLAN.machines[state.machine], input = numbers(sim.weir_plan_wasm_input(), STAGE + 3 * state.stages.length);
    input.set([state.chunks, state.streams, state.breadth, state.pageable]);
    input.set(m.values, DEVICE);
    input[COPY_ENGINES] = state.engines;
    input[STAGES] = state.stages.length;
    state.stages.forEach((s, i) => input.set([s.engine, s.ns * slower(s, m), s.fill], STAGE + 3 * i));
}
// How much longer a copy of pageable memory takes, by the machine's rates.
function slower(s, m) { return state.pageable && (s.engine === 1 || s.engine === 2) ? m.pageable[s.engine - 1] : 1; }
function run() {
    write();
    if (!sim.weir_plan_wasm_run()) return;
    const out = numbers(sim.weir_plan_wasm_output(), 10), m = PLAN.machines[state.machine];
    result = {length: out[LENGTH], bound: out[BOUND], limit: out[LIMIT], serial: state.stages.reduce((a, s) => a + s.ns * slower(s, m), 0)};
    const t = numbers(sim.weir_plan_wasm_times(), 6 * out[OPS]), h = numbers(sim.weir_plan_wasm_host(), 2 * out[STEPS]);
    ops = []; host = [];
    for (let i = 0; i < out[OPS]; i++) ops.push({stream: t[6 * i], engine: t[6 * i + 1], start: t[6 * i + 2], end: t[6 * i + 3], why: t[6 * i + 4],
        after: t[6 * i + 5], chunk: Math.floor(i / state.stages.length)});
    for (let i = 0; i < out[STEPS]; i++) host.push({start: h[2 * i] < 0 ? -h[2 * i] - 1 : h[2 * i], end: h[2 * i + 1], waits: h[2 * i] < 0});
    // Every combination; the best: fewest chunks, then streams, within a percent of the shortest.
    grid = [];
    let least = Infinity;
    for (let c = 1; c <= 64; c++) {
        grid[c] = [];
        for (let s = 1; s <= 8; s++) {
            grid[c][s] = s > c && s > 1 ? grid[c][s - 1] : sim.weir_plan_wasm_length(c, s);
            least = Math.min(least, grid[c][s]);
        }
    }
    result.best = null;
    for (let c = 1; c <= 64 && !result.best; c++) for (let s = 1; s <= 8 && !result.best; s++) if (grid[c][s] <= least * 1.01) result.best = [c, s];
}

// ---- drawing ----
const LEFT = 92, HEAD = 26, ROW = 26;
function draw() {
    const canvas = $("view"), ctx = canvas.getContext("2d"), dpr = window.devicePixelRatio || 1, width = canvas.clientWidth;
    const height = HEAD + (state.streams + 1) * ROW + 4, x = t => LEFT + t / result.length * (width - LEFT - 8);
    canvas.style.height = height + "px";
    canvas.width = Math.round(width * dpr); canvas.height = Math.round(height * dpr);
    ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
    ctx.fillStyle = css.bg; ctx.fillRect(0, 0, width, height);
    const [list, step] = Draw.ticks(0, result.length, width - LEFT);
    ctx.font = Draw.FONT; ctx.textAlign = "center";
    for (const t of list) {
        ctx.fillStyle = css.dim; ctx.fillText(Draw.tickText(t, step, result.length), Math.min(x(t), width - 24), 14);
        ctx.fillStyle = css.line; ctx.fillRect(Math.round(x(t)), HEAD - 6, 1, height);
    }
    const names = ["host", ...Array.from({length: state.streams}, (_, i) => "stream " + (i + 1))];
    names.forEach((name, i) => {
        ctx.fillStyle = css.lane; ctx.fillRect(LEFT, HEAD + i * ROW, width - LEFT, ROW - 4);
        ctx.fillStyle = css.fg; ctx.textAlign = "right"; ctx.fillText(name, LEFT - 8, HEAD + i * ROW + 15);
    });
    ctx.textAlign = "left";
    boxes = [];
    for (const h of host) {
        bar(ctx, x(h.start), HEAD, Math.max(x(h.end) - x(h.start), 1), ROW - 4, h.waits ? css.wait : css.call);
        boxes.push({x: x(h.start), y: HEAD, w: Math.max(x(h.end) - x(h.start), 1), text: (h.waits ? "the host waits" : "the host submits") + "\n" + fmt(h.end - h.start)});
    }
    ops.forEach((o, i) => {
        const y = HEAD + (o.stream + 1) * ROW, w = Math.max(x(o.end) - x(o.start), 1), color = css.engines[o.engine];
        bar(ctx, x(o.start), y, w, ROW - 4, color);
        label(ctx, x(o.start), y, w, ROW - 4, color, () => ENGINES[o.engine] + " " + (o.chunk + 1));
        boxes.push({x: x(o.start), y, w, text: `${ENGINES[o.engine]} of chunk ${o.chunk + 1}\n${fmt(o.end - o.start)}, from ${fmt(o.start)}\n` + why(o)});
    });
}
function why(o) {
    const a = ops[o.after];
    return o.why && a ? `${WHY[o.why]} ${ENGINES[a.engine]} of chunk ${a.chunk + 1}` : WHY[0];
}
function drawNumbers() {
    const box = (text, value) => `<div><b>${value}</b><span>${esc(text)}</span></div>`, [c, s] = result.best;
    $("numbers").innerHTML = box("length", fmt(result.length, 4)) + box("one after another", fmt(result.serial, 4)) +
        box("times as fast", (result.serial / result.length).toFixed(2)) + box("bound: " + PLAN.limits[result.limit], fmt(result.bound, 4)) +
        box(`best: ${c} chunk${c > 1 ? "s" : ""}, ${s} stream${s > 1 ? "s" : ""}`, fmt(grid[c][s], 4));
}
function drawGrid() {
    const rows = [...new Set([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, state.chunks, result.best[0]])].sort((a, b) => a - b);
    const all = rows.flatMap(c => grid[c].slice(1)), low = Math.min(...all), high = Math.max(...all);
    let text = "<table><tr><th></th>" + [1, 2, 3, 4, 5, 6, 7, 8].map(s => `<th>${s} stream${s > 1 ? "s" : ""}</th>`).join("") + "</tr>";
    for (const c of rows) {
        text += `<tr><th>${c} chunk${c > 1 ? "s" : ""}</th>`;
        for (let s = 1; s <= 8; s++) {
            const share = high > low ? (grid[c][s] - low) / (high - low) : 0;
            const cls = (result.best[0] === c && result.best[1] === s ? " best" : "") + (state.chunks === c && state.streams === s ? " now" : "");
            text += `<td class="${cls}" data-c="${c}" data-s="${s}" style="background: color-mix(in srgb, var(--kernel) ${Math.round(45 * (1 - share))}%, var(--lane))">` +
                (grid[c][s] / 1e6).toFixed(3) + "</td>";
        }
        text += "</tr>";
    }
    $("grid").innerHTML = text + "</table>";
}
function update() { run(); drawNumbers(); draw(); drawGrid(); }

// ---- controls ----
const toSlider = ns => Math.round(100 * Math.log10(Math.max(ns, 1e3) / 1e3)), fromSlider = v => 1e3 * Math.pow(10, v / 100); // 1 us to 1 s
function show() {
    for (const k of ["chunks", "streams"]) { $(k).value = state[k]; $(k === "chunks" ? "oChunks" : "oStreams").textContent = state[k]; }
    $("order").value = state.breadth; $("memory").value = state.pageable; $("engines").value = state.engines; $("device").value = state.machine;
    state.stages.forEach((s, i) => {
        $("o" + i).textContent = fmt(s.ns); $("s" + i).value = toSlider(s.ns);
        if (s.engine === 0) { $("of" + i).textContent = Math.round(s.fill * 100) + "%"; $("f" + i).value = Math.round(s.fill * 100); }
    });
}
function build() {
    $("device").innerHTML = PLAN.machines.map((m, i) => `<option value="${i}">${esc(m.name)}</option>`).join("");
    $("stages").innerHTML = state.stages.map((s, i) =>
        `<label><span><i class="swatch" style="background: var(--${["kernel", "h2d", "d2h", "d2d", "hostfn"][s.engine]})"></i>${ENGINES[s.engine]}</span>` +
        `<output id="o${i}"></output><input id="s${i}" type="range" min="0" max="600" aria-label="${ENGINES[s.engine]}"></label>` +
        (s.engine === 0 ? `<label>a kernel takes of the device<output id="of${i}"></output><input id="f${i}" type="range" min="1" max="100"></label>` : "")).join("");
    $("legend").innerHTML = [["call", "the host submits"], ["wait", "the host waits"], ["h2d", "copy in"], ["kernel", "kernel"], ["d2h", "copy out"]]
        .map(([v, t]) => `<span><i class="swatch" style="background: var(--${v})"></i>${t}</span>`).join("");
    const on = (id, change) => $(id).addEventListener("input", e => { change(+e.target.value); show(); update(); });
    on("chunks", v => state.chunks = v); on("streams", v => state.streams = v); on("order", v => state.breadth = v);
    on("memory", v => state.pageable = v); on("engines", v => state.engines = v);
    on("device", v => { state.machine = v; state.engines = PLAN.machines[v].values[0]; });
    state.stages.forEach((s, i) => {
        on("s" + i, v => s.ns = fromSlider(v));
        if (s.engine === 0) on("f" + i, v => s.fill = v / 100);
    });
    $("bBest").addEventListener("click", () => { [state.chunks, state.streams] = result.best; show(); update(); });
    $("grid").addEventListener("click", e => {
        if (!e.target.dataset.c) return;
        state.chunks = +e.target.dataset.c; state.streams = +e.target.dataset.s; show(); update();
    });
    $("view").addEventListener("mousemove", e => {
        const r = $("view").getBoundingClientRect(), px = e.clientX - r.left, py = e.clientY - r.top;
        const b = boxes.find(b => px >= b.x && px < b.x + Math.max(b.w, 3) && py >= b.y && py < b.y + ROW - 4), tip = $("tip");
        tip.style.display = b ? "block" : "none";
        if (b) { tip.textContent = b.text; tip.style.left = Math.min(e.clientX + 14, innerWidth - 220) + "px"; tip.style.top = e.clientY + 16 + "px"; }
    });
    $("view").addEventListener("mouseleave", () => $("tip").style.display = "none");
    $("bTheme").addEventListener("click", () => { theme(document.documentElement.dataset.theme !== "dark"); draw(); });
    addEventListener("resize", draw);
}
function theme(dark) { document.documentElement.dataset.theme = dark ? "dark" : "light"; css = readColors(); }

theme(matchMedia("(prefers-color-scheme: dark)").matches);
build(); show(); update();
document.documentElement.dataset.ready = "1";
})();
