// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * class - the built-in classes, a source for every value
 *
 * The machines are those of Kumar, Mamidala, Panda, "Scaling Alltoall Collective
 * on Multi-core Systems" (2008), section 6, here "the paper": two 2.33 GHz quad
 * cores a node. Other sources are named in full once:
 *
 *	QLogic		InfiniPath user guide IB6054601-00 D, appendix A
 *	EuroBen		van der Steen, Overview of recent supercomputers, 2008: InfiniPath
 *	Liu 2005	Liu, Mamidala, Vishnu, Panda, IEEE Micro 25(1): PCI Express
 *	Sur 2007	Sur, Koop, Chai, Panda, Hot Interconnects 15, abstract
 *	IBTA		InfiniBand architecture specification 1.2: data rates, MTU
 */
#include <math.h>
#include <string.h>
#include "class.h"
#include "../../lib/rng.h"

#define FIELD(member, unit_of, at_most, cost, says) \
	{ .name = #member, .unit = (unit_of), .offset = offsetof(struct a2a_class, member), \
	  .most = (at_most), .is_cost = (cost), .what = (says) }

const struct a2a_field a2a_fields[A2A_FIELDS] = {
	FIELD(latency_ns, "ns", 1e9, 1, "L: adapter to adapter"),
	FIELD(send_ns, "ns", 1e9, 1, "o of the sender"),
	FIELD(recv_ns, "ns", 1e9, 1, "o of the receiver"),
	FIELD(gap_ns, "ns", 1e9, 1, "g: of an adapter, each way, beside the bytes"),
	FIELD(lone_ns, "ns", 1e9, 1, "more of it where the sender's last went to another peer"),
	FIELD(byte_ns, "ns/B", 1e6, 1, "G"),
	FIELD(pio_byte_ns, "ns/B", 1e6, 1, "O: the processor moves a byte to the adapter"),
	FIELD(pio_max_bytes, "B", 1e15, 0, "longest message that goes that way"),
	FIELD(eager_byte_ns, "ns/B", 1e6, 1, "copying to or from MPI's own buffers"),
	FIELD(eager_max_bytes, "B", 1e15, 0, "S: longer messages wait for their receiver"),
	FIELD(packet_bytes, "B", 1e9, 0, "between packets the adapter may turn"),
	FIELD(switch_ns, "ns", 1e9, 1, "turning to another process's messages"),
	FIELD(qp_cache, "", 1e8, 1, "connections whose state is held; 0: all"),
	FIELD(qp_miss_ns, "ns", 1e9, 1, "fetching one that is not"),
	FIELD(hot_byte_ns, "ns/B", 1e6, 1, "copying from and to caches"),
	FIELD(cold_byte_ns, "ns/B", 1e6, 1, "copying where DMA wrote or will read"),
	FIELD(cache_bytes, "B", 1e15, 1, "aggregated bytes of a node that stay in caches"),
	FIELD(barrier_ns, "ns", 1e9, 1, "a step of a barrier within a node"),
	FIELD(local_ns, "ns", 1e9, 1, "each end of a message within a node"),
	FIELD(processors, "", 1e4, 0, "that all ranks of all nodes share; 0: each its own"),
	FIELD(bruck_max_bytes, "B", 1e15, 0, "MPI: Bruck up to this block"),
	FIELD(isend_max_bytes, "B", 1e15, 0, "MPI: then irecv-isend, then pairwise"),
	FIELD(turn_ns, "ns", 1e9, 1, "a processor that ranks share turns to another"),
	FIELD(poll_ns, "ns", 1e9, 1, "a look in vain of a rank that shares one"),
};

enum { INFINIPATH, INFINIHOST, CONNECTX };

/* Longer than any message. */
#define ALWAYS	1e15

/* Value, range and source in one place: no value without. */
struct entry {
	double value;
	struct a2a_source source;
};

struct table {
	const char *name;
	struct entry entries[A2A_FIELDS];
};

#define CLOVERTOWN_HOT { 0.4, { 0.3, 0.6, A2A_ASSUMED, \
	"1.7 to 3.3 GB/s a core, eight at once, from and to second-level caches of a 2.33 GHz " \
	"Clovertown; the paper only has the ratio to cold (figure 5)" } }
#define CLOVERTOWN_COLD { 1.6, { 1.0, 2.7, A2A_ASSUMED, \
	"eight cores share two front-side buses that stream 6 to 8 GB/s: 1.0 if only reads miss, " \
	"2.7 if writes allocate too" } }
#define CLOVERTOWN_CACHE { 16777216, { 12582912, 16777216, A2A_PUBLISHED, \
	"Intel Xeon 5300: four second-level caches of 4 MiB in a node of two processors" } }
#define CLOVERTOWN_BARRIER { 800, { 300, 1500, A2A_ASSUMED, \
	"a step is two lines that cross the front-side bus, 150 to 400 ns each" } }
