// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench-owner - the other process of `sonde bench copy`: its memory is copied
 *
 * It sleeps in recv() but while data goes twice, when it has to copy as well.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench.h"

/* Looks at a word before the CPU is given away. */
#define LOOKS	2000

struct order {
	size_t bytes;
	uint64_t count;
};

void bench_wait(const _Atomic uint64_t *word, uint64_t at_least)
{
	unsigned int looks = 0;

	/* Acquire: what was copied before the word was written is there. */
	while (atomic_load_explicit(word, memory_order_acquire) < at_least) {
		if (++looks % LOOKS)
			continue;
		if (cli_stop_requested())
			return;
		sched_yield();
	}
}

static int make_private(unsigned char **memory, size_t bytes, enum bench_pages pages)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	if (pages == BENCH_PAGES_SMALL)
		madvise(p, bytes, MADV_NOHUGEPAGE);
	else if (pages == BENCH_PAGES_HUGE)
		madvise(p, bytes, MADV_HUGEPAGE);
	*memory = p;
	return 0;
}

static void fill(unsigned char *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = bench_pattern(i);
}

/* What was exported stays so until the process ends. */
static int export_way(int sock, enum sonde_transfer_way way, unsigned char *private, size_t bytes)
{
	struct sonde_transfer *transfer;
	struct sonde_region *region;
	void *memory = private;
	int err = sonde_transfer_open(&transfer, way);

	if (!err && way == SONDE_TRANSFER_SHM) {
		err = sonde_transfer_alloc(transfer, bytes, &memory);
		if (!err)
			fill(memory, bytes);
	}
	if (!err)
		err = sonde_region_export(transfer, memory, bytes, SONDE_REGION_READ, &region);
	/* A way that cannot do it is no reason to measure nothing. */
	if (send(sock, &err, sizeof(err), MSG_NOSIGNAL) != (ssize_t)sizeof(err))
		return -errno;
	return err ? 0 : sonde_region_send(region, sock);
}

static void put_through(struct bench_stage *stage, const unsigned char *memory,
			const struct order *order)
{
	uint64_t slot = atomic_load_explicit(&stage->filled, memory_order_relaxed);
	uint64_t number = atomic_load_explicit(&stage->ready, memory_order_relaxed) + 1;

	/* Awake before anything is timed. */
	atomic_store_explicit(&stage->ready, number, memory_order_release);
	bench_wait(&stage->go, number);
	for (uint64_t i = 0; i < order->count && !cli_stop_requested(); i++) {
		for (size_t done = 0, len; done < order->bytes; done += len) {
			len = order->bytes - done;
			if (len > BENCH_SLOT_BYTES)
				len = BENCH_SLOT_BYTES;
			/* A slot is filled when that before it of its place is empty. */
			if (slot >= BENCH_SLOTS)
				bench_wait(&stage->emptied, slot - BENCH_SLOTS + 1);
			memcpy(&stage->slots[slot % BENCH_SLOTS * BENCH_SLOT_BYTES], memory + done,
			       len);
			/* Release: what was copied is there before the word is. */
			atomic_store_explicit(&stage->filled, ++slot, memory_order_release);
		}
	}
}

static int serve(int sock, struct bench_stage *stage, size_t bytes, unsigned int ways,
		 enum bench_pages pages)
{
	unsigned char *memory = NULL;
	struct order order;
	int err = make_private(&memory, bytes, pages);

	if (err)
		return err;
	fill(memory, bytes);
	for (int way = SONDE_TRANSFER_MODULE; !err && way <= SONDE_TRANSFER_SHM; way++)
		if (ways >> way & 1)
			err = export_way(sock, (enum sonde_transfer_way)way, memory, bytes);
	while (!err && recv(sock, &order, sizeof(order), 0) == (ssize_t)sizeof(order))
		put_through(stage, memory, &order);
	return err;
}

static void bind_to(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

int bench_owner_start(struct bench_owner *owner, size_t bytes, unsigned int cpu,
		      unsigned int ways, enum bench_pages pages)
{
	const pid_t parent = getpid();
	int socks[2];

	owner->stage = mmap(NULL, BENCH_STAGE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (owner->stage == MAP_FAILED)
		return -errno;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks)) {
		munmap(owner->stage, BENCH_STAGE_BYTES);
		return -errno;
	}
	owner->pid = fork();
	if (!owner->pid) {
		/* Not to outlive who asked; it may be gone already. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(CLI_FAILED);
		close(socks[0]);
		bind_to(cpu);
		_exit(serve(socks[1], owner->stage, bytes, ways, pages) ? CLI_FAILED : CLI_DONE);
	}
	close(socks[1]);
	owner->sock = socks[0];
	if (owner->pid > 0)
		return 0;
	owner->pid = 0;
	close(owner->sock);
	munmap(owner->stage, BENCH_STAGE_BYTES);
	return -EAGAIN;
}

int bench_owner_order(const struct bench_owner *owner, size_t bytes, uint64_t count)
{
	const struct order order = { bytes, count };

	return send(owner->sock, &order, sizeof(order), MSG_NOSIGNAL) == (ssize_t)sizeof(order) ?
	       0 : -errno;
}

void bench_owner_stop(struct bench_owner *owner)
{
	if (!owner->pid)
		return;
	close(owner->sock);
	kill(owner->pid, SIGKILL);
	while (waitpid(owner->pid, NULL, 0) < 0 && errno == EINTR)
		;
	munmap(owner->stage, BENCH_STAGE_BYTES);
	owner->pid = 0;
}
