/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What messages cost by their size: lines, where another line begins, LogGP. */
#ifndef SONDE_LIB_LOGGP_H
#define SONDE_LIB_LOGGP_H

#include <stddef.h>
#include <sonde/comm.h>

/**
 * struct loggp_point - what was measured of one size, in nanoseconds
 * @bytes: of a message, at least 1
 * @half: half a round trip of one message
 * @gap: from one message to the next where many follow each other; NAN: not measured
 * @send: of the sender's CPU; NAN: not measured
 * @receive: of the receiver's CPU for one that is there; NAN: not measured
 */
struct loggp_point {
	double bytes, half, gap, send, receive;
};

/**
 * loggp_fit() - parameters of the LogGP model, piecewise
 * @points: @n of them by ascending size, each size once
 * @n: at least 2
 * @spread: relative deviation of a value that is measured again, above 0: what
 *	differs by less is no change of protocol
 * @out: where it goes; untouched on failure
 *
 * A parameter that the points do not tell is NAN, and @out->why says why.
 *
 * Return: 0, -EINVAL (fewer points, not ascending, half a round trip that is not
 * above 0, @spread), -ENOMEM.
 */
int loggp_fit(const struct loggp_point *points, size_t n, double spread, struct sonde_loggp *out);

#endif
