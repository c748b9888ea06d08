// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * claims - who claims what, and who contradicts whom
 *
 * What a source does not say contradicts nothing. But sources that list all
 * caches of a CPU do say that there are no others.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "claims.h"
#include "describe.h"

/* Sources that list every data cache, if they list any. */
#define COMPLETE (1U << SONDE_CLAIM_SYSFS | 1U << SONDE_CLAIM_CPUID_4 | \
		  1U << SONDE_CLAIM_CPUID_8000001D | 1U << SONDE_CLAIM_HWLOC)
/* Opinions on one thing. */
#define MOST_OPINIONS	SONDE_CLAIM_SOURCES

static int differ(uint64_t a, uint64_t b)
{
	return a && b && a != b;
}

static int can_join(const struct sonde_cache_claim *a, const struct sonde_cache_claim *b)
{
	return !differ(a->size, b->size) && !differ((uint64_t)a->ways, (uint64_t)b->ways) &&
	       !differ(a->line, b->line);
}

static void join(struct claim_group *group, const struct sonde_cache_claim *claim)
{
	group->sources |= 1U << claim->source;
	if (!group->claim.size)
		group->claim.size = claim->size;
	if (!group->claim.ways)
		group->claim.ways = claim->ways;
	if (!group->claim.line)
		group->claim.line = claim->line;
}

size_t group_claims(const struct machine *m, unsigned int level,
		    struct claim_group groups[SONDE_CLAIM_SOURCES])
{
	const struct sonde_cache_claim *claims;
	size_t nclaims, n = 0, g;

	claims = sonde_claims_list(m->claimed, &nclaims);
	for (size_t i = 0; i < nclaims; i++) {
		if (claims[i].level != level)
			continue;
		for (g = 0; g < n && !can_join(&groups[g].claim, &claims[i]); g++)
			;
		if (g == SONDE_CLAIM_SOURCES)
			break;
		if (g == n)
			groups[n++] = (struct claim_group){ .claim = claims[i] };
		join(&groups[g], &claims[i]);
	}
	return n;
}

static const char *separate(unsigned int sources, int s, const char *last)
{
	unsigned int later = sources >> s >> 1;

	return !later ? "" : later & (later - 1) ? ", " : last;
}

char *name_sources(char buf[SOURCES_LEN], unsigned int sources, const char *last)
{
	size_t len = 0;

	*buf = '\0';
	for (int s = 0; s < SONDE_CLAIM_SOURCES && len < SOURCES_LEN; s++)
		if (sources >> s & 1)
			len += (size_t)snprintf(buf + len, SOURCES_LEN - len, "%s%s",
						sonde_claim_source_name((enum sonde_claim_source)s),
						separate(sources, s, last));
	return buf;
}

/**
 * struct quantity - something that claims may differ in
 * @name: after the level: "", "ways"
 * @claimed: of a claim; 0 unknown, -1 of ways: all
 * @measured: words for what was measured, none if it was not; returns whether
 *            @claim contradicts it
 * @text: words for a value
 */
struct quantity {
	const char *name;
	int64_t (*claimed)(const struct sonde_cache_claim *claim);
	int (*measured)(const struct sonde_cache_level *level,
			const struct sonde_cache_claim *claim, char *buf, size_t len);
	void (*text)(int64_t value, char *buf, size_t len);
};

static int64_t claimed_size(const struct sonde_cache_claim *claim)
{
	return (int64_t)claim->size;
}

static int64_t claimed_ways(const struct sonde_cache_claim *claim)
{
	return claim->ways;
}

static int64_t claimed_line(const struct sonde_cache_claim *claim)
{
	return claim->line;
}

static void text_bytes(int64_t value, char *buf, size_t len)
{
	char size[TEXT_LEN];

	snprintf(buf, len, "%s", text_size(size, (uint64_t)value));
}

static void text_ways(int64_t value, char *buf, size_t len)
{
	if (value < 0)
		snprintf(buf, len, "fully associative");
	else
		snprintf(buf, len, "%lld", (long long)value);
}

static int measured_size(const struct sonde_cache_level *level,
			 const struct sonde_cache_claim *claim, char *buf, size_t len)
{
	char text[CELL_LEN];

	/* Where the size cannot be told, the interval is of the part this CPU had. */
	if (level->size)
		describe_size(level, text, sizeof(text));
	else
		describe_interval(level->size_low, level->size_high, text, sizeof(text));
	snprintf(buf, len, "%s%s%s", *text ? "measured " : "not measured", text,
		 *text && !level->size ? " of it" : "");
	return sonde_cache_agrees(level, claim) == 0;
}

static int measured_ways(const struct sonde_cache_level *level,
			 const struct sonde_cache_claim *claim, char *buf, size_t len)
{
	if (!level->ways)
		return 0;
	snprintf(buf, len, "measured %u", level->ways);
	return claim->ways && claim->ways != (int)level->ways;
}

