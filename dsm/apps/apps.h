/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The eight programs of Ng and Wong's table 2 as simple kernels. One thread of each
 * process; the work is split by its number. Each returns, in process 0, a checksum that
 * is the same however many processes there are: what is added up across processes is
 * integers, and floating point is added up in one order.
 */
#ifndef SONDE_DSM_APPS_H
#define SONDE_DSM_APPS_H

#include <stddef.h>
#include <stdint.h>

#include <sonde/dsm.h>

extern unsigned int apps_me, apps_n;	/* this process's number, and how many there are */

/* Items @first to @end - 1 of @n are this process's. */
void apps_share(size_t n, size_t *first, size_t *end);
/* Zeros that process 0 made and all have; all call it, and apps_drop(). */
void *apps_make(size_t bytes);
void apps_drop(void *p);
void apps_barrier(void);
/* A number for @i, the same everywhere; the second from 0 to 1. */
uint64_t apps_random(uint64_t i);
double apps_uniform(uint64_t i);
/* A checksum of bytes. */
uint64_t apps_sum(const void *bytes, size_t n);

uint64_t apps_sor(unsigned int scale);
uint64_t apps_gauss(unsigned int scale);
uint64_t apps_fft(unsigned int scale);
uint64_t apps_is(unsigned int scale);
uint64_t apps_water(unsigned int scale);
uint64_t apps_barnes(unsigned int scale);
uint64_t apps_mgs(unsigned int scale);
uint64_t apps_cg(unsigned int scale);

#endif
