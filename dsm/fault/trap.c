// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The handler finds its memory in a table of fixed size that it reads without a lock: a
 * count, odd while somebody writes, tells it to read again. Handlers that were there
 * before us are called for what is not ours, with the signals blocked that they asked for.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <ucontext.h>

#include "memory.h"
#include "trap.h"

#define MEMORIES	64

struct trap {
	_Atomic(uintptr_t) begin, end;
	_Atomic(struct dsm_fault *) memory;
	_Atomic(int) sig;
	bool (*_Atomic fault)(struct dsm_fault *memory, size_t at, bool write);
};

static struct trap traps[MEMORIES];
static atomic_uint writes;			/* of the table; odd: under way */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* of those who write it */

struct signal_state {
	int sig;
	unsigned int users;
	bool installed;		/* or called by who came after us */
	struct sigaction before;
};

static struct signal_state signals[] = { { .sig = SIGSEGV }, { .sig = SIGBUS } };

static struct signal_state *state_of(int sig)
{
	return &signals[sig == SIGBUS];
}

/* The processor's word for it: si_code tells of mappings, and they change meanwhile. */
#if defined(__x86_64__) || defined(__i386__)
#define TELLS_WRITES	1
static bool is_write(const ucontext_t *context)
{
	return context->uc_mcontext.gregs[REG_ERR] & 2;
}
#elif defined(__aarch64__)
#include <asm/sigcontext.h>
#define TELLS_WRITES	1
#define ESR_WNR	(1U << 6)
static bool is_write(const ucontext_t *context)
{
	const unsigned char *at = (const unsigned char *)context->uc_mcontext.__reserved;
	struct _aarch64_ctx head;
	struct esr_context esr;

	for (;; at += head.size) {
		memcpy(&head, at, sizeof(head));
		if (!head.magic || !head.size)
			return false;
		if (head.magic == ESR_MAGIC)
			break;
	}
	memcpy(&esr, at, sizeof(esr));
	return esr.esr & ESR_WNR;
}
#else
#define TELLS_WRITES	0
static bool is_write(const ucontext_t *context)
{
	(void)context;
	return false;
}
#endif

/*
 * Acquire and release throughout: who reads a field of a writer that has begun then also
 * finds the count changed.
 */
static bool find(int sig, uintptr_t address, struct dsm_fault **memory,
		 bool (**fault)(struct dsm_fault *, size_t, bool))
{
	unsigned int before;
	bool found;

	do {
		before = atomic_load_explicit(&writes, memory_order_acquire);
		found = false;
		for (int i = 0; i < MEMORIES && !found; i++) {
			struct trap *t = &traps[i];

			found = address >= atomic_load_explicit(&t->begin, memory_order_acquire) &&
				address < atomic_load_explicit(&t->end, memory_order_acquire) &&
				sig == atomic_load_explicit(&t->sig, memory_order_acquire);
			*memory = atomic_load_explicit(&t->memory, memory_order_acquire);
			*fault = atomic_load_explicit(&t->fault, memory_order_acquire);
		}
	} while (before & 1 || before != atomic_load_explicit(&writes, memory_order_relaxed));
	return found;
}

