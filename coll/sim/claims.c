// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * claims - Kumar, Mamidala, Panda 2008, section 6.1, asked of the simulator
 *
 * Their figures are pictures without numbers in the text: what the text says is
 * claimed; where it leaves sizes open they are those of its figures' middle.
 */
#include <math.h>
#include "claims.h"
#include "schedule.h"
#include "../../lib/rng.h"

enum { INFINIPATH, INFINIHOST, CONNECTX };

static const struct a2a_claim_text texts[A2A_CLAIMS] = {
	[A2A_CLAIM_REDUCTION] = { "reduction",
		"64x8 InfiniPath, 512 B: send aggregation takes 45 to 65 % less than the original",
		"reduction, %", 0.6 },
	[A2A_CLAIM_GROWS] = { "grows",
		"InfiniPath, 512 B: the reduction grows from 4 to 16 to 64 nodes",
		"points gained from 4 to 64 nodes", 0.8 },
	[A2A_CLAIM_SA_BEST] = { "sa-best",
		"64x8 InfiniPath, 512 to 2,048 B: send aggregation is the best scheme",
		"best other / sa, the least", 0.8 },
	[A2A_CLAIM_RD_DEARER] = { "rd-dearer",
		"64x8 InfiniPath, 512 to 4,096 B: receive distribution takes at least 1.10 times "
		"send aggregation", "rd / sa, the least", 0.6 },
	[A2A_CLAIM_CATCHES_UP] = { "catches-up",
		"64x8 InfiniPath: at 8 KiB the original is no slower than send aggregation",
		"sa / original at 8 KiB", 0.8 },
	[A2A_CLAIM_LEADER_BEST] = { "leader-best",
		"64x8 InfiniHost III, 256 to 4,096 B: the leader-based scheme is the best",
		"best other / leader, the least", 0.6 },
	[A2A_CLAIM_SAME] = { "same",
		"64x8 InfiniHost III, 256 to 4,096 B: distribution and aggregation differ by less "
		"than 5 %", "rd / sa, the farthest from 1", 0.8 },
	[A2A_CLAIM_CONNECTX] = { "connectx",
		"4x8 ConnectX, 256 to 8,192 B: aggregation and distribution are better than the "
		"leader-based scheme and the original", "best other / worse of the two, the least",
		0.8 },
};

const struct a2a_claim_text *a2a_claim_text(enum a2a_claim claim)
{
	return &texts[claim];
}

/* Times of the schemes that are compared, in ns. */
struct times {
	double original, leader, sa, rd;
};

static int predict(const struct a2a_class *class, enum a2a_outer outer, uint32_t nodes,
		   uint64_t bytes, double *ns)
{
	const struct a2a_request request = {
		.outer = outer, .nodes = nodes, .ppn = 8, .bytes = bytes, .leaders = 1, .radix = 2,
	};
	struct a2a_stats stats = { .time_ns = NAN };
	int err = a2a_predict(&request, class, 0, NULL, &stats);

	*ns = stats.time_ns;
	return err;
}

static int predict_all(const struct a2a_class *class, uint32_t nodes, uint64_t bytes,
		       struct times *t)
{
	int err = predict(class, A2A_FLAT, nodes, bytes, &t->original);

	if (!err)
		err = predict(class, A2A_LEADER, nodes, bytes, &t->leader);
	if (!err)
		err = predict(class, A2A_SA, nodes, bytes, &t->sa);
	return err ? err : predict(class, A2A_RD, nodes, bytes, &t->rd);
}

static double reduction(const struct times *t)
{
	return 100 * (1 - t->sa / t->original);
}

static int check_reduction(const struct a2a_class *class, struct a2a_verdict *verdicts)
{
	static const uint32_t nodes[] = { 4, 16, 64 };
	struct times t;
	double points[3];
	int err = 0;

	for (int i = 0; i < 3 && !err; i++) {
		err = predict_all(class, nodes[i], 512, &t);
		points[i] = reduction(&t);
	}
	if (err)
		return err;
	verdicts[A2A_CLAIM_REDUCTION] = (struct a2a_verdict){
		points[2] >= 45 && points[2] <= 65, points[2],
	};
	verdicts[A2A_CLAIM_GROWS] = (struct a2a_verdict){
		points[0] < points[1] && points[1] < points[2], points[2] - points[0],
	};
	return 0;
}

static int check_infinipath(const struct a2a_class *class, struct a2a_verdict *verdicts)
{
	double best = INFINITY, dearer = INFINITY, caught;
	struct times t;
	int err = check_reduction(class, verdicts);

	for (uint64_t bytes = 512; bytes <= 8192 && !err; bytes *= 2) {
		err = predict_all(class, 64, bytes, &t);
		if (bytes <= 2048)
			best = fmin(best, fmin(fmin(t.original, t.leader), t.rd) / t.sa);
		if (bytes <= 4096)
			dearer = fmin(dearer, t.rd / t.sa);
	}
	if (err)
		return err;
	caught = t.sa / t.original;
	verdicts[A2A_CLAIM_SA_BEST] = (struct a2a_verdict){ best > 1, best };
	verdicts[A2A_CLAIM_RD_DEARER] = (struct a2a_verdict){ dearer >= 1.1, dearer };
	verdicts[A2A_CLAIM_CATCHES_UP] = (struct a2a_verdict){ caught >= 1, caught };
	return 0;
}

static int check_infinihost(const struct a2a_class *class, struct a2a_verdict *verdicts)
{
	double best = INFINITY, far = 1;
	struct times t;
	int err = 0;

	for (uint64_t bytes = 256; bytes <= 4096 && !err; bytes *= 2) {
		err = predict_all(class, 64, bytes, &t);
		best = fmin(best, fmin(fmin(t.original, t.sa), t.rd) / t.leader);
		if (fabs(t.rd / t.sa - 1) > fabs(far - 1))
			far = t.rd / t.sa;
	}
	verdicts[A2A_CLAIM_LEADER_BEST] = (struct a2a_verdict){ best > 1, best };
	verdicts[A2A_CLAIM_SAME] = (struct a2a_verdict){ fabs(far - 1) < 0.05, far };
	return err;
}

static int check_connectx(const struct a2a_class *class, struct a2a_verdict *verdicts)
{
	double best = INFINITY;
	struct times t;
	int err = 0;

	for (uint64_t bytes = 256; bytes <= 8192 && !err; bytes *= 2) {
		err = predict_all(class, 4, bytes, &t);
		best = fmin(best, fmin(t.original, t.leader) / fmax(t.sa, t.rd));
	}
	verdicts[A2A_CLAIM_CONNECTX] = (struct a2a_verdict){ best > 1, best };
	return err;
}

int a2a_claims_check(const struct a2a_class classes[A2A_CLASSES],
		     struct a2a_verdict verdicts[A2A_CLAIMS])
{
	int err = check_infinipath(&classes[INFINIPATH], verdicts);

	if (!err)
		err = check_infinihost(&classes[INFINIHOST], verdicts);
	return err ? err : check_connectx(&classes[CONNECTX], verdicts);
}

void a2a_claims_perturb(struct a2a_class classes[A2A_CLASSES], uint64_t seed, uint64_t i)
{
	uint64_t state = seed;

	for (uint64_t skip = 0; skip < i * A2A_CLASSES; skip++)
		sonde_rng_splitmix(&state);
	for (size_t c = 0; c < A2A_CLASSES; c++) {
		classes[c] = *a2a_class(c);
		a2a_class_perturb(&classes[c], A2A_PERTURBATION, sonde_rng_splitmix(&state));
	}
}
