# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# The compiler of another Debian release, in a folder of the cache. Modules must
# be built by the compiler series that built the kernel, and the host programs
# in the headers package need that release's libc. Sourced by `kernels`.

# What it holds; a change of this list makes a new one.
toolchain_packages() {
	local gcc=gcc
	case $1 in
	trixie) gcc='gcc-14' ;;
	esac
	echo "make,$gcc,libc6-dev,libelf-dev,dwarves,sparse"
}

# toolchain_get SUITE: prints the folder, made if it is not there.
toolchain_get() (
	dir=$CACHE/toolchain/$1-$(toolchain_packages "$1" | cksum | cut -d' ' -f1)
	if [ ! -e "$dir" ]; then
		need mmdebstrap tar
		lock "toolchain-$1"
		[ -e "$dir" ] || toolchain_make "$1" "$dir" >&2
	fi
	echo "$dir"
)

toolchain_make() {
	local line tmp
	line=$(apt_line "$1") || exit 1
	mkdir -p "$CACHE/toolchain"
	rm -rf "$CACHE/toolchain/.$1".*
	tmp=$(mktemp -d "$CACHE/toolchain/.$1.XXXXXX")
	# shellcheck disable=SC2064 # of now
	trap "rm -rf '$tmp'" EXIT
	say "installing the compiler of $1"
	# By way of tar, so that one who is not root owns every file.
	mmdebstrap --quiet --variant=apt --architectures=amd64 \
		--include="$(toolchain_packages "$1")" \
		"$1" "$tmp/root.tar" "$line" >"$tmp/log" 2>&1 || {
		cat "$tmp/log" >&2
		die "cannot install the compiler of $1" \
			"(one who is not root needs a range in /etc/subuid)"
	}
	mkdir "$tmp/root"
	tar -x -C "$tmp/root" -f "$tmp/root.tar" --no-same-owner \
		--exclude='./dev/*' || die "cannot unpack the compiler of $1"
	rm -rf "$CACHE/toolchain/$1"-*
	mv "$tmp/root" "$2"
}

# toolchain_run ROOT DIR... -- CMD...: runs CMD inside, with each DIR visible
# under its own name, in a mount namespace that ends with it.
toolchain_run() {
	local root=$1 dirs=() unshare=(unshare -m)
	shift
	while [ "$1" != -- ]; do
		dirs+=("$1")
		shift
	done
	shift
	[ "$(id -u)" -eq 0 ] || unshare=(unshare -m --map-root-user)
	# shellcheck disable=SC2016 # expanded by the inner shell
	"${unshare[@]}" sh -euc '
		root=$1; n=$2; shift 2
		mount --rbind /proc "$root/proc"
		mount --rbind /dev "$root/dev"
		while [ "$n" -gt 0 ]; do
			mkdir -p "$root$1"
			mount --bind "$1" "$root$1"
			shift; n=$((n - 1))
		done
		exec chroot "$root" /usr/bin/env -i \
			PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"
		' sh "$root" "${#dirs[@]}" "${dirs[@]}" "$@"
}
