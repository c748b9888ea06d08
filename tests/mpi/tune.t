#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `sonde tune alltoall` in MPI jobs: what it writes is what the library follows, and
# nothing else of a profile is touched. Nothing is said of speeds.
# shellcheck disable=SC2016,SC2317 # variables of Perl; check calls the functions
set -u
cd "$(dirname "$0")/../.." || exit 1
O=$(realpath "${O:-build}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# No profile of this machine may choose, and none is to be written.
export SONDE_PROFILE=$dir/none
profile=$dir/profile.json
# shellcheck source=tests/tap.sh
. tests/tap.sh
# shellcheck source=tests/mpi/jobs.sh
. tests/mpi/jobs.sh
ours='sonde tune'

if [ ! -x "$O/sonde-tune-mpich" ]; then
	echo "1..0 # SKIP no MPICH: install libmpich-dev and mpich"
	exit 0
fi

tune() { job "$1" "$O/sonde" tune alltoall --budget 0.2 "${@:2}"; }

# holds FILE EXPRESSION: of Perl; $c is the part, @r its rules
holds() {
	perl -MJSON::PP -0777 -e '
		my $d = JSON::PP->new->utf8->decode(scalar <STDIN>);
		my $c = $d->{collectives};
		my @r = @{$c->{alltoall}};
		my $v = eval $ARGV[0];
		die $@ if $@;
		exit !$v;
	' "$2" <"$1" || { cat "$1"; false; }
}

# Every size from 0 up to $1 has one rule of each kind.
covers() {
	holds "$2" '
		for my $in (0, 1) {
			my $next = 0;
			for (sort { $a->{bytes}[0] <=> $b->{bytes}[0] }
			     grep { !!$_->{in_place} == $in } @r) {
				die "gap at $next" if $_->{bytes}[0] != $next;
				$next = $_->{bytes}[1] + 1;
			}
			die "ends at $next" if $next != '"$1"' + 1;
		}
		1'
}

# ---- rules -------------------------------------------------------------------
written() {
	tune 2 --max 512 --save "$profile" >"$dir/table" && cat "$dir/table" "$profile" &&
		covers 512 "$profile" &&
		holds "$profile" '$d->{schema} eq "sonde-profile-1"' &&
		grep -q 'no network to measure' "$dir/table" &&
		holds "$profile" '!grep { "@{$_->{ranks}}" ne "2 2" || "@{$_->{nodes}}" ne "1 1" } @r'
}
check "rules for all sizes are written, within a budget too small" written
check "so is one for blocks of MPI_Alltoallv, of whatever size" holds "$profile" \
	'my @v = @{$c->{alltoallv}}; my $m = $c->{about}{alltoall}[0]{alltoallv};
	 @v == 1 && !$v[0]{bytes} && $v[0]{algorithm} eq $m->{algorithm} &&
	 join(" ", map { $_->{bytes} } @{$m->{sizes}}) eq "8 64 512" &&
	 !grep { $_->{calls} < 1 } @{$m->{sizes}}'

explained() { # RANKS PATTERN [VARIABLE=VALUE...]
	job "$1" env "${@:3}" SONDE_PROFILE="$profile" SONDE_COLL_EXPLAIN=1 "$O/mpich/tests/mpi/comms" \
		>"$dir/out" 2>"$dir/err"
	cat "$dir/err"
	grep -qE "$2" "$dir/err"
}
check "the library follows them and says what was measured" \
	explained 2 'MPI_Alltoall, 2 ranks \(1 x 2\), .*: rule [0-9]+ of the profile: measured: [0-9.]+ '
explained_v() {
	job 2 env SONDE_PROFILE="$profile" SONDE_COLL_EXPLAIN=1 "$O/mpich/bench/alltoall" --v \
		--max 64 --seconds 0.001 --repeats 1 >"$dir/out" 2>"$dir/err"
	cat "$dir/err"
	grep -qE 'MPI_Alltoallv, .*, blocks of any size: .*: rule [0-9]+ of the profile: measured' \
		"$dir/err"
}
check "also of MPI_Alltoallv" explained_v
check "jobs of another size follow the usual rules" explained 3 ': usual rule'
good() { explained 2 '^sonde-coll:' && ! grep -q 'left out' "$dir/err"; }
check "the library finds nothing wrong with them" good

# ---- the profile -------------------------------------------------------------
kept() {
	cat >"$profile" <<-'END'
	{ "schema": "sonde-profile-1", "created": "2026-01-01T00:00:00Z", "sonde_version": "0",
	  "notes": ["mine"], "collectives": { "about": { "who": "me" },
	  "alltoallv": [ { "algorithm": "mpi" } ], "alltoall": [
	  { "nodes": [1, 1], "ranks": [2, 2], "ppn": [2, 2], "bytes": [0, 64], "in_place": false,
	    "algorithm": "flat/pairwise" },
	  { "nodes": [1, 1], "ranks": [2, 2], "ppn": [2, 2], "bytes": [99999, 100000],
	    "in_place": false, "algorithm": "flat/bruck:7" },
	  { "ranks": [5, 5], "algorithm": "flat/bruck:3" } ] } }
	END
	tune 2 --max 64 --save "$profile" &&
		holds "$profile" '$d->{notes}[0] eq "mine" && $c->{about}{who} eq "me" &&
			$c->{alltoallv}[-1]{algorithm} eq "mpi" && $c->{about}{alltoall}[0]{ranks} == 2' &&
		holds "$profile" '$r[-1]{algorithm} eq "flat/bruck:3" &&
			$r[-2]{algorithm} eq "flat/bruck:7"' &&
		holds "$profile" '!grep { $_->{algorithm} eq "flat/pairwise" && !$_->{why} } @r'
}
check "what else is in the profile stays, rules for what was measured again do not" kept

again() {
	tune 2 --max 64 --save "$profile" && holds "$profile" '@{$c->{about}{alltoall}} == 1' &&
		tune 3 --max 64 --save "$profile" && holds "$profile" '@{$c->{about}{alltoall}} == 2' &&
		holds "$profile" 'grep { "@{$_->{ranks}}" eq "2 2" } @r' &&
		holds "$profile" 'my %n; $n{"@{$_->{ranks}} $_->{bytes}[0] $_->{in_place}"}++ for @r;
			!grep { $_ > 1 } values %n' && holds "$profile" '@{$c->{alltoallv}} == 3' &&
		[ "$(find "$dir" -name '.profile*' -o -name 'profile.json?*' | wc -l)" = 0 ]
}
check "each placement keeps its own, once, and no other file is left" again

full() {
	perl -e 'print q({"schema":"sonde-profile-1","created":"2026-01-01T00:00:00Z",),
		q("sonde_version":"0","collectives":{"alltoall":[),
		join(",", (q({"ranks":[7,7],"algorithm":"mpi"})) x 128), "]}}"' >"$profile"
	tune 2 --max 64 --save "$profile" 2>"$dir/err" && cat "$dir/err" &&
		grep -q 'at most 128 rules: the [0-9]* oldest were dropped' "$dir/err" &&
		holds "$profile" '@r + @{$c->{alltoallv}} == 128 && "@{$r[0]{ranks}}" eq "2 2"'
}
check "there are never more rules than the library reads" full

wrong_rules() {
	printf '%s\n' '{ "schema": "sonde-profile-1", "created": "2026-01-01T00:00:00Z",' \
		'"sonde_version": "0", "notes": ["mine"],' \
		'"collectives": { "alltoall": [ { "algorithm": "fast" } ] } }' >"$profile"
	tune 2 --max 64 --save "$profile" 2>"$dir/err" && cat "$dir/err" &&
		grep -q 'are wrong and are replaced: .*"fast" is no' "$dir/err" &&
		covers 64 "$profile" && holds "$profile" '$d->{notes}[0] eq "mine"'
}
check "rules that were wrong are replaced, which is told" wrong_rules

no_profile() {
	printf '{\n  nonsense' >"$profile"
	cp "$profile" "$dir/before"
	says 'profile.json: line 2: .*move it away' tune 2 --max 64 --save "$profile" &&
		cmp "$profile" "$dir/before"
}
check "what is no profile is not touched, and told with its line" no_profile
mkdir "$dir/folder"
check "a file that cannot be written is told of before it is measured" \
	says "cannot write $dir/none/there" tune 2 --save "$dir/none/there"
check "so is a folder" says 'folder' tune 2 --save "$dir/folder"
unwritten() { tune 2 --max 64 --no-save >/dev/null && [ ! -e "$SONDE_PROFILE" ]; }
check "with --no-save nothing is written" unwritten
by_default() {
	SONDE_PROFILE=$dir/mine.json tune 2 --max 64 >/dev/null && covers 64 "$dir/mine.json"
}
check "without --save it is the profile that programs find" by_default
printed() {
	tune 2 --max 64 --no-save --json >"$dir/json" 2>"$dir/err" && covers 64 "$dir/json" &&
		[ ! -s "$dir/err" ]
}
check "--json prints the part that was written, and nothing else" printed

# ---- jobs --------------------------------------------------------------------
wanted=77 check "one rank alone has nothing to measure" says 'nobody to exchange with' tune 1
check "buffers that memory has no room for are refused" says 'give a smaller --max' \
	job 8 bash -c 'ulimit -v 1000000; exec "$@"' - \
	"$O/sonde" tune alltoall --min 64M --max 64M --no-save
# mpiexec may say more than we do.
wanted=2 check "a budget that is none is refused once" \
	says '--budget 0: not a number' job 3 "$O/sonde" tune alltoall --budget 0
forced() {
	SONDE_COLL_ALLTOALL=flat/bruck:5 tune 2 --max 64 --no-save >"$dir/out"
	! grep -q 'bruck:5' "$dir/out"
}
check "what the environment forces does not count here" forced

nodes() {
	MPIR_CVAR_NUM_CLIQUES=2 MPIR_CVAR_CLIQUES_BY_BLOCK=$1 tune 4 --max 128 --save "$profile" \
		>"$dir/table" && cat "$dir/table" && covers 128 "$profile" &&
		grep -q '^Network, ' "$dir/table" && ! grep -q 'no network' "$dir/table" &&
		holds "$profile" '!grep { $_->{mapping} ne "'"$2"'" || "@{$_->{nodes}}" ne "2 2" } @r' &&
		holds "$profile" '$c->{network}{class} =~ /^(onload|hybrid|offload|unclear)$/ &&
			$c->{network}{distribution} =~ /^(dearer|alike|cheaper|unclear)$/' &&
		holds "$profile" 'my $s = $c->{about}{alltoall}[0]{network}{sizes};
			@$s == 5 && !grep { $_->{bandwidth}[1]{mbs} <= 0 } @$s' &&
		MPIR_CVAR_NUM_CLIQUES=2 MPIR_CVAR_CLIQUES_BY_BLOCK=$1 \
			explained 4 'ranks \(2 x 2\), .*: rule [0-9]+ of the profile'
}
rm -f "$profile"
check "on two nodes in blocks the network is measured" nodes 1 block
rm -f "$profile"
check "on two nodes by turns rules are for that" nodes 0 cyclic
others() {
	MPIR_CVAR_NUM_CLIQUES=2 MPIR_CVAR_CLIQUES_BY_BLOCK=1 explained 4 ': usual rule' &&
		! grep -q 'rule [0-9]* of the profile' "$dir/err"
}
check "those are not followed where ranks are in blocks" others

class() { # CLASS DISTRIBUTION PATTERN: the class alone changes what is chosen without rules
	printf '{ "collectives": { "network": { "class": "%s", "distribution": "%s" } } }' "$1" "$2" \
		>"$profile"
	MPIR_CVAR_NUM_CLIQUES=2 UCX_TLS=sysv,self explained 4 "$3" MPI_LOCALNRANKS=2 "$dir/machine"
}
# With more ranks than processors on a node, or on nodes that are one machine, other rules
# come first. So ranks are told that there are two on their node, and of each node's that
# its kernel was booted at another time.
cat >"$dir/machine" <<'END'
#!/bin/sh
echo "node $((PMI_RANK % 2))" >"$0.$PMI_RANK"
exec unshare --mount sh -c \
	'mount --bind "$1" /proc/sys/kernel/random/boot_id && shift && exec env "$@"' \
	sh "$0.$PMI_RANK" "$@"
END
chmod +x "$dir/machine"
if [ "$(nproc)" -ge 2 ] && PMI_RANK=0 "$dir/machine" true 2>/dev/null; then
	check "where ranks queue up at the adapter one sends for all" \
		class offload alike 'leader:1/window:32/shm: usual rule [0-9]+: .* get in each other'
	check "where handing out costs less that is what is done" \
		class hybrid cheaper 'rd/window:32/shm: usual rule [0-9]+: .* handing out'
else
	skip "what classes of networks change" "needs two processors, and root for a mount"
fi

# ---- what is wrong with a profile ---------------------------------------------
told() { # PATTERN TEXT
	printf '%s' "$2" >"$profile"
	job 2 env SONDE_PROFILE="$profile" "$O/mpich/tests/mpi/alltoall" --quick \
		--names mpi,local/shm >"$dir/out" 2>"$dir/err" || return
	cat "$dir/err"
	[ "$(grep -c '^sonde-coll:' "$dir/err")" = 1 ] && grep -qE "$1" "$dir/err"
}
quiet() { # TEXT: nothing is wrong with it
	! told . "$1" && [ ! -s "$dir/err" ] && [ -s "$dir/out" ]
}
check "an unknown key of the network is told with its line" told \
	'line 2: "network", "clas": there' $'{ "collectives": { "network": {\n"clas": "onload" } } }'
check "so is a class that is none" told 'line 3: "network", "class": give "onload"' \
	$'{ "collectives": { "network": { "distribution": "alike",\n\n"class": "fast" } } }'
check "a network that is no object is told of" told 'line 1: "network": give an object' \
	'{ "collectives": { "network": 5 } }'
check "so is a mapping that is none" told 'line 1: rule 1 .*"mapping": give "block"' \
	'{ "collectives": { "alltoall": [ { "algorithm": "mpi", "mapping": "spiral" } ] } }'
check "a reason with control characters is not told" told '"why": give a text of up to 95' \
	'{ "collectives": { "alltoall": [ { "algorithm": "mpi", "why": "\u001b[2J" } ] } }'
long=$(printf '%096d' 0)
check "neither is one that is too long" told '"why": give a text of up to 95' \
	"{ \"collectives\": { \"alltoall\": [ { \"algorithm\": \"mpi\", \"why\": \"$long\" } ] } }"

many() { # RULES: so many in both lists together
	perl -e 'my $r = q({"algorithm":"mpi"});
		print q({"collectives":{"alltoall":[), join(",", ($r) x ($ARGV[0] - 1)),
		qq(],\n"alltoallv":[$r]}})' "$1"
}
check "one rule more than there may be is told of" \
	told 'line [12]: "alltoallv?": give an array of at most 128 rules' "$(many 129)"
check "128 rules are not" quiet "$(many 128)"
check "neither is what has no rules" quiet '{ "schema": "sonde-profile-1" }'
check "nested without end is told of, and ends no job" told 'left out' \
	"$(printf '%0100000d' 0 | tr 0 '[')"
huge() {
	truncate -s 17M "$profile"
	job 2 env SONDE_PROFILE="$profile" "$O/mpich/tests/mpi/alltoall" --quick \
		--names mpi,local/shm >"$dir/out" 2>"$dir/err" || return
	cat "$dir/err"
	grep -q '^sonde-coll: .*more than 16777216 bytes; its rules are left out' "$dir/err"
}
check "a file too large to be a profile is told of" huge

# ---- Open MPI ----------------------------------------------------------------
openmpi() {
	rm -f "$profile"
	ompi_job 2 "$O/sonde" tune alltoall --budget 0.2 --max 64 --save "$profile" &&
		covers 64 "$profile" && holds "$profile" '$c->{about}{alltoall}[0]{mpi} =~ /Open MPI/' &&
		ompi_job 2 env SONDE_PROFILE="$profile" SONDE_COLL_EXPLAIN=1 \
			"$O/openmpi/tests/mpi/alltoall" --quick --names auto 2>"$dir/err"
	cat "$dir/err"
	! grep -q 'left out' "$dir/err"
}
if [ -x "$O/sonde-tune-openmpi" ]; then
	check "so it does with Open MPI" openmpi
fi
echo "1..$count"
exit $failed
