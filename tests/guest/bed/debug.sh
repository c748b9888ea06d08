# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154 # variables of kernels
# The debug kernel: Debian's source package of one version, allnoconfig and
# debug.config. One build per configuration and compiler stays in the cache, cut
# down to what booting it and building modules for it needs. Sourced by
# `kernels`.

debug_source=linux-source-6.1
debug_suites=(bookworm bookworm-security)
# With DEBUG_VM inline functions of the headers call it, but 6.1 forgot modules.
debug_append=('mm/debug.c' 'EXPORT_SYMBOL(dump_mm);')

debug_dir() {
	echo "$CACHE/kernels/debug-$({
		echo "$debug_source ${debug_append[*]}"
		gcc -dumpfullversion
		cat "$here/bed/debug.config"
	} | sha256sum | cut -c1-12)"
}

# debug_unpack TMP: the source in TMP/linux.
debug_unpack() (
	tmp=$1
	lock apt
	for suite in "${debug_suites[@]}"; do
		apt_update "$suite" || continue
		[ -n "$(apt_newest "$suite" "$debug_source")" ] || continue
		mkdir "$tmp/deb" "$tmp/linux"
		apt_download "$suite" "$tmp/deb" "$debug_source"
		say "unpacking $debug_source"
		dpkg-deb --fsys-tarfile "$tmp"/deb/*.deb |
			tar -xO "./usr/src/$debug_source.tar.xz" |
			tar -xJ -C "$tmp/linux" --strip-components=1
		rm -r "$tmp/deb"
		exit 0
	done
	die "no $debug_source in ${debug_suites[*]}"
)

debug_configure() {
	local lost
	echo "${debug_append[1]}" >>"${debug_append[0]}"
	make -s ARCH=x86_64 KCONFIG_ALLCONFIG="$here/bed/debug.config" \
		allnoconfig
	lost=$(grep '^CONFIG_' "$here/bed/debug.config" | grep -vxFf .config) || :
	[ -z "$lost" ] ||
		die "lost, as something they need is off:" "${lost//$'\n'/ }"
}

# debug_prune LINUX DIR: what modules are built with, as Debian's headers have.
debug_prune() {
	(cd "$1" && find . -path ./Documentation -prune -o \
		\( -path './scripts/*' -o -path './include/*' -o \
		-path './arch/x86/*' -o -path './tools/objtool/objtool' -o \
		-path './tools/include/*' -o -name 'Makefile*' -o \
		-name 'Kbuild*' -o -name 'Kconfig*' -o -name .config -o \
		-name Module.symvers -o -name vmlinux \) \
		! -name '*.o' ! -name '*.a' ! -name '*.cmd' ! -type d -print0) |
		tar -c -C "$1" --null -T - | tar -x -C "$2"
}

debug_build() {
	local dir tmp
	need apt-get make gcc flex bison bc flock
	dir=$(debug_dir)
	lock kernel-debug
	[ ! -e "$dir/release" ] || return 0
	mkdir -p "$CACHE/kernels"
	rm -rf "$CACHE"/kernels/.debug.*
	tmp=$(mktemp -d "$CACHE/kernels/.debug.XXXXXX")
	# shellcheck disable=SC2064 # of now
	trap "rm -rf '$tmp'" EXIT
	chmod 755 "$tmp"
	debug_unpack "$tmp"
	say 'building the debug kernel: some minutes'
	(cd "$tmp/linux" && debug_configure &&
		make -s ARCH=x86_64 -j"$(nproc)" bzImage modules) \
		>"$CACHE/kernels/debug.log" 2>&1 9>&- || {
		tail -n 20 "$CACHE/kernels/debug.log" >&2
		die "the debug kernel does not build: $CACHE/kernels/debug.log"
	}
	mkdir -p "$tmp/done/headers" "$tmp/done/tree/usr/lib"
	ln -s usr/lib "$tmp/done/tree/lib"
	PATH=$PATH:/usr/sbin:/sbin make -s -C "$tmp/linux" ARCH=x86_64 \
		INSTALL_MOD_PATH="$tmp/done/tree" modules_install >&2
	rm -f "$tmp"/done/tree/lib/modules/*/{build,source}
	cp "$tmp/linux/arch/x86/boot/bzImage" "$tmp/done/vmlinuz"
	cp "$tmp/linux/include/config/kernel.release" "$tmp/done/release"
	debug_prune "$tmp/linux" "$tmp/done/headers"
	mv "$tmp/done" "$dir"
	say "debug is $(cat "$dir/release")"
}
