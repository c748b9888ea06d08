# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Jobs of either MPI, with a deadline. Sourced by tests that know $O.

job() { # RANKS PROGRAM...
	ranks=$1
	shift
	timeout 300 "$O/sonde" run --no-coll mpiexec.mpich -n "$ranks" "$@"
}

ompi_job() {
	ranks=$1
	shift
	timeout 300 mpiexec.openmpi --allow-run-as-root --oversubscribe -n "$ranks" "$@"
}

# says PATTERN COMMAND...: it fails with $wanted and one line of $ours, with PATTERN, on
# stderr. Sourced by tests that know $dir.
wanted=1
# shellcheck disable=SC2154 # $dir and $ours are the test's
says() {
	pattern=$1
	shift
	"$@" >"$dir/out" 2>"$dir/err"
	status=$?
	cat "$dir/err"
	[ "$status" = "$wanted" ] && [ "$(grep -c "^$ours" "$dir/err")" = 1 ] &&
		grep -qE -- "$pattern" "$dir/err"
}
