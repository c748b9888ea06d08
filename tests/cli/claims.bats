#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `sonde cache`: who claims what, and where claims contradict each other. The
# claims are of a recorded machine; what is measured is of this one.
# shellcheck disable=SC2016,SC2164 # variables of Perl; bats ends a test at what fails
load helper

setup() {
	cd "$BATS_TEST_TMPDIR"
	# A machine of its own, that hwloc says nothing of.
	lstopo-no-graphics --no-caches --no-icaches --of xml >bare.xml
	export HWLOC_XMLFILE="$PWD/bare.xml" SONDE_CLAIMS_ROOT="$PWD"
	cpu=$(taskset -cp $$ | sed 's/.*[-, ]//')
}

# index N LEVEL TYPE SIZE WAYS: a cache as the kernel claims it
index() {
	local dir=sys/devices/system/cpu/cpu$cpu/cache/index$1
	mkdir -p "$dir"
	echo "$2" >"$dir/level"
	echo "$3" >"$dir/type"
	echo "$4" >"$dir/size"
	echo "$5" >"$dir/ways_of_associativity"
	echo 64 >"$dir/coherency_line_size"
	echo "$cpu" >"$dir/shared_cpu_list"
}

zen5() {
	cp "$SOURCE/tests/recordings/cpuid-zen5.txt" cpuid
	index 0 1 Data 48K 12
	index 1 1 Instruction 32K 8
	index 2 2 Unified 1024K 16
	index 3 3 Unified 32768K 16
}

# 77: that nothing can be told of this machine just now.
cache() {
	"$SONDE" cache --cpu "$cpu" "${SHORT[@]}" "$@" || [ $? -eq 77 ]
}

@test "leaves of one processor that contradict each other are a headline" {
	zen5
	cache >table.txt
	grep -q '^! L3: sysfs and CPUID 8000001Dh say 32 MiB, CPUID 80000006h says 384 MiB; ' table.txt
	# Which has no number of ways for it, so it contradicts nobody in that.
	run ! grep '^! L3 ways' table.txt
}

@test "sources that agree share a line, those that do not have one each" {
	zen5
	cache >table.txt
	[ "$(grep -c '  L3  ' table.txt)" -eq 1 ]
	grep -qE '^ +L3 .* 32 MiB, 16 ways, 64 B lines +sysfs, CPUID 8000001Dh' table.txt
	grep -qE '^ +384 MiB, 64 B lines +CPUID 80000006h' table.txt
	grep -qE '^ +L1d .* 48 KiB, 12 ways, 64 B lines +sysfs, CPUID 80000005h, CPUID 8000001Dh' table.txt
}

@test "what one source calls otherwise is a headline of its own: ways" {
	cp "$SOURCE/tests/recordings/cpuid-core2.txt" cpuid
	cache >table.txt
	grep -q '^! L2 ways: CPUID 2 and CPUID 4 say 24, CPUID 80000006h says 16; ' table.txt
}

@test "a level that one source has and another has not is a headline" {
	index 0 1 Data 48K 12
	index 1 3 Unified 1048576K 16
	cp "$SOURCE/tests/recordings/cpuid-core2.txt" cpuid
	cache >table.txt
	grep -q '^! L3: sysfs knows it, CPUID 4 does not; ' table.txt
	grep -q '^! L2: CPUID 2, CPUID 4 and CPUID 80000006h know it, sysfs does not; ' table.txt
}

@test "the JSON has every claim with its source, and why others are silent" {
	zen5
	cache --json >c.json
	[ "$(json c.json 'scalar grep { $_->{source} eq "sysfs" } @{$d->{claims}}')" = 3 ]
	[ "$(json c.json 'join " ", map { $_->{size} >> 20 }
		grep { $_->{level} == 3 } @{$d->{claims}}')" = "32 384 32" ]
	[ "$(json c.json '(grep { $_->{source} eq "CPUID 8000001Dh" && $_->{level} == 3 }
		@{$d->{claims}})[0]{threads}')" = 16 ]
	[ "$(json c.json '(grep { $_->{source} eq "sysfs" } @{$d->{claims}})[0]{cpus}')" = "$cpu" ]
	[ "$(json c.json '(grep { $_->{source} eq "CPUID 4" } @{$d->{claim_sources}})[0]{why}')" = \
		"the leaf lists no data cache" ]
	[ "$(json c.json '(grep { $_->{source} eq "sysfs" } @{$d->{claim_sources}})[0]{why}')" = null ]
	[ "$(json c.json 'scalar @{$d->{claim_sources}}')" = 7 ]
}

@test "a claim is held against what was measured, whoever made it" {
	index 0 1 Data 1048576K 16
	cache --json >c.json
	[ "$(json c.json '$d->{claims}[0]{agrees} ? 1 : 0')" = 0 ]
	sure "$SONDE" cache --cpu "$cpu" "${SHORT[@]}"
	grep -qE '^! L1d: sysfs says 1 GiB; measured ' <<<"$output"
}

@test "with no claims at all it measures all the same, and says nothing of them" {
	sure "$SONDE" cache --cpu "$cpu" "${SHORT[@]}"
	[ -z "$stderr" ]
	has "$output" L1d
	run ! grep '^!' <<<"$output"
	cache --json >c.json
	[ "$(json c.json 'scalar @{$d->{claims}}')" = 0 ]
	[ "$(json c.json 'scalar grep { defined $_->{why} } @{$d->{claim_sources}}')" = 7 ]
}

@test "a recording that is rubbish claims nothing and harms nothing" {
	head -c 100000 /dev/urandom >cpuid
	mkdir -p "sys/devices/system/cpu/cpu$cpu/cache/index0"
	head -c 1000 /dev/urandom >"sys/devices/system/cpu/cpu$cpu/cache/index0/level"
	head -c 1000 /dev/urandom >"sys/devices/system/cpu/cpu$cpu/cache/index0/type"
	sure "$SONDE" cache --cpu "$cpu" "${SHORT[@]}"
	[ -z "$stderr" ]
}

@test "the report's page has the headlines and who claims what" {
	zen5
	"$SONDE" report --cpu "$cpu" "${SHORT[@]}" -o out >/dev/null
	xmllint --noout --nonet out/report.html
	grep -q 'class="headline">L3: sysfs and CPUID 8000001Dh say 32 MiB, CPUID 80000006h says 384 MiB' \
		out/report.html
	grep -q '<td class="soft">sysfs, CPUID 8000001Dh</td>' out/report.html
}

@test "on this machine CPUID and the kernel are heard" {
	unset SONDE_CLAIMS_ROOT
	[ -r "/sys/devices/system/cpu/cpu$cpu/cache/index0/size" ] || skip "the kernel claims no caches here"
	cache --json >c.json
	[ "$(json c.json 'grep({ $_->{source} eq "sysfs" } @{$d->{claims}}) ? 1 : 0')" = 1 ]
	case $(uname -m) in x86_64) ;; *) skip "only x86 has CPUID" ;; esac
	[ "$(json c.json 'grep({ $_->{source} =~ /^CPUID/ } @{$d->{claims}}) ? 1 : 0')" = 1 ]
}
