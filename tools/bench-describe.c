// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench-describe - which way to copy is best, in words
 */
#include <stdarg.h>
#include <stdio.h>
#include "bench.h"
#include "text.h"

#define LINE_LEN 400

struct teller {
	void (*say)(void *ctx, const char *line);
	void *ctx;
};

__attribute__((format(printf, 2, 3)))
static void tell(const struct teller *t, const char *format, ...)
{
	char line[LINE_LEN];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	t->say(t->ctx, line);
}

static void tell_choice(const struct teller *t, const struct bench_result *result,
			const struct sonde_profile *profile, int is_shared)
{
	enum sonde_transfer_way now = SONDE_TRANSFER_AUTO, way;
	char text[LINE_LEN], size[TEXT_LEN];
	size_t len = 0;

	for (size_t i = 0; i < result->nsizes && len < sizeof(text); i++) {
		if (sonde_profile_transfer_way(profile, is_shared, result->sizes[i], &way) ||
		    way == now)
			continue;
		if (now == SONDE_TRANSFER_AUTO)
			len += (size_t)snprintf(text, sizeof(text), "%s",
						sonde_transfer_way_name(way));
		else
			len += (size_t)snprintf(text + len, sizeof(text) - len, ", from %s on %s",
						text_size(size, result->sizes[i]),
						sonde_transfer_way_name(way));
		now = way;
	}
	tell(t, "best for %s memory: %s", is_shared ? "shared" : "private",
	     len ? text : "none was measured");
}

static void tell_twice(const struct teller *t, const struct sonde_profile *profile)
{
	char size[TEXT_LEN];
	uint64_t bytes;

	if (sonde_profile_transfer_twice(profile, &bytes))
		return;
	if (bytes)
		tell(t, "two copies through shared memory beat one of private memory up to %s",
		     text_size(size, bytes));
	else
		tell(t, "two copies through shared memory beat one of private memory at no size");
}

void bench_describe(const struct bench_result *result, const struct sonde_profile *profile,
		    void (*say)(void *ctx, const char *line), void *ctx)
{
	const struct teller t = { say, ctx };

	for (int is_shared = 0; is_shared < 2; is_shared++)
		tell_choice(&t, result, profile, is_shared);
	tell_twice(&t, profile);
	for (int way = SONDE_TRANSFER_MODULE; way <= SONDE_TRANSFER_SHM; way++)
		if (*result->whys[way])
			tell(&t, "no %s: %s", sonde_transfer_way_name((enum sonde_transfer_way)way),
			     result->whys[way]);
}

void bench_print_line(void *ctx, const char *line)
{
	(void)ctx;
	puts(line);
}
