#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What is shown of jobs: counters by process and by piece of memory, traces, races, and
# running ones by `sonde dsm top`.
# shellcheck disable=SC2317 # check calls the functions
set -u
cd "$(dirname "$0")/../.." || exit 1
O=$(realpath "${O:-build}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# shellcheck source=tests/tap.sh
. tests/tap.sh
# shellcheck source=tests/mpi/jobs.sh
. tests/mpi/jobs.sh

watch=$O/mpich/tests/dsm/mpi/watch port=$O/mpich/tests/dsm/mpi/port apps=$O/mpich/dsm/apps/apps
if [ ! -x "$watch" ]; then
	echo "1..0 # SKIP no MPICH: install libmpich-dev and mpich"
	exit 0
fi
back_ends=
for back_end in module uffd-async uffd-sigbus sigsegv; do
	if job 1 env SONDE_DSM_FAULT=$back_end SONDE_DSM_DEBUG=1 "$apps" is >"$dir/out" 2>"$dir/err"; then
		back_ends="$back_ends $back_end"
	else
		skip "$back_end" "$(head -n 1 "$dir/err" | sed 's/^sonde-dsm: //')"
	fi
done

# ---- counters ----------------------------------------------------------------
sums() { # BACK-END PROCESSES
	job "$2" env SONDE_DSM_FAULT="$1" SONDE_DSM_STATS="json:$dir/stats" "$watch" >"$dir/out" &&
		python3 - "$dir/stats" "$2" <<'P'
import json, sys
d = json.load(open(sys.argv[1]))
n = int(sys.argv[2])
assert d["schema"] == "sonde-dsm-stats-1" and len(d["processes"]) == n
keys = "fetches copies read_faults write_faults twins diffs diff_bytes invalidations".split()
for q, p in enumerate(d["processes"]):
    for key in keys:
        assert p[key] == sum(r["processes"][q][key] for r in d["regions"]), (q, key)
for r in d["regions"]:
    for key in keys + ["bytes"]:
        assert r[key] == sum(p[key] for p in r["processes"]), (r["name"], key)
    assert r["bytes"] == r["fetches"] * d["unit"] + r["diff_bytes"]
assert sum(l["locks"] for l in d["locks"]) == sum(p["locks"] for p in d["processes"])
mutex, = [l for l in d["locks"] if l["name"].startswith("mutex at 0x")]
assert mutex["locks"] == 6 * n, mutex
grid, = [r for r in d["regions"] if r["name"] == "grid"]
one, = [r for r in d["regions"] if r["name"].startswith('all "in" one')]
print(grid, one)
# Reads of another's rows, each turn; the sum is in one page at home in process 0.
assert grid["pages"] == 24 and one["pages"] == 1
if n > 1:
    assert grid["fetches"] >= 24 * 5 and one["diffs"] > 0
    assert one["processes"][0]["fetches"] == 0 and one["processes"][1]["fetches"] > 0
P
}
for back_end in $back_ends; do
	check "$back_end: counters of named memory add up to those of processes" sums "$back_end" 3
done
check "they do in a job of one process" sums auto 1
table() {
	job 2 env SONDE_DSM_STATS=1 "$watch" >"$dir/out" 2>"$dir/err" && cat "$dir/err" &&
		grep -qE '^memory +pages +bytes' "$dir/err" && grep -qE '^grid +24 +[1-9]' "$dir/err" &&
		grep -qE "^the library's own " "$dir/err" &&
		grep -qE '^mutex at 0x[0-9a-f]+ +12 +[0-9]+$' "$dir/err"
}
check "SONDE_DSM_STATS=1 shows memory and locks by name" table

one_main() {
	job 2 env SONDE_DSM_STATS="json:$dir/stats" "$port" >"$dir/out" &&
		python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert all(p["messages"] > 100 and p["locks"] > 10 for p in d["processes"]), d["processes"]
names = [l["name"] for l in d["locks"]]
assert any(n.startswith("lock of the object at ") for n in names), names' "$dir/stats"
}
check "processes that run threads for the first one are counted to the end" one_main

# ---- traces ------------------------------------------------------------------
trace() { # BACK-END
	job 3 env SONDE_DSM_FAULT="$1" SONDE_DSM_TRACE="$dir/trace" "$watch" >"$dir/out" &&
		python3 tests/dsm/trace.py "$dir/trace" 3
}
for back_end in $back_ends; do
	check "$back_end: a trace has what Perfetto wants, and every message's two ends" trace "$back_end"
done
short() {
	job 2 env SONDE_DSM_TRACE="$dir/trace" SONDE_DSM_TRACE_EVENTS=50 "$watch" >"$dir/out" 2>"$dir/err" &&
		cat "$dir/err" && grep -q 'raise SONDE_DSM_TRACE_EVENTS' "$dir/err" &&
		python3 tests/dsm/trace.py "$dir/trace" 2 >"$dir/said" && grep lost "$dir/said" &&
		[ "$(grep -c '"ph":"X"' "$dir/trace")" -le 100 ]
}
check "a trace keeps the last events, and says how many it lost" short
whole() {
	[ "$(find "$dir" -name 'trace*' | wc -l)" = 1 ]
}
check "nothing is left beside the file" whole

# ---- races -------------------------------------------------------------------
race() { # BACK-END: one piece, both sides, the static lock of one
	job 3 env SONDE_DSM_FAULT="$1" SONDE_DSM_RACES=1 SONDE_DSM_STATS="json:$dir/stats" \
		"$watch" race >"$dir/out" 2>"$dir/err" && cat "$dir/err" &&
		[ "$(grep -c '^sonde-dsm: race: 8 bytes at 0x' "$dir/err")" = 1 ] &&
		grep -q '^sonde-dsm: 1 race$' "$dir/err" && grep -q 'all "in" one' "$dir/err" &&
		grep -qE 'process 1 in its interval [0-9]+ \(mutex at [^ ]*watch\+0x' "$dir/err" &&
		grep -qE 'process 2 in its interval [0-9]+ \(no lock\)' "$dir/err" &&
		python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))["races"]
