#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The cluster of namespaces: nodes that share nothing but files and the wire.
# shellcheck disable=SC2016,SC2154,SC2164 # for other shells; bats ends a test at what fails
load ../cli/helper

BUILD=$(dirname "$SONDE")
NETNS=$BATS_TEST_DIRNAME/netns

setup() {
	# In the environment of all that a test starts.
	export SONDE_TEST_TAG=tag-$BATS_TEST_NUMBER-$$-$RANDOM
	cluster --each true 2>/dev/null || [ $? -ne 77 ] || skip "$("$NETNS" --each true 2>&1)"
}

# What a test that failed left running.
teardown() {
	local file
	grep -lsa "SONDE_TEST_TAG=$SONDE_TEST_TAG" /proc/[0-9]*/environ | while read -r file; do
		file=${file#/proc/}
		kill -KILL "${file%/environ}" 2>/dev/null || :
	done
}

cluster() { timeout -k 5 60 "$NETNS" "$@"; }

# in_shell OPTION...: commands from standard input, beside the nodes
in_shell() { SHELL=/bin/bash cluster "$@" --shell; }

# Processes with this test's tag; what looks for them is one.
tagged() {
	local files
	files=$(grep -lsa "SONDE_TEST_TAG=$SONDE_TEST_TAG" /proc/[0-9]*/environ)
	wc -w <<<"$files"
}

# What else might be left: links, and the cgroup of `sonde run`, by its number.
links() { ip -o link | cut -d: -f2; }
cgroups() { compgen -G "/sys/fs/cgroup/sonde-run.$1" || compgen -G "/sys/fs/cgroup/*/sonde-run.$1"; }

# is_gone TAGGED LINKS [PID]
is_gone() { [ "$(tagged)" -le "$1" ] && [ "$(links)" = "$2" ] && ! cgroups "${3-none}" >/dev/null; }

@test "each node has its own host name, network, processes, IPC and mounts" {
	run cluster --nodes 3 --each sh -c 'echo $(hostname) $(readlink /proc/self/ns/net \
		/proc/self/ns/pid /proc/self/ns/ipc /proc/self/ns/mnt /proc/self/ns/uts)'
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 3 ]
	[ "$(cut -d' ' -f1 <<<"$output" | sort | xargs)" = "node0 node1 node2" ]
	for field in 2 3 4 5 6; do
		[ "$(cut -d' ' -f$field <<<"$output" | sort -u | wc -l)" -eq 3 ]
		own=$(readlink /proc/self/ns/{net,pid,ipc,mnt,uts} | sed -n "$((field - 1))p")
		[[ $output != *"$own"* ]]
	done
}

@test "a file in /dev/shm is seen on its node only" {
	run in_shell --nodes 2 <<<'
		on 0 sh -c "echo secret >/dev/shm/a"
		on 0 cat /dev/shm/a
		on 1 ls -A /dev/shm
		ls -A /dev/shm | grep -v "^cluster$"'
	[ "$output" = secret ]
	[ ! -e /dev/shm/a ]
}

@test "a System V segment is seen on its node only" {
	run in_shell --nodes 2 <<<'
		on 0 ipcmk -M 12345 >/dev/null
		for k in 0 1; do on $k ipcs -m -b | grep -c 12345; done
		ipcs -m -b | grep -c 12345'
	[ "$output" = $'1\n0\n0' ]
}

@test "processes are seen on their node only, with numbers of their own" {
	run in_shell --nodes 2 <<<'
		on 0 sleep 98765 &
		until on 0 pgrep -f "sleep 98765" >/dev/null; do sleep 0.02; done
		on 1 pgrep -fc "sleep 98765"
		on 1 sh -c "cat /proc/1/cmdline | tr \\\\0 \\\\n | tail -n 1"'
	[ "$output" = $'0\n1' ]
}

@test "nodes reach each other by name, over their own device" {
	run in_shell --nodes 2 <<<'
		on 1 perl -MIO::Socket::INET -e "
			\$s = IO::Socket::INET->new(Listen => 1, LocalPort => 7777) or die;
			open \$f, q(>), q(/dev/shm/up); print {\$s->accept} qq(hello\n)" &
		until on 1 test -e /dev/shm/up; do sleep 0.02; done
		on 0 bash -c "exec 3<>/dev/tcp/node1/7777; cat <&3"
		on 0 ls /sys/class/net
		on 0 sh -c "echo \$SONDE_NODE \$SONDE_NODES \$SONDE_NODE_ADDRESS"'
	[ "$output" = $'hello\neth0\nlo\n0 2 10.0.0.1' ]
}

