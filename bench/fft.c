// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fft - a wave function moves in time: 3-D FFTs whose transposes are MPI_Alltoall()
 *
 *   fft [--n POINTS] [--seconds S] [--apart]    times of a step, one JSON object
 *   fft [--n POINTS] --check                    TAP, and a digest of what was computed
 *
 * The pattern of plane-wave codes such as CPMD: a cube of complex numbers is cut in
 * slabs along x, a rank has POINTS / ranks of them. A transform is a 2-D FFT of
 * each plane, a transpose (pack, MPI_Alltoall(), unpack) so that x is whole, a 1-D
 * FFT along x; back again the other way round. A step of the split-operator method
 * multiplies by the potential's phase in space, by the kinetic energy's among the
 * waves: two transforms, two transposes. The norm stays what it was.
 *
 * Nothing here knows of libsonde-coll: it is preloaded or not. Inside the interval
 * of a step is all of it, inside the other MPI_Alltoall() alone, with waiting for
 * whoever is late; --apart: a barrier before it takes that on itself, and is timed
 * apart. All are means over ranks and steps, after three that are not
 * counted. FFTW plans by estimate, so that every run computes the same bits.
 */
#include <complex.h>
#include <getopt.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fftw3.h>
#include <mpi.h>

#define WARM_UP		3
#define TIME_STEP	0.01

/**
 * struct fft - a rank's part
 * @n: points along an edge
 * @mine: planes of it that this rank has
 * @slab: [x of mine][y][z]
 * @turned: [y of mine][z][x]
 * @out, @in: as MPI_Alltoall() sends and receives: [rank][x][y][z]
 * @exchange, @waiting: seconds in MPI_Alltoall(), and in the barriers before it
 * @is_apart: there are such
 */
struct fft {
	int n, mine, rank, size;
	double complex *slab, *turned, *out, *in, *potential, *kinetic;
	fftw_plan planes[2], lines[2];
	double exchange, waiting;
	int is_apart;
};

static size_t get_points(const struct fft *f)
{
	return (size_t)f->mine * (size_t)f->n * (size_t)f->n;
}

/* ---- transforms ---------------------------------------------------------- */

static void exchange(struct fft *f)
{
	const int block = (int)(get_points(f) / (size_t)f->size);
	double begin = MPI_Wtime();

	if (f->is_apart) {
		MPI_Barrier(MPI_COMM_WORLD);
		f->waiting += MPI_Wtime() - begin;
		begin = MPI_Wtime();
	}
	MPI_Alltoall(f->out, block, MPI_C_DOUBLE_COMPLEX, f->in, block, MPI_C_DOUBLE_COMPLEX,
		     MPI_COMM_WORLD);
	f->exchange += MPI_Wtime() - begin;
}

/* Where in a message what is at [x][y][z] of slab @x, for or from who has @y, begins. */
static size_t in_message(const struct fft *f, int rank, int x, int y)
{
	return (((size_t)rank * (size_t)f->mine + (size_t)x) * (size_t)f->mine + (size_t)y) *
	       (size_t)f->n;
}

static size_t in_slab(const struct fft *f, int rank, int x)
{
	return ((size_t)x * (size_t)f->n + (size_t)(rank * f->mine)) * (size_t)f->n;
}

/* Lines of [y of mine][z], each from x of all ranks: one way or the other. */
static void turn(struct fft *f, double complex *messages, int is_back)
{
	for (int rank = 0; rank < f->size; rank++)
		for (int x = 0; x < f->mine; x++)
			for (int y = 0; y < f->mine; y++) {
				double complex *line = messages + in_message(f, rank, x, y);
				double complex *to = f->turned + (size_t)y * (size_t)(f->n * f->n) +
						     rank * f->mine + x;

				for (int z = 0; z < f->n; z++)
					if (is_back)
						line[z] = to[z * f->n];
					else
						to[z * f->n] = line[z];
			}
}

static void forward(struct fft *f)
{
	const size_t bytes = (size_t)(f->mine * f->n) * sizeof(*f->out);

	fftw_execute(f->planes[0]);
	for (int rank = 0; rank < f->size; rank++)
		for (int x = 0; x < f->mine; x++)
			memcpy(f->out + in_message(f, rank, x, 0), f->slab + in_slab(f, rank, x),
			       bytes);
	exchange(f);
	turn(f, f->in, 0);
	fftw_execute(f->lines[0]);
}