assert r["count"] == 1 and r["first"][0]["bytes"] == 8, r
assert sorted(i["process"] for i in r["first"][0]["intervals"]) == [1, 2], r' "$dir/stats"
}
reads() { # BACK-END: who read and who wrote, and where
	job 3 env SONDE_DSM_FAULT="$1" SONDE_DSM_RACES=reads SONDE_DSM_STATS="json:$dir/stats" \
		"$watch" read >"$dir/out" 2>"$dir/err" && cat "$dir/err" &&
		grep -q 'no race was seen; threads' "$dir/err" &&
		grep -qE '^sonde-dsm: [1-9][0-9]* possible races?' "$dir/err" &&
		grep -qE '^sonde-dsm: possible race: page [0-9]+ \(all "in" one.*\) read by process 2 in its interval [0-9]+ .*, and in it 8 bytes at 0x.* written by process 1 in its interval ' "$dir/err" &&
		python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))["races"]
assert r["count"] == 0 and r["possible"]["count"] >= 1, r
assert [2, 1] in [[i["process"] for i in one["intervals"]] for one in r["possible"]["first"]], r' "$dir/stats"
}
none() { # BACK-END: programs without races
	job 3 env SONDE_DSM_FAULT="$1" SONDE_DSM_RACES=1 "$apps" >"$dir/out" 2>"$dir/err" &&
		job 2 env SONDE_DSM_FAULT="$1" SONDE_DSM_RACES=1 "$port" >>"$dir/out" 2>>"$dir/err" &&
		cat "$dir/err" && [ "$(wc -l <"$dir/out")" = 9 ] &&
		[ "$(grep -c 'no race was seen' "$dir/err")" = 2 ] &&
		! grep -q '^sonde-dsm: race' "$dir/err"
}
for back_end in $back_ends; do
	check "$back_end: a planted race is told of, with both sides" race "$back_end"
	check "$back_end: a page that is read beside a write is a possible race" reads "$back_end"
	check "$back_end: of programs without races nothing is told" none "$back_end"
done

# ---- mistakes ----------------------------------------------------------------
refused() { # PATTERN SETTING...
	pattern=$1
	shift
	! job 2 env SONDE_DSM_DEBUG=1 "$@" "$watch" >"$dir/out" 2>"$dir/err" || return 1
	cat "$dir/err"
	[ ! -s "$dir/out" ] && grep -qE "^sonde-dsm: .*$pattern" "$dir/err"
}
check "a form of counters that there is not is refused" refused 'is 1, json, or json:FILE' SONDE_DSM_STATS=xml
check "a file that cannot be written is refused, before the job runs" \
	refused 'cannot write .*name another' SONDE_DSM_STATS="json:$dir/no/where"
