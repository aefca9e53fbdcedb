"""report.py JSON SARIF FORM STEP RESULT TOTAL SOME: of a form of races.cu; the lines as "races.cu:N".
SPDX-License-Identifier: Apache-2.0"""
import json, sys

form, step, result, total, some = sys.argv[3:]
finding, *more = json.load(open(sys.argv[1]))["findings"]
found, *others = json.load(open(sys.argv[2]))["runs"][0]["results"]
assert len(more) == len(others) and (not more or form == "total-blocks")
threads = finding["threads"]
places = ["%s:%d" % (t["file"], t["line"]) for t in threads]
shown = found["locations"][0]["physicalLocation"]
shown = "%s:%d" % (shown["artifactLocation"]["uri"], shown["region"]["startLine"])
related = {r["message"]["text"]: r["physicalLocation"]["region"]["startLine"] for r in found["relatedLocations"]}

assert all(t["ptx_line"] > 0 or form == "half-warp" for t in threads)
if form == "tree-last":
    assert places == [step, result] and shown == result
    assert threads[0]["thread"] == [0, 0, 0] and threads[1]["thread"] == [33, 0, 0] and threads[0]["block"] == threads[1]["block"]
    assert [t["access"] for t in threads] == ["write", "read"] and threads[1]["bytes"] == 4
    assert finding["shared"] == {"address": finding["shared"]["address"], "name": "s", "offset": 0} and "memory" not in finding
    assert related["thread (0, 0, 0) of block (%d, 0, 0)" % threads[0]["block"][0]] == threads[0]["line"]
elif form == "total-blocks":
    assert places == [total, total] and threads[0]["block"] != threads[1]["block"] and "shared" not in finding
    assert finding["memory"]["bytes"] == 4
elif form == "half-warp":
    assert places == [some, ":0"] and shown == some and threads[1]["thread"] == [16, 0, 0] and "access" not in threads[0]
else:
    sys.exit("what form?")
