// SPDX-License-Identifier: LGPL-2.1-or-later
/* Which back end a memory gets; what all have. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "memory.h"

static const struct dsm_fault_ops *const all[] = {
	&dsm_fault_module, &dsm_fault_uffd_async, &dsm_fault_uffd_sigbus, &dsm_fault_sigsegv,
};

#define BACK_ENDS	(sizeof(all) / sizeof(all[0]))

static int check(const struct dsm_fault_config *c, char *why, size_t len)
{
	size_t system = (size_t)sysconf(_SC_PAGESIZE);

	if (!c->pages)
		return dsm_why(why, len, -EINVAL, "a memory has at least one page");
	if (c->unit < DSM_UNIT_MIN || c->unit > DSM_UNIT_MAX || c->unit & (c->unit - 1) ||
	    c->unit % system)
		return dsm_why(why, len, -EINVAL, "a unit of %u bytes: it is a power of two "
			       "from %zu to %u", c->unit, system, DSM_UNIT_MAX);
	if ((uintptr_t)c->address % c->unit)
		return dsm_why(why, len, -EINVAL, "address %p is no multiple of the unit",
			       c->address);
	return 0;
}

static int create(const struct dsm_fault_ops *ops, struct dsm_fault **fault,
		  const struct dsm_fault_config *config, char *why, size_t len)
{
	char line[200] = "";
	int err;

	if (!(ops->caps & DSM_FAULT_EVENTS) && !config->fault)
		err = dsm_why(line, sizeof(line), -EINVAL, "config.fault is needed");
	else
		err = ops->create(fault, config, line, sizeof(line));
	if (err)
		dsm_why(why, len, err, "%s: %s\n", ops->name, line[0] ? line : strerror(-err));
	return err;
}

int dsm_fault_create(struct dsm_fault **fault, const char *name,
		     const struct dsm_fault_config *config, char *why, size_t len)
{
	bool any = !name || !strcmp(name, "auto");
	int err = check(config, why, len);

	if (err)
		return err;
	err = -EINVAL;
	for (size_t i = 0; i < BACK_ENDS; i++) {
		size_t used;

		if (!any && strcmp(name, all[i]->name))
			continue;
		err = create(all[i], fault, config, why, len);
		if (err != -ENOTSUP || !any)
			return err;
		used = why && len ? strlen(why) : 0;
		why = why ? why + used : NULL;
		len -= used;
	}
	if (!any)
		dsm_why(why, len, err, "no back end is called %s: auto, module, uffd-async, "
			"uffd-sigbus or sigsegv", name);
	return err;
}

bool dsm_fault_wait(struct dsm_fault *f, int other)
{
	struct pollfd p[] = { { .fd = f->wake, .events = POLLIN },
			      { .fd = other, .events = POLLIN } };
	const bool has_ring = f->caps & DSM_FAULT_RING;
	eventfd_t count;

	poll(p, 2, !has_ring || f->ops->sleeps(f, true) ? -1 : 0);
	if (has_ring) {
		f->ops->sleeps(f, false);
		if (p[0].revents)
			eventfd_read(f->wake, &count);
	}
	return p[1].revents;
}
