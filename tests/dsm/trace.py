# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks a trace of libsonde-dsm against the Trace Event Format: trace.py FILE PROCESSES"""
import collections
import json
import sys

NEEDED = {"X": {"ts", "dur"}, "b": {"ts", "id"}, "e": {"ts", "id"}, "s": {"ts", "id"},
          "f": {"ts", "id", "bp"}, "M": {"args"}}


def check_slices(events):
    """Slices of a thread lie beside each other or in each other."""
    threads = collections.defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            assert e["dur"] >= 0 and e["ts"] >= 0, e
            threads[e["pid"], e["tid"]].append((e["ts"], -e["dur"], e["name"]))
    for slices in threads.values():
        open_until = []
        for ts, minus_dur, name in sorted(slices):
            while open_until and open_until[-1] <= ts:
                open_until.pop()
            assert not open_until or ts - minus_dur <= open_until[-1] + 0.0015, (ts, name)
            open_until.append(ts - minus_dur)
    return threads


def check_pairs(events, begin, end):
    """Each begin has one end, later; ids are used once."""
    begun = {}
    for e in events:
        if e["ph"] == begin:
            assert e["id"] not in begun, e
            begun[e["id"]] = e
    ended = [e for e in events if e["ph"] == end]
    for e in ended:
        assert begun[e["id"]]["ts"] <= e["ts"] and begun[e["id"]]["name"] == e["name"], e
    assert len({e["id"] for e in ended}) == len(ended) == len(begun)
    return len(begun)


def check_ends(events, threads):
    """Both ends of a flow are bound to a slice of their thread: it is there at that time."""
    for e in events:
        if e["ph"] in "sf":
            assert any(ts <= e["ts"] <= ts - minus_dur
                       for ts, minus_dur, _ in threads[e["pid"], e["tid"]]), e
        assert e["ph"] != "f" or e["bp"] == "e", e


def check_names(events):
    """Who has events has a name, and once."""
    named = [(e["name"], e["pid"], e["tid"]) for e in events if e["ph"] == "M"]
    assert len(set(named)) == len(named)
    for e in events:
        if e["ph"] != "M":
            assert ("thread_name", e["pid"], e["tid"]) in named, e
            assert any(n[:2] == ("process_name", e["pid"]) for n in named), e


def main():
    path, processes = sys.argv[1], int(sys.argv[2])
    with open(path, encoding="utf-8") as f:
        d = json.load(f)
    events, about = d["traceEvents"], d["otherData"]
    assert about["schema"] == "sonde-dsm-trace-1" and about["processes"] == processes
    assert len(about["clocks"]) == processes
    for e in events:
        assert {"name", "ph", "pid", "tid"} | NEEDED[e["ph"]] <= set(e), e
        assert 0 <= e["pid"] < processes, e
    threads = check_slices(events)
    check_ends(events, threads)
    check_names(events)
    flows = check_pairs(events, "s", "f")
    waits = check_pairs(events, "b", "e")
    names = collections.Counter(e["name"] for e in events if e["ph"] in "Xb")
    print(dict(names), flows, "flows", waits, "async")
    # One kernel, one clock: nothing is shifted.
    assert all(c["offset_ns"] == 0 for c in about["clocks"])
    lost = sum(c["lost"] for c in about["clocks"])
    if lost:
        print("lost", lost)
        return
    for name in ("lock", "unlock", "barrier", "fetch", "page", "arrive", "depart"):
        assert names[name], name
    assert names["read miss"] + names["write miss"] == names["fetch"] / 2, names
    assert all((q, 0) in threads for q in range(processes))
    assert flows > processes * 10


main()
