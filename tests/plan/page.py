# SPDX-License-Identifier: Apache-2.0
"""Moves what can be moved on the page of `weir plan --html`, and compares its numbers with the command line's."""
import json
import sys
from browser import Browser, find

out = sys.argv[1]
b = Browser(find(), 1280, 900)


def expect(what, condition):
    if not condition:
        b.screenshot(out + "/failed.png")
        b.close()
        sys.exit(f"FAILED: {what}; errors of the page: {b.errors}")
    print("ok:", what)


def plan(name):
    return b.eval("weirPlan." + name)


def table(name):
    with open(f"{out}/{name}.json", encoding="utf-8") as f:
        data = json.load(f)
    return data, {(r["chunks"], r["streams"]): r["ms"] for r in data["table"]}


def same(name, pairs):
    """Every one of the pairs takes what the command line says, to the millionth of a millisecond it prints."""
    data, cells = table(name)
    for c, s in pairs:
        b.eval(f"weirPlan.set({{chunks: {c}, streams: {s}}})")
        if abs(plan("length") / 1e6 - cells[c, s]) > 2e-6:
            print(name, c, s, plan("length") / 1e6, cells[c, s])
            return False
    return plan("best") == [data["best"]["chunks"], data["best"]["streams"]] and abs(plan("bound") / 1e6 - data["bound_ms"]) < 2e-6


def slide(name, value):
    """As a person's drag ends: the control has the value, and says so."""
    b.eval(f"(() => {{ const e = document.getElementById('{name}'); e.value = {value}; e.dispatchEvent(new Event('input')); }})()")


b.open(out + "/plan.html")
pairs = [(1, 1), (2, 2), (7, 3), (16, 3), (64, 8)]
expect("pinned: the command line's numbers", same("pinned", pairs))
slide("memory", 1)
expect("pageable: the command line's numbers", same("pageable", pairs))
slide("memory", 0)
devices = b.eval("PLAN.machines.map(m => m.name)")
slide("device", devices.index("NVIDIA GeForce RTX 4090"))
slide("engines", 1)
slide("order", 1)
expect("another device, one copy engine, stage by stage: the same", same("one", pairs))

slide("device", 0)
slide("order", 0)
slide("chunks", 4)
slide("streams", 2)
expect("twelve operations are drawn", plan("ops") == 12 and plan("boxes.length") > 12)
first = plan("length")
slide("s1", 360)  # the kernel's slider, to 4 ms
expect("a longer kernel takes longer", plan("length") > first * 1.2 and "3.98 ms" in b.eval("document.getElementById('o1').textContent"))
slide("s1", 420)  # 16 ms: what bounds it
slide("f1", 25)
shorter = plan("length")
slide("f1", 100)
expect("kernels that take a quarter of the device run side by side", shorter < plan("length"))

box = b.eval("(() => { const r = document.getElementById('bBest').getBoundingClientRect(); return [r.x + 5, r.y + 5]; })()")
b.click(*box)
expect("a click on Best takes the best", [plan("state.chunks"), plan("state.streams")] == plan("best"))
cell = b.eval("(() => { const r = document.querySelector('#grid td[data-c=\"8\"][data-s=\"4\"]').getBoundingClientRect(); return [r.x + 5, r.y + 5]; })()")
b.click(*cell)
expect("a click on the table takes its numbers", [plan("state.chunks"), plan("state.streams")] == [8, 4])
place = b.eval("(() => { const r = document.getElementById('view').getBoundingClientRect(), x = weirPlan.boxes.find(b => /kernel of chunk 3/.test(b.text));"
               " return [r.x + x.x + x.w / 2, r.y + x.y + 5]; })()")
b.mouse("mouseMoved", *place)
b.settle()
expect("the pointer tells of an operation", "kernel of chunk 3" in b.eval("document.getElementById('tip').innerText"))
background = b.eval("getComputedStyle(document.body).backgroundColor")
b.click(*b.eval("(() => { const r = document.getElementById('bTheme').getBoundingClientRect(); return [r.x + 5, r.y + 5]; })()"))
expect("light and dark", background != b.eval("getComputedStyle(document.body).backgroundColor"))
expect("no error on the page", not b.errors)
b.screenshot(out + "/plan.png")
b.close()
