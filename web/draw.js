// What the pages of `weir view` and `weir plan --html` draw with.
// SPDX-License-Identifier: Apache-2.0
"use strict";
const Draw = (() => {
const FONT = "11px ui-sans-serif, system-ui, 'DejaVu Sans', sans-serif";
const $ = id => document.getElementById(id);
function fmt(ns, digits = 3) {
    const a = Math.abs(ns);
    if (a < 1e3) return ns.toFixed(0) + " ns";
    const [v, unit] = a < 1e6 ? [ns / 1e3, "µs"] : a < 1e9 ? [ns / 1e6, "ms"] : [ns / 1e9, "s"];
    return v.toPrecision(Math.max(digits, Math.ceil(Math.log10(Math.abs(v) + 1)))) + " " + unit;
}
function size(b) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let i = 0;
    while (b >= 1024 && i < 4) { b /= 1024; i++; }
    return (i ? b.toPrecision(3) : b) + " " + units[i];
}
const esc = t => String(t).replace(/[&<>"]/g, c => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}[c]));

function readColors() {
    const style = getComputedStyle(document.documentElement), css = {};
    for (const v of ["bg", "panel", "lane", "lane2", "line", "fg", "dim", "accent", "hit", "crit", "sel", "shade", "kernel", "h2d", "d2h", "d2d",
        "hostfn", "call", "wait"]) css[v] = style.getPropertyValue("--" + v).trim();
    css.engines = [css.kernel, css.h2d, css.d2h, css.d2d, css.hostfn];
    return css;
}
function textColor(c) {
    const v = parseInt(c.slice(1), 16);
    return (v >> 16) * .3 + (v >> 8 & 255) * .59 + (v & 255) * .11 > 150 ? "#1f2328" : "#ffffff";
}
function bar(ctx, x, y, w, h, color) {
    ctx.fillStyle = color;
    if (w > 4) { ctx.beginPath(); ctx.roundRect(x, y, w - .5, h, 2.5); ctx.fill(); } else ctx.fillRect(x, y, w - (w > 2 ? .5 : 0), h);
}
const widths = new Map(); // of texts in FONT
function widthOf(ctx, text) {
    let w = widths.get(text);
    if (w === undefined) {
        if (widths.size > 20000) widths.clear();
        widths.set(text, w = ctx.measureText(text).width);
    }
    return w;
}
// As much of the text as there is room for, or nothing.
function fit(ctx, text, room) {
    const all = widthOf(ctx, text);
    if (all <= room) return text;
    let n = Math.min(text.length - 1, Math.ceil(text.length * room / all));
    while (n > 1 && widthOf(ctx, text.slice(0, n) + "…") > room) n--;
    return n > 1 ? text.slice(0, n) + "…" : "";
}
// name: a function, called where there is room.
function label(ctx, x, y, w, h, color, name) {
    if (w <= 26 || h < 16) return;
    ctx.font = FONT;
    const text = fit(ctx, name(), w - 8);
    if (!text) return;
    ctx.fillStyle = textColor(color);
    ctx.fillText(text, x + 4, y + h / 2 + 4);
}
// Round moments of [t0, t1] for so many pixels, and the step between them.
function ticks(t0, t1, pixels) {
    const span = t1 - t0, raw = span / Math.max(pixels / 110, 1), p = Math.pow(10, Math.floor(Math.log10(raw)));
    const step = Math.max([1, 2, 5, 10].map(k => k * p).find(v => v >= raw), 1), out = [];
    for (let t = Math.ceil(t0 / step) * step; t <= t1 && out.length < 100; t += step) out.push(t);
    return [out, step];
}
function tickText(t, step, t1) {
    const [d, unit] = t1 < 1e3 ? [1, "ns"] : t1 < 1e6 ? [1e3, "µs"] : t1 < 1e10 ? [1e6, "ms"] : [1e9, "s"];
    return (t / d).toFixed(Math.max(0, Math.ceil(Math.log10(d / step)))) + " " + unit;
}
return {FONT, $, fmt, size, esc, fit, readColors, textColor, bar, label, ticks, tickText};
})();
