/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernels that sonde is built and tested for: 5.10, 6.1, 6.12, 7.2 and 7.3, on
 * x86-64; every difference between them stands here and nowhere else. The code
 * is written for the newest. Where a macro or a symbol can be asked for, that
 * is asked rather than the version, as stable kernels take things back.
 */
#ifndef SONDE_KMOD_COMPAT_H
#define SONDE_KMOD_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 10, 0)
#error "sonde needs Linux 5.10 or newer"
#endif

/*
 * walk.c knows the page tables of x86-64: an entry is read in one load, tables
 * are always mapped (no CONFIG_HIGHPTE), a leaf stays one when PROT_NONE, and
 * hugetlb has PMD and PUD entries only. Elsewhere each of these may differ.
 */
#ifndef CONFIG_X86_64
#error "sonde is for x86-64: see README.md on other architectures"
#endif

#endif
