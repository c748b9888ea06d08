#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The uapi header keeps its promises to every compiler: it needs no other header
# before it, and its structs have the same layout without holes in C, in C++ and
# in 32-bit programs, which the module serves too.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd -P)
header=$top/include/uapi/linux/sonde.h
n=0 failed=0

tmp=$(mktemp -d "${TMPDIR:-/tmp}/sonde-uapi.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM HUP

result() {
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		sed 's/^/# /' "$tmp/log"
		failed=1
	fi
}

skip() {
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

runs() {
	local name=$1 rc=0
	shift
	"$@" >"$tmp/log" 2>&1 || rc=$?
	result "$rc" "$name"
}

cat >"$tmp/layout.h" <<'END'
#include <linux/sonde.h>
#include <stddef.h>
#ifdef __cplusplus
#define _Static_assert static_assert
#endif
#define SIZE(type, size) \
	_Static_assert(sizeof(struct type) == (size), #type " has another size")
#define AT(type, field, offset) \
	_Static_assert(offsetof(struct type, field) == (offset), #field " moved")
SIZE(sonde_info, 80);
AT(sonde_info, size, 0);
AT(sonde_info, abi, 4);
AT(sonde_info, features, 8);
AT(sonde_info, rights, 16);
AT(sonde_info, page_size, 24);
AT(sonde_info, max_pages, 28);
AT(sonde_info, counter, 32);
AT(sonde_info, colour_bits, 36);
AT(sonde_info, counter_hz, 40);
AT(sonde_info, version, 48);
SIZE(sonde_frame, 24);
AT(sonde_frame, frame, 0);
AT(sonde_frame, colour, 8);
AT(sonde_frame, flags, 12);
AT(sonde_frame, node, 14);
AT(sonde_frame, order, 16);
AT(sonde_frame, reserved, 17);
SIZE(sonde_frames, 40);
AT(sonde_frames, size, 0);
AT(sonde_frames, flags, 4);
AT(sonde_frames, addr, 8);
AT(sonde_frames, npages, 16);
AT(sonde_frames, entries, 24);
AT(sonde_frames, done, 32);
SIZE(sonde_alloc, 80);
AT(sonde_alloc, size, 0);
AT(sonde_alloc, flags, 4);
AT(sonde_alloc, npages, 8);
AT(sonde_alloc, node, 16);
AT(sonde_alloc, nmasks, 20);
AT(sonde_alloc, masks, 24);
AT(sonde_alloc, colours, 32);
AT(sonde_alloc, off_colour, 40);
AT(sonde_alloc, runs, 48);
AT(sonde_alloc, longest, 56);
AT(sonde_alloc, drawn, 64);
AT(sonde_alloc, fd, 72);
AT(sonde_alloc, reserved, 76);
SIZE(sonde_window, 32);
AT(sonde_window, begin, 0);
AT(sonde_window, ticks, 8);
AT(sonde_window, chain, 16);
AT(sonde_window, reads, 24);
AT(sonde_window, flags, 28);
SIZE(sonde_event, 16);
AT(sonde_event, type, 0);
AT(sonde_event, error, 4);
AT(sonde_event, config, 8);
SIZE(sonde_lane, 72);
AT(sonde_lane, cpu, 0);
AT(sonde_lane, steps, 4);
AT(sonde_lane, places, 8);
AT(sonde_lane, nplaces, 16);
AT(sonde_lane, skip, 24);
AT(sonde_lane, windows, 32);
AT(sonde_lane, counts, 40);
AT(sonde_lane, nwindows, 48);
AT(sonde_lane, done, 52);
AT(sonde_lane, slices, 56);
AT(sonde_lane, disturbed, 60);
AT(sonde_lane, longest, 64);
SIZE(sonde_chase, 40);
AT(sonde_chase, size, 0);
AT(sonde_chase, flags, 4);
AT(sonde_chase, memory, 8);
AT(sonde_chase, nlanes, 12);
AT(sonde_chase, lanes, 16);
AT(sonde_chase, events, 24);
AT(sonde_chase, nevents, 32);
AT(sonde_chase, slice_us, 36);
SIZE(sonde_clock_cpu, 40);
AT(sonde_clock_cpu, cpu, 0);
AT(sonde_clock_cpu, rounds, 4);
AT(sonde_clock_cpu, offset, 8);
AT(sonde_clock_cpu, error, 16);
AT(sonde_clock_cpu, drift, 24);
AT(sonde_clock_cpu, drift_error, 32);
SIZE(sonde_clocks, 64);
AT(sonde_clocks, size, 0);
AT(sonde_clocks, flags, 4);
AT(sonde_clocks, counter, 8);
AT(sonde_clocks, reference, 12);
AT(sonde_clocks, hz, 16);
AT(sonde_clocks, cpuid_hz, 24);
AT(sonde_clocks, cost, 32);
AT(sonde_clocks, step, 40);
AT(sonde_clocks, cpus, 48);
AT(sonde_clocks, ncpus, 56);
AT(sonde_clocks, done, 60);
SIZE(sonde_prefetch, 24);
AT(sonde_prefetch, size, 0);
AT(sonde_prefetch, flags, 4);
AT(sonde_prefetch, cpu, 8);
AT(sonde_prefetch, off, 12);
AT(sonde_prefetch, known, 16);
AT(sonde_prefetch, reserved, 20);
SIZE(sonde_export, 56);
AT(sonde_export, size, 0);
AT(sonde_export, flags, 4);
AT(sonde_export, addr, 8);
AT(sonde_export, len, 16);
AT(sonde_export, rights, 24);
AT(sonde_export, fd, 28);
AT(sonde_export, generation, 32);
AT(sonde_export, word, 40);
AT(sonde_export, reserved, 44);
AT(sonde_export, runs, 48);
SIZE(sonde_revoke, 16);
AT(sonde_revoke, size, 0);
AT(sonde_revoke, flags, 4);
AT(sonde_revoke, region, 8);
AT(sonde_revoke, reserved, 12);
SIZE(sonde_check, 40);
AT(sonde_check, size, 0);
AT(sonde_check, flags, 4);
AT(sonde_check, region, 8);
AT(sonde_check, rights, 12);
AT(sonde_check, len, 16);
AT(sonde_check, runs, 24);
AT(sonde_check, error, 32);
AT(sonde_check, first, 36);
SIZE(sonde_slots, 32);
AT(sonde_slots, size, 0);
AT(sonde_slots, flags, 4);
AT(sonde_slots, regions, 8);
AT(sonde_slots, first, 16);
AT(sonde_slots, nregions, 20);
AT(sonde_slots, done, 24);
AT(sonde_slots, reserved, 28);
SIZE(sonde_copy, 40);
AT(sonde_copy, region, 0);
AT(sonde_copy, flags, 4);
AT(sonde_copy, offset, 8);
AT(sonde_copy, addr, 16);
AT(sonde_copy, len, 24);
AT(sonde_copy, result, 32);
SIZE(sonde_copyv, 40);
AT(sonde_copyv, size, 0);
AT(sonde_copyv, flags, 4);
AT(sonde_copyv, copies, 8);
AT(sonde_copyv, ncopies, 16);
AT(sonde_copyv, done, 20);
AT(sonde_copyv, status, 24);
AT(sonde_copyv, eventfd, 32);
AT(sonde_copyv, cpu, 36);
SIZE(sonde_dsm_create, 40);
AT(sonde_dsm_create, size, 0);
AT(sonde_dsm_create, flags, 4);
AT(sonde_dsm_create, npages, 8);
AT(sonde_dsm_create, ntwins, 16);
AT(sonde_dsm_create, unit, 24);
AT(sonde_dsm_create, fd, 28);
AT(sonde_dsm_create, eventfd, 32);
AT(sonde_dsm_create, reserved, 36);
SIZE(sonde_dsm_event, 8);
AT(sonde_dsm_event, page, 0);
AT(sonde_dsm_event, flags, 4);
SIZE(sonde_dsm_events, 2176);
AT(sonde_dsm_events, put, 0);
AT(sonde_dsm_events, listed, 4);
AT(sonde_dsm_events, reserved, 8);
AT(sonde_dsm_events, taken, 64);
AT(sonde_dsm_events, sleeps, 68);
AT(sonde_dsm_events, unused, 72);
AT(sonde_dsm_events, events, 128);
SIZE(sonde_dsm_protect, 24);
AT(sonde_dsm_protect, size, 0);
AT(sonde_dsm_protect, protection, 4);
AT(sonde_dsm_protect, pages, 8);
AT(sonde_dsm_protect, npages, 16);
AT(sonde_dsm_protect, reserved, 20);
SIZE(sonde_dsm_written, 8);
AT(sonde_dsm_written, page, 0);
AT(sonde_dsm_written, twin, 4);
SIZE(sonde_dsm_collect, 32);
AT(sonde_dsm_collect, size, 0);
AT(sonde_dsm_collect, flags, 4);
AT(sonde_dsm_collect, written, 8);
AT(sonde_dsm_collect, room, 16);
AT(sonde_dsm_collect, count, 20);
AT(sonde_dsm_collect, unseen, 24);
AT(sonde_dsm_collect, reserved, 28);
SIZE(sonde_dsm_accessed, 32);
AT(sonde_dsm_accessed, size, 0);
AT(sonde_dsm_accessed, flags, 4);
AT(sonde_dsm_accessed, pages, 8);
AT(sonde_dsm_accessed, accessed, 16);
AT(sonde_dsm_accessed, npages, 24);
AT(sonde_dsm_accessed, reserved, 28);
SIZE(sonde_dsm_untwin, 24);
AT(sonde_dsm_untwin, size, 0);
AT(sonde_dsm_untwin, flags, 4);
AT(sonde_dsm_untwin, pages, 8);
AT(sonde_dsm_untwin, npages, 16);
AT(sonde_dsm_untwin, reserved, 20);
SIZE(sonde_dsm_peers, 24);
AT(sonde_dsm_peers, size, 0);
AT(sonde_dsm_peers, flags, 4);
AT(sonde_dsm_peers, fds, 8);
AT(sonde_dsm_peers, npeers, 16);
AT(sonde_dsm_peers, reserved, 20);
SIZE(sonde_dsm_copy, 32);
AT(sonde_dsm_copy, version, 0);
AT(sonde_dsm_copy, least, 8);
AT(sonde_dsm_copy, got, 16);
AT(sonde_dsm_copy, peer, 24);
AT(sonde_dsm_copy, copies, 28);
/* As numbers, so that nobody changes the ABI by changing a name. */
_Static_assert(SONDE_IOC_INFO == 0xc050d500, "INFO has another number");
_Static_assert(SONDE_IOC_FRAMES == 0xc028d501, "FRAMES has another number");
_Static_assert(SONDE_IOC_ALLOC == 0xc050d502, "ALLOC has another number");
_Static_assert(SONDE_IOC_CHASE == 0xc028d503, "CHASE has another number");
_Static_assert(SONDE_IOC_CLOCK == 0xc040d504, "CLOCK has another number");
_Static_assert(SONDE_IOC_PREFETCH == 0xc018d505, "PREFETCH has another number");
_Static_assert(SONDE_IOC_EXPORT == 0xc038d506, "EXPORT has another number");
_Static_assert(SONDE_IOC_REVOKE == 0xc010d507, "REVOKE has another number");
_Static_assert(SONDE_IOC_COPYV == 0xc028d508, "COPYV has another number");
_Static_assert(SONDE_IOC_SLOTS == 0xc020d509, "SLOTS has another number");
_Static_assert(SONDE_IOC_CHECK == 0xc028d50a, "CHECK has another number");
_Static_assert(SONDE_IOC_DSM_CREATE == 0xc028d50b, "DSM_CREATE has another number");
_Static_assert(SONDE_IOC_DSM_PROTECT == 0xc018d50c, "DSM_PROTECT has another number");
_Static_assert(SONDE_IOC_DSM_COLLECT == 0xc020d50d, "DSM_COLLECT has another number");
_Static_assert(SONDE_IOC_DSM_UNTWIN == 0xc018d50e, "DSM_UNTWIN has another number");
_Static_assert(SONDE_IOC_DSM_PEERS == 0xc018d50f, "DSM_PEERS has another number");
_Static_assert(SONDE_IOC_DSM_ACCESSED == 0xc020d510, "DSM_ACCESSED has another number");
_Static_assert(_IOC_SIZE(SONDE_IOC_CHASE) == sizeof(struct sonde_chase), "");
_Static_assert(_IOC_SIZE(SONDE_IOC_CLOCK) == sizeof(struct sonde_clocks), "");
_Static_assert(_IOC_SIZE(SONDE_IOC_PREFETCH) == sizeof(struct sonde_prefetch), "");
_Static_assert(_IOC_SIZE(SONDE_IOC_ALLOC) == sizeof(struct sonde_alloc), "");
_Static_assert(_IOC_SIZE(SONDE_IOC_INFO) == sizeof(struct sonde_info), "");
_Static_assert(_IOC_SIZE(SONDE_IOC_FRAMES) == sizeof(struct sonde_frames), "");
struct sonde_info info;
struct sonde_frame frame;
struct sonde_frames frames;
struct sonde_alloc alloc;
struct sonde_window window;
struct sonde_event event;
struct sonde_lane lane;
struct sonde_chase chase;
struct sonde_clock_cpu clock_cpu;
struct sonde_clocks clocks;
struct sonde_prefetch prefetch;
END
cp "$tmp/layout.h" "$tmp/layout.c"
cp "$tmp/layout.h" "$tmp/layout.cc"
echo '#include <linux/sonde.h>' >"$tmp/alone.c"
cp "$tmp/alone.c" "$tmp/alone.cc"

# compiles NAME LANGUAGE COMPILER ARGS...
compiles() {
	local name=$1 ext=$2
	shift 2
	if ! command -v "$1" >/dev/null; then
		skip "$name" "no $1"
		return
	fi
	runs "$name" "$@" -Wall -Wextra -Werror -pedantic -Wpadded \
		-fsyntax-only -isystem "$tmp/asm" -I "$top/include/uapi" \
		"$tmp/alone.$ext" "$tmp/layout.$ext"
}

# The 32-bit compiler of a 64-bit machine looks for asm/ elsewhere.
mkdir "$tmp/asm"
multiarch=$(gcc -print-multiarch 2>/dev/null || :)
[ ! -d "/usr/include/$multiarch/asm" ] ||
	ln -s "/usr/include/$multiarch/asm" "$tmp/asm/asm"

echo 1..8
compiles 'C, gcc: compiles alone, layout without padding' c gcc -std=gnu11
compiles 'C, clang' c clang -std=gnu11
compiles 'C++, g++' cc g++ -std=gnu++11
if [ "$(uname -m)" = x86_64 ]; then
	compiles '32 bit, gcc' c gcc -m32 -std=gnu11
else
	skip '32 bit, gcc' 'not on this machine'
fi

if command -v pahole >/dev/null; then
	gcc -g -std=gnu11 -I "$top/include/uapi" -c -o "$tmp/layout.o" "$tmp/layout.c"
	pahole -C "sonde_info,sonde_frame,sonde_frames,sonde_alloc,sonde_window,sonde_event,sonde_lane,sonde_chase,sonde_clock_cpu,sonde_clocks,sonde_prefetch" \
		"$tmp/layout.o" >"$tmp/log"
	result "$(grep -cE 'XXX|hole|padding:' "$tmp/log" || :)" 'pahole sees no holes'
else
	skip 'pahole sees no holes' 'no pahole'
fi

head -n 1 "$header" >"$tmp/first"
runs 'the first line is the licence that system call headers have' grep -qxF \
	'/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */' \
	"$tmp/first"

rc=0
grep -nE '\b(u?int(8|16|32|64)_t|long|size_t|bool)\b' <(
	sed '/^\/\*/,/\*\//d; s|/\*.*\*/||' "$header") >"$tmp/log" && rc=1
result "$rc" 'only types of fixed size'

doc=$(find /usr/lib/linux-kbuild-*/scripts /usr/src/linux-*/scripts \
	-name kernel-doc 2>/dev/null | sort -V | tail -n 1)
if [ -n "$doc" ]; then
	runs 'kernel-doc is complete' "$doc" -none -Werror "$header" \
		"$top"/kmod/*.[ch]
else
	skip 'kernel-doc is complete' 'no kernel-doc (linux-kbuild)'
fi
exit "$failed"
