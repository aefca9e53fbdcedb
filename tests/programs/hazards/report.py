"""report.py JSON SARIF: of misuse race. SPDX-License-Identifier: Apache-2.0"""
import json, sys

report = json.load(open(sys.argv[1]))
assert report["version"] == 1 and report["verdict"] == "hazard" and report["complete"] is True
assert report["notes"] == [] and report["suppressed"] == [] and report["unused_suppressions"] == []
(race,) = report["findings"]
assert race["kind"] == "race" and race["count"] == 1
first, second = race["first"], race["second"]
assert (first["name"], first["access"]) == ("fill", "write") and (second["name"], second["access"]) == ("copy", "read")
assert first["file"].endswith("misuse.cu") and first["line"] > 0 and first["function"] == "inner"
assert [f["function"] for f in first["stack"]][:4] == ["inner", "outer", "race", "main"]
assert race["memory"]["bytes"] == 4096 and race["memory"]["size"] == 8192
assert race["memory"]["allocated"]["call"] == "cudaMalloc"
assert "ORD-002" in race["why"] and "record an event" in race["change"]

sarif = json.load(open(sys.argv[2]))
assert sarif["version"] == "2.1.0" and sarif["$schema"].endswith("sarif-2.1.0.json")
(run,) = sarif["runs"]
rules = run["tool"]["driver"]["rules"]
(result,) = run["results"]
assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == "race" and result["level"] == "error"
place = result["locations"][0]["physicalLocation"]
assert place["artifactLocation"]["uri"].endswith("misuse.cu") and place["region"]["startLine"] == second["line"]
assert len(result["relatedLocations"]) == 3 and len(result["stacks"]) == 2
assert result["stacks"][0]["frames"][1]["location"]["logicalLocations"][0]["fullyQualifiedName"] == "outer"
