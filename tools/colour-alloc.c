// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde colour alloc - get memory of chosen colours, verify what was got, and
 * say what it cost
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "colour.h"
#include "text.h"

#define DEFAULT_PAGES	256
#define BATCH		4096

/**
 * struct options - begins with what is common
 * @wanted: the list as typed; NULL: all
 * @backend: where from
 */
struct options {
	struct colour_options colour;
	const char *wanted;
	int node;
	unsigned int flags;
	enum sonde_colour_backend backend;
};

/**
 * struct got - one allocation
 * @ns: how long it took, with mapping it
 * @verified: pages whose frame was looked up
 * @off_colour: of those, pages that have not the colour of their place
 */
struct got {
	struct sonde_colour_memory *memory;
	double ns;
	uint64_t verified;
	uint64_t off_colour;
};

/* ---- options ------------------------------------------------------------ */

static int set_colours(void *options, const char *arg)
{
	((struct options *)options)->wanted = strcmp(arg, "all") ? arg : NULL;
	return CLI_DONE;
}

static int set_node(void *options, const char *arg)
{
	uint64_t node;
	int status = cli_parse_count("node", arg, 1 << 20, &node);

	((struct options *)options)->node = (int)node;
	return status;
}

static int set_contiguous(void *options, const char *arg)
{
	(void)arg;
	((struct options *)options)->flags |= SONDE_ALLOC_CONTIGUOUS;
	return CLI_DONE;
}

static int set_partial(void *options, const char *arg)
{
	(void)arg;
	((struct options *)options)->flags |= SONDE_ALLOC_PARTIAL;
	return CLI_DONE;
}

static int set_backend(void *options, const char *arg)
{
	static const enum sonde_colour_backend backends[] = {
		SONDE_COLOUR_AUTO, SONDE_COLOUR_MODULE, SONDE_COLOUR_SEARCH,
	};

	for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
		if (strcmp(arg, sonde_colour_backend_name(backends[i])))
			continue;
		((struct options *)options)->backend = backends[i];
		return CLI_DONE;
	}
	cli_error("--backend %s: none of auto, module, search", arg);
	return CLI_USAGE;
}

static const struct cli_option table[] = {
	COLOUR_OPTIONS,
	{ "colours", 'c', "LIST", "the wanted ones, as 0,4-7; default all, in turn", set_colours },
	{ "contiguous", 0, NULL, "one run of frames that follow each other, of any colour",
	  set_contiguous },
	{ "partial", 0, NULL, "take what can be had and say how much is not as asked",
	  set_partial },
	{ "node", 0, "N", "on this NUMA node", set_node },
	{ "backend", 0, "NAME", "auto, module or search (a stock kernel, as root)", set_backend },
	CLI_COMMON_OPTIONS
};

/* ---- the request -------------------------------------------------------- */

static int refuse_colours(const char *list, unsigned int n)
{
	cli_error("--colours %s: not a list of colours from 0 to %u, as 0,4-7", list, n - 1);
	return CLI_USAGE;
}

/* "0,4-7" as a bitmap. */
static int parse_colours(const char *list, unsigned int n, uint64_t bitmap[COLOUR_MOST / 64])
{
	const char *p = list;
	uintmax_t first, last;
	char *end;

	for (;; p = end + 1) {
		if (*p < '0' || *p > '9')
			return refuse_colours(list, n);
		first = last = strtoumax(p, &end, 10);
		if (*end == '-') {
			p = end + 1;
			if (*p < '0' || *p > '9')
				return refuse_colours(list, n);
			last = strtoumax(p, &end, 10);
		}
		if (last >= n || first > last || (*end && *end != ','))
			return refuse_colours(list, n);
		for (; first <= last; first++)
			bitmap[first / 64] |= UINT64_C(1) << first % 64;
		if (!*end)
			return CLI_DONE;
	}
}

static int make_request(const struct options *o, struct sonde_colour_request *request,
			uint64_t bitmap[COLOUR_MOST / 64])
{
	const unsigned int n = 1U << o->colour.bits;

	request->npages = o->colour.pages;
	request->node = o->node;
	request->flags = o->flags;
	if (o->flags & SONDE_ALLOC_CONTIGUOUS) {
		if (!o->wanted && !o->colour.has_masks)
			return CLI_DONE;
		cli_error("contiguous memory has all colours: --contiguous goes without --colours "
			  "and --masks");
		return CLI_USAGE;
	}
	colour_fill(&o->colour, request);
	request->colours = bitmap;
	if (o->wanted)
		return parse_colours(o->wanted, n, bitmap);
	for (unsigned int colour = 0; colour < n; colour++)
		bitmap[colour / 64] |= UINT64_C(1) << colour % 64;
	return CLI_DONE;
}