#define CLOVERTOWN_CORES { 0, { 0, 0, A2A_PUBLISHED, \
	"the paper, 6: eight cores a node, a rank on each" } }
#define CLOVERTOWN_TURN { 0, { 0, 0, A2A_PUBLISHED, "likewise: no two ranks share one" } }
#define CLOVERTOWN_LOCAL { 400, { 300, 800, A2A_ASSUMED, \
	"half of the 0.6 to 1.6 us that MPI takes within such a node, by the caches in between" } }

static const struct table tables[A2A_CLASSES] = {
	[INFINIPATH] = { "infinipath", {
		{ 700, { 400, 900, A2A_DERIVED,
		  "EuroBen: 1.6 us of MPI latency by PCI Express, less both o" } },
		{ 500, { 300, 700, A2A_ASSUMED,
		  "an on-loaded stack: most of the 1.6 us is the processors'" } },
		{ 400, { 300, 700, A2A_ASSUMED,
		  "likewise; QLogic A.3: four processes send 8.3 million messages a second, so o is "
		  "at most 480" } },
		{ 150, { 120, 150, A2A_DERIVED,
		  "QLogic A.3: 8.3 million messages a second by HyperTransport, 120 ns; times 1.24 "
		  "for PCI Express (EuroBen: 1.6 for 1.29 us)" } },
		{ 600, { 250, 640, A2A_DERIVED,
		  "PSM acknowledges what is alone of its flow: another packet each way, 200 ns with its "
		  "84 bytes; 250 by PCI Express, and 640 if both ways share the chip" } },
		{ 1.05, { 1.0, 1.06, A2A_PUBLISHED,
		  "QLogic A.3: 954 MB/s; IBTA: SDR 4X carries 1 GB/s" } },
		{ 0.85, { 0.8, 1.05, A2A_DERIVED,
		  "QLogic A.1: 2,048 bytes take 3.87 us longer than none, 1.89 ns a byte, of which "
		  "G is the wire's" } },
		{ ALWAYS, { ALWAYS, ALWAYS, A2A_PUBLISHED, "the paper, 2.1: no send-side DMA" } },
		{ 0.4, { 0.3, 0.6, A2A_ASSUMED, "as hot_byte_ns: the receiver's copy out of MPI's" } },
		{ 64000, { 64000, 64000, A2A_PUBLISHED,
		  "PSM's default for its rendezvous threshold (PSM_MQ_RNDV_IPATH_SZ)" } },
		{ 2048, { 2048, 2048, A2A_PUBLISHED, "IBTA: MTU; QLogic's default" } },
		{ 0, { 0, 100, A2A_PUBLISHED,
		  "the paper, figure 2: more processes make it faster, not slower" } },
		{ 0, { 0, 0, A2A_PUBLISHED, "the paper, 2.1: protocol state is the host's" } },
		{ 0, { 0, 0, A2A_PUBLISHED, "likewise" } },
		CLOVERTOWN_HOT, CLOVERTOWN_COLD, CLOVERTOWN_CACHE,
		CLOVERTOWN_BARRIER, CLOVERTOWN_LOCAL, CLOVERTOWN_CORES,
		{ 256, { 256, 256, A2A_PUBLISHED, "the paper, 6.1.1: MVAPICH-PSM" } },
		{ 32768, { 32768, 32768, A2A_PUBLISHED, "likewise" } },
		CLOVERTOWN_TURN, CLOVERTOWN_TURN,
	} },
	[INFINIHOST] = { "infinihost3", {
		{ 2200, { 1500, 2900, A2A_DERIVED,
		  "Liu 2005: 4.1 us of MPI latency by PCI Express, less both o" } },
		{ 800, { 400, 1200, A2A_ASSUMED, "verbs: a descriptor, a doorbell, a completion" } },
		{ 800, { 400, 1200, A2A_ASSUMED, "likewise" } },
		{ 500, { 300, 1000, A2A_DERIVED,
		  "Sur 2007: bandwidth of small messages a tenth of ConnectX's" } },
		{ 0, { 0, 0, A2A_ASSUMED, "the adapter acknowledges in hardware; it is in the gap" } },
		{ 0.7, { 0.62, 0.75, A2A_DERIVED,
		  "IBTA: DDR 4X carries 2 GB/s; PCI Express 1.x by eight lanes leaves 1.35 to 1.6" } },
		{ 0, { 0, 0, A2A_PUBLISHED, "the paper, 2.2: DMA for all sizes" } },
		{ 0, { 0, 0, A2A_PUBLISHED, "likewise" } },
		{ 0.4, { 0.3, 0.6, A2A_ASSUMED, "as hot_byte_ns: copies to and from MPI's buffers" } },
		{ 8192, { 8192, 32768, A2A_ASSUMED,
		  "MVAPICH's rendezvous threshold depends on the machine; the paper does not say" } },
		{ 2048, { 1024, 2048, A2A_PUBLISHED, "IBTA: MTU" } },
		{ 1000, { 500, 2000, A2A_DERIVED,
		  "Sur 2007: with eight processes at once latency is six times ConnectX's; if that is "
		  "1.3 to 2.7 us, a turn takes 1 to 2 us, g included" } },
		{ 128, { 64, 1024, A2A_ASSUMED,
		  "a MemFree adapter keeps contexts in host memory and few on chip" } },
		{ 1000, { 500, 1500, A2A_ASSUMED,
		  "a read of host memory by PCI Express, once or twice" } },
		CLOVERTOWN_HOT, CLOVERTOWN_COLD, CLOVERTOWN_CACHE,
		CLOVERTOWN_BARRIER, CLOVERTOWN_LOCAL, CLOVERTOWN_CORES,
		{ 8192, { 8192, 8192, A2A_PUBLISHED, "the paper, 6.1.1: MVAPICH-GEN2" } },
		{ 8192, { 8192, 8192, A2A_PUBLISHED, "likewise: no irecv-isend" } },
		CLOVERTOWN_TURN, CLOVERTOWN_TURN,
	} },
	[CONNECTX] = { "connectx", {
		{ 800, { 500, 1000, A2A_ASSUMED, "1.3 to 2 us of MPI latency, less both o" } },
		{ 400, { 200, 600, A2A_ASSUMED, "verbs with the descriptor written by PIO" } },
		{ 400, { 200, 600, A2A_ASSUMED, "likewise" } },
		{ 150, { 100, 250, A2A_DERIVED,
		  "Murphy, QLogic, to insideHPC, 2010: such adapters peak at 7 million messages a "
		  "second" } },
		{ 0, { 0, 0, A2A_ASSUMED, "the adapter acknowledges in hardware; it is in the gap" } },
		{ 0.7, { 0.62, 0.75, A2A_DERIVED,
		  "IBTA: DDR 4X carries 2 GB/s; PCI Express 1.x by eight lanes leaves 1.35 to 1.6" } },
		{ 0.85, { 0.8, 1.05, A2A_ASSUMED, "as InfiniPath's: the same processors and bus" } },
		{ 512, { 512, 512, A2A_PUBLISHED, "the paper, 2.2: PIO below 512 bytes" } },
		{ 0.4, { 0.3, 0.6, A2A_ASSUMED, "as hot_byte_ns: copies to and from MPI's buffers" } },
		{ 8192, { 8192, 32768, A2A_ASSUMED,
		  "MVAPICH's rendezvous threshold depends on the machine; the paper does not say" } },
		{ 2048, { 1024, 2048, A2A_PUBLISHED, "IBTA: MTU" } },
		{ 0, { 0, 100, A2A_PUBLISHED,
		  "the paper, figure 3: more processes make it faster, not slower" } },
		{ 8192, { 1024, 65536, A2A_ASSUMED, "more than the 224 of four nodes" } },
		{ 500, { 300, 1000, A2A_ASSUMED, "a read of host memory by PCI Express" } },
		CLOVERTOWN_HOT, CLOVERTOWN_COLD, CLOVERTOWN_CACHE,
		CLOVERTOWN_BARRIER, CLOVERTOWN_LOCAL, CLOVERTOWN_CORES,
		{ 8192, { 8192, 8192, A2A_PUBLISHED, "the paper, 6.1.1: MVAPICH-GEN2" } },
		{ 8192, { 8192, 8192, A2A_PUBLISHED, "likewise: no irecv-isend" } },
		CLOVERTOWN_TURN, CLOVERTOWN_TURN,
	} },
};