/* As if the signal had met what was there before us. */
static void hand_on(int sig, siginfo_t *info, void *context)
{
	const struct sigaction *before = &state_of(sig)->before;
	struct sigaction fatal = { .sa_handler = SIG_DFL };
	bool sent = info->si_code <= 0;		/* by a process, not by an access */
	sigset_t mask;

	if (before->sa_handler == SIG_IGN && sent)
		return;
	if (before->sa_handler == SIG_IGN || before->sa_handler == SIG_DFL) {
		/* The access is made again and ends the process where it happened. */
		sigaction(sig, &fatal, NULL);
		if (sent)
			raise(sig);
		return;
	}
	pthread_sigmask(SIG_BLOCK, &before->sa_mask, &mask);
	if (before->sa_flags & SA_SIGINFO)
		before->sa_sigaction(sig, info, context);
	else
		before->sa_handler(sig);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/* Other codes: sent by a process, memory that is broken, nothing mapped there any more. */
static void handle(int sig, siginfo_t *info, void *context)
{
	bool (*fault)(struct dsm_fault *memory, size_t at, bool write);
	uintptr_t address = (uintptr_t)info->si_addr;
	struct dsm_fault *memory;
	int saved = errno;

	if (info->si_code != (sig == SIGBUS ? BUS_ADRERR : SEGV_ACCERR) ||
	    !find(sig, address, &memory, &fault) ||
	    !fault(memory, address - (uintptr_t)memory->view, is_write(context)))
		hand_on(sig, info, context);
	errno = saved;
}

static bool is_ours(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO && action->sa_sigaction == handle;
}

/*
 * Asks whether it is there: libraries that want such signals for themselves put their own
 * sigaction() in front of the C library's, and it may do nothing.
 */
static int install(struct signal_state *s, char *why, size_t len)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };
	struct sigaction now;

	sigemptyset(&action.sa_mask);
	action.sa_sigaction = handle;
	sigaction(s->sig, NULL, &now);
	if (s->installed && now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN)
		return 0;
	s->before = now;
	if (sigaction(s->sig, &action, NULL) || sigaction(s->sig, NULL, &now) || !is_ours(&now))
		return dsm_why(why, len, -ENOTSUP, "a library of this program "
			       "keeps signal %d (%s) for itself", s->sig, strsignal(s->sig));
	s->installed = true;
	return 0;
}

static void uninstall(struct signal_state *s)
{
	struct sigaction now;

	/* Who came after us calls us, and is left alone. */
	if (!sigaction(s->sig, NULL, &now) && is_ours(&now))
		s->installed = sigaction(s->sig, &s->before, NULL) != 0;
}

static void write_trap(struct trap *t, int sig, struct dsm_fault *memory, size_t bytes,
		       bool (*fault)(struct dsm_fault *, size_t, bool))
{
	uintptr_t begin = memory ? (uintptr_t)memory->view : 0;

	atomic_fetch_add_explicit(&writes, 1, memory_order_relaxed);
	atomic_store_explicit(&t->begin, begin, memory_order_release);
	atomic_store_explicit(&t->end, begin + bytes, memory_order_release);
	atomic_store_explicit(&t->sig, sig, memory_order_release);
	atomic_store_explicit(&t->memory, memory, memory_order_release);
	atomic_store_explicit(&t->fault, fault, memory_order_release);
	atomic_fetch_add_explicit(&writes, 1, memory_order_release);
}

static struct trap *trap_of(int sig, const struct dsm_fault *memory)
{
	for (int i = 0; i < MEMORIES; i++)
		if (traps[i].memory == memory && (!memory || traps[i].sig == sig))
			return &traps[i];
	return NULL;
}

int dsm_trap_set(int sig, struct dsm_fault *memory,
		 bool (*fault)(struct dsm_fault *memory, size_t at, bool write),
		 char *why, size_t len)
{
	struct signal_state *s = state_of(sig);
	struct trap *t;
	int err = 0;

	if (!TELLS_WRITES)
		return dsm_why(why, len, -ENOTSUP,
			       "signals do not tell reads from writes on this processor");
	pthread_mutex_lock(&lock);
	t = trap_of(sig, NULL);
	if (!t)
		err = dsm_why(why, len, -ENOTSUP, "%d memories are there already", MEMORIES);
	else if (!s->users)
		err = install(s, why, len);
	if (!err) {
		s->users++;
		write_trap(t, sig, memory, (size_t)memory->config.pages * memory->config.unit,
			   fault);
	}
	pthread_mutex_unlock(&lock);
	return err;
}

void dsm_trap_unset(int sig, struct dsm_fault *memory)
{
	struct signal_state *s = state_of(sig);
	struct trap *t;

	pthread_mutex_lock(&lock);
	t = trap_of(sig, memory);
	if (t) {
		write_trap(t, 0, NULL, 0, NULL);
		if (!--s->users)
			uninstall(s);
	}
	pthread_mutex_unlock(&lock);
}
