// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde colour map - how the kernel spreads memory over colours
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "colour.h"
#include "text.h"

#define DEFAULT_PAGES	4096
/* More colours than that are summed up. */
#define MOST_LINES	64
#define BAR		40
#define BATCH		4096

/**
 * struct options - begins with what is common
 * @file: map this in place of fresh memory
 */
struct options {
	struct colour_options colour;
	const char *file;
};

/**
 * struct map - what is behind some memory
 * @count: pages of each colour
 * @present: pages that have a frame
 * @runs: runs of pages whose frames follow each other
 */
struct map {
	struct sonde_colour_request request;
	char *addr;
	size_t npages;
	size_t bytes;
	uint64_t count[COLOUR_MOST];
	uint64_t present;
	uint64_t runs;
	uint64_t longest;
};

static int set_file(void *options, const char *arg)
{
	((struct options *)options)->file = arg;
	return CLI_DONE;
}

static const struct cli_option table[] = {
	COLOUR_OPTIONS,
	{ "file", 'f', "FILE", "the pages that cache this file, not fresh memory", set_file },
	CLI_COMMON_OPTIONS
};

/* ---- the memory --------------------------------------------------------- */

static int map_file(struct map *map, const struct options *o)
{
	int fd = open(o->file, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		cli_error("cannot open %s: %s", o->file, strerror(errno));
		if (fd >= 0)
			close(fd);
		return CLI_FAILED;
	}
	map->bytes = (size_t)st.st_size;
	if (!S_ISREG(st.st_mode) || !map->bytes) {
		cli_error("%s: not a file with something in it", o->file);
		close(fd);
		return CLI_FAILED;
	}
	map->addr = mmap(NULL, map->bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	close(fd);
	return CLI_DONE;
}

static int map_memory(struct map *map, const struct options *o)
{
	int status = CLI_DONE;

	map->bytes = o->colour.pages * o->colour.page_size;
	if (o->file)
		status = map_file(map, o);
	else
		map->addr = mmap(NULL, map->bytes, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (status != CLI_DONE)
		return status;
	if (map->addr == MAP_FAILED) {
		cli_error("cannot map %zu bytes: %s; give less with --size", map->bytes,
			  strerror(errno));
		return CLI_FAILED;
	}
	map->npages = (map->bytes + o->colour.page_size - 1) / o->colour.page_size;
	return CLI_DONE;
}

static void count_frames(struct map *map, const struct sonde_frame *frames, size_t n,
			 uint64_t *run, uint64_t *last)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t frame = frames[i].frame;

		if (!(frames[i].flags & SONDE_FRAME_FRAME)) {
			*run = 0;
			continue;
		}
		map->present++;
		map->count[sonde_colour_of(&map->request, frame)]++;
		*run = *run && frame == *last + 1 ? *run + 1 : 1;
		map->runs += *run == 1;
		if (*run > map->longest)
			map->longest = *run;
		*last = frame;
	}
}

static int read_map(struct map *map, struct sonde_frames_source *source, size_t page_size)
{
	static struct sonde_frame frames[BATCH];
	uint64_t run = 0, last = 0;
	ssize_t got = 0;
	size_t n;

	for (size_t done = 0; done < map->npages; done += n) {
		n = map->npages - done < BATCH ? map->npages - done : BATCH;
		got = sonde_frames_read(source, map->addr + done * page_size, n, frames);
		if (got < 0) {
			cli_error("cannot look up frames: %s", strerror((int)-got));
			return CLI_FAILED;
		}
		count_frames(map, frames, n, &run, &last);
	}
	if (map->present)
		return CLI_DONE;
	cli_error("none of the pages has a frame");
	return CLI_CANNOT_MEASURE;
}

/* ---- output ------------------------------------------------------------- */

static void find_extremes(const struct map *map, uint64_t *least, uint64_t *most)
{
	*least = UINT64_MAX;
	*most = 0;
	for (unsigned int c = 0; c < 1U << map->request.bits; c++) {
		*least = map->count[c] < *least ? map->count[c] : *least;
		*most = map->count[c] > *most ? map->count[c] : *most;
	}
}