@test "a link's rate is limited both ways, if asked for" {
	[ -x "$(PATH=$PATH:/usr/sbin type -P tc)" ] || skip "tc is not there"
	run in_shell --nodes 2 --rate 100mbit <<<'
		on 1 tc qdisc show dev eth0; tc qdisc show dev veth1'
	[ "$(grep -c 'qdisc tbf.*rate 100Mbit' <<<"$output")" -eq 2 ]
	run in_shell --nodes 2 <<<'on 1 tc qdisc show dev eth0; tc qdisc show dev veth1'
	run ! grep tbf <<<"$output"
}

@test "MPI sees the nodes, in blocks, in turn and in any order" {
	run cluster -n 3 -r 2 "$BUILD/tests/cluster/places"
	[ "$output" = "0 0 1 1 2 2" ]
	run cluster -n 3 -r 2 -m cyclic "$BUILD/tests/cluster/places"
	[ "$output" = "0 1 2 0 1 2" ]
	run cluster -n 3 -r 3,1,2 "$BUILD/tests/cluster/places"
	[ "$output" = "0 0 0 1 2 2" ]
	run cluster -n 3 -r 3,1,2 -m cyclic "$BUILD/tests/cluster/places"
	[ "$output" = "0 1 2 0 2 0" ]
	run cluster -n 3 -r 2,0,1 "$BUILD/tests/cluster/places"
	[ "$output" = "0 0 2" ]
	run cluster -n 3 -m 2,0,0,1,0,2 "$BUILD/tests/cluster/places"
	[ "$output" = "2 0 0 1 0 2" ]
}

# sent NODES RANKS: bytes that node 0 sent during 20 exchanges of 64 KiB
sent() {
	in_shell -n "$1" -r "$2" <<-'SHELL'
		mpiexec "$BUILD/tests/run/alltoall.mpich" 65536 20 >/dev/null </dev/null
		on 0 cat /sys/class/net/eth0/statistics/tx_bytes
	SHELL
}

@test "what goes from node to node goes over the wire, what stays does not" {
	export BUILD
	payload=$((20 * 65536))
	across=$(sent 2 1)
	inside=$(sent 1 2)
	[ "$across" -ge "$payload" ]
	[ "$inside" -lt $((payload / 10)) ]
}

@test "an exchange of 3 nodes of 4 ranks is right and ends, several times" {
	times=3
	[ -z "${SONDE_LONG:-}" ] || times=10
	for _ in $(seq $times); do
		run timeout -k 5 60 "$NETNS" -n 3 -r 4 "$BUILD/tests/run/alltoall.mpich" 512 20
		[ "$status" -eq 0 ]
		[ "$output" = "12 ranks, 20 calls, right" ]
	done
}

@test "the exit status is the program's" {
	run cluster --node 1 sh -c 'hostname; exit 9'
	[ "$status" -eq 9 ]
	[ "$output" = node1 ]
	run cluster --each sh -c '[ $SONDE_NODE = 0 ] || exit 5'
	[ "$status" -eq 5 ]
	run cluster --raw -r 1 -n 1 sh -c 'exit 3'
	[ "$status" -eq 3 ]
	run -127 cluster --node 0 /nonexistent
	has "$output" /nonexistent
}

@test "a program reads standard input and starts in the same folder" {
	cd "$BATS_TEST_TMPDIR"
	run cluster --node 0 sh -c 'pwd -P; cat' <<<"typed"
	[ "$output" = "$(pwd -P)"$'\n'typed ]
}

@test "orphans of a node are buried" {
	run in_shell --nodes 1 <<<'
		on 0 sh -c "(true &) ; (sh -c \"exit 1\" &)"
		end=$((SECONDS + 10))
		while on 0 grep -qs "^State:.Z" /proc/[0-9]*/status && [ $SECONDS -lt $end ]; do :; done
		on 0 sh -c "grep -ls \"^State:.Z\" /proc/[0-9]*/status | wc -l"'
	[ "$output" = 0 ]
}

# start_job: MPI ranks that never end; $job is what was started, $ready a file
# to which each rank adds a line.
start_job() {
	ready=$BATS_TEST_TMPDIR/ready
	: >"$ready"
	# A shell's background processes ignore SIGINT, those of nohup SIGHUP.
	env --default-signal=TERM,INT,HUP "$NETNS" "$@" -n 3 -r 2 \
		sh -c "echo >>$ready; while :; do :; done" 3>&- &
	job=$!
	until_true eval "[ \"\$(wc -l <$ready)\" -eq 6 ]"
}

