// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde sim alltoall --claims, --perturb - what the paper says, and how much of
 * it depends on what was assumed of its machines
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <jansson.h>
#include "sim.h"

/**
 * struct robustness - of one claim
 * @base: as the classes are
 * @held: of the perturbations; @low, @high: the number's range in them
 */
struct robustness {
	struct a2a_verdict base;
	uint64_t held;
	double low, high;
};

static int check_base(struct robustness *claims)
{
	struct a2a_verdict verdicts[A2A_CLAIMS];
	struct a2a_class classes[A2A_CLASSES];
	int err;

	for (size_t i = 0; i < A2A_CLASSES; i++)
		classes[i] = *a2a_class(i);
	err = a2a_claims_check(classes, verdicts);
	for (int c = 0; c < A2A_CLAIMS && !err; c++)
		claims[c] = (struct robustness){ verdicts[c], 0, INFINITY, -INFINITY };
	return err;
}

static int check_perturbed(const struct sim_options *o, struct robustness *claims)
{
	struct a2a_verdict verdicts[A2A_CLAIMS];
	struct a2a_class classes[A2A_CLASSES];
	struct sim_progress progress;
	int err = 0;

	sim_progress_start(&progress, "perturbing", (double)o->perturbations);
	for (uint64_t i = 0; i < o->perturbations && !err; i++) {
		a2a_claims_perturb(classes, o->seed, i);
		err = a2a_claims_check(classes, verdicts);
		for (int c = 0; c < A2A_CLAIMS && !err; c++) {
			claims[c].held += verdicts[c].holds;
			claims[c].low = fmin(claims[c].low, verdicts[c].value);
			claims[c].high = fmax(claims[c].high, verdicts[c].value);
		}
		if (!err && sim_progress_next(&progress))
			err = -ECANCELED;
	}
	cli_progress_end();
	return err;
}

static int is_robust(const struct robustness *r, const struct sim_options *o,
		     const struct a2a_claim_text *text)
{
	return (double)r->held >= text->share * (double)o->perturbations;
}

static void print_claim(const struct sim_options *o, const struct robustness *r,
			const struct a2a_claim_text *text)
{
	printf("%-12s %-5s %9.3f", text->name, r->base.holds ? "holds" : "FAILS", r->base.value);
	if (o->perturbations)
		printf("  %5.1f %% (%.0f %% asked%s) %9.3f to %.3f",
		       100 * (double)r->held / (double)o->perturbations, 100 * text->share,
		       is_robust(r, o, text) ? "" : ", MISSED", r->low, r->high);
	printf("\n    %s\n    number: %s\n", text->what, text->value);
}

static json_t *pack_claim(const struct sim_options *o, const struct robustness *r,
			  const struct a2a_claim_text *text)
{
	json_t *claim = json_pack("{s:s, s:s, s:s, s:b, s:f}", "name", text->name, "claim",
				  text->what, "number", text->value, "holds", r->base.holds,
				  "value", r->base.value);

	if (o->perturbations)
		json_object_update_new(claim, json_pack("{s:f, s:f, s:f, s:f}", "share",
				       (double)r->held / (double)o->perturbations,
				       "share_asked", text->share, "value_low", r->low,
				       "value_high", r->high));
	return claim;
}

static int print_claims_json(const struct sim_options *o, const struct robustness *claims)
{
	json_t *list = json_array();

	for (int c = 0; c < A2A_CLAIMS; c++)
		json_array_append_new(list, pack_claim(o, &claims[c],
						       a2a_claim_text((enum a2a_claim)c)));
	return sim_print_json(json_pack("{s:s, s:I, s:I, s:f, s:o}", "schema", "sonde-sim-1",
					"perturbations", (json_int_t)o->perturbations, "seed",
					(json_int_t)o->seed, "by", A2A_PERTURBATION, "claims",
					list));
}

int sim_claims(const struct sim_options *o)
{
	struct robustness claims[A2A_CLAIMS];
	int err = check_base(claims), is_kept = 1;

	if (!err)
		err = check_perturbed(o, claims);
	if (err)
		return sim_refuse(err, &(struct a2a_request){ .nodes = 64, .ppn = 8 });
	for (int c = 0; c < A2A_CLAIMS; c++) {
		const struct a2a_claim_text *text = a2a_claim_text((enum a2a_claim)c);

		is_kept &= claims[c].base.holds && is_robust(&claims[c], o, text);
		if (!o->common.json)
			print_claim(o, &claims[c], text);
	}
	if (o->common.json && print_claims_json(o, claims) != CLI_DONE)
		return CLI_FAILED;
	return is_kept ? CLI_DONE : CLI_FAILED;
}