static int measured_line(const struct sonde_cache_level *level,
			 const struct sonde_cache_claim *claim, char *buf, size_t len)
{
	if (!level->line)
		return 0;
	snprintf(buf, len, "measured %u B", level->line);
	return claim->line && claim->line != level->line;
}

static const struct quantity quantities[] = {
	{ "", claimed_size, measured_size, text_bytes },
	{ " ways", claimed_ways, measured_ways, text_ways },
	{ " line", claimed_line, measured_line, text_bytes },
};

#define NQUANTITIES (sizeof(quantities) / sizeof(quantities[0]))

/**
 * struct opinion - a value and who is of it
 */
struct opinion {
	int64_t value;
	unsigned int sources;
};

static size_t collect_opinions(const struct machine *m, unsigned int level,
			       const struct quantity *q, struct opinion o[MOST_OPINIONS])
{
	const struct sonde_cache_claim *claims;
	size_t nclaims, n = 0, k;

	claims = sonde_claims_list(m->claimed, &nclaims);
	for (size_t i = 0; i < nclaims; i++) {
		int64_t value = q->claimed(&claims[i]);

		if (claims[i].level != level || !value)
			continue;
		for (k = 0; k < n && o[k].value != value; k++)
			;
		if (k == MOST_OPINIONS)
			break;
		if (k == n)
			o[n++] = (struct opinion){ .value = value };
		o[k].sources |= 1U << claims[i].source;
	}
	return n;
}

__attribute__((format(printf, 2, 3)))
static void append(struct headline *h, const char *fmt, ...)
{
	size_t len = strlen(h->text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(h->text + len, sizeof(h->text) - len, fmt, args);
	va_end(args);
}

static int is_one(unsigned int sources)
{
	return !(sources & (sources - 1));
}

static void append_opinion(struct headline *h, const struct quantity *q, const struct opinion *o)
{
	char names[SOURCES_LEN], value[TEXT_LEN];

	q->text(o->value, value, sizeof(value));
	append(h, "%s %s %s", name_sources(names, o->sources, " and "),
	       is_one(o->sources) ? "says" : "say", value);
}

/* Whether @level's measurement surely contradicts a claim; its words to @buf. */
static int contradicts(const struct machine *m, const struct sonde_cache_level *level,
		       const struct quantity *q, char *buf, size_t len)
{
	const struct sonde_cache_claim *claims;
	int any = 0;
	size_t n;

	*buf = '\0';
	claims = sonde_claims_list(m->claimed, &n);
	for (size_t i = 0; level && i < n; i++)
		if (claims[i].level == level->level)
			any |= q->measured(level, &claims[i], buf, len);
	return any && level->confidence >= SONDE_CACHE_SURE;
}

static int compare_values(const struct machine *m, unsigned int number, const struct quantity *q,
			  struct headline *h)
{
	const struct sonde_cache_level *level = find_level(m, number);
	struct opinion o[MOST_OPINIONS];
	size_t n = collect_opinions(m, number, q, o);
	char measured[CELL_LEN], name[16];

	if (!contradicts(m, level, q, measured, sizeof(measured)) && n < 2)
		return 0;
	describe_level_name(m, number, name, sizeof(name));
	append(h, "%s%s: ", name, q->name);
	for (size_t i = 0; i < n; i++) {
		append(h, "%s", i ? ", " : "");
		append_opinion(h, q, &o[i]);
	}
	append(h, "; %s", *measured ? measured : "not measured");
	return 1;
}

/* Sources that claim some cache, or one of @level. */
static unsigned int speakers(const struct machine *m, unsigned int level)
{
	const struct sonde_cache_claim *claims;
	unsigned int sources = 0;
	size_t n;

	claims = sonde_claims_list(m->claimed, &n);
	for (size_t i = 0; i < n; i++)
		if (!level || claims[i].level == level)
			sources |= 1U << claims[i].source;
	return sources;
}

static int compare_existence(const struct machine *m, unsigned int number, struct headline *h)
{
	unsigned int yes = speakers(m, number), no = speakers(m, 0) & COMPLETE & ~yes;
	char name[16], names[SOURCES_LEN];

	if (!yes || !no)
		return 0;
	describe_level_name(m, number, name, sizeof(name));
	append(h, "%s: %s %s it", name, name_sources(names, yes, " and "),
	       is_one(yes) ? "knows" : "know");
	append(h, ", %s %s not; %s", name_sources(names, no, " and "), is_one(no) ? "does" : "do",
	       find_level(m, number) ? "it was measured" : "it was not measured");
	return 1;
}

int find_headlines(const struct machine *m, struct headline **headlines)
{
	unsigned int deepest = find_deepest(m);
	struct headline *h = calloc((size_t)deepest * (NQUANTITIES + 1) + 1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	*headlines = h;
	for (unsigned int level = 1; level <= deepest; level++) {
		h += compare_existence(m, level, h);
		for (size_t q = 0; q < NQUANTITIES; q++)
			h += compare_values(m, level, &quantities[q], h);
	}
	return (int)(h - *headlines);
}
