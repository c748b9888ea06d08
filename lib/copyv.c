// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * copyv - batches: each element is checked here, what follows each other by
 * the same way is done there
 */
#include <errno.h>
#include "region.h"

ssize_t region_check_copy(const struct sonde_region_copy *copy)
{
	const struct sonde_region *region = copy->region;
	unsigned int right = copy->flags & SONDE_COPY_WRITE ? SONDE_REGION_WRITE
							    : SONDE_REGION_READ;

	if (copy->flags & ~SONDE_COPY_WRITE || copy->offset > region->len ||
	    copy->len > region->len - copy->offset)
		return -EINVAL;
	if (!(region->rights & right))
		return -EACCES;
	return 0;
}

size_t sonde_copyv(struct sonde_transfer *t, struct sonde_region_copy *copies, size_t n)
{
	const struct region_ops *ops = NULL;
	size_t begin = 0, whole = 0;

	/* One more turn than there are elements, to do the last ones. */
	for (size_t i = 0; i <= n; i++) {
		const int is_end = i == n ||
				   (copies[i].result = region_check_copy(&copies[i])) ||
				   copies[i].region->ops != ops;

		if (!is_end)
			continue;
		if (i > begin)
			ops->copy(t, &copies[begin], i - begin);
		begin = i;
		if (i == n)
			break;
		if (copies[i].result)
			begin = i + 1;
		ops = begin == i ? copies[i].region->ops : NULL;
	}
	for (size_t i = 0; i < n; i++)
		whole += copies[i].result >= 0 && (size_t)copies[i].result == copies[i].len;
	return whole;
}

static ssize_t copy_one(struct sonde_region *region, struct sonde_region_copy *copy)
{
	copy->result = region_check_copy(copy);
	if (!copy->result)
		region->ops->copy(region->transfer, copy, 1);
	return copy->result;
}

ssize_t sonde_region_read(struct sonde_region *region, uint64_t offset, void *buf, size_t len)
{
	struct sonde_region_copy copy = { .region = region, .offset = offset, .addr = buf, .len = len };

	return copy_one(region, &copy);
}

ssize_t sonde_region_write(struct sonde_region *region, uint64_t offset, const void *buf,
			   size_t len)
{
	/* Written from only: the element has one field for both directions. */
	struct sonde_region_copy copy = {
		.region = region, .offset = offset, .addr = (void *)(uintptr_t)buf, .len = len,
		.flags = SONDE_COPY_WRITE,
	};

	return copy_one(region, &copy);
}
