# SPDX-License-Identifier: GPL-2.0-or-later
# Turns what came over the guest's second serial port into one TAP stream, and
# holds every program to its plan and exit status. Lines that begin with @ and
# the token come from `session`, all others from the program that runs.
#
# Variables: token, plain, rc (of QEMU), timeout, out (folder of the logs),
# names (file: a program's name a line), bad (file: bad lines of the log).

function diag(text) { print "# " text > "/dev/stderr" }

function result(ok, name, directive) {
	if (!ok)
		failed++
	if (plain) {
		if (!ok)
			diag(name)
		return
	}
	printf "%s %d - %s%s\n", ok ? "ok" : "not ok", ++total, name, directive
	fflush()
}

# The last @most lines of those that are like @what. Return: how many there are.
function show_file(file, most, what,   line, n, lines) {
	while ((getline line < file) > 0)
		if (line ~ what)
			lines[++n] = line
	close(file)
	for (most = n > most ? n - most + 1 : 1; most <= n; most++) {
		sub(/\r$/, "", lines[most])
		diag("  " lines[most])
	}
	return n
}

# What a program said since its last test, to a person if it failed.
function tell_said(loud,   i) {
	for (i = 1; i <= nsaid; i++)
		if (loud)
			diag(said[i])
		else
			print "# " said[i]
	nsaid = 0
}

function begin(n) {
	current = n
	plan = -1
	tests = notok = 0
	held = skip_all = wrong = ""
	plan_last = nsaid = 0
}

function end(status,   name) {
	name = program[current]
	if (plain) {
		if (status)
			result(0, name " exited " status)
	} else if (skip_all != "" && !status) {
		result(1, name, " # SKIP" skip_all)
	} else {
		if (plan < 0)
			wrong = "it printed no plan"
		else if (plan != tests)
			wrong = "it planned " plan " tests and ran " tests
		tell_said(status || wrong != "")
		if (wrong != "")
			result(0, name ": " wrong " (exit " status ")")
		else
			result(!status || notok, name ": keeps its plan" \
				(status ? ", exits " status : " and exits 0"))
	}
	current = 0
	ended++
}

function test_line(line,   ok, n, rest, directive) {
	ok = line !~ /^not /
	sub(/^(not )?ok/, "", line)
	n = match(line, /^ +[0-9]+/) ? substr(line, 1, RLENGTH) + 0 : tests + 1
	rest = substr(line, RLENGTH > 0 ? RLENGTH + 1 : 1)
	tests++
	if (n != tests && wrong == "")
		wrong = "test " n " came where " tests " was due"
	if (match(toupper(rest), / # *(SKIP|TODO)/)) {
		directive = substr(rest, RSTART)
		rest = substr(rest, 1, RSTART - 1)
	}
	sub(/^ *-? */, "", rest)
	tell_said(!ok)
	loud = !ok
	if (!ok && toupper(directive) !~ /TODO/)
		notok++
	if (!ok && toupper(directive) ~ /TODO/) {
		printf "not ok %d - %s: %s%s\n", ++total, program[current], rest, directive
		return
	}
	result(ok, program[current] (rest == "" ? "" : ": " rest), directive)
}

function tap(line) {
	if (line ~ /^(not )?ok( |$)/) {
		test_line(line)
	} else if (line ~ /^1\.\.[0-9]+/) {
		if (plan >= 0)
			wrong = "it printed two plans"
		plan = substr(line, 4) + 0
		if (plan == 0 && match(toupper(line), /# *SKIP/))
			skip_all = substr(line, RSTART + RLENGTH) " "
	} else if (line ~ /^Bail out!/) {
		wrong = line
	} else if (line !~ /^TAP version/) {
		sub(/^# ?/, "", line)
		said[++nsaid] = line
		if (loud)
			tell_said(1)
	}
}

# A line is held back until the next, since `session` puts an empty line before
# its own in case a program's last line has no end.
function flush_held(before_marker) {
	if (!have_held)
		return
	have_held = 0
	if (before_marker && held == "")
		return
	if (plain)
		print held
	else
		tap(held)
}

BEGIN {
	# Of what a late guest's kernel says at an NMI: where CPUs are, and tasks that wait.
	at_hang = "NMI backtrace|RIP: 0010:|state:[RD]"
	while ((getline line < names) > 0)
		program[++programs] = line
	mark = "@" token " "
}

{ sub(/\r$/, "") }

substr($0, 1, length(mark)) == mark {
	split(substr($0, length(mark) + 1), word, " ")
	if (word[1] == "begin") {
		begin(word[2] + 0)
		loud = 0
	} else if (word[1] == "end") {
		flush_held(1)
		end(word[3] + 0)
	} else if (word[1] == "fail") {
		why = substr($0, length(mark) + 6)
	} else if (word[1] == "done") {
		done = 1
	}
	if (word[1] == "ready")
		ready = 1
	next
}

current {
	flush_held(0)
	held = $0
	have_held = 1
}

END {
	if (current)
		flush_held(0)
	if (current && !plain)
		tell_said(1)
	where = current ? "while " program[current] " ran" : \
		!ready ? "before the first program" : \
		ended < programs ? "before " program[ended + 1] : "after the programs"
	clean = (getline line < bad) <= 0
	close(bad)
	result(clean, "the kernel log is clean")
	if (!clean)
		show_file(bad, 20, "")
	if (rc == 124 || rc == 137)
		why = "the guest hung " where ": not done after " timeout " s"
	else if (rc)
		why = "QEMU failed with " rc ": see " out "/qemu.log"
	else if (why == "" && !done)
		why = "the guest crashed " where
	else if (why == "" && ended < programs)
		why = "only " ended " of " programs " programs ran"
	result(why == "", "the guest leaves nothing behind and powers off" \
		(why == "" ? "" : ": " why))
	if (why != "" || !clean) {
		diag("end of " out "/console.log:")
		if (rc != 124 || !show_file(out "/console.log", 40, at_hang))
			show_file(out "/console.log", 40, "")
		if (rc && rc != 124)
			show_file(out "/qemu.log", 10, "")
	}
	if (!plain)
		print "1.." total
	exit failed ? 1 : 0
}
