// The timeline page of `weir view`. Data: META (names, streams, threads ...) and a text of base64 with rows of varints.
// SPDX-License-Identifier: Apache-2.0
"use strict";
(() => {
const {$, fmt, size, esc, textColor, bar, readColors} = Draw; // draw.js
const ticks = () => Draw.ticks(t0, t1, width - LEFT), tickText = (t, step) => Draw.tickText(t, step, t1);
const ENGINES = ["kernels", "H2D", "D2H", "on device", "host functions"];
const ENGINE_VARS = ["--kernel", "--h2d", "--d2h", "--d2d", "--hostfn"];
const NONE = 0xffffffff;

// ---- data ----
const bytes = (() => {
    const node = $("data"), text = atob(node.textContent.trim());
    node.remove();
    const out = new Uint8Array(text.length);
    for (let i = 0; i < out.length; i++) out[i] = text.charCodeAt(i);
    return out;
})();
let at = 0;
function u() {
    let b = bytes[at++];
    if (b < 128) return b;
    let v = b & 127, m = 128;
    for (;;) {
        b = bytes[at++];
        v += (b & 127) * m;
        if (b < 128) return v;
        m *= 128;
    }
}
function s() { const v = u(); return v % 2 ? -(v + 1) / 2 : v / 2; }

const n = u(), op = {start: new Float64Array(n), end: new Float64Array(n), ready: new Float64Array(n), submit: new Float64Array(n),
    name: new Uint32Array(n), stream: new Uint32Array(n), engine: new Uint8Array(n), why: new Uint8Array(n), rule: new Uint16Array(n),
    whyOp: new Uint32Array(n), bytes: new Float64Array(n), call: new Uint32Array(n), grid: new Float64Array(n), block: new Uint32Array(n)};
{
    let start = 0, call = 0;
    for (let i = 0; i < n; i++) {
        start += s();
        op.start[i] = start;
        op.end[i] = start + u();
        op.ready[i] = start - u();
        op.submit[i] = op.ready[i] - s();
        op.name[i] = u();
        op.stream[i] = u();
        const packed = u();
        op.engine[i] = packed % 8;
        op.why[i] = packed >> 3;
        op.rule[i] = u();
        const why = u();
        op.whyOp[i] = why ? why - 1 : NONE;
        op.bytes[i] = u();
        call += s();
        op.call[i] = call ? call - 1 : NONE;
        if (op.engine[i] === 0) { op.grid[i] = u(); op.block[i] = u(); }
    }
}
const nc = u(), call = {start: new Float64Array(nc), end: new Float64Array(nc), waited: new Float64Array(nc), name: new Uint32Array(nc),
    thread: new Uint32Array(nc), site: new Uint32Array(nc), err: new Uint16Array(nc)};
{
    let start = 0;
    for (let i = 0; i < nc; i++) {
        start += s();
        call.start[i] = start;
        call.end[i] = start + u();
        call.waited[i] = u();
        call.name[i] = u();
        call.thread[i] = u();
        call.site[i] = u();
        call.err[i] = u();
    }
}
const na = u(), arrow = {from: new Uint32Array(na), to: new Uint32Array(na), rule: new Uint16Array(na)};
for (let i = 0; i < na; i++) { arrow.from[i] = u(); arrow.to[i] = u(); arrow.rule[i] = u(); }
const nw = u(), waited = new Map(); // call -> the operation that it waited for last
for (let i = 0; i < nw; i++) { const c = u(); waited.set(c, u()); }
const nr = u(), range = {start: new Float64Array(nr), end: new Float64Array(nr), name: new Uint32Array(nr), thread: new Uint32Array(nr),
    depth: new Uint16Array(nr), color: new Uint32Array(nr)};
for (let i = 0; i < nr; i++) {
    range.start[i] = u();
    range.end[i] = range.start[i] + u();
    range.name[i] = u(); range.thread[i] = u(); range.depth[i] = u(); range.color[i] = u();
}
const opName = i => META.names[op.name[i]], callName = i => META.names[call.name[i]];
const arrowsTo = new Map(), arrowsFrom = new Map();
for (let i = 0; i < na; i++) {
    (arrowsTo.get(arrow.to[i]) || arrowsTo.set(arrow.to[i], []).get(arrow.to[i])).push(i);
    (arrowsFrom.get(arrow.from[i]) || arrowsFrom.set(arrow.from[i], []).get(arrow.from[i])).push(i);
}

// ---- rows: each has its items sorted by start, and sums of their lengths for shares and far views ----
const SPAN = META.span;
const rows = [];
function addRow(kind, label, group, store, items, extra) {
    const count = items.length, start = new Float64Array(count), end = new Float64Array(count), sum = new Float64Array(count + 1);
    for (let i = 0; i < count; i++) {
        start[i] = store.start[items[i]];
        end[i] = store.end[items[i]];
        sum[i + 1] = sum[i] + end[i] - start[i];
    }
    const longest = new Float64Array((count >> 6) + 1); // of each 64 items
    for (let i = 0; i < count; i++) longest[i >> 6] = Math.max(longest[i >> 6], end[i] - start[i]);
    rows.push(Object.assign({kind, label, group, items, start, end, sum, longest, height: kind === "state" ? 9 : kind === "nvtx" ? 18 : kind === "engine" ? 16 : 24}, extra));
}
function split(count, key, groups) {
    const sizes = new Uint32Array(groups);
    for (let i = 0; i < count; i++) sizes[key(i)]++;
    const out = Array.from(sizes, z => new Uint32Array(z)), used = new Uint32Array(groups);
    for (let i = 0; i < count; i++) { const g = key(i); out[g][used[g]++] = i; }
    return out;
}
const byThread = split(nc, i => call.thread[i], META.threads.length), byStream = split(n, i => op.stream[i], META.streams.length);
// What each host thread was at: its own code, calls (those close together are one), blocked in a call for the device.
const STATES = ["the program's own code", "in calls", "blocked for the device"], JOIN = 1000;
const state = {start: [], end: [], kind: []}, blocked = META.threads.map(() => ({start: [], end: [], sum: [0]})), byState = META.threads.map(() => []);
function addState(thread, from, to, kind) {
    const list = byState[thread], last = list.length ? list[list.length - 1] : -1;
    if (to <= from) return;
    if (last >= 0 && state.kind[last] === kind && from <= state.end[last]) { state.end[last] = to; return; }
    list.push(state.start.length); state.start.push(from); state.end.push(to); state.kind.push(kind);
}
byThread.forEach((list, t) => {
    let at = -1;
    for (const c of list) {
        const wait = Math.min(call.waited[c], call.end[c] - call.start[c]), from = call.end[c] - wait;
        if (at >= 0) addState(t, at, call.start[c], call.start[c] - at > JOIN ? 0 : 1);
        addState(t, call.start[c], from, 1);
        addState(t, from, call.end[c], 2);
        if (wait) { const b = blocked[t]; b.start.push(from); b.end.push(call.end[c]); b.sum.push(b.sum[b.sum.length - 1] + wait); }
        at = call.end[c];
    }
});
// How long thread t was blocked between a and b.
function blockedTime(t, a, b) {
    const m = blocked[t], before = v => { const i = upper(m.start, v); return i ? m.sum[i] - Math.max(0, m.end[i - 1] - v) : 0; };
    return b > a ? before(b) - before(a) : 0;
}
const submitter = i => op.call[i] === NONE ? -1 : call.thread[op.call[i]];
META.threads.forEach((t, i) => {
    const depths = new Map();
    for (let k = 0; k < nr; k++) if (range.thread[k] === i) (depths.get(range.depth[k]) || depths.set(range.depth[k], []).get(range.depth[k])).push(k);
    [...depths.keys()].sort((a, b) => a - b).forEach(d => addRow("nvtx", d ? "" : "NVTX", t.label, range,
        depths.get(d).sort((a, b) => range.start[a] - range.start[b]), {}));
    if (byThread[i].length) addRow("thread", t.label, t.label, call, byThread[i], {});
    if (byState[i].length) addRow("state", "host state", t.label, state, Uint32Array.from(byState[i]), {});
});
META.streams.forEach((t, i) => {
    if (byStream[i].length) addRow("stream", t.label, t.device, op, byStream[i], {stream: i});
});
// Engines: what runs at the same time on one goes on lanes of its own.
const merged = {}; // device/engine -> disjoint busy intervals
{
    const list = split(n, i => META.streams[op.stream[i]].device * 5 + op.engine[i], 5 * META.devices);
    list.forEach((items, k) => {
        if (!items.length) return;
        const device = Math.floor(k / 5), engine = k % 5, ends = [], lanes = [], ms = [], me = [];
        for (const i of items) {
            let lane = ends.findIndex(e => e <= op.start[i]);
            if (lane < 0) lane = ends.length < 6 ? ends.length : ends.indexOf(Math.min(...ends));
            ends[lane] = op.end[i];
            (lanes[lane] ||= []).push(i);
            if (ms.length && op.start[i] <= me[me.length - 1]) me[me.length - 1] = Math.max(me[me.length - 1], op.end[i]);
            else { ms.push(op.start[i]); me.push(op.end[i]); }
        }
        merged[device + "/" + engine] = {device, engine, start: Float64Array.from(ms), end: Float64Array.from(me)};
        lanes.forEach((items, lane) => addRow("engine", lane ? String(lane + 1) : ENGINES[engine], device, op, Uint32Array.from(items), {engine}));
    });
}
const HEAD = 46, LEFT = 150, GAP = 10;
let total = 0;
// Where there are few rows they are taller.
function layout(room) {
    const ROOMY = 1.6, base = rows.reduce((sum, r) => sum + (r.base = r.base || r.height) + 3 + GAP / 3, 0);
    const scale = Math.min(Math.max(room / Math.max(base, 1), 1), ROOMY);
    let group = null;
    total = 0;
    for (const r of rows) {
        r.height = Math.round(r.base * (r.kind === "state" ? 1 : scale));
        const g = r.kind === "engine" ? "e" + r.group : r.kind === "stream" ? "s" + r.group : "h" + r.group;
        if (group !== null && g !== group) total += GAP;
        group = g;
        r.y = total;
        total += r.height + 3;
    }
}

// ---- state ----
let t0 = 0, t1 = SPAN || 1, scroll = 0, selected = null, hover = null, measure = null, showArrows = true, critical = null, measuring = false;
let hits = [], hit = -1, hitName = null, css = {}, dpr = 1, width = 0, height = 0, dirty = true;
const canvas = $("view"), ctx = canvas.getContext("2d", {alpha: false});
window.weirView = {get range() { return [t0, t1]; }, get selected() { return selected; }, get measure() { return measure; }, get hits() { return hits.length; },
    get critical() { return critical ? critical.length : 0; }, get rows() { return rows.map(r => [r.kind, r.label, r.y - scroll + HEAD, r.height, r.items.length]); },
    get first() { return op.start.reduce((a, b) => Math.min(a, b)); }, get last() { return op.end.reduce((a, b) => Math.max(a, b)); },
    xOf: t => x(t), op, opName, whyText, itemsOf: kind => rows.filter(r => r.kind === kind).map(r => [...r.items]), count: n, calls: nc, frame: () => { const a = performance.now(); draw(); return performance.now() - a; }};

function theme(dark) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    css = readColors();
    dirty = true;
}
const x = t => LEFT + (t - t0) / (t1 - t0) * (width - LEFT);
const time = px => t0 + (px - LEFT) / (width - LEFT) * (t1 - t0);
function lower(a, v) { let lo = 0, hi = a.length; while (lo < hi) { const m = lo + hi >> 1; if (a[m] < v) lo = m + 1; else hi = m; } return lo; }
function upper(a, v) { let lo = 0, hi = a.length; while (lo < hi) { const m = lo + hi >> 1; if (a[m] <= v) lo = m + 1; else hi = m; } return lo; }
const rule = r => "ORD-" + String(r).padStart(3, "0") + (META.rules[r] ? ": " + META.rules[r] : "");

// ---- drawing ----
function colorOf(row, item) {
    if (row.kind === "thread") return call.waited[item] > (call.end[item] - call.start[item]) / 2 ? css.wait : css.call;
    if (row.kind === "state") return [css.line, css.call, css.wait][state.kind[item]];
    if (row.kind === "nvtx") return "#" + (range.color[item] & 0xffffff).toString(16).padStart(6, "0");
    return css.engines[op.engine[item]];
}
function nameOf(row, item) {
    return row.kind === "state" ? STATES[state.kind[item]] : row.kind === "thread" ? callName(item) : row.kind === "nvtx" ? META.names[range.name[item]] : opName(item);
}
function isHit(row, item) {
    if (hitName === null) return true;
    if (row.kind === "state") return false;
    const id = row.kind === "thread" ? call.name[item] : row.kind === "nvtx" ? range.name[item] : op.name[item];
    return hitName.has(id);
}
// The first item from i on, before k, that is at least so long; else k.
function firstLong(row, i, k, length) {
    while (i < k) {
        if ((i & 63) === 0 && i + 64 <= k && row.longest[i >> 6] < length) i += 64;
        else if (row.end[i] - row.start[i] >= length) break;
        else i++;
    }
    return i;
}
let farStart = 0, farEnd = -1, farColor = "", farLevel = 0;
function flush(y, h) {
    if (farEnd < 0) return;
    ctx.globalAlpha = farLevel; ctx.fillStyle = farColor; ctx.fillRect(farStart, y, farEnd - farStart, h);
    farEnd = -1;
}
function drawRow(row, y) {
    const h = row.height, pixel = (t1 - t0) / (width - LEFT), count = row.items.length;
    let i = upper(row.start, t0);
    while (i > 0 && row.end[i - 1] > t0) i--; // the one that began before the view
    ctx.font = "11px ui-sans-serif, system-ui, 'DejaVu Sans', sans-serif";
    for (; i < count && row.start[i] < t1;) {
        const item = row.items[i], a = Math.max(x(row.start[i]), LEFT), b = Math.min(x(row.end[i]), width);
        if (row.end[i] - row.start[i] < pixel * 1.2) { // many to a pixel: how much of it is busy is its depth of colour
            const px = Math.floor(a), k = firstLong(row, i + 1, Math.max(lower(row.start, time(px + 1)), i + 1), pixel * 1.2);
            const busy = Math.min((row.sum[k] - row.sum[i]) / pixel, 1);
            let color = colorOf(row, item), level = hitName === null ? Math.round((.3 + .7 * busy) * 10) / 10 : .1;
            if (hitName !== null) for (let m = i; m < k && m < i + 64; m++) if (isHit(row, row.items[m])) {
                level = 1; color = colorOf(row, row.items[m]); break;
            }
            // Neighbours that look the same are one rectangle.
            if (px !== farEnd || color !== farColor || level !== farLevel) {
                flush(y, h);
                farStart = px; farColor = color; farLevel = level;
            }
            farEnd = px + 1;
            i = k;
            continue;
        }
        flush(y, h);
        ctx.globalAlpha = isHit(row, item) ? 1 : .15;
        const color = colorOf(row, item), w = Math.max(b - a, 1);
        bar(ctx, a, y, w, h, color);
        if (row.kind === "thread" && call.waited[item] && w > 4 && color !== css.wait) {
            ctx.fillStyle = css.wait;
            ctx.fillRect(b - w * call.waited[item] / (row.end[i] - row.start[i]), y + h - 3, w * call.waited[item] / (row.end[i] - row.start[i]), 3);
        }
        Draw.label(ctx, a, y, w, h, color, () => nameOf(row, item));
        i++;
    }
    flush(y, h);
    ctx.globalAlpha = 1;
    if (row.kind === "stream") drawGaps(row, y);
}
// Between bars: nobody had submitted, another stream, or the engine.
function drawGaps(row, y) {
    const pixel = (t1 - t0) / (width - LEFT);
    let i = Math.max(upper(row.start, t0), 1), drawn = 0;
    for (; i < row.items.length && row.end[i - 1] < t1 && drawn < 2000; i++) {
        if (row.start[i] - row.end[i - 1] < 3 * pixel) {
            const k = lower(row.start, row.end[i - 1] + 3 * pixel);
            if (k > i + 1) { i = k - 1; }
            continue;
        }
        drawn++;
        const item = row.items[i], from = row.end[i - 1], submitted = Math.max(from, Math.min(op.submit[item], row.start[i])),
            ready = Math.max(submitted, op.ready[item]), mid = y + row.height / 2 - 1;
        // Before it was submitted: while the host itself waited there was nothing to do, else it is the host that is late.
        const idle = submitter(item) < 0 ? 0 : blockedTime(submitter(item), from, submitted);
        for (const [a, b, c] of [[from, from + idle, css.line], [from + idle, submitted, css.dim], [submitted, ready, css.crit], [ready, row.start[i], css.wait]]) {
            const xa = Math.max(x(a), LEFT), xb = Math.min(x(b), width);
            if (xb - xa < 1) continue;
            ctx.globalAlpha = c === css.dim ? .35 : .8;
            ctx.fillStyle = c;
            ctx.fillRect(xa + 1, mid, xb - xa - 2, 2);
        }
    }
    ctx.globalAlpha = 1;
}
const rowOfStream = new Map(rows.filter(r => r.kind === "stream").map(r => [r.stream, r]));
const yOf = r => HEAD + r.y - scroll;
function drawArrow(from, to, color, alpha) {
    const ra = rowOfStream.get(op.stream[from]), rb = rowOfStream.get(op.stream[to]);
    if (!ra || !rb) return;
    const xa = x(op.end[from]), xb = x(op.start[to]), ya = yOf(ra) + ra.height / 2, yb = yOf(rb) + rb.height / 2;
    if (Math.max(xa, xb) < LEFT || Math.min(xa, xb) > width) return;
    ctx.globalAlpha = alpha; ctx.strokeStyle = ctx.fillStyle = color; ctx.lineWidth = 1.3;
    ctx.beginPath(); ctx.moveTo(xa, ya);
    const bend = Math.max(5, Math.min(60, Math.abs(xb - xa) / 2));
    ctx.bezierCurveTo(xa + bend, ya, xb - bend, yb, xb - 3, yb); ctx.stroke();
    ctx.beginPath(); ctx.moveTo(xb, yb); ctx.lineTo(xb - 7, yb - 3.5); ctx.lineTo(xb - 7, yb + 3.5); ctx.fill();
    ctx.globalAlpha = 1;
}
function drawArrows() {
    if (selected && (selected.row.kind === "stream" || selected.row.kind === "engine")) {
        for (const a of arrowsTo.get(selected.item) || []) drawArrow(arrow.from[a], arrow.to[a], css.sel, 1);
        for (const a of (arrowsFrom.get(selected.item) || []).slice(0, 200)) drawArrow(arrow.from[a], arrow.to[a], css.sel, 1);
        if (op.why[selected.item] && op.whyOp[selected.item] !== NONE) drawArrow(op.whyOp[selected.item], selected.item, css.crit, .9);
    }
    if (!showArrows) return;
    // Arrows are in order of their targets, which are in order of start; too many at once say nothing.
    const first = lower(arrowStarts, t0), last = upper(arrowStarts, t1);
    if (last - first > 400) return;
    for (let a = first; a < last; a++) if (op.stream[arrow.from[a]] !== op.stream[arrow.to[a]]) drawArrow(arrow.from[a], arrow.to[a], css.dim, .6);
}
const arrowStarts = Float64Array.from(arrow.to, i => op.start[i]);
let mini = null; // made anew when the width or the colours change
function drawMini(w) {
    const canvas = document.createElement("canvas"), c = canvas.getContext("2d");
    canvas.width = Math.max(1, Math.round(w * dpr)); canvas.height = Math.round(22 * dpr);
    c.scale(dpr, dpr);
    c.globalAlpha = .75;
    for (const k in merged) {
        const m = merged[k], y = 4 + (m.engine % 5) * 3.4;
        c.fillStyle = css.engines[m.engine];
        let from = -1, to = -1;
        for (let i = 0; i < m.start.length; i++) {
            const a = m.start[i] / SPAN * w, b = Math.max(m.end[i] / SPAN * w, a + .7);
            if (a <= to + .5) { to = Math.max(to, b); continue; }
            if (to >= 0) c.fillRect(from, y, to - from, 2.6);
            from = a; to = b;
        }
        if (to >= 0) c.fillRect(from, y, to - from, 2.6);
    }
    return {canvas, key: w + css.kernel};
}
function drawHead() {
    ctx.fillStyle = css.panel; ctx.fillRect(0, 0, width, HEAD);
    // The whole run, and what of it is in view.
    const w = width - LEFT;
    if (!mini || mini.key !== w + css.kernel) mini = drawMini(w);
    ctx.drawImage(mini.canvas, LEFT, 0, w, 22);
    ctx.fillStyle = css.shade; ctx.strokeStyle = css.accent; ctx.lineWidth = 1;
    const a = LEFT + Math.max(t0, 0) / SPAN * w, b = LEFT + Math.min(t1, SPAN) / SPAN * w;
    ctx.fillRect(a, 1, Math.max(b - a, 2), 21); ctx.strokeRect(a + .5, 1.5, Math.max(b - a, 2) - 1, 20);
    const [list, step] = ticks();
    ctx.fillStyle = css.dim; ctx.font = "11px ui-sans-serif, system-ui, 'DejaVu Sans', sans-serif"; ctx.textAlign = "center";
    for (const t of list) {
        const text = tickText(t, step), half = ctx.measureText(text).width / 2 + 3;
        if (x(t) >= LEFT && x(t) < width - half) ctx.fillText(text, Math.max(x(t), LEFT + half), 39);
    }
    ctx.textAlign = "left";
    ctx.fillStyle = css.line; ctx.fillRect(0, HEAD - 1, width, 1);
}
function draw() {
    dirty = false;
    ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
    ctx.fillStyle = css.bg; ctx.fillRect(0, 0, width, height);
    ctx.save(); ctx.beginPath(); ctx.rect(0, HEAD, width, height - HEAD); ctx.clip();
    for (const r of rows) {
        const y = yOf(r);
        if (y + r.height < HEAD || y > height) continue;
        ctx.fillStyle = r.kind === "engine" ? css.lane2 : css.lane; ctx.fillRect(LEFT, y, width - LEFT, r.height);
    }
    ctx.fillStyle = css.line;
    for (const t of ticks()[0]) if (x(t) > LEFT) ctx.fillRect(Math.round(x(t)), HEAD, 1, height);
    ctx.save(); ctx.beginPath(); ctx.rect(LEFT, HEAD, width - LEFT, height); ctx.clip();
    for (const r of rows) { const y = yOf(r); if (y + r.height >= HEAD && y <= height) drawRow(r, y); }
    drawArrows();
    if (critical) drawCritical();
    if (selected) {
        const r = selected.row, i = selected.index, xa = Math.max(x(r.start[i]), LEFT - 4), xb = Math.min(x(r.end[i]), width + 4);
        ctx.strokeStyle = css.sel; ctx.lineWidth = 2; ctx.strokeRect(xa - 1, yOf(r) - 1, Math.max(xb - xa, 2) + 2, r.height + 2);
    }
    if (measure) {
        const a = x(Math.min(...measure)), b = x(Math.max(...measure));
        ctx.fillStyle = css.shade; ctx.fillRect(a, HEAD, b - a, height);
        ctx.fillStyle = css.accent; ctx.fillRect(a, HEAD, 1, height); ctx.fillRect(b, HEAD, 1, height);
        const text = fmt(Math.abs(measure[1] - measure[0]), 4);
        ctx.font = "600 12px ui-sans-serif, system-ui, 'DejaVu Sans', sans-serif";
        const w = ctx.measureText(text).width + 14, m = Math.min(Math.max((a + b) / 2 - w / 2, LEFT), width - w);
        ctx.beginPath(); ctx.roundRect(m, height - 30, w, 22, 5); ctx.fill();
        ctx.fillStyle = "#fff"; ctx.fillText(text, m + 7, height - 15);
    }
    ctx.restore();
    ctx.fillStyle = css.bg; ctx.fillRect(0, HEAD, LEFT - 1, height);
    ctx.font = "12px ui-sans-serif, system-ui, 'DejaVu Sans', sans-serif"; ctx.textAlign = "right";
    for (const r of rows) {
        const y = yOf(r);
        if (!r.label || y + r.height < HEAD || y > height) continue;
        ctx.fillStyle = r.kind === "engine" ? css.dim : css.fg;
        let text = r.label;
        while (text.length > 4 && ctx.measureText(text).width > LEFT - 18) text = text.slice(0, -2) + "…";
        ctx.fillText(text, LEFT - 10, y + r.height / 2 + 4);
    }
    ctx.textAlign = "left";
    ctx.restore();
    drawHead();
    ctx.fillStyle = css.line; ctx.fillRect(LEFT - 1, HEAD, 1, height);
}

// ---- critical path: backwards from what ended last, always to what came last before ----
function findCritical() {
    const path = [];
    let i = 0;
    for (let k = 0; k < n; k++) if (op.end[k] > op.end[i]) i = k;
    const calls = byThread.map(list => list), seen = new Set();
    while (n && i !== NONE && !seen.has(i)) {
        seen.add(i);
        path.push(i);
        if (op.why[i] && op.whyOp[i] !== NONE) { i = op.whyOp[i]; continue; }
        // The host: what was it waiting for before it submitted this?
        const c = op.call[i];
        if (c === NONE) break;
        const list = calls[call.thread[c]];
        let at = lower(list, c), next = NONE;
        for (at--; at >= 0; at--) if (waited.has(list[at])) { next = waited.get(list[at]); break; }
        i = next;
    }
    return path.reverse();
}
// A frame around what is wide enough for one, a line under what is not.
function drawCritical() {
    const visible = critical.filter(i => op.end[i] >= t0 && op.start[i] <= t1), drawn = new Map();
    ctx.strokeStyle = ctx.fillStyle = css.crit; ctx.lineWidth = 2;
    for (const i of visible) {
        const r = rowOfStream.get(op.stream[i]);
        if (!r) continue;
        const a = Math.max(x(op.start[i]), LEFT - 3), b = Math.min(x(op.end[i]), width + 3);
        if (b - a > 8) { ctx.strokeRect(a + 1, yOf(r) + 1, b - a - 2, r.height - 2); continue; }
        if (b <= drawn.get(r)) continue;
        ctx.fillRect(a, yOf(r) + r.height - 3, Math.max(b - a, 1), 3);
        drawn.set(r, Math.max(b, a + 1));
    }
    if (visible.length > 600) return;
    for (let k = 1; k < critical.length; k++) {
        const from = critical[k - 1], to = critical[k];
        if (op.end[from] > t1 || op.start[to] < t0) continue;
        if (op.stream[from] !== op.stream[to] || x(op.start[to]) - x(op.end[from]) > 12) drawArrow(from, to, css.crit, .8);
    }
}

// ---- the panel ----
function busy(m, a, b) {
    let sum = 0;
    for (let i = Math.max(upper(m.start, a) - 1, 0); i < m.start.length && m.start[i] < b; i++) sum += Math.max(0, Math.min(m.end[i], b) - Math.max(m.start[i], a));
    return sum;
}
function both(p, q, a, b) {
    let i = Math.max(upper(p.start, a) - 1, 0), k = Math.max(upper(q.start, a) - 1, 0), sum = 0;
    while (i < p.start.length && k < q.start.length && p.start[i] < b && q.start[k] < b) {
        sum += Math.max(0, Math.min(p.end[i], q.end[k], b) - Math.max(p.start[i], q.start[k], a));
        if (p.end[i] < q.end[k]) i++; else k++;
    }
    return sum;
}
function union(list, a, b) {
    let sum = 0, end = a;
    const all = [];
    for (const m of list) for (let i = Math.max(upper(m.start, a) - 1, 0); i < m.start.length && m.start[i] < b; i++) if (m.end[i] > a) all.push([m.start[i], m.end[i]]);
    all.sort((p, q) => p[0] - q[0]);
    for (const [s, e] of all) { const f = Math.max(s, end), g = Math.min(e, b); if (g > f) { sum += g - f; end = g; } }
    return sum;
}
// What each kind of host state sums up to between a and b; null: too many to count.
function statesIn(a, b) {
    const sum = [0, 0, 0];
    for (const r of rows) if (r.kind === "state") {
        const last = lower(r.start, b);
        let i = upper(r.end, a);
        if (last - i > 200000) return null;
        for (; i < last; i++) sum[state.kind[r.items[i]]] += Math.min(r.end[i], b) - Math.max(r.start[i], a);
    }
    return rows.some(r => r.kind === "state") ? sum : null;
}
const swatch = (color, thin) => `<span class="swatch${thin ? " thin" : ""}" style="background:var(${color})"></span>`;
const row2 = (k, v) => `<tr><td>${k}</td><td>${v}</td></tr>`;
const linkName = i => `<a data-op="${i}">${esc(opName(i))}</a>`, link = i => `${linkName(i)} in ${esc(META.streams[op.stream[i]].label)}`;
const parentOf = i => META.streams[op.stream[i]].parent; // the kernel whose launch it is
function whyText(i) {
    const w = op.whyOp[i], late = op.start[i] - op.ready[i];
    const tail = late > 2000 && op.why[i] !== 3 ? `<br>From ready to start: ${fmt(late)}.` : "";
    switch (op.why[i]) {
    case 0: return `It started when ${parentOf(i) === undefined ? "the host" : link(parentOf(i))} had submitted it: nothing else held it back.${tail}`;
    case 1: return (w === NONE || op.stream[w] === op.stream[i] ? `It is behind ${w === NONE ? "other work" : linkName(w)} in its stream` :
        `The launch of its graph is behind ${link(w)}`) + ` (ORD-001: a stream runs in order).${tail}`;
    case 2: return `It waited for ${w === NONE ? "another stream" : link(w)} (${op.rule[i] ? esc(rule(op.rule[i])) : "an edge of its graph, GRA-001"}).${tail}`;
    default: return `It was ready ${fmt(late)} before it started: the engine (${ENGINES[op.engine[i]]}) was taken${w === NONE ? "" : " by " + link(w)}.`;
    }
}
function detailsOfOp(i) {
    const d = op.end[i] - op.start[i], c = op.call[i];
    let h = `<h2>Selected</h2><div class="name"><span class="swatch" style="background:var(${ENGINE_VARS[op.engine[i]]})"></span>${esc(opName(i))}</div>
        <div class="why"><b>Why then?</b> ${whyText(i)}</div><table>` + row2("duration", fmt(d, 4)) + row2("starts at", fmt(op.start[i], 6)) +
        row2("stream", esc(META.streams[op.stream[i]].label)) + row2("engine", ENGINES[op.engine[i]]);
    if (parentOf(i) !== undefined) h += row2("launched by", link(parentOf(i)));
    if (op.bytes[i]) h += row2("bytes", size(op.bytes[i])) + row2("bandwidth", (op.bytes[i] / d).toPrecision(3) + " GB/s");
    if (op.engine[i] === 0) h += row2("grid", op.grid[i].toLocaleString("en") + (op.grid[i] === 1 ? " block of " : " blocks of ") + op.block[i] + (op.block[i] === 1 ? " thread" : " threads"));
    h += row2("submitted", fmt(op.start[i] - op.submit[i]) + " before") + row2("ready", fmt(op.start[i] - op.ready[i]) + " before");
    if (c !== NONE) h += row2("call", `<a data-call="${c}">${esc(callName(c))}</a>`) + (call.site[c] ? row2("site", esc(META.sites[call.site[c] - 1])) : "");
    h += "</table>";
    const before = arrowsTo.get(i) || [], behind = arrowsFrom.get(i) || [];
    if (before.length) h += "<h2>Follows</h2>" + before.slice(0, 12).map(a => `<div>${link(arrow.from[a])}</div>`).join("");
    if (behind.length) h += "<h2>Is waited for by</h2>" + behind.slice(0, 12).map(a => `<div>${link(arrow.to[a])}</div>`).join("");
    return h;
}
function detailsOfCall(i) {
    return `<h2>Selected</h2><div class="name">${esc(callName(i))}</div><table>` + row2("duration", fmt(call.end[i] - call.start[i], 4)) +
        (call.waited[i] ? row2("of it waiting", fmt(call.waited[i], 4)) : "") + row2("begins at", fmt(call.start[i], 6)) +
        row2("thread", esc(META.threads[call.thread[i]].label)) + (call.site[i] ? row2("site", esc(META.sites[call.site[i] - 1])) : "") +
        (call.err[i] ? row2("error", call.err[i]) : "") + "</table>" +
        (waited.has(i) ? `<div class="why"><b>Waited for</b> ${link(waited.get(i))}</div>` : "");
}
function panel() {
    const a = measure ? Math.min(...measure) : Math.max(t0, 0), b = measure ? Math.max(...measure) : Math.min(t1, SPAN), span = Math.max(b - a, 1);
    let h = "";
    if (selected) h += selected.row.kind === "thread" ? detailsOfCall(selected.item) : selected.row.kind === "nvtx" ?
        `<h2>Selected</h2><div class="name">${esc(META.names[range.name[selected.item]])}</div><table>` +
        row2("duration", fmt(range.end[selected.item] - range.start[selected.item], 4)) + "</table>" : selected.row.kind === "state" ?
        `<h2>Selected</h2><div class="name">${STATES[state.kind[selected.item]]}</div><table>` +
        row2("duration", fmt(state.end[selected.item] - state.start[selected.item], 4)) + "</table>" : detailsOfOp(selected.item);
    h += `<h2>${measure ? "Measured" : "In view"}: ${fmt(span, 4)}</h2>`;
    const keys = Object.keys(merged), many = META.devices > 1;
    const pct = v => (100 * v / span).toFixed(1) + "%";
    for (const k of keys) {
        const m = merged[k], v = busy(m, a, b);
        h += `<div style="display:flex;justify-content:space-between"><span><span class="swatch" style="background:var(${ENGINE_VARS[m.engine]})"></span>` +
            `${ENGINES[m.engine]}${many ? " of " + m.device : ""}</span><span>${pct(v)}</span></div><div class="meter"><i style="width:${Math.min(100, 100 * v / span)}%;background:var(${ENGINE_VARS[m.engine]})"></i></div>`;
    }
    h += "<table>" + row2("device idle", pct(span - union(keys.map(k => merged[k]).filter(m => m.engine < 4), a, b))) + "</table>";
    const pairs = [[1, 0, "H2D beside kernels"], [2, 0, "D2H beside kernels"], [1, 2, "H2D beside D2H"]];
    let p = "";
    for (let d = 0; d < META.devices; d++) for (const [e, g, label] of pairs) {
        const m = merged[d + "/" + e], q = merged[d + "/" + g];
        if (!m || !q) continue;
        const v = both(m, q, a, b), of = busy(m, a, b);
        p += row2(label + (many ? " of " + d : ""), fmt(v) + (of ? ` (${(100 * v / of).toFixed(0)}% of it)` : ""));
    }
    if (p) h += "<h2>At the same time</h2><table>" + p + "</table>";
    const why = [0, 0, 0, 0];
    for (const r of rows) if (r.kind === "stream") {
        const first = Math.max(upper(r.start, a), 1), last = Math.min(lower(r.start, b) + 1, r.items.length);
        if (last - first > 200000) { why[0] = -1; break; }
        for (let i = first; i < last; i++) {
            const item = r.items[i], clip = t => Math.min(Math.max(Math.min(t, r.start[i]), r.end[i - 1], a), b), sub = clip(op.submit[item]),
                ready = Math.max(sub, clip(op.ready[item]));
            const idle = submitter(item) < 0 ? 0 : blockedTime(submitter(item), clip(0), sub);
            why[3] += idle; why[0] += sub - clip(0) - idle; why[1] += ready - sub; why[2] += Math.max(0, clip(r.start[i]) - ready);
        }
    }
    if (why[0] >= 0) h += "<h2>Streams stood still for</h2><table>" + row2(swatch("--dim", true) + "the host", fmt(why[0])) + row2(swatch("--line", true) + "nothing to do", fmt(why[3])) +
        row2(swatch("--crit", true) + "another stream or an event", fmt(why[1])) + row2(swatch("--wait", true) + "a taken engine", fmt(why[2])) + "</table>";
    const at = statesIn(a, b);
    if (at) h += "<h2>Host threads were</h2><table>" + ["--line", "--call", "--wait"].map((v, k) => row2(swatch(v) + ["in the program's own code", "in calls", "blocked for the device"][k], fmt(at[k]))).join("") + "</table>";
    if (critical) {
        let kernels = 0, copies = 0, sum = 0;
        for (const i of critical) { const d = op.end[i] - op.start[i]; sum += d; if (op.engine[i] === 0) kernels += d; else if (op.engine[i] < 4) copies += d; }
        h += "<h2>Critical path</h2><table>" + row2("operations", critical.length) + row2("kernels", fmt(kernels)) + row2("copies", fmt(copies)) +
            row2("between them", fmt(critical.length ? Math.max(0, op.end[critical[critical.length - 1]] - op.start[critical[0]] - sum) : 0)) + "</table>";
    }
    $("side").innerHTML = h;
}
let panelTimer = 0;
function panelSoon() { clearTimeout(panelTimer); panelTimer = setTimeout(panel, 120); }

// ---- moving ----
function limit() {
    const min = 20;
    let span = Math.min(Math.max(t1 - t0, min), SPAN * 1.1 + min);
    const mid = (t0 + t1) / 2;
    t0 = mid - span / 2; t1 = mid + span / 2;
    if (t0 < -SPAN * .05) { t0 = -SPAN * .05; t1 = t0 + span; }
    if (t1 > SPAN * 1.05 + min) { t1 = SPAN * 1.05 + min; t0 = t1 - span; }
    scroll = Math.min(Math.max(scroll, 0), Math.max(0, total + 60 - (height - HEAD)));
    dirty = true;
    panelSoon();
}
function zoom(factor, px) { const t = time(px === undefined ? (LEFT + width) / 2 : px); t0 = t - (t - t0) * factor; t1 = t + (t1 - t) * factor; limit(); }
function pan(px) { const d = px / (width - LEFT) * (t1 - t0); t0 += d; t1 += d; limit(); }
function fit() { t0 = -SPAN * .01; t1 = SPAN * 1.01 + 1; scroll = 0; limit(); }
// What a page opens with: all, or, where a program took long to get to its first operation, from there on.
function begin() {
    fit();
    const first = n ? op.submit.reduce((a, b) => Math.min(a, b)) : 0, late = first > .25 * SPAN;
    if (late) { t0 = first - (SPAN - first) * .02; t1 = SPAN + (SPAN - first) * .02; limit(); }
}
function reveal(row, index, close) {
    const a = row.start[index], b = row.end[index], len = Math.max(b - a, 50);
    if (close || b < t0 || a > t1 || len > t1 - t0) { const span = close ? len * 3 : Math.min(t1 - t0, Math.max(len * 20, 1000)); t0 = (a + b) / 2 - span / 2; t1 = t0 + span; }
    if (yOf(row) < HEAD || yOf(row) + row.height > height) scroll = row.y - (height - HEAD) / 2;
    limit();
}
function select(row, index, show) {
    selected = row ? {row, index, item: row.items[index]} : null;
    if (row && show) reveal(row, index);
    dirty = true;
    panel();
}
function selectOp(i) { const r = rowOfStream.get(op.stream[i]); if (r) select(r, lower(r.items, i), true); }
function selectCall(c) { const r = rows.find(r => r.kind === "thread" && r.items[lower(r.items, c)] === c); if (r) select(r, lower(r.items, c), true); }
function pick(px, py) {
    if (px < LEFT || py < HEAD) return null;
    const r = rows.find(r => py >= yOf(r) && py < yOf(r) + r.height);
    if (!r || !r.items.length) return null;
    const t = time(px), slack = 3 * (t1 - t0) / (width - LEFT);
    let i = upper(r.start, t) - 1, best = -1, distance = slack;
    for (const k of [i, i + 1, i - 1]) if (k >= 0 && k < r.items.length) {
        const d = t < r.start[k] ? r.start[k] - t : t > r.end[k] ? t - r.end[k] : 0;
        if (d < distance || (d === 0 && best < 0)) { best = k; distance = d; }
    }
    return best < 0 ? {row: r, index: -1, gap: i} : {row: r, index: best};
}
function tip(e) {
    const p = pick(e.offsetX, e.offsetY), node = $("tip");
    if (!p) { node.style.display = "none"; return; }
    const r = p.row;
    if (p.index >= 0) {
        const item = r.items[p.index], d = r.end[p.index] - r.start[p.index];
        let more = fmt(d, 4);
        if (r.kind === "state") more += "";
        else if (r.kind === "thread") more += call.waited[item] ? `, ${fmt(call.waited[item])} waiting` : "";
        else if (r.kind !== "nvtx" && op.bytes[item]) more += `, ${size(op.bytes[item])}, ${(op.bytes[item] / d).toPrecision(3)} GB/s`;
        node.innerHTML = `${esc(nameOf(r, item))}<small>${more}</small>`;
    } else if (r.kind === "stream" && p.gap >= 0 && p.gap + 1 < r.items.length) {
        const item = r.items[p.gap + 1], t = time(e.offsetX), m = blocked[submitter(item)], k = m ? upper(m.start, t) - 1 : -1;
        node.innerHTML = `nothing ran for ${fmt(r.start[p.gap + 1] - r.end[p.gap])}<small>` + (t < op.submit[item] ?
            k >= 0 && t < m.end[k] ? "nothing to do: the host waited for the device itself" : "waiting for the host: it had submitted nothing" :
            t < op.ready[item] ? "waiting for another stream" : "waiting for the engine") + ` (next: ${esc(opName(item))})</small>`;
    } else { node.style.display = "none"; return; }
    node.style.display = "block";
    node.style.left = Math.min(e.clientX + 14, innerWidth - node.offsetWidth - 8) + "px";
    node.style.top = Math.min(e.clientY + 16, innerHeight - node.offsetHeight - 8) + "px";
}

// ---- search ----
function search(text) {
    hits = []; hit = -1; hitName = null;
    if (text) {
        const q = text.toLowerCase(), names = new Set();
        META.names.forEach((name, i) => { if (name.toLowerCase().includes(q)) names.add(i); });
        hitName = names;
        for (let i = 0; i < n; i++) if (names.has(op.name[i])) hits.push(i);
        if (!hits.length) for (let i = 0; i < nc; i++) if (names.has(call.name[i])) hits.push(-1 - i);
    }
    $("hits").textContent = text ? hits.length.toLocaleString("en") + " found" : "";
    dirty = true;
}
function nextHit(step) {
    if (!hits.length) return;
    hit = (hit + step + hits.length) % hits.length;
    const h = hits[hit];
    if (h >= 0) selectOp(h); else selectCall(-1 - h);
    $("hits").textContent = (hit + 1).toLocaleString("en") + " of " + hits.length.toLocaleString("en");
}

// ---- events ----
let drag = null;
canvas.addEventListener("pointerdown", e => {
    canvas.setPointerCapture(e.pointerId);
    canvas.focus();
    const m = (e.shiftKey || measuring) && e.offsetX > LEFT;
    drag = {x: e.offsetX, y: e.offsetY, moved: false, measure: m, mini: e.offsetY < 23 && e.offsetX > LEFT};
    if (m) measure = [time(e.offsetX), time(e.offsetX)];
    if (drag.mini) jump(e.offsetX);
});
function jump(px) { const t = (px - LEFT) / (width - LEFT) * SPAN, half = (t1 - t0) / 2; t0 = t - half; t1 = t + half; limit(); }
canvas.addEventListener("pointermove", e => {
    if (!drag) { tip(e); canvas.className = measuring || e.shiftKey ? "measure" : ""; return; }
    $("tip").style.display = "none";
    if (Math.abs(e.offsetX - drag.x) + Math.abs(e.offsetY - drag.y) > 3) drag.moved = true;
    if (drag.mini) jump(e.offsetX);
    else if (drag.measure) { measure[1] = time(e.offsetX); dirty = true; panelSoon(); }
    else if (drag.moved) {
        canvas.className = "drag";
        pan(drag.x - e.offsetX); scroll += drag.y - e.offsetY;
        drag.x = e.offsetX; drag.y = e.offsetY; limit();
    }
});
canvas.addEventListener("pointerup", e => {
    if (drag && !drag.moved && !drag.mini) {
        if (drag.measure) measure = null;
        const p = pick(e.offsetX, e.offsetY);
        if (p && p.index >= 0) select(p.row, p.index); else select(null);
    }
    drag = null; canvas.className = ""; panelSoon();
});
canvas.addEventListener("pointerleave", () => $("tip").style.display = "none");
canvas.addEventListener("dblclick", e => { const p = pick(e.offsetX, e.offsetY); if (p && p.index >= 0) reveal(p.row, p.index, true); });
canvas.addEventListener("wheel", e => {
    e.preventDefault();
    $("tip").style.display = "none";
    const unit = e.deltaMode ? 30 : 1;
    if (e.ctrlKey) { scroll += e.deltaY * unit; limit(); }
    else if (e.shiftKey) pan((e.deltaY || e.deltaX) * unit);
    else { if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) pan(e.deltaX * unit); else zoom(Math.exp(e.deltaY * unit * .0022), e.offsetX); }
}, {passive: false});
$("side").addEventListener("click", e => {
    const d = e.target.dataset;
    if (d.op !== undefined) selectOp(+d.op);
    if (d.call !== undefined) selectCall(+d.call);
});
function toggle(id, on) { $(id).setAttribute("aria-pressed", on); }
const actions = {
    arrows() { showArrows = !showArrows; toggle("bArrows", showArrows); dirty = true; },
    critical() { critical = critical ? null : findCritical(); toggle("bCritical", !!critical); dirty = true; panel(); },
    measure() { measuring = !measuring; toggle("bMeasure", measuring); },
    theme() { theme(document.documentElement.dataset.theme !== "dark"); try { localStorage.weirTheme = document.documentElement.dataset.theme; } catch (e) {} },
    help() { $("help").classList.toggle("open"); },
    fit, clear() { $("help").classList.remove("open"); measure = null; $("search").value = ""; search(""); select(null); },
    zoomSelected() { if (selected) reveal(selected.row, selected.index, true); },
    step(d) { if (selected) { const i = selected.index + d; if (i >= 0 && i < selected.row.items.length) select(selected.row, i, true); } },
};
$("bArrows").onclick = actions.arrows; $("bCritical").onclick = actions.critical; $("bMeasure").onclick = actions.measure;
$("bFit").onclick = fit; $("bTheme").onclick = actions.theme; $("bHelp").onclick = actions.help; $("help").onclick = actions.help;
$("search").addEventListener("input", e => search(e.target.value));
$("search").addEventListener("keydown", e => {
    if (e.key === "Enter") nextHit(e.shiftKey ? -1 : 1);
    if (e.key === "Escape") { actions.clear(); canvas.focus(); }
    e.stopPropagation();
});
addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const step = (width - LEFT) * .15;
    const keys = {w: () => zoom(.7), "+": () => zoom(.7), "=": () => zoom(.7), s: () => zoom(1.4), "-": () => zoom(1.4), a: () => pan(-step), d: () => pan(step),
        ArrowLeft: () => pan(-step), ArrowRight: () => pan(step), ArrowUp: () => { scroll -= 60; limit(); }, ArrowDown: () => { scroll += 60; limit(); },
        f: fit, c: actions.critical, e: actions.arrows, m: actions.measure, t: actions.theme, z: actions.zoomSelected, "?": actions.help, Escape: actions.clear,
        "[": () => actions.step(-1), "]": () => actions.step(1), "/": () => $("search").focus()};
    if (keys[e.key]) { keys[e.key](); e.preventDefault(); }
});
function resize() {
    const box = $("main").getBoundingClientRect();
    dpr = devicePixelRatio || 1; width = box.width; height = box.height;
    canvas.width = Math.round(width * dpr); canvas.height = Math.round(height * dpr);
    layout(height - HEAD - 20);
    limit();
}

let stored = null;
try { stored = localStorage.weirTheme; } catch (e) {}
theme(stored ? stored === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
document.title = META.title + " - Weir";
$("title").textContent = META.title;
$("facts").textContent = `${fmt(SPAN, 4)}, ${n.toLocaleString("en")} operations, ${nc.toLocaleString("en")} calls` + (META.lost ? `, ${META.lost} records lost` : "");
resize(); begin(); panel();
(function loop() { if (dirty) draw(); requestAnimationFrame(loop); })();
new ResizeObserver(resize).observe($("main"));
document.documentElement.dataset.ready = performance.now().toFixed(0);
})();
