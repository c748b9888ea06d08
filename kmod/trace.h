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

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