@test "after TERM, INT and HUP nothing is left, and the signal is reported" {
	before=$(links) own=$(tagged)
	for signal in TERM INT HUP; do
		start_job --raw
		[ "$(tagged)" -gt "$own" ]
		kill -s "$signal" "$job"
		await "$job"
		[ "$status" -eq $((128 + $(kill -l "$signal"))) ]
		until_true is_gone "$own" "$before" "$job"
	done
}

@test "after KILL nothing is left" {
	before=$(links) own=$(tagged)
	for way in "" --raw; do
		# shellcheck disable=SC2086 # nothing or a word
		start_job $way
		kill -KILL "$job"
		await "$job"
		[ "$status" -eq 137 ]
		until_true is_gone "$own" "$before" "$job"
	done
}

@test "under sonde run a signal ends it just so" {
	before=$(links) own=$(tagged)
	start_job
	kill -TERM "$job"
	await "$job"
	[ "$status" -eq 143 ]
	until_true is_gone "$own" "$before" "$job"
}

# Not before all are there: mpiexec forgets a node that is not yet, and waits for it for ever.
@test "when a rank dies the job fails and nothing is left" {
	before=$(links) own=$(tagged)
	run cluster -n 2 -r 2 sh -c '
		: >"$0/$PMI_RANK"
		while :; do
			[ "$PMI_RANK$(ls "$0" | xargs)" != "30 1 2 3" ] || kill -KILL $$
		done' "$BATS_TEST_TMPDIR"
	[ "$status" -ne 0 ]
	[ "$status" -ne 124 ]
	until_true is_gone "$own" "$before"
}

@test "neither root nor its sonde are needed" {
	dir=$(make_public)
	cp "$BUILD/libsonde-yield.so" "$BUILD/tests/run/alltoall.mpich" "$dir/"
	cp -r "$BATS_TEST_DIRNAME" "$dir/cluster"
	SONDE=$dir/sonde run unprivileged timeout -k 5 60 "$dir/cluster/netns" -n 2 -r 2 \
		"$dir/alltoall.mpich"
	rm -rf "$dir"
	[[ $output != *"does not allow namespaces"* ]] || skip "not by this kernel: $output"
	[ "$status" -eq 0 ]
	[ "$output" = "4 ranks, 10 calls, right" ]
}

@test "where namespaces are forbidden it says so and what to do" {
	run unprivileged unshare --user --map-root-user sh -c \
		'echo 0 >/proc/sys/user/max_mnt_namespaces && exec "$0" --each true' "$NETNS"
	[ "$status" -eq 77 ]
	has "$output" "netns: the kernel does not allow namespaces here: "
	has "$output" CAP_SYS_ADMIN
}

@test "mistakes are named in one line" {
	while IFS='|' read -r arguments complaint; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr cluster $arguments
		[ "$status" -eq 2 ]
		[ -z "$output" ]
		one_line "$stderr"
		has "$stderr" "netns: $complaint"
	done <<-'MISTAKES'
		|no program
		--nodes 0 true|--nodes 0: not a number from 1 to 200
		--nodes 201 true|--nodes 201: not
		--nodes x true|--nodes x: not
		--nodes|--nodes needs its argument
		--ranks 1,2,3 true|--ranks 1,2,3: not one number, nor 2 of them
		--ranks -1 true|--ranks -1: '-1' is not a number
		--ranks 0 true|--ranks 0: no rank at all
		--map scatter true|--map scatter: not block, cyclic or a list of nodes
		--map 0,2 true|--map 0,2: there is no node '2' of 2
		--node 2 true|--node 2: not one of 0 to 1
		--rate fast true|--rate fast: not a rate
		--frobnicate true|unknown option '--frobnicate'
		--shell true|--shell takes no program
	MISTAKES
}

@test "a sonde that is not there is named" {
	SONDE=/nonexistent run cluster true
	[ "$status" -eq 1 ]
	has "$output" "netns: /nonexistent is not there; run \`make\`, set SONDE, or say --raw"
}

@test "on refuses nodes that are none" {
	for words in "" "2 true" "x true" "1"; do
		run in_shell <<<"on $words; exit \$?"
		[ "$status" -eq 2 ]
		has "$output" "usage: on NODE PROGRAM"
	done
}
