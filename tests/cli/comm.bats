#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `sonde comm` on one machine: the tables, the JSON, the figure, and mistakes of who types.
# shellcheck disable=SC2016,SC2154,SC2164 # variables of Perl; bats sets stderr and ends a test at what fails
load helper

setup() {
	cd "$BATS_TEST_TMPDIR"
	mapfile -t cpus < <(taskset -cp $$ | sed 's/.*: //' | tr , '\n' |
		awk -F- '{ for (i = $1; i <= (NF > 1 ? $2 : $1); i++) print i }')
}

two() {
	[ "${#cpus[@]}" -ge 2 ] || skip "needs two CPUs"
	list=${cpus[0]},${cpus[1]}
}

# Two CPUs, small messages, little time: it matters that something is said, not what.
# 77: that it cannot be.
comm() {
	timeout 120 "$SONDE" comm --cpus "$list" --budget 0.2 --max-size 4K "$@" || [ $? -eq 77 ]
}

@test "the tables have every method, layers and what messages cost" {
	two
	comm --size 1K >out.txt 2>err.txt
	[ ! -s err.txt ]
	grep -q '^Communication between 2 CPUs$' out.txt
	for method in line flag 'shm, 1 KiB' 'copy by [a-z]*, 1 KiB'; do
		grep -qE "^$method: (a load|half)" out.txt
	done
	grep -qE '^  layer  latency ' out.txt
	grep -qE '^ +4 KiB ( +[0-9.-]+ [num]?s| +-){4}' out.txt
	grep -qE '^  LogGP: L ' out.txt
	LC_ALL=C run ! grep $'[^\t -~]' out.txt
	run ! grep ' $' out.txt
}

@test "the JSON has the two places, the pair, one layer and its points" {
	two
	comm --method shm,flag --size 1K,64 --json >c.json
	[ "$(json c.json 'join " ", map { "$_->{method}:" . ($_->{bytes} // "-") }
		@{$d->{communication}{methods}}')" = "flag:- shm:1024 shm:64" ]
	[ "$(json c.json 'join ",", map { $_->{cpu} } @{$d->{communication}{places}}')" = "$list" ]
	[ "$(json c.json 'scalar grep { @{$_->{pairs}} == 1 && @{$_->{layers}} <= 1 && @{$_->{matrix}} == 2 }
		@{$d->{communication}{methods}}')" = 3 ]
	[ "$(json c.json 'my $m = $d->{communication}{methods}[1]; my $l = $m->{layers}[0];
		!$l || ($m->{matrix}[0]{latency_ns}[1] == $m->{pairs}[0]{latency_ns} &&
		"@{$l->{groups}[0]{places}}" eq "0 1" && $l->{points}[-1]{bytes} <= 4096 &&
		$l->{loggp}{segments}[-1]{to_bytes} == $l->{points}[-1]{bytes}) ? 1 : 0')" = 1 ]
	# Curves are of the first size only.
	[ "$(json c.json 'scalar map { @{$_->{points}} } @{$d->{communication}{methods}[2]{layers}}')" = 0 ]
}

@test "the JSON is a profile by the schema" {
	two
	comm --json >c.json
	run /usr/bin/python3 -m jsonschema -i c.json "$SOURCE/lib/sonde-profile-1.schema.json"
	[ "$status" -eq 0 ]
}

@test "sonde-profile(5) has every field of its JSON" {
	two
	comm --json >m.json
	documented m.json communication
}

@test "sonde-profile(5) has what it says of communication in the same section" {
	sed -n '/^\.Ss communication/,/^\.Ss/p' "$SOURCE/man/sonde-profile.5" >section
	for field in places rank host method via matrix layers groups representative gap_ns loggp \
		segments byte_ns concurrency; do
		grep -qE "^\.It .*Va $field( |\$)" section
	done
}

@test "the figure has a square for each two CPUs, and is valid XML" {
	two
	comm --method flag --figure f.svg >/dev/null
	[ ! -e f.svg ] && skip "the CPUs are too busy"
	perl -MXML::Parser -e 'XML::Parser->new->parsefile("f.svg")' 2>/dev/null ||
		/usr/bin/python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("f.svg")'
	[ "$(grep -c '<rect' f.svg)" -ge 4 ]
	refused 1 "cannot write no/such: No such file or directory; name another with --figure" \
		timeout 120 "$SONDE" comm --cpus "$list" --budget 0.1 --method line --figure no/such
}

@test "one CPU has nobody to communicate with" {
	refused 77 "one CPU has nobody to communicate with; allow two or more" \
		"$SONDE" comm --cpus "${cpus[0]}"
	refused 77 "one CPU has nobody" taskset -c "${cpus[0]}" "$SONDE" comm
}

@test "a signal in the middle ends it as that signal does" {
	two
	interrupted "$SONDE" comm --budget 100
}

@test "mistakes are usage errors" {
	refused 2 "--cpus wants a list of CPUs" "$SONDE" comm --cpus 1-0
	refused 2 "CPU 99999 is not among those" "$SONDE" comm --cpus 99999
	refused 2 "did you mean '--all-pairs'" "$SONDE" comm --all-pears
	refused 2 "--method: 'mpi' is none; line, flag, shm and copy are" "$SONDE" comm --method shm,mpi
	refused 2 "--method wants some of line, flag, shm and copy" "$SONDE" comm --method ""
	refused 2 "--size x: not a size" "$SONDE" comm --size 1K,x
	refused 2 "--size 1G: messages of at most 64M" "$SONDE" comm --size 1G
	refused 2 "--size: at most 16 sizes" "$SONDE" comm --size 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17
	refused 2 "--mpi lam: not one of mpich, openmpi" "$SONDE" comm --mpi lam
	refused 2 "--figure: the file's name is empty" "$SONDE" comm --figure ""
	refused 2 "--budget 0: not a number of seconds" "$SONDE" comm --budget 0
}