/* Scaled, so that it undoes forward(). */
static void backward(struct fft *f)
{
	const size_t bytes = (size_t)(f->mine * f->n) * sizeof(*f->out);
	const double scale = 1.0 / f->n / f->n / f->n;

	fftw_execute(f->lines[1]);
	turn(f, f->out, 1);
	exchange(f);
	for (int rank = 0; rank < f->size; rank++)
		for (int x = 0; x < f->mine; x++)
			memcpy(f->slab + in_slab(f, rank, x), f->in + in_message(f, rank, x, 0),
			       bytes);
	fftw_execute(f->planes[1]);
	for (size_t i = 0; i < get_points(f); i++)
		f->slab[i] *= scale;
}

static void multiply(double complex *a, const double complex *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		a[i] *= b[i];
}

static void step(struct fft *f)
{
	multiply(f->slab, f->potential, get_points(f));
	forward(f);
	multiply(f->turned, f->kinetic, get_points(f));
	backward(f);
}

/* ---- what is computed ---------------------------------------------------- */

/* From -1 to 1 along an edge. */
static double place(const struct fft *f, int i)
{
	return 2.0 * i / f->n - 1;
}

/* Of a wave, which may go either way. */
static double wave_number(const struct fft *f, int i)
{
	return M_PI * (i < (f->n + 1) / 2 ? i : i - f->n);
}

/* A packet beside the middle of a bowl. */
static void fill(struct fft *f)
{
	size_t at = 0;

	for (int i = 0; i < f->mine; i++)
		for (int j = 0; j < f->n; j++)
			for (int k = 0; k < f->n; k++, at++) {
				const int global = f->rank * f->mine + i;
				const double x = place(f, global), y = place(f, j), z = place(f, k);
				/* Of [y][z][x], if it is of the waves. */
				const double a = wave_number(f, global), b = wave_number(f, j),
					     c = wave_number(f, k);

				f->slab[at] = exp(-20 * ((x - 0.2) * (x - 0.2) + y * y + z * z));
				f->potential[at] = cexp(-I * TIME_STEP * 50 *
							(x * x + y * y + z * z));
				f->kinetic[at] = cexp(-I * TIME_STEP * (a * a + b * b + c * c) / 2);
			}
}

static double get_norm(const struct fft *f)
{
	double mine = 0, all;

	for (size_t i = 0; i < get_points(f); i++)
		mine += creal(f->slab[i] * conj(f->slab[i]));
	MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return all;
}

/* ---- checks -------------------------------------------------------------- */

static double get_most(double mine)
{
	double all;

	MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return all;
}

/* One wave of 1, 2 and 3 periods along x, y, z: one point of the transform. */
static double check_wave(struct fft *f)
{
	const double n3 = (double)f->n * f->n * f->n;
	double most = 0;
	size_t at = 0;

	for (int x = 0; x < f->mine; x++)
		for (int y = 0; y < f->n; y++)
			for (int z = 0; z < f->n; z++)
				f->slab[at++] = cexp(2 * I * M_PI / f->n *
						     (f->rank * f->mine + x + 2 * y + 3 * z));
	forward(f);
	at = 0;
	for (int y = 0; y < f->mine; y++)
		for (int z = 0; z < f->n; z++)
			for (int x = 0; x < f->n; x++) {
				const int is_it = x == 1 && f->rank * f->mine + y == 2 && z == 3;

				most = fmax(most, cabs(f->turned[at++] / n3 - is_it));
			}
	return get_most(most);
}

/* There and back; numbers without any pattern. */
static double check_round_trip(struct fft *f)
{
	double complex *before = malloc(get_points(f) * sizeof(*before));
	uint64_t x = 88172645463325252u + (uint64_t)f->rank;
	double most = 0;

	if (!before)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (size_t i = 0; i < get_points(f); i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		f->slab[i] = before[i] = (double)(x >> 40) / 0x1p24 + I * ((double)(x & 0xffff) / 0x1p16);
	}
	forward(f);
	backward(f);
	for (size_t i = 0; i < get_points(f); i++)
		most = fmax(most, cabs(f->slab[i] - before[i]));
	free(before);
	return get_most(most);
}

/* Of all bits of all ranks, in their order. */
static uint64_t digest(const struct fft *f)
{
	const unsigned char *bytes = (const unsigned char *)f->slab;
	uint64_t mine = 14695981039346656037u, all;

	for (size_t i = 0; i < get_points(f) * sizeof(*f->slab); i++)
		mine = (mine ^ bytes[i]) * 1099511628211u;
	mine *= 2 * (uint64_t)f->rank + 1;
	MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD);
	return all;
}

static int say(const struct fft *f, int number, const char *what, double error)
{
	const int right = error < 1e-12;

	if (!f->rank)
		printf("%s %d - %s (%.1e), %d ranks\n", right ? "ok" : "not ok", number, what,
		       error, f->size);
	return !right;
}

