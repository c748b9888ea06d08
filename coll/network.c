// SPDX-License-Identifier: LGPL-2.1-or-later
/* network - classes of adapters, and their names */
#include <string.h>

#include "network.h"

/*
 * Less than a fifth more bandwidth is what timing leaves open; a tenth less is a
 * loss that all ranks of a node pay. The paper has 2.5 and 0.8 of four pairs.
 */
#define GROWS	1.2
#define SHRINKS	0.9
/* The paper's receive-side distribution is dearer by a tenth at least. */
#define APART	1.1

static const char *const nics[COLL_NICS] = { "unclear", "onload", "hybrid", "offload" };
static const char *const distributions[COLL_DISTRIBUTIONS] = { "unclear", "dearer", "alike",
							       "cheaper" };

static int find(const char *word, const char *const *words, int n)
{
	for (int i = 0; word && i < n; i++)
		if (!strcmp(word, words[i]))
			return i;
	return -1;
}

const char *coll_nic_name(enum coll_nic nic)
{
	return nics[nic];
}

int coll_nic_find(const char *word)
{
	return find(word, nics, COLL_NICS);
}

const char *coll_distribution_name(enum coll_distribution distribution)
{
	return distributions[distribution];
}

int coll_distribution_find(const char *word)
{
	return find(word, distributions, COLL_DISTRIBUTIONS);
}

struct coll_network coll_network_class(double bandwidths, double copies)
{
	struct coll_network network = { COLL_NIC_UNKNOWN, COLL_DISTRIBUTION_UNKNOWN };

	if (copies > APART)
		network.distribution = COLL_DISTRIBUTION_DEARER;
	else if (copies >= 1 / APART)
		network.distribution = COLL_DISTRIBUTION_ALIKE;
	else if (copies > 0)
		network.distribution = COLL_DISTRIBUTION_CHEAPER;
	if (bandwidths >= GROWS)
		network.nic = network.distribution == COLL_DISTRIBUTION_DEARER ?
			      COLL_NIC_ONLOAD : COLL_NIC_HYBRID;
	else if (bandwidths > 0 && bandwidths <= SHRINKS)
		network.nic = COLL_NIC_OFFLOAD;
	return network;
}
