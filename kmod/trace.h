/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints, one for each operation: events/sonde/ in tracefs. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sonde

#if !defined(SONDE_KMOD_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SONDE_KMOD_TRACE_H

#include <linux/tracepoint.h>
#include <linux/types.h>

/* @probe tells the two devices apart; a string would cost what it is worth. */
TRACE_EVENT(sonde_info,
	TP_PROTO(bool probe, u64 rights),
	TP_ARGS(probe, rights),
	TP_STRUCT__entry(
		__field(bool, probe)
		__field(u64, rights)
	),
	TP_fast_assign(
		__entry->probe = probe;
		__entry->rights = rights;
	),
	TP_printk("node=%s rights=%#llx",
		  __entry->probe ? "sonde-probe" : "sonde", __entry->rights)
);

TRACE_EVENT(sonde_frames,
	TP_PROTO(u64 addr, u64 npages, u32 flags, u64 done, int ret),
	TP_ARGS(addr, npages, flags, done, ret),
	TP_STRUCT__entry(
		__field(u64, addr)
		__field(u64, npages)
		__field(u64, done)
		__field(u32, flags)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->addr = addr;
		__entry->npages = npages;
		__entry->done = done;
		__entry->flags = flags;
		__entry->ret = ret;
	),
	TP_printk("addr=%#llx npages=%llu flags=%#x done=%llu ret=%d",
		  __entry->addr, __entry->npages, __entry->flags,
		  __entry->done, __entry->ret)
);

TRACE_EVENT(sonde_alloc,
	TP_PROTO(u64 npages, u32 flags, int node, u64 drawn, int ret),
	TP_ARGS(npages, flags, node, drawn, ret),
	TP_STRUCT__entry(
		__field(u64, npages)
		__field(u64, drawn)
		__field(u32, flags)
		__field(int, node)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->npages = npages;
		__entry->drawn = drawn;
		__entry->flags = flags;
		__entry->node = node;
		__entry->ret = ret;
	),
	TP_printk("npages=%llu flags=%#x node=%d drawn=%llu ret=%d",
		  __entry->npages, __entry->flags, __entry->node,
		  __entry->drawn, __entry->ret)
);

TRACE_EVENT(sonde_chase,
	TP_PROTO(u32 nlanes, u64 npages, int ret),
	TP_ARGS(nlanes, npages, ret),
	TP_STRUCT__entry(
		__field(u64, npages)
		__field(u32, nlanes)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->npages = npages;
		__entry->nlanes = nlanes;
		__entry->ret = ret;
	),
	TP_printk("nlanes=%u npages=%llu ret=%d", __entry->nlanes,
		  __entry->npages, __entry->ret)
);

TRACE_EVENT(sonde_clock,
	TP_PROTO(u32 ncpus, u32 done, int ret),
	TP_ARGS(ncpus, done, ret),
	TP_STRUCT__entry(
		__field(u32, ncpus)
		__field(u32, done)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->ncpus = ncpus;
		__entry->done = done;
		__entry->ret = ret;
	),
	TP_printk("ncpus=%u done=%u ret=%d", __entry->ncpus, __entry->done,
		  __entry->ret)
);

TRACE_EVENT(sonde_prefetch,
	TP_PROTO(u32 cpu, u32 flags, u32 off, int ret),
	TP_ARGS(cpu, flags, off, ret),
	TP_STRUCT__entry(
		__field(u32, cpu)
		__field(u32, flags)
		__field(u32, off)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->cpu = cpu;
		__entry->flags = flags;
		__entry->off = off;
		__entry->ret = ret;
	),
	TP_printk("cpu=%u flags=%#x off=%#x ret=%d", __entry->cpu,
		  __entry->flags, __entry->off, __entry->ret)
);

TRACE_EVENT(sonde_export,
	TP_PROTO(u64 addr, u64 len, u32 rights, u64 runs, int ret),
	TP_ARGS(addr, len, rights, runs, ret),
	TP_STRUCT__entry(
		__field(u64, addr)
		__field(u64, len)
		__field(u64, runs)
		__field(u32, rights)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->addr = addr;
		__entry->len = len;
		__entry->rights = rights;
		__entry->runs = runs;
		__entry->ret = ret;
	),
	TP_printk("addr=%#llx len=%llu rights=%#x runs=%llu ret=%d",
		  __entry->addr, __entry->len, __entry->rights,
		  __entry->runs, __entry->ret)
);

TRACE_EVENT(sonde_revoke,
	TP_PROTO(int region, int ret),
	TP_ARGS(region, ret),
	TP_STRUCT__entry(
		__field(int, region)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->region = region;
		__entry->ret = ret;
	),
	TP_printk("region=%d ret=%d",
		  __entry->region, __entry->ret)
);

TRACE_EVENT(sonde_check,
	TP_PROTO(int region, u32 error, int ret),
	TP_ARGS(region, error, ret),
	TP_STRUCT__entry(
		__field(int, region)
		__field(u32, error)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->region = region;
		__entry->error = error;
		__entry->ret = ret;
	),
	TP_printk("region=%d error=%u ret=%d",
		  __entry->region, __entry->error, __entry->ret)
);

