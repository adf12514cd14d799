/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of the level of detail, by which a budget is held. */
#include "base/order.h"
#include "map/fact/kind.h"

static int step_add(struct facts *f, const struct record_head *head)
{
	const struct record_step *r = (const void *)head;
	struct fact_step s = {.time_ns = r->head.time_ns,
			      .from = r->from,
			      .to = r->to,
			      .why = r->why,
			      .budget_ppm = r->budget_ppm,
			      .cost_ppm = r->cost_ppm,
			      .predicted_ppm = r->predicted_ppm};

	return vec_push(&f->steps, s);
}

static int step_compare(const void *a, const void *b)
{
	const struct fact_step *x = a, *y = b;

	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->from, y->from);
	COMPARE(x->to, y->to);
	COMPARE(x->why, y->why);
	COMPARE(x->budget_ppm, y->budget_ppm);
	COMPARE(x->cost_ppm, y->cost_ppm);
	COMPARE(x->predicted_ppm, y->predicted_ppm);
	return 0;
}

static void step_archive(struct archive *a, void *fact)
{
	struct fact_step *f = fact;

	archive_time(a, &f->time_ns);
	archive_u8(a, &f->from);
	archive_u8(a, &f->to);
	archive_u8(a, &f->why);
	archive_u32(a, &f->budget_ppm);
	archive_u32(a, &f->cost_ppm);
	archive_u32(a, &f->predicted_ppm);
}

const struct fact_kind fact_kind_step = {
	.add = step_add, .compare = step_compare, .archive = step_archive};