static void print_histogram(const struct map *map, uint64_t most)
{
	static const char bar[BAR + 1] = "########################################";

	puts("  colour      pages");
	for (unsigned int c = 0; c < 1U << map->request.bits; c++)
		printf("  %6u %10" PRIu64 "  %.*s\n", c, map->count[c],
		       (int)(map->count[c] * BAR / most), bar);
}

static void print_text(const struct map *map, const struct options *o,
		       const struct sonde_frames_source *source)
{
	const double colours = (double)(1U << map->request.bits);
	char how[512], size[TEXT_LEN];
	uint64_t least, most;

	find_extremes(map, &least, &most);
	printf("Colours of %s%s: %" PRIu64 " pages (%s)\n",
	       o->file ? o->file : "fresh memory", o->file ? " in the page cache" : "",
	       map->present, text_size(size, map->present * o->colour.page_size));
	printf("  %u colours: %s, by %s\n\n", 1U << map->request.bits,
	       colour_describe(&map->request, how, sizeof(how)),
	       sonde_frames_backend_name(sonde_frames_backend(source)));
	if (1U << map->request.bits <= MOST_LINES)
		print_histogram(map, most);
	printf("\n  a colour    %" PRIu64 " to %" PRIu64 " pages; %.1f if all had the same\n",
	       least, most, (double)map->present / colours);
	printf("  runs        %" PRIu64 " of frames that follow each other: %.1f pages each, "
	       "the longest %" PRIu64 "\n", map->runs, (double)map->present / (double)map->runs,
	       map->longest);
}

static int print_json(const struct map *map, const struct options *o,
		      const struct sonde_frames_source *source)
{
	json_t *count = json_array(), *root;

	for (unsigned int c = 0; c < 1U << map->request.bits; c++)
		json_array_append_new(count, json_integer((json_int_t)map->count[c]));
	root = json_pack("{s:s, s:s?, s:I, s:I, s:i, s:o, s:o, s:I, s:I}",
			 "by", sonde_frames_backend_name(sonde_frames_backend(source)),
			 "file", o->file,
			 "pages", (json_int_t)map->npages,
			 "present", (json_int_t)map->present,
			 "bits", (int)map->request.bits,
			 "masks", colour_pack_masks(&map->request),
			 "pages_of_colour", count,
			 "runs", (json_int_t)map->runs,
			 "longest", (json_int_t)map->longest);
	if (!root) {
		cli_error("not enough memory for the answer, or a name that is not UTF-8");
		return CLI_FAILED;
	}
	json_dumpf(root, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(root);
	return CLI_DONE;
}

static int run(int argc, char **argv)
{
	static struct options o;
	static struct map map;
	struct sonde_frames_source *frames;
	int status = cli_parse(&colour_map, argc, argv, &o);

	if (status >= 0)
		return status;
	if (o.file && (o.colour.pages || o.colour.bytes)) {
		cli_error("a file has its own size: --file goes without --pages and --size");
		return CLI_USAGE;
	}
	status = colour_settle(&o.colour, DEFAULT_PAGES);
	if (status == CLI_DONE)
		status = colour_open_frames(&frames);
	if (status != CLI_DONE)
		return status;
	colour_fill(&o.colour, &map.request);
	status = map_memory(&map, &o);
	if (status == CLI_DONE) {
		status = read_map(&map, frames, o.colour.page_size);
		munmap(map.addr, map.bytes);
	}
	if (status == CLI_DONE && o.colour.common.json)
		status = print_json(&map, &o, frames);
	else if (status == CLI_DONE)
		print_text(&map, &o, frames);
	sonde_frames_close(frames);
	return status;
}

const struct cli_command colour_map = {
	.name = "colour map",
	.summary = "how pages of fresh memory or of a file spread over colours",
	.options = table,
	.run = run,
};