TRACE_EVENT(sonde_slots,
	TP_PROTO(u32 first, u32 nregions, u32 done, int ret),
	TP_ARGS(first, nregions, done, ret),
	TP_STRUCT__entry(
		__field(u32, first)
		__field(u32, nregions)
		__field(u32, done)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->first = first;
		__entry->nregions = nregions;
		__entry->done = done;
		__entry->ret = ret;
	),
	TP_printk("first=%u nregions=%u done=%u ret=%d",
		  __entry->first, __entry->nregions, __entry->done,
		  __entry->ret)
);

TRACE_EVENT(sonde_copyv,
	TP_PROTO(u32 ncopies, u32 flags, u32 done, int ret),
	TP_ARGS(ncopies, flags, done, ret),
	TP_STRUCT__entry(
		__field(u32, ncopies)
		__field(u32, flags)
		__field(u32, done)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->ncopies = ncopies;
		__entry->flags = flags;
		__entry->done = done;
		__entry->ret = ret;
	),
	TP_printk("ncopies=%u flags=%#x done=%u ret=%d",
		  __entry->ncopies, __entry->flags, __entry->done,
		  __entry->ret)
);

TRACE_EVENT(sonde_dsm_create,
	TP_PROTO(u64 npages, u64 ntwins, u32 unit, int ret),
	TP_ARGS(npages, ntwins, unit, ret),
	TP_STRUCT__entry(
		__field(u64, npages)
		__field(u64, ntwins)
		__field(u32, unit)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->npages = npages;
		__entry->ntwins = ntwins;
		__entry->unit = unit;
		__entry->ret = ret;
	),
	TP_printk("npages=%llu ntwins=%llu unit=%u ret=%d", __entry->npages,
		  __entry->ntwins, __entry->unit, __entry->ret)
);

/* EAGAIN: it waits. */
TRACE_EVENT(sonde_dsm_fault,
	TP_PROTO(u32 page, bool is_write, int ret),
	TP_ARGS(page, is_write, ret),
	TP_STRUCT__entry(
		__field(u32, page)
		__field(int, ret)
		__field(bool, is_write)
	),
	TP_fast_assign(
		__entry->page = page;
		__entry->ret = ret;
		__entry->is_write = is_write;
	),
	TP_printk("page=%u write=%d ret=%d", __entry->page,
		  __entry->is_write, __entry->ret)
);

TRACE_EVENT(sonde_dsm_protect,
	TP_PROTO(u32 npages, u32 protection, int ret),
	TP_ARGS(npages, protection, ret),
	TP_STRUCT__entry(
		__field(u32, npages)
		__field(u32, protection)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->npages = npages;
		__entry->protection = protection;
		__entry->ret = ret;
	),
	TP_printk("npages=%u protection=%u ret=%d", __entry->npages,
		  __entry->protection, __entry->ret)
);

TRACE_EVENT(sonde_dsm_collect,
	TP_PROTO(u32 count, int ret),
	TP_ARGS(count, ret),
	TP_STRUCT__entry(
		__field(u32, count)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->count = count;
		__entry->ret = ret;
	),
	TP_printk("count=%u ret=%d", __entry->count, __entry->ret)
);

TRACE_EVENT(sonde_dsm_untwin,
	TP_PROTO(u32 npages, u32 freed),
	TP_ARGS(npages, freed),
	TP_STRUCT__entry(
		__field(u32, npages)
		__field(u32, freed)
	),
	TP_fast_assign(
		__entry->npages = npages;
		__entry->freed = freed;
	),
	TP_printk("npages=%u freed=%u", __entry->npages, __entry->freed)
);

TRACE_EVENT(sonde_dsm_accessed,
	TP_PROTO(u32 npages, int ret),
	TP_ARGS(npages, ret),
	TP_STRUCT__entry(
		__field(u32, npages)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->npages = npages;
		__entry->ret = ret;
	),
	TP_printk("npages=%u ret=%d", __entry->npages, __entry->ret)
);

TRACE_EVENT(sonde_dsm_peers,
	TP_PROTO(u32 npeers, int ret),
	TP_ARGS(npeers, ret),
	TP_STRUCT__entry(
		__field(u32, npeers)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->npeers = npeers;
		__entry->ret = ret;
	),
	TP_printk("npeers=%u ret=%d", __entry->npeers, __entry->ret)
);

/* EBUSY: the page must be shut there first. */
TRACE_EVENT(sonde_dsm_copy,
	TP_PROTO(u32 page, u32 peer, u64 version, int ret),
	TP_ARGS(page, peer, version, ret),
	TP_STRUCT__entry(
		__field(u64, version)
		__field(u32, page)
		__field(u32, peer)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->version = version;
		__entry->page = page;
		__entry->peer = peer;
		__entry->ret = ret;
	),
	TP_printk("page=%u peer=%u version=%llu ret=%d", __entry->page,
		  __entry->peer, __entry->version, __entry->ret)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
