/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is said of a region where there is no module: a page in a memfd that only
 * its exporter can write to. Others map it to read, so that they see with one load
 * that the region was revoked. For CMA the memfd is the handle.
 */
#ifndef SONDE_LIB_REGION_PAGE_H
#define SONDE_LIB_REGION_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

/* The state of a seal; never 0, as memory that is something else now may be. */
#define REGION_VALID	UINT64_C(0x76616c6964)		/* "valid" */
#define REGION_REVOKED	UINT64_C(0x7265766f6b6564)	/* "revoked" */

/**
 * struct region_seal - proves to CMA that the exporter is still the exporter
 * @nonce: random: no other memory has it at that address
 * @state: REGION_VALID or REGION_REVOKED
 */
struct region_seal {
	uint64_t nonce[2];
	_Atomic uint64_t state;
};

/**
 * struct region_page - the whole page
 * @way: enum sonde_transfer_way
 * @begin: CMA: the address; shared memory: the offset in the memfd
 * @pid: of the exporter, in its PID namespace @namespace
 * @seal_addr: where the exporter has @seal
 */
struct region_page {
	uint64_t magic;
	uint32_t version;
	uint32_t way;
	uint64_t begin;
	uint64_t len;
	uint32_t rights;
	int32_t pid;
	uint64_t namespace;
	uint64_t seal_addr;
	struct region_seal seal;
};

/*
 * Make one: of @said what the exporter knows, the rest is filled in. 0, -errno;
 * the memfd is close-on-exec. It stays writable in *@page only.
 */
int region_page_make(const struct region_page *said, int *fd, struct region_page **page);

/*
 * Look at one from anybody: *@said is a copy that is sound, *@page is for its
 * seal. 0, -EBADF (it is none), -EPROTO (of another version), -errno.
 */
int region_page_open(int fd, struct region_page *said, const struct region_page **page);

void region_page_close(const struct region_page *page);

/* A memfd that can be sealed, close-on-exec and without code. -errno. */
int region_memfd(const char *name);

/* Which PID namespace this process is in; 0 if that cannot be told. */
uint64_t region_page_namespace(void);

#endif