static unsigned int list_wanted(const struct sonde_colour_request *request,
				uint16_t wanted[COLOUR_MOST])
{
	unsigned int n = 0;

	if (!request->colours)
		return 0;
	for (unsigned int colour = 0; colour < 1U << request->bits; colour++)
		if (request->colours[colour / 64] >> colour % 64 & 1)
			wanted[n++] = (uint16_t)colour;
	return n;
}

/* ---- getting and verifying ---------------------------------------------- */

static int get_memory(struct sonde_colour_source *src, const struct sonde_colour_request *request,
		      struct got *got)
{
	struct timespec start, end;
	char why[512];
	int err;

	clock_gettime(CLOCK_MONOTONIC, &start);
	err = sonde_colour_alloc(src, request, &got->memory);
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (err == -EINVAL) {
		cli_error("refused: the masks depend on each other, or there is no such node");
		return CLI_USAGE;
	}
	if (err) {
		cli_error("%s", sonde_colour_explain(err, why, sizeof(why)));
		return err == -EOPNOTSUPP ? CLI_CANNOT_MEASURE : CLI_FAILED;
	}
	got->ns = (double)(end.tv_sec - start.tv_sec) * 1e9 +
		  (double)(end.tv_nsec - start.tv_nsec);
	return CLI_DONE;
}

static void verify(struct sonde_frames_source *frames, const struct sonde_colour_request *request,
		   size_t page_size, struct got *got)
{
	static struct sonde_frame frame[BATCH];
	static uint16_t wanted[COLOUR_MOST];
	const unsigned int k = list_wanted(request, wanted);
	char *addr = got->memory->addr;
	size_t n;

	for (size_t done = 0; frames && done < request->npages; done += n) {
		n = request->npages - done < BATCH ? request->npages - done : BATCH;
		if (sonde_frames_read(frames, addr + done * page_size, n, frame) < 0)
			return;
		for (size_t i = 0; i < n; i++) {
			if (!(frame[i].flags & SONDE_FRAME_FRAME))
				continue;
			got->verified++;
			got->off_colour += k && sonde_colour_of(request, frame[i].frame) !=
						wanted[(done + i) % k];
		}
	}
}

/* ---- output ------------------------------------------------------------- */

static void print_got(const char *name, const struct got *got)
{
	char time[TEXT_LEN];

	printf("  %-11s %s, %" PRIu64 " pages taken from the kernel\n", name,
	       text_time(time, got->ns), got->memory->drawn);
}

static void print_text(const struct sonde_colour_source *src,
		       const struct sonde_colour_request *request, const struct options *o,
		       const struct got got[2])
{
	const struct sonde_colour_memory *memory = got->memory;
	uint16_t wanted[COLOUR_MOST];
	char how[512], size[TEXT_LEN];

	printf("%zu pages (%s)", request->npages,
	       text_size(size, request->npages * o->colour.page_size));
	if (request->colours)
		printf(" of %u of %u colours (%s)", list_wanted(request, wanted),
		       1U << request->bits, colour_describe(request, how, sizeof(how)));
	printf("\n  %-11s %s\n", "by", sonde_colour_backend_name(sonde_colour_backend(src)));
	if (sonde_colour_why(src))
		printf("  %-11s %s\n", "", sonde_colour_why(src));
	if (request->colours)
		printf("  %-11s %" PRIu64 " pages\n", "off-colour", memory->off_colour);
	if (got->verified == request->npages)
		printf("  %-11s all pages looked up: %" PRIu64 " off-colour\n", "verified",
		       got->off_colour);
	else
		printf("  %-11s no: frame numbers need root\n", "verified");
	printf("  %-11s %" PRIu64 ", the longest of %" PRIu64 " pages\n", "runs", memory->runs,
	       memory->longest);
	print_got("first", &got[0]);
	print_got("second", &got[1]);
	printf("  %-11s the second was %.1f times quicker\n", "", got[0].ns / got[1].ns);
}

