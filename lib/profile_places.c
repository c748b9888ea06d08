// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * profile_places - what programs ask a profile of CPUs: what memory gives some of them
 * together (Servet, section 2.3), and what it takes one to tell another (section 2.4)
 *
 * Pairs that disturb each other are links, and CPUs that are linked a group; what a
 * group gets is the curve of its class at as many cores, or what its parts get if that
 * is less: the narrowest place on the way to the memory counts.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "profile.h"

static const char *const bases[] = {
	[SONDE_BASIS_MEASURED] = "measured",
	[SONDE_BASIS_ALIKE] = "measured of others like these",
	[SONDE_BASIS_SHARING] = "from the caches that they share",
};

const char *sonde_profile_basis_name(enum sonde_profile_basis basis)
{
	return bases[basis];
}

static const json_t *get(const json_t *object, const char *name)
{
	return json_object_get(object, name);
}

static double get_number(const json_t *object, const char *name)
{
	const json_t *value = get(object, name);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static struct sonde_interval get_interval(const json_t *object, const char *name)
{
	const json_t *ci = get(object, name);
	const json_t *low = json_array_get(ci, 0), *high = json_array_get(ci, 1);

	return (struct sonde_interval){ json_is_number(low) ? json_number_value(low) : NAN,
					json_is_number(high) ? json_number_value(high) : NAN };
}

static int is_number(const json_t *value, size_t number)
{
	return json_is_number(value) && json_number_value(value) >= (double)number &&
	       json_number_value(value) <= (double)number;
}

/* Where in a list of CPUs one stands; -1. */
static int find_cpu(const json_t *list, unsigned int cpu)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (is_number(json_array_get(list, i), cpu))
			return (int)i;
	return -1;
}

/* ---- bandwidth ------------------------------------------------------------ */

static int read_rate(const json_t *rate, struct sonde_bandwidth *bandwidth)
{
	double bytes_s = get_number(rate, "bytes_s");

	if (!(bytes_s > 0))
		return -ENOENT;
	*bandwidth = (struct sonde_bandwidth){ bytes_s, get_interval(rate, "bytes_s_ci"),
					       SONDE_BASIS_MEASURED };
	return 0;
}

/* The rate of @cores cores on a curve: a point, or between two. */
static int read_curve(const json_t *curve, size_t cores, struct sonde_bandwidth *bandwidth)
{
	double x0 = 0, y0 = 0, x1 = NAN, y1 = NAN;
	const json_t *point;
	size_t i;

	json_array_foreach(get(curve, "points"), i, point) {
		double x = get_number(point, "cores"), y = get_number(point, "bytes_s");

		if (is_number(get(point, "cores"), cores) && y > 0)
			return read_rate(point, bandwidth);
		if (!(y > 0))
			continue;
		if (x < (double)cores && x > x0) {
			x0 = x;
			y0 = y;
		} else if (x > (double)cores && !(x1 <= x)) {
			x1 = x;
			y1 = y;
		}
	}
	if (!(x0 > 0) || !(x1 > 0))
		return -ENOENT;
	*bandwidth = (struct sonde_bandwidth){
		y0 + (y1 - y0) * ((double)cores - x0) / (x1 - x0), { NAN, NAN }, SONDE_BASIS_ALIKE,
	};
	return 0;
}

/* Whether the CPUs are the first @n of a curve, in whatever order. */
static int is_of_curve(const json_t *curve, const unsigned int *cpus, size_t n)
{
	const json_t *list = get(curve, "cpus");

	for (size_t i = 0; i < n; i++) {
		int at = find_cpu(list, cpus[i]);

		if (at < 0 || (size_t)at >= n)
			return 0;
	}
	return n > 0;
}

static double find_alone(const json_t *section, unsigned int cpu, struct sonde_bandwidth *bandwidth)
{
	const json_t *rate;
	size_t i;

	json_array_foreach(get(section, "alone"), i, rate)
		if (is_number(get(rate, "cpu"), cpu) && !read_rate(rate, bandwidth))
			return bandwidth->bytes_s;
	return NAN;
}

/* The class of a pair; -1 if it was not measured or disturbs nobody. */
static int find_class(const json_t *section, unsigned int a, unsigned int b)
{
	const json_t *classes = get(section, "classes"), *pair;
	size_t i;

	json_array_foreach(get(section, "pairs"), i, pair) {
		const json_t *both = get(pair, "cpus"), *class = get(pair, "class");

		if (find_cpu(both, a) < 0 || find_cpu(both, b) < 0 || !json_is_integer(class))
			continue;
		class = json_array_get(classes, (size_t)json_integer_value(class));
		return json_is_true(get(class, "overhead")) ?
		       (int)json_integer_value(get(pair, "class")) : -1;
	}
	return -1;
}

/*
 * struct crowd - CPUs that copy at the same time
 * @link: @n x @n, the class of each pair, -1: none
 * @group: of each CPU, in the classes looked at so far
 */
struct crowd {
	const json_t *section;
	const unsigned int *cpus;
	size_t n;
	int *link;
	size_t *group;
	double *rate;
};