static int check(struct fft *f)
{
	double before;
	uint64_t sum;
	int failed = say(f, 1, "a wave is one point of its transform", check_wave(f));

	failed |= say(f, 2, "back again everything is what it was", check_round_trip(f));
	fill(f);
	before = get_norm(f);
	for (int i = 0; i < 10; i++)
		step(f);
	failed |= say(f, 3, "ten steps keep the norm", fabs(get_norm(f) / before - 1));
	sum = digest(f);
	if (!f->rank)
		printf("1..3\n# digest %016llx\n", (unsigned long long)sum);
	return failed;
}

/* ---- times --------------------------------------------------------------- */

/* Seconds, and of these in MPI_Alltoall() and waiting for it: a step's, the mean of all ranks. */
static void time_steps(struct fft *f, int n, double seconds[3])
{
	double mine[3];

	MPI_Barrier(MPI_COMM_WORLD);
	f->exchange = f->waiting = 0;
	mine[0] = MPI_Wtime();
	for (int i = 0; i < n; i++)
		step(f);
	mine[0] = (MPI_Wtime() - mine[0]) / n / f->size;
	mine[1] = f->exchange / n / f->size;
	mine[2] = f->waiting / n / f->size;
	MPI_Allreduce(mine, seconds, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void measure(struct fft *f, double seconds)
{
	double took[3];
	int n;

	fill(f);
	time_steps(f, WARM_UP, took);
	time_steps(f, WARM_UP, took);
	n = seconds / took[0] < 2 ? 2 : seconds / took[0] > 1e6 ? 1000000 :
	    (int)(seconds / took[0]);
	time_steps(f, n, took);
	if (!f->rank)
		printf("{\"ranks\": %d, \"n\": %d, \"block\": %zu, \"steps\": %d, \"step_us\": %.2f, "
		       "\"alltoall_us\": %.2f, \"waiting_us\": %.2f}\n", f->size, f->n,
		       get_points(f) / (size_t)f->size * sizeof(*f->slab), n, took[0] * 1e6,
		       took[1] * 1e6, took[2] * 1e6);
}

/* ---- all ----------------------------------------------------------------- */

static void open_fft(struct fft *f)
{
	const int plane[2] = { f->n, f->n }, line[1] = { f->n };
	double complex **all[] = { &f->slab, &f->turned, &f->out, &f->in, &f->potential,
				   &f->kinetic };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		*all[i] = fftw_alloc_complex(get_points(f));
		if (!*all[i])
			MPI_Abort(MPI_COMM_WORLD, 1);
	}
	for (int i = 0; i < 2; i++) {
		const int sign = i ? FFTW_BACKWARD : FFTW_FORWARD;

		f->planes[i] = fftw_plan_many_dft(2, plane, f->mine, f->slab, NULL, 1,
						  f->n * f->n, f->slab, NULL, 1, f->n * f->n, sign,
						  FFTW_ESTIMATE);
		f->lines[i] = fftw_plan_many_dft(1, line, f->mine * f->n, f->turned, NULL, 1, f->n,
						 f->turned, NULL, 1, f->n, sign, FFTW_ESTIMATE);
	}
}

static void close_fft(struct fft *f)
{
	double complex *all[] = { f->slab, f->turned, f->out, f->in, f->potential, f->kinetic };

	for (int i = 0; i < 2; i++) {
		fftw_destroy_plan(f->planes[i]);
		fftw_destroy_plan(f->lines[i]);
	}
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		fftw_free(all[i]);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "n", required_argument, NULL, 'n' }, { "seconds", required_argument, NULL, 's' },
		{ "check", no_argument, NULL, 'c' }, { "apart", no_argument, NULL, 'a' },
		{ NULL, 0, NULL, 0 },
	};
	struct fft f = { .n = 48 };
	double seconds = 1;
	int c, is_check = 0, is_wrong = 0, failed = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &f.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &f.size);
	opterr = !f.rank;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'n')
			f.n = atoi(optarg);
		else if (c == 's')
			seconds = atof(optarg);
		else if (c == 'a')
			f.is_apart = 1;
		else if (c == 'c')
			is_check = 1;
		else
			is_wrong = 1;
	}
	f.mine = f.n / f.size;
	if (is_wrong || optind != argc || f.n < 4 || f.n > 1024 || f.n % f.size || !(seconds > 0)) {
		if (!f.rank)
			fprintf(stderr, "fft: --n is a multiple of the ranks from 4 to 1024; "
				"see the head of bench/fft.c\n");
		MPI_Finalize();
		return 2;
	}
	open_fft(&f);
	if (is_check)
		failed = check(&f);
	else
		measure(&f, seconds);
	close_fft(&f);
	MPI_Finalize();
	return failed;
}
