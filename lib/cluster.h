/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values that belong together, without being told how near that is. */
#ifndef SONDE_LIB_CLUSTER_H
#define SONDE_LIB_CLUSTER_H

#include <stddef.h>

/* More would say nothing to anybody. */
#define CLUSTER_MOST	16

/*
 * Clusters of @x[0..@n), numbered from the one with the least values, to
 * @cluster[0..@n). @spread is the deviation of a value that is measured again: what
 * differs by less is no reason for another cluster. Return: how many there are,
 * -ENOMEM, -EINVAL (a value is not finite, or @spread not above 0).
 */
int cluster_find(const double *x, size_t n, double spread, unsigned int *cluster);

#endif
