# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Packages of other Debian suites, without touching this machine's apt: every
# suite gets an apt configuration, package lists and cache of its own under
# $CACHE/apt. Only the mirror, its keyring and the network settings are taken
# from the machine. Sourced by `kernels`; needs die(), say() and $CACHE.

# Every repository of this machine with a component `main`, a line each: URI,
# suite, keyring or `-`.
apt_machine_sources() {
	local dir=${SONDE_APT_ETC:-/etc/apt} files=() f
	for f in "$dir"/sources.list "$dir"/sources.list.d/*.list \
		"$dir"/sources.list.d/*.sources; do
		[ -r "$f" ] && files+=("$f")
	done
	[ ${#files[@]} -gt 0 ] || return 0
	awk '
	function paragraph(  i, j, nu, ns, us, ss) {
		nu = split(v["uris"], us); ns = split(v["suites"], ss)
		if (v["types"] ~ /(^| )deb( |$)/ && v["enabled"] !~ /^(no|false|0)/)
			for (i = 1; i <= nu; i++)
				for (j = 1; j <= ns; j++)
					emit(us[i], ss[j], v["components"], v["signed-by"])
		split("", v)
	}
	function emit(uri, suite, components, key) {
		if (components !~ /(^| )main( |$)/)
			return
		sub(/\/+$/, "", uri)
		print uri, suite, key ~ /^\/[^ ]*$/ ? key : "-"
	}
	FNR == 1 { paragraph(); deb822 = FILENAME ~ /\.sources$/; key = "" }
	/^[ \t]*#/ { next }
	deb822 && /^[ \t]*$/ { paragraph(); next }
	deb822 && /^[ \t]/ { v[key] = v[key] " " $0; next }
	deb822 {
		key = tolower(substr($0, 1, index($0, ":") - 1))
		value = substr($0, index($0, ":") + 1)
		gsub(/^[ \t]+|[ \t]+$/, "", value)
		v[key] = value
		next
	}
	$1 == "deb" {
		signed = ""
		if (match($0, /\[[^]]*\]/)) {
			options = substr($0, RSTART + 1, RLENGTH - 2)
			$0 = substr($0, 1, RSTART - 1) substr($0, RSTART + RLENGTH)
			if (match(options, /signed-by=[^ ]*/))
				signed = substr(options, RSTART + 10, RLENGTH - 10)
		}
		emit($2, $3, substr($0, index($0, $3) + length($3)), signed)
	}
	END { paragraph() }' "${files[@]}"
}

# apt_mirror SUITE: prints the URI and keyring that serve SUITE. Debian keeps
# security updates apart from everything else.
apt_mirror() {
	local uri=${SONDE_MIRROR:-} suite key first=''
	[ "$1" = "${1%-security}" ] || uri=${SONDE_MIRROR_SECURITY:-}
	if [ -n "$uri" ]; then
		echo "$uri -"
		return
	fi
	while read -r uri suite key; do
		case $1/$suite in
		*-security/*-security) ;;
		*-security/* | */*-*) continue ;;
		*/bullseye | */bookworm | */trixie | */forky | */sid) ;;
		*/stable | */testing | */unstable | */oldstable) ;;
		*) continue ;;
		esac
		[ -n "$first" ] || first="$uri $key"
		# Others publish for Debian's suites too.
		case $uri in
		*debian*) first="$uri $key"; break ;;
		esac
	done < <(apt_machine_sources)
	[ -n "$first" ] || die "no Debian mirror for $1 in this machine's apt" \
		"sources; name one: SONDE_MIRROR=URI (for -security" \
		"SONDE_MIRROR_SECURITY=URI)"
	echo "$first"
}

# apt_line SUITE: its line for a sources.list.
apt_line() {
	local mirror uri key
	mirror=$(apt_mirror "$1") || return 1
	read -r uri key <<<"$mirror"
	[ "$key" != - ] || key=/usr/share/keyrings/debian-archive-keyring.gpg
	if [ -r "$key" ]; then
		echo "deb [signed-by=$key] $uri $1 main"
	else
		echo "deb $uri $1 main"
	fi
}

# apt_setup SUITE: its private configuration; prints the file's name.
apt_setup() {
	local dir=$CACHE/apt/$1 line
	line=$(apt_line "$1") || return 1
	mkdir -p "$dir/lists/partial" "$dir/archives/partial"
	: >"$dir/status"
	printf '%s\n' "$line" >"$dir/sources.list"
	# The machine's hooks would clean or index the machine's own cache.
	cat >"$dir/apt.conf" <<-CONF
		#clear APT::Update;
		#clear DPkg;
		APT::Architecture "amd64";
		APT::Architectures { "amd64"; };
		APT::Sandbox::User "$(id -un)";
		Acquire::Languages "none";
		Acquire::Retries "3";
		Dir::Etc::SourceList "$dir/sources.list";
		Dir::Etc::SourceParts "-";
		Dir::Etc::Preferences "/dev/null";
		Dir::Etc::PreferencesParts "/dev/null";
		Dir::State "$dir";
		Dir::State::Lists "$dir/lists";
		Dir::State::Status "$dir/status";
		Dir::State::extended_states "$dir/extended_states";
		Dir::Cache "$dir";
		Dir::Cache::archives "$dir/archives";
	CONF
	echo "$dir/apt.conf"
}

# apt_update SUITE: fetches its package lists. Fails with a line that says so.
apt_update() {
	local conf log=$CACHE/apt/$1/update.log
	conf=$(apt_setup "$1") || return 1
	say "package lists of $1"
	# apt calls a missing suite an error but a dead mirror only a warning.
	if apt-get -c "$conf" -q update >"$log" 2>&1 &&
	   ! grep -q '^[WE]: .*\(Failed to fetch\|Some index files\)' "$log"; then
		return 0
	fi
	rm -rf "$CACHE/apt/$1/lists"
	if grep -q 'does not have a Release file\|404' "$log"; then
		warn "$1 is not at $(apt_mirror "$1" | cut -d' ' -f1) any more" \
			"(moved to an archive?): SONDE_MIRROR=URI names another mirror"
	else
		warn "cannot fetch the package lists of $1 (SONDE_MIRROR=URI" \
			"names another mirror):" \
			"$(grep -m1 '^[WE]:' "$log" || tail -n1 "$log")"
	fi
	return 1
}

# apt_newest SUITE REGEX: the package with the highest version whose name matches.
apt_newest() {
	local conf=$CACHE/apt/$1/apt.conf
	apt-cache -c "$conf" dumpavail | awk -v re="^($2)\$" '
		$1 == "Package:" { p = $2 }
		$1 == "Version:" && p ~ re { print $2, p }' |
		sort -V | tail -n1 | cut -d' ' -f2
}

# apt_depends SUITE PACKAGE REGEX: direct dependencies whose names match.
apt_depends() {
	apt-cache -c "$CACHE/apt/$1/apt.conf" depends \
		--no-{recommends,suggests,conflicts,breaks,replaces,enhances} "$2" |
		awk -v re="^($3)" '$1 ~ /Depends:/ && $2 ~ re { print $2 }'
}

# apt_download SUITE DIR PACKAGE...: puts the verified packages into DIR.
apt_download() {
	local suite=$1 dir=$2 log
	shift 2
	log=$CACHE/apt/$suite/download.log
	say "downloading $*"
	if ! (cd "$dir" && apt-get -c "$CACHE/apt/$suite/apt.conf" -q \
		download "$@") >"$log" 2>&1; then
		die "cannot download from $suite:" \
			"$(grep -m1 '^E:' "$log" || tail -n1 "$log")"
	fi
}