static json_t *pack_got(const struct got *got)
{
	return json_pack("{s:f, s:I, s:I, s:I, s:I, s:I, s:I}", "ns", got->ns,
			 "drawn", (json_int_t)got->memory->drawn,
			 "off_colour", (json_int_t)got->memory->off_colour,
			 "runs", (json_int_t)got->memory->runs,
			 "longest", (json_int_t)got->memory->longest,
			 "verified", (json_int_t)got->verified,
			 "verified_off_colour", (json_int_t)got->off_colour);
}

static json_t *pack_colours(const struct sonde_colour_request *request)
{
	uint16_t wanted[COLOUR_MOST];
	const unsigned int n = list_wanted(request, wanted);
	json_t *list = json_array();

	for (unsigned int i = 0; i < n; i++)
		json_array_append_new(list, json_integer(wanted[i]));
	return list;
}

static int print_json(const struct sonde_colour_source *src,
		      const struct sonde_colour_request *request, const struct got got[2])
{
	json_t *root = json_pack("{s:s, s:s?, s:I, s:o, s:o, s:b, s:o, s:o}",
		"by", sonde_colour_backend_name(sonde_colour_backend(src)),
		"why", sonde_colour_why(src),
		"pages", (json_int_t)request->npages,
		"masks", colour_pack_masks(request),
		"colours", pack_colours(request),
		"contiguous", !!(request->flags & SONDE_ALLOC_CONTIGUOUS),
		"first", pack_got(&got[0]), "second", pack_got(&got[1]));

	if (!root) {
		cli_error("not enough memory for the answer");
		return CLI_FAILED;
	}
	json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	putchar('\n');
	json_decref(root);
	return CLI_DONE;
}

/* Verified to be otherwise than was said: a bug, or pages that moved. */
static int check_got(const struct sonde_colour_request *request, const struct got *got)
{
	if (got->verified != request->npages || got->off_colour == got->memory->off_colour)
		return CLI_DONE;
	cli_error("%" PRIu64 " pages are off-colour by their frames, but %" PRIu64 " were said "
		  "to be; did the kernel move them?", got->off_colour, got->memory->off_colour);
	return CLI_FAILED;
}

/* Both are held at once: the second is not the first one's pages again. */
static int get_twice(struct sonde_colour_source *src, const struct options *o,
		     const struct sonde_colour_request *request)
{
	struct sonde_frames_source *frames = NULL;
	struct got got[2] = { 0 };
	int status = CLI_DONE;

	if (sonde_frames_open(&frames, SONDE_FRAMES_AUTO))
		frames = NULL;
	for (int i = 0; i < 2 && status == CLI_DONE; i++)
		status = get_memory(src, request, &got[i]);
	for (int i = 0; i < 2 && status == CLI_DONE; i++) {
		verify(frames, request, o->colour.page_size, &got[i]);
		status = check_got(request, &got[i]);
	}
	if (status == CLI_DONE && o->colour.common.json)
		status = print_json(src, request, got);
	else if (status == CLI_DONE)
		print_text(src, request, o, got);
	sonde_colour_free(got[0].memory);
	sonde_colour_free(got[1].memory);
	sonde_frames_close(frames);
	return status;
}

static int run(int argc, char **argv)
{
	static uint64_t bitmap[COLOUR_MOST / 64];
	struct options o = { .node = -1, .backend = SONDE_COLOUR_AUTO };
	struct sonde_colour_request request = { 0 };
	struct sonde_colour_source *src;
	int status, err;
	char why[512];

	status = cli_parse(&colour_alloc, argc, argv, &o);
	if (status >= 0)
		return status;
	status = colour_settle(&o.colour, DEFAULT_PAGES);
	if (status == CLI_DONE)
		status = make_request(&o, &request, bitmap);
	if (status != CLI_DONE)
		return status;
	err = sonde_colour_open(&src, o.backend);
	if (err) {
		cli_error("%s", sonde_colour_explain(err, why, sizeof(why)));
		return CLI_CANNOT_MEASURE;
	}
	status = get_twice(src, &o, &request);
	sonde_colour_close(src);
	return status;
}

const struct cli_command colour_alloc = {
	.name = "colour alloc",
	.summary = "memory of chosen colours or contiguous, verified, and what it costs",
	.options = table,
	.run = run,
};