const char *a2a_basis_name(enum a2a_basis basis)
{
	static const char *const names[] = { "published", "derived", "assumed" };

	return names[basis];
}

/* Filled anew at each call, which takes less than a lock would. */
const struct a2a_class *a2a_class(size_t i)
{
	static _Thread_local struct a2a_class classes[A2A_CLASSES];
	struct a2a_class *class = &classes[i];

	strncpy(class->name, tables[i].name, sizeof(class->name) - 1);
	for (size_t f = 0; f < A2A_FIELDS; f++)
		*a2a_value(class, f) = tables[i].entries[f].value;
	return class;
}

const struct a2a_class *a2a_class_find(const char *name)
{
	for (size_t i = 0; i < A2A_CLASSES; i++)
		if (!strcmp(tables[i].name, name))
			return a2a_class(i);
	return NULL;
}

const struct a2a_source *a2a_class_source(size_t i, size_t field)
{
	return &tables[i].entries[field].source;
}

void a2a_class_perturb(struct a2a_class *class, double by, uint64_t seed)
{
	struct sonde_rng rng;

	sonde_rng_seed(&rng, seed);
	for (size_t f = 0; f < A2A_FIELDS; f++) {
		double share = (double)(sonde_rng_next(&rng) >> 11) / 9007199254740992.0;

		if (a2a_fields[f].is_cost)
			*a2a_value(class, f) *= 1 + by * (2 * share - 1);
	}
	class->qp_cache = round(class->qp_cache);
}