check "so is a trace's" refused 'cannot write .*name another' SONDE_DSM_TRACE="$dir/no/where"
check "a length that is none is refused" refused 'a number from 1' SONDE_DSM_TRACE_EVENTS=many
check "races are looked for or not" refused 'is 1, reads, or 0' SONDE_DSM_RACES=maybe
differ() {
	# shellcheck disable=SC2016 # the shell of the job expands it
	! job 2 bash -c '[ "$PMI_RANK" = 0 ] || export SONDE_DSM_RACES=1; exec "$@"' bash "$watch" \
		>"$dir/out" 2>"$dir/err" && cat "$dir/err" && grep -q 'Protocol error' "$dir/err"
}
check "processes that differ in what is to be shown do not begin" differ
full() {
	[ -c /dev/full ] || return 0
	! job 1 env SONDE_DSM_TRACE=/dev/full "$watch" >"$dir/out" 2>"$dir/err" && cat "$dir/err" &&
		grep -q 'the trace cannot be written to /dev/full' "$dir/err"
}
check "a trace that could not be written makes sonde_dsm_exit() fail" full

# ---- sonde dsm top -----------------------------------------------------------
# What other jobs of this machine show is none of ours: ours is known by its processes.
ours() { # FILE: counters of the jobs with processes $pids; nothing if there is none
	python3 - "$1" "$pids" <<'P'
import json, sys
pids = {int(p) for p in sys.argv[2].split()}
for line in open(sys.argv[1]):
    if not line.endswith("\n"):
        break
    for j in json.loads(line)["jobs"]:
        if pids & {p["pid"] for p in j["processes"]}:
            print(j["processes_in_all"], j["program"], *(p["process"] for p in j["processes"]),
                  sum(p["sums"]["messages"] for p in j["processes"]))
P
}
running() {
	: >"$dir/out"
	job 2 "$port" endless >"$dir/out" 2>&1 &
	launcher=$!
	for _ in $(seq 600); do
		grep -q '^ready' "$dir/out" && break
		read -rt 0.1 <> <(:) || :
	done
	pids=$(pgrep -f "^$port endless" | tr '\n' ' ')
	"$O/sonde" dsm top --once >"$dir/top" && cat "$dir/top" &&
		grep -qE '^port: 2 processes, .* faults: ' "$dir/top" || return 1
	for pid in $pids; do
		grep -qE "^ +[01] +$pid " "$dir/top" || return 1
	done
	"$O/sonde" dsm top --json --interval 0.1 >"$dir/top" &
	looker=$! goes_on=1
	for _ in $(seq 300); do
		ours "$dir/top" | grep '^2 port 0 1 ' | sort -u -k 5,5 >"$dir/ours"
		[ "$(wc -l <"$dir/ours")" -lt 2 ] || { goes_on=0 && break; }
		read -rt 0.1 <> <(:) || :
	done
	cat "$dir/ours"
	kill "$looker" && return "$goes_on"
}
check "sonde dsm top shows a running job, and counts on" running
dead() {
	for pid in $pids; do
		kill -9 "$pid"
	done
	wait "$launcher"
	for _ in $(seq 100); do
		"$O/sonde" dsm top --once --json >"$dir/top" 2>"$dir/err" || break
		[ -n "$(ours "$dir/top")" ] || return 0
		read -rt 0.1 <> <(:) || :
	done
	cat "$dir/err"
	[ "$(grep -c '' "$dir/err")" = 1 ] && grep -q 'no process of libsonde-dsm runs here' "$dir/err"
}
check "a job that was killed is not shown any more, and leaves nothing behind" dead
# A namespace of processes of its own has no jobs.
alone() {
	unshare --fork --pid --mount-proc "$O/sonde" dsm top >"$dir/out" 2>"$dir/err"
	[ $? = 1 ] && cat "$dir/err" && [ ! -s "$dir/out" ] &&
		grep -q '^sonde dsm top: no process of libsonde-dsm runs here: begin a job' "$dir/err"
}
if unshare --fork --pid --mount-proc true 2>/dev/null; then
	check "where no job runs it says so and fails" alone
else
	skip "where no job runs it says so and fails" "no namespaces: run as root"
fi
wrong() {
	"$O/sonde" dsm top --interval never 2>"$dir/err"
	[ $? = 2 ] && grep -q 'not a number of seconds' "$dir/err" &&
		{ "$O/sonde" dsm topp 2>"$dir/err"; [ $? = 2 ]; } && cat "$dir/err"
}
check "what it does not understand is refused" wrong
echo "1..$count"
exit "$failed"
