# SPDX-License-Identifier: Apache-2.0
"""Reads what weir export wrote of one trace in five formats: each by its own definition, none of it Weir's.
   exports.py NAME    of NAME.csv, NAME.json, NAME.chrome, NAME.perfetto, NAME.svg, NAME.summary.csv, NAME.diff.csv"""
import collections
import csv
import json
import struct
import sys
import xml.dom.minidom

name = sys.argv[1]
KERNEL = "pair<1, 2>"


def expect(what, condition):
    if not condition:
        sys.exit("FAILED: " + what)


# ---- CSV: as many fields in each row as in the first ----
def table(path):
    with open(path, newline="", encoding="utf-8") as f:
        rows = list(csv.DictReader(f, strict=True))
    expect(path + ": rows", rows and not [r for r in rows if None in r or None in r.values()])
    return rows


rows = table(name + ".csv")
kernels = [r for r in rows if r["kind"] == "kernel"]
calls = [r for r in rows if r["kind"] == "call"]
expect("four kernels of the quoted name", sum(r["name"] == KERNEL for r in kernels) == 4)
expect("lengths are ends without beginnings", all(int(r["end_ns"]) - int(r["start_ns"]) == int(r["duration_ns"]) for r in kernels + calls))
expect("the name in the summary", [r["count"] for r in table(name + ".summary.csv") if r["name"] == KERNEL] == ["4"])
expect("the name in the difference", [r["cause"] for r in table(name + ".diff.csv") if r["name"] == KERNEL] == ["new"])
bars = len([r for r in rows if r["kind"] not in ("call", "range") and r["start_ns"] and int(r["duration_ns"])])

# ---- JSON, and the trace event format ----
with open(name + ".json", encoding="utf-8") as f:
    whole = json.load(f)
expect("JSON has the CSV's kernels", sum(o["name"] == KERNEL for o in whole["operations"]) == 4)
with open(name + ".chrome", encoding="utf-8") as f:
    events = json.load(f)
events = events["traceEvents"] if isinstance(events, dict) else events
expect("each event has its phase, process and thread", all({"ph", "pid", "tid"} <= set(e) for e in events if e["ph"] != "M"))
expect("the trace events have the kernels", sum(e["ph"] == "X" and e["name"] == KERNEL for e in events) == 4)
flows = collections.Counter((e["ph"], e["id"]) for e in events if e["ph"] in "sf")
expect("each flow begins and ends", flows and all(flows["s", i] == 1 and flows["f", i] == 1 for _, i in flows))

# ---- SVG ----
picture = xml.dom.minidom.parse(name + ".svg")
expect("an SVG", picture.documentElement.tagName == "svg" and picture.documentElement.namespaceURI == "http://www.w3.org/2000/svg")
texts = "".join(n.data for t in picture.getElementsByTagName("title") + picture.getElementsByTagName("text") for n in t.childNodes)
expect("the quoted name in the SVG", KERNEL in texts)


# ---- Perfetto: protobuf, by the wire format and the published numbers of the fields ----
def fields(data):
    """(number, wire type, value) of a message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            expect("no varint of more than ten bytes", shift < 70)

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
        elif key & 7 == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif key & 7 == 2:
            length = varint()
            value, at = data[at:at + length], at + length
            expect("a field that ends within its message", len(value) == length)
        else:
            sys.exit(f"FAILED: wire type {key & 7}")
        yield key >> 3, key & 7, value


# Of each message: number -> (name, wire type); what is no scalar, text or bytes is a message of its own.
TRACK_EVENT = {9: ("type", 0), 11: ("track", 0), 22: ("category", 2), 23: ("name", 2), 47: ("flow", 1), 48: ("flow_end", 1), 4: ("note", 2)}
DESCRIPTOR = {1: ("uuid", 0), 2: ("name", 2), 3: ("process", 2), 4: ("thread", 2), 5: ("parent", 0)}
PACKET = {8: ("timestamp", 0), 10: ("sequence", 0), 11: ("event", 2), 60: ("descriptor", 2)}
NOTE = {10: ("name", 2), 3: ("number", 0), 6: ("text", 2)}


def message(data, known):
    out = collections.defaultdict(list)
    for number, wire, value in fields(data):
        expect(f"field {number} is one of {known}", number in known and known[number][1] == wire)
        out[known[number][0]].append(value)
    return out


with open(name + ".perfetto", "rb") as f:
    data = f.read()
tracks, begun, names, flow_from, flow_to = {}, collections.defaultdict(list), collections.Counter(), {}, {}
for number, wire, value in fields(data):
    expect("nothing but packets", (number, wire) == (1, 2))
    packet = message(value, PACKET)
    expect("a packet's sequence", len(packet["sequence"]) == 1)
    if packet["descriptor"]:
        d = message(packet["descriptor"][0], DESCRIPTOR)
        expect("a track is told once", d["uuid"][0] not in tracks)
        tracks[d["uuid"][0]] = d["parent"][0] if d["parent"] else None
        continue
    e, at = message(packet["event"][0], TRACK_EVENT), packet["timestamp"][0]
    track = e["track"][0]
    expect("a track that was told", track in tracks)
    for note in e["note"]:
        n = message(note, NOTE)
        expect("a note has a name and a value", len(n["name"]) == 1 and len(n["number"]) + len(n["text"]) == 1)
    begun[track].append((at, e["type"][0]))
    if e["type"][0] == 1:
        names[e["name"][0].decode("utf-8")] += 1
        for i in e["flow"]:
            flow_from[i] = at
        for i in e["flow_end"]:
            flow_to[i] = at
expect("parents are tracks", all(p is None or p in tracks for p in tracks.values()))
for track, list_ in begun.items():
    change = collections.Counter()
    for at, kind in list_:
        change[at] += {1: 1, 2: -1, 3: 0}[kind]
    depth = 0
    for at in sorted(change):
        depth += change[at]
        expect("an end has a beginning", depth >= 0)
    expect("what begins ends", depth == 0)
expect("Perfetto has the kernels", names[KERNEL] == 4)
expect("and all calls", sum(names.values()) == bars + len(calls))
expect("arrows have two ends, the first no later than the second", flow_from and set(flow_from) == set(flow_to) and all(flow_from[i] <= flow_to[i] for i in flow_from))
print("exports:", len(kernels), "kernels,", len(calls), "calls,", len(flow_from), "arrows")
