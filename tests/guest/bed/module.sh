# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154 # variables of kernels
# Builds sonde.ko for one kernel in a folder of its own: the module's source, the
# uapi header and the version are copied there, so the tree stays clean and
# kernels do not see each other's objects. Sourced by `kernels`.

# copy_source KMOD SRC: as in the tree, touching only what changed.
copy_source() {
	local kmod=$1 src=$2 f
	mkdir -p "$src/kmod" "$src/include/uapi/linux"
	for f in "$src"/kmod/*.[ch]; do
		[ -e "$kmod/${f##*/}" ] || [ "${f%.mod.c}" != "$f" ] || rm -f "$f"
	done
	for f in "$kmod"/*.[ch] "$kmod/Kbuild" "$kmod/Makefile"; do
		case $f in *.mod.c) continue ;; esac
		copy_changed "$f" "$src/kmod/${f##*/}"
	done
	copy_changed "$top/include/uapi/linux/sonde.h" \
		"$src/include/uapi/linux/sonde.h"
	copy_changed "$top/dkms.conf" "$src/dkms.conf"
}

copy_changed() {
	[ -e "$1" ] || die "$1 is missing"
	cmp -s "$1" "$2" || cp "$1" "$2"
}

# What a build depends on, as one hash.
source_hash() {
	local src=$1
	shift
	(cd "$src" && find . -path ./kmod/'.*' -prune -o \
		\( -name '*.[ch]' ! -name '*.mod.c' -o -name Kbuild -o \
		-name Makefile -o -name dkms.conf \) -type f -print0 |
		sort -z | xargs -0 sha256sum && echo "$@") | sha256sum
}

# run_make NAME SRC ARGS...: in the toolchain the kernel needs.
run_make() {
	local name=$1 src=$2 suite root dir
	shift 2
	suite=$(column "$name" 3)
	if [ "${suite:--}" = - ]; then
		make -C "$src/kmod" CC="${KCC:-gcc}" "$@"
		return
	fi
	root=$(toolchain_get "$suite") || return 1
	dir=$(kernel_dir "$name")
	toolchain_run "$root" "$dir" "$src" -- make -C "$src/kmod" "$@"
}

# Warnings of the compiler, modpost and sparse, but not make's remark that this
# compiler is not the one that built the kernel.
grep_warnings() {
	grep -E '^(WARNING|ERROR): |^[^ ]*:[0-9]+(:[0-9]+)?: (warning|error): ' "$1"
}

# build_module NAME OUT [--kmod DIR] [--sparse]
build_module() (
	[ $# -ge 2 ] || { usage >&2; exit 2; }
	name=$1 out=$2 kmod=$top/kmod flags=(W=1)
	shift 2
	while [ $# -gt 0 ]; do
		case $1 in
		--kmod) kmod=${2:?--kmod needs a folder}; shift ;;
		--sparse) flags+=(C=2 CF=-Wsparse-error) ;;
		*) die "build-module: unknown option $1" ;;
		esac
		shift
	done
	[ -d "$kmod" ] || die "$kmod is not a folder"
	need make flock
	dir=$(kernel_dir "$name")
	mkdir -p "$out"
	out=$(cd "$out" && pwd -P)
	exec 9>"$out/.lock"
	flock 9
	copy_source "$kmod" "$out/src"
	how="$(cat "$dir/release") $dir ${flags[*]}"
	hash=$(source_hash "$out/src" "$how")
	if [ -e "$out/sonde.ko" ] && [ "$hash" = "$(cat "$out/.hash" 2>/dev/null)" ]; then
		exit 0
	fi
	# What was built without a warning, and the same way, need not be built again.
	[ "$how" = "$(cat "$out/.how" 2>/dev/null)" ] ||
		find "$out/src/kmod" -name '*.o' -delete
	rm -f "$out/sonde.ko" "$out/.hash" "$out/.how"
	say "building sonde.ko for $(cat "$dir/release")"
	if ! run_make "$name" "$out/src" KDIR="$(readlink -f "$dir/headers")" \
		"${flags[@]}" >"$out/build.log" 2>&1 9>&-; then
		cat "$out/build.log" >&2
		die "sonde.ko does not build for $name"
	fi
	if grep_warnings "$out/build.log" >&2; then
		die "warnings while building sonde.ko for $name: $out/build.log"
	fi
	cp "$out/src/kmod/sonde.ko" "$out/sonde.ko"
	echo "$how" >"$out/.how"
	echo "$hash" >"$out/.hash"
)