static void rename_group(struct crowd *c, size_t from, size_t to)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->group[i] == from)
			c->group[i] = to;
}

static size_t count_members(const struct crowd *c, size_t group)
{
	size_t members = 0;

	for (size_t i = 0; i < c->n; i++)
		members += c->group[i] == group;
	return members;
}

static int is_linked(const struct crowd *c, size_t group, int class)
{
	for (size_t a = 0; a < c->n; a++)
		for (size_t b = 0; b < a; b++)
			if (c->group[a] == group && c->group[b] == group &&
			    c->link[a * c->n + b] == class)
				return 1;
	return 0;
}

/* Groups that pairs of @class link become one: its parts' rates together, or the
 * class's curve where that gives less. */
static void join(struct crowd *c, int class)
{
	const json_t *curve = get(json_array_get(get(c->section, "classes"), (size_t)class),
				  "scaling");
	struct sonde_bandwidth limit;

	for (size_t a = 0; a < c->n; a++)
		for (size_t b = 0; b < a; b++) {
			size_t to = c->group[a], from = c->group[b];

			if (c->link[a * c->n + b] != class || from == to)
				continue;
			rename_group(c, from, to);
			c->rate[to] += c->rate[from];
			c->rate[from] = 0;
		}
	for (size_t g = 0; g < c->n; g++)
		if (is_linked(c, g, class) && !read_curve(curve, count_members(c, g), &limit))
			c->rate[g] = fmin(c->rate[g], limit.bytes_s);
}

static int add_up(struct crowd *c, struct sonde_bandwidth *bandwidth)
{
	const size_t classes = json_array_size(get(c->section, "classes"));
	struct sonde_bandwidth one;
	double sum = 0;

	for (size_t i = 0; i < c->n; i++) {
		c->group[i] = i;
		c->rate[i] = find_alone(c->section, c->cpus[i], &one);
		if (!(c->rate[i] > 0))
			return -ENOENT;
		for (size_t k = 0; k < i; k++)
			c->link[i * c->n + k] = find_class(c->section, c->cpus[i], c->cpus[k]);
	}
	/* Those that lose most come first. */
	for (size_t class = 0; class < classes; class++)
		join(c, (int)class);
	for (size_t g = 0; g < c->n; g++)
		sum += c->rate[g];
	*bandwidth = (struct sonde_bandwidth){ sum, { NAN, NAN }, SONDE_BASIS_ALIKE };
	return 0;
}

static int estimate(const json_t *section, const unsigned int *cpus, size_t n,
		    struct sonde_bandwidth *bandwidth)
{
	struct crowd c = { .section = section, .cpus = cpus, .n = n };
	int err = -ENOMEM;

	c.link = calloc(n * n, sizeof(*c.link));
	c.group = calloc(n, sizeof(*c.group));
	c.rate = calloc(n, sizeof(*c.rate));
	if (c.link && c.group && c.rate)
		err = add_up(&c, bandwidth);
	free(c.link);
	free(c.group);
	free(c.rate);
	return err;
}

static int has_twice(const unsigned int *cpus, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (cpus[i] == cpus[k])
				return 1;
	return 0;
}

int sonde_profile_bandwidth(const struct sonde_profile *profile, const unsigned int *cpus,
			    size_t n, struct sonde_bandwidth *bandwidth)
{
	const json_t *section = get(profile->root, "bandwidth"), *class;
	size_t i;

	if (!n)
		return -EINVAL;
	if (!cpus)
		return read_curve(get(section, "scaling"), n, bandwidth);
	if (has_twice(cpus, n))
		return -EINVAL;
	if (n == 1)
		return find_alone(section, *cpus, bandwidth) > 0 ? 0 : -ENOENT;
	if (is_of_curve(get(section, "scaling"), cpus, n) &&
	    !read_curve(get(section, "scaling"), n, bandwidth))
		return 0;
	json_array_foreach(get(section, "classes"), i, class)
		if (is_of_curve(get(class, "scaling"), cpus, n) &&
		    !read_curve(get(class, "scaling"), n, bandwidth))
			return 0;
	return estimate(section, cpus, n, bandwidth);
}

/* ---- latency -------------------------------------------------------------- */

/* The place of a CPU on the node that @like is of, or the first one; -1. */
static int find_place(const json_t *places, unsigned int cpu, int like)
{
	const json_t *node = like < 0 ? NULL : get(json_array_get(places, (size_t)like), "node");
	const json_t *place;
	size_t i;

	json_array_foreach(places, i, place)
		if (is_number(get(place, "cpu"), cpu) &&
		    (!node || json_equal(get(place, "node"), node)))
			return (int)i;
	return -1;
}

/* A pair that was measured has its interval. */
static int read_pair(const json_t *method, int a, int b, struct sonde_distance *distance)
{
	const json_t *pair;
	size_t i;

	json_array_foreach(get(method, "pairs"), i, pair) {
		const json_t *both = get(pair, "places");
		double ns = get_number(pair, "latency_ns");

		if (find_cpu(both, (unsigned int)a) < 0 || find_cpu(both, (unsigned int)b) < 0 ||
		    !(ns > 0))
			continue;
		distance->ns = ns;
		distance->ci = get_interval(pair, "latency_ns_ci");
		distance->basis = SONDE_BASIS_MEASURED;
		return 0;
	}
	return -ENOENT;
}

