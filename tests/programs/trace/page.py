# SPDX-License-Identifier: Apache-2.0
"""Clicks, drags, wheel and keys on the page of `weir view`, as a person would."""
import sys
from browser import Browser, find

page, out = sys.argv[1:3]
b = Browser(find())


def expect(what, condition):
    if not condition:
        b.screenshot(out + "/failed.png")
        b.close()
        sys.exit(f"FAILED: {what}; errors of the page: {b.errors}")
    print("ok:", what)


def view(name):
    return b.eval("weirView." + name)


def side():
    return b.eval("document.getElementById('side').innerText")


b.open(page)
expect("the title stands in the page", b.eval("document.title") == "A test - Weir")
expect("eight kernels and the host function", view("count") == 9)
rows = {r[1]: r for r in view("rows") if r[1]}
expect("rows for streams and engines", len([r for r in view("rows") if r[0] == "stream"]) == 2 and "kernels" in rows)
expect("a row for the host's states", [r for r in view("rows") if r[0] == "state"] and "host state" in rows)
expect("idle stretches have a reason", "nothing to do" in side() and "another stream or an event" in side())
expect("it opens with all operations in view", view("range")[0] <= view("first") and view("range")[1] >= view("last"))
b.key("f")
whole = view("range")

b.wheel(700, 300, -300)
zoomed = view("range")
expect("the wheel zooms in", zoomed[1] - zoomed[0] < (whole[1] - whole[0]) * 0.7)
b.drag(900, 500, 700, 500)
moved = view("range")
expect("a drag moves to later times", moved[0] > zoomed[0] and abs((moved[1] - moved[0]) - (zoomed[1] - zoomed[0])) < 2)
b.key("a")
expect("a key moves back", view("range")[0] < moved[0])
b.key("f")
expect("f shows all", abs(view("range")[1] - whole[1]) < 2)

b.click_element("#search")
b.type("work")
expect("search finds the kernels", view("hits") == 8 and "8 found" in b.eval("document.getElementById('hits').textContent"))
b.key("Enter")
expect("enter selects the first", b.eval("weirView.selected.item") == 1 and "duration" in side())
b.key("Enter")
expect("enter again selects the second", b.eval("weirView.selected.item") == 2)
expect("and says why it started when it did", "It waited for work" in side() and "ORD-021" in side())
b.eval("""globalThis.behind = (i, w) => {
    const {op, whyText} = weirView, had = [op.why[i], op.whyOp[i]];
    op.why[i] = 1; op.whyOp[i] = w;
    const text = whyText(i).replace(/<[^>]*>/g, "");
    [op.why[i], op.whyOp[i]] = had;
    return text; }; 0""")
one, other = view("itemsOf('stream')")
expect("what is behind its own stream's work names that once",
       b.eval(f"behind({one[1]}, {one[0]})").startswith(f"It is behind {view(f'opName({one[0]})')} in its stream (ORD-001"))
expect("a node of a graph is where the launch is",
       b.eval(f"behind({other[0]}, {one[0]})").startswith(f"The launch of its graph is behind {view(f'opName({one[0]})')} in stream "))
b.key("Escape")
expect("escape clears", b.eval("weirView.selected === null") and view("hits") == 0)

b.key("f")
b.click_element("#search")
b.type("work")
b.key("Enter")
b.eval("document.getElementById('view').focus()")
b.key("z")
span = view("range")
start, end = b.eval("[weirView.selected.row.start[weirView.selected.index], weirView.selected.row.end[weirView.selected.index]]")
# Three times the operation's length, but no more than everything: how long the kernels took is not this test's affair.
wanted = min(3 * max(end - start, 50), whole[1] - whole[0])
expect("z zooms to the selected one", span[0] <= start and end <= span[1] and span[1] - span[0] < wanted * 1.1 + 20)
row = [r for r in view("rows") if r[0] == "stream"][0]
middle = b.eval("weirView.xOf((weirView.selected.row.start[1] + weirView.selected.row.end[1]) / 2)")
b.key("Escape")
top = b.eval("document.getElementById('main').getBoundingClientRect().y")
b.click(middle, top + row[2] + row[3] / 2)
expect("a click selects what is under it", b.eval("weirView.selected && weirView.selected.item") == 1)
b.click_element("#side a[data-call]")
expect("a link leads to the call", b.eval("weirView.selected.row.kind") == "thread" and "cudaLaunchKernel" in side())

expect("a label takes no more than its room", b.eval("""(() => {
    const c = document.createElement("canvas").getContext("2d");
    c.font = Draw.FONT;
    for (let w = 10; w < 200; w += 7)
        if (c.measureText(Draw.fit(c, "cudaEventSynchronize", w)).width > w) return false;
    return Draw.fit(c, "cudaEventSynchronize", 500) === "cudaEventSynchronize" && Draw.fit(c, "cudaEventSynchronize", 60).endsWith("…"); })()"""))
expect("the panel is the legend of lines and host states", b.eval("document.querySelectorAll('#side .swatch.thin').length") == 4
       and "blocked for the device" in side())
expect("few rows are tall ones", rows["kernels"][3] > 16)

b.drag(400, 600, 700, 600, shift=True)
expect("shift and drag measures", view("measure") and "MEASURED" in side().upper())
b.click_element("#bCritical")
expect("the critical path has most operations", view("critical") >= 4 and "CRITICAL PATH" in side().upper())
dark = b.eval("document.documentElement.dataset.theme")
b.click_element("#bTheme")
expect("light and dark", b.eval("document.documentElement.dataset.theme") != dark)
b.click_element("#bHelp")
expect("help opens", b.eval("document.getElementById('help').classList.contains('open')"))
b.key("Escape")
expect("no error was thrown", not b.errors)
b.close()
