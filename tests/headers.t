#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The public face of the library: headers, exported symbols, their documentation
# and their pages are all of the same things. Run from the top of the tree.
set -eu

O=${O:-build}
so=$O/libsonde.so
map=lib/libsonde.map
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# shellcheck source=tests/tap.sh
. tests/tap.sh

# only_in LEFT RIGHT WHAT: lines of one sorted list that are not in the other.
only_in() {
	comm -23 "$1" "$2" >"$dir/only"
	[ ! -s "$dir/only" ] || { echo "$3:"; cat "$dir/only"; return 1; }
}

includes() {
	for header in include/sonde/*.h include/uapi/linux/*.h; do
		echo "${header#include/uapi/}" | sed 's|^include/||'
	done
}

# compiles_alone HEADER COMPILER...: nothing needs to be included before it.
compiles_alone() {
	header=$1
	shift
	printf '#include <%s>\n#include <%s>\nint x;\n' "$header" "$header" |
		"$@" -Wall -Wextra -pedantic -Werror -Iinclude -Iinclude/uapi -fsyntax-only -
}

# What the map exports.
sed -n 's/^[[:space:]]*\(sonde_[a-z0-9_]*\);.*/\1/p' "$map" | sort >"$dir/map"

# And with those of libsonde-coll and libsonde-dsm, which have headers among them.
sed -n 's/^[[:space:]]*\(sonde_[a-z0-9_]*\);.*/\1/p' "$map" coll/libsonde-coll.map dsm/libsonde-dsm.map |
	sort >"$dir/maps"

# What headers declare, each with the comment before it: "name since" a line; the one that
# gives pthread's names declares none of its own.
find include/sonde -name '*.h' ! -name '*-pthread.h' -exec awk '
	/^\/\*\*/ { comment = ""; inside = 1 }
	inside { comment = comment $0 " " }
	/\*\// { inside = 0; next }
	inside { next }
	/^[a-z].*[ *](sonde_[a-z0-9_]+)\(/ {
		name = $0
		sub(/\(.*/, "", name)
		sub(/.*[ *]/, "", name)
		# Its own comment begins with its name.
		since = index(comment, " " name "()") && comment ~ /Since: [0-9]+\.[0-9]+/
		print name, since ? "since" : "-"
		comment = ""
	}
' {} + | sort >"$dir/declared-since"
cut -d' ' -f1 "$dir/declared-since" | sort >"$dir/declared"

# What the library has for others: code and data, without the names of versions.
nm -D --defined-only "$so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
	sort >"$dir/exported"

# What pages are about.
sed -n 's/^\.Nm \(sonde_[a-z0-9_]*\).*/\1/p' man/*.3 | sort -u >"$dir/pages"

map_is_declared() { only_in "$dir/map" "$dir/declared" 'in the map, in no header'; }
declared_is_in_map() { only_in "$dir/declared" "$dir/maps" 'in a header, not in the map'; }
map_is_exported() { only_in "$dir/map" "$dir/exported" "in the map, not in $so"; }
exported_is_in_map() { only_in "$dir/exported" "$dir/map" "in $so, not in the map"; }
map_has_pages() { only_in "$dir/map" "$dir/pages" 'in the map, in .Nm of no page'; }
pages_are_in_map() { only_in "$dir/pages" "$dir/maps" 'in .Nm of a page, not in the map'; }
# What has a name, arguments and meaning of POSIX is described there.
is_posix() { grep -qw -e "pthread_$1" -e "$1" /usr/include/pthread.h /usr/include/semaphore.h; }
declared_has_since() {
	sed -n 's/ -$//p' "$dir/declared-since" | while read -r name; do
		is_posix "${name#sonde_dsm_}" || echo "$name"
	done | awk '{ print } END { exit NR > 0 }'
}
lists_are_not_empty() {
	for list in map declared exported pages; do
		[ -s "$dir/$list" ] || { echo "found nothing in: $list"; return 1; }
	done
}
versions_are_known() {
	! nm -D --defined-only "$so" | awk '$2 != "A"' | grep -v '@@SONDE_[0-9]'
}
# What is installed here, and listed, is no matter of the page.
is_clean() {
	! mandoc -Tlint -Wall "$1" 2>&1 | grep -v -e 'referenced manual not found' -e 'mandoc\.db'
}
references_exist() {
	sed -n 's/^\.\(It \)\{0,1\}Xr \(sonde[a-z_-]*\) \([1-9]\).*/\2.\3/p' man/*.[1-9] | sort -u |
		while read -r page; do [ -e "man/$page" ] || echo "man/$page is not there"; done |
		awk '{ print } END { exit NR > 0 }'
}

for header in $(includes); do
	check "$header compiles alone in C" \
		compiles_alone "$header" "${CC:-gcc}" -std=gnu11 -x c
	check "$header compiles alone in C with clang" \
		compiles_alone "$header" clang -std=gnu11 -x c
	check "$header compiles alone in C++17" \
		compiles_alone "$header" clang++ -std=c++17 -x c++
done
check 'there is something to compare' lists_are_not_empty
check 'every symbol of the map is declared in a header' map_is_declared
check 'every function of a header is in the map' declared_is_in_map
check 'every symbol of the map is in the library' map_is_exported
check 'the library exports nothing else' exported_is_in_map
check 'every exported symbol has a version' versions_are_known
check 'every function of a header has its own comment with Since:' declared_has_since
check 'every symbol of the map has a manual page' map_has_pages
check 'every function of a manual page is in the map' pages_are_in_map
check 'every page that a page refers to is there' references_exist
# Those of sections 1 and 5 are held against --help in tests/cli.
for page in man/sonde_*.3 man/sonde.7; do
	check "$page is clean mdoc" is_clean "$page"
done
echo "1..$count"
[ "$failed" -eq 0 ]