static const json_t *get_row(const json_t *method, int a, int b, const char *name)
{
	const json_t *row = json_array_get(get(method, "matrix"), (size_t)a);

	return json_array_get(get(row, name), (size_t)b);
}

/* Of the pair, else what those of its layer take. */
static int read_matrix(const json_t *method, int a, int b, struct sonde_distance *distance)
{
	const json_t *value = get_row(method, a, b, "latency_ns");

	distance->method = json_string_value(get(method, "method"));
	if (!read_pair(method, a, b, distance))
		return 0;
	if (!json_is_number(value) || !(json_number_value(value) > 0))
		return -ENOENT;
	distance->ns = json_number_value(value);
	distance->ci = (struct sonde_interval){ NAN, NAN };
	distance->basis = SONDE_BASIS_ALIKE;
	return 0;
}

/* Messages of @bytes in the layer of the two: between two sizes that were measured,
 * beyond the largest as from the one before. */
static int read_points(const json_t *method, int a, int b, double bytes,
		       struct sonde_distance *distance)
{
	const json_t *layer = get_row(method, a, b, "layers"), *point;
	double x0 = NAN, y0 = NAN, x1 = NAN, y1 = NAN;
	size_t i;

	layer = json_is_integer(layer) ? json_array_get(get(method, "layers"),
							(size_t)json_integer_value(layer)) : NULL;
	json_array_foreach(get(layer, "points"), i, point) {
		double x = get_number(point, "bytes"), y = get_number(point, "latency_ns");

		if (!(y > 0) || (x1 >= bytes))
			continue;
		x0 = x1;
		y0 = y1;
		x1 = x;
		y1 = y;
	}
	if (!(y1 > 0))
		return -ENOENT;
	distance->ns = y1;
	if (x1 > x0)
		distance->ns = fmax(y0 + (y1 - y0) * (bytes - x0) / (x1 - x0), fmin(y0, y1));
	else if (bytes > x1)
		return -ENOENT;
	distance->method = json_string_value(get(method, "method"));
	distance->ci = (struct sonde_interval){ NAN, NAN };
	distance->basis = SONDE_BASIS_ALIKE;
	return 0;
}

static int is_word(const json_t *value, const char *word)
{
	const char *s = json_string_value(value);

	return s && !strcmp(s, word);
}

/* Of @bytes, by the quickest way that moves messages on a node; 0: a cache line. */
static int read_communication(const json_t *section, unsigned int a, unsigned int b,
			      uint64_t bytes, struct sonde_distance *distance)
{
	const json_t *places = get(section, "places"), *method;
	int from = find_place(places, a, -1), to = from < 0 ? -1 : find_place(places, b, from);
	struct sonde_distance found = { .ns = INFINITY };
	size_t i;

	if (to < 0)
		return -ENOENT;
	json_array_foreach(get(section, "methods"), i, method) {
		struct sonde_distance one;
		int is_line = is_word(get(method, "method"), "line") ||
			      is_word(get(method, "method"), "flag"), err;

		if (is_line != !bytes)
			continue;
		if (is_line || is_number(get(method, "bytes"), bytes))
			err = read_matrix(method, from, to, &one);
		else
			err = read_points(method, from, to, (double)bytes, &one);
		if (!err && one.ns < found.ns)
			found = one;
	}
	if (!isfinite(found.ns))
		return -ENOENT;
	*distance = found;
	return 0;
}

/* A load of a line that the other CPU has, by the nearest cache of both, timed when it
 * was found out that they share it. */
static int read_sharing(const struct sonde_profile *profile, unsigned int a, unsigned int b,
			struct sonde_distance *distance)
{
	const double hz = get_number(profile->root, "core_hz");
	json_int_t nearest = 0;
	const json_t *pair;
	size_t i;

	json_array_foreach(get(get(profile->root, "sharing"), "pairs"), i, pair) {
		const json_t *both = get(pair, "cpus");
		json_int_t level = json_integer_value(get(pair, "level"));
		double cycles = get_number(pair, "first_cycles");

		if (find_cpu(both, a) < 0 || find_cpu(both, b) < 0 || !(cycles > 0) || !(hz > 0) ||
		    !json_is_true(get(pair, "shared")) || (nearest && level >= nearest))
			continue;
		nearest = level;
		*distance = (struct sonde_distance){ cycles * 1e9 / hz, { NAN, NAN },
						      SONDE_BASIS_SHARING, NULL };
	}
	return nearest ? 0 : -ENOENT;
}

int sonde_profile_latency(const struct sonde_profile *profile, unsigned int a, unsigned int b,
			  uint64_t bytes, struct sonde_distance *distance)
{
	int err;

	if (a == b)
		return -EINVAL;
	err = read_communication(get(profile->root, "communication"), a, b, bytes, distance);
	return err && !bytes ? read_sharing(profile, a, b, distance) : err;
}
