#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The probe against every machine of the table, undisturbed (lab) and as in a
# cloud. Some 20 minutes for each profile on two CPUs, so it is in `make
# check-long`; SONDE_CORPUS_SEED chooses other machines of the same tables, and
# SONDE_CORPUS_TABLE another table. SONDE_CORPUS_KEEP is a folder for what was found
# out already: a run that was cut short goes on there.
#
# A probe that says too little is to be improved; one that is sure of what is not
# true must not be. So the first is held against what it reached already.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd -P)
table=${SONDE_CORPUS_TABLE:-$top/tests/recordings/machines-dev.tsv}
seed=${SONDE_CORPUS_SEED:-1}
keep=${SONDE_CORPUS_KEEP:-}
# Per cent of all caches, right or unknown; and at most so many confidently wrong.
declare -A least=([lab]=90 [cloud]=95)
most_wrong=0
n=0

# check NAME COMMAND...
check() {
	local name=$1
	shift
	n=$((n + 1))
	if "$@"; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
	fi
}

# judge PROFILE: the last line of a run, in numbers.
judge() {
	local profile=$1 out right caches unknown wrong by_right
	out=$("$top/tests/sim/caches" --profile "$profile" --seed "$seed" \
		${keep:+--keep "$keep/$profile-$seed"} "$table")
	grep -E $'\t(confidently )?wrong\t' <<<"$out" | sed 's/^/# /' || :
	tail -n1 <<<"$out" | sed "s/^/# $profile, seed $seed: /"
	# What is aimed at: all right in lab, right or unknown by right in cloud.
	by_right=$(grep -c $'\tunknown, by right' <<<"$out" || :)
	echo "# $profile, seed $seed: $by_right of the unknown by right"
	read -r right _ caches _ _ unknown _ wrong _ < <(tail -n1 <<<"$out" | tr -d ,)
	check "$profile: not more than $most_wrong confidently wrong" \
		[ "$wrong" -le "$most_wrong" ]
	check "$profile: ${least[$profile]} % or more are right or said to be unknown" \
		[ $((100 * (right + unknown))) -ge $((least[$profile] * caches)) ]
}

judge lab
judge cloud
echo "1..$n"
