/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * network - what kind of adapter joins the nodes, as `sonde tune alltoall` found
 *
 * Kumar, Mamidala and Panda, "Scaling Alltoall Collective on Multi-core Systems"
 * (2008), section 3: where ranks themselves move bytes to the adapter, more pairs
 * get more through; where the adapter does it all, they get in each other's way,
 * and one rank of a node had better send for all. And where what was received
 * must come from memory, handing it out costs more than collecting it before.
 */
#ifndef SONDE_COLL_NETWORK_H
#define SONDE_COLL_NETWORK_H

#include <stddef.h>

/* How the bandwidth of several pairs of ranks is to that of one. */
enum coll_nic {
	COLL_NIC_UNKNOWN,	/* not measured, or it cannot be told */
	COLL_NIC_ONLOAD,	/* it grows, and distribution is dearer than aggregation */
	COLL_NIC_HYBRID,	/* it grows, and they cost the same */
	COLL_NIC_OFFLOAD,	/* it shrinks */
	COLL_NICS
};

/* What distribution costs beside aggregation. */
enum coll_distribution {
	COLL_DISTRIBUTION_UNKNOWN,
	COLL_DISTRIBUTION_DEARER,
	COLL_DISTRIBUTION_ALIKE,
	COLL_DISTRIBUTION_CHEAPER,
	COLL_DISTRIBUTIONS
};

struct coll_network {
	enum coll_nic nic;
	enum coll_distribution distribution;
};

/* As the profile has them; -1: there is no such word. */
const char *coll_nic_name(enum coll_nic nic);
int coll_nic_find(const char *word);
const char *coll_distribution_name(enum coll_distribution distribution);
int coll_distribution_find(const char *word);

/*
 * From the bandwidth of all pairs over that of one, and the time of distribution
 * over that of aggregation; 0 where it was not measured.
 */
struct coll_network coll_network_class(double bandwidths, double copies);

#endif
