/* SPDX-License-Identifier: Apache-2.0 */
#include "map/kernel/costs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/partial.h"

int costs_add(struct partial *p, const struct record_head *r)
{
	const struct record_cost *c = (const void *)r;
	struct cost_sum sum = {
		.of = {.made = c->made, .flags = c->flags}, .runs = c->runs, .cost_ns = c->cost_ns};
	size_t bytes = c->name_len < COST_NAME_BYTES ? c->name_len : COST_NAME_BYTES - 1;

	if (p->options.state_only || !partial_in_range(p, r->time_ns))
		return 0;
	memcpy(sum.of.name, c->name, strnlen(c->name, bytes));
	return costs_sum_add(&p->costs, &sum);
}

int costs_sum_add(struct cost_sums *costs, const struct cost_sum *sum)
{
	size_t number = (size_t)bytes_map_get(&costs->index, &sum->of, sizeof(sum->of));
	int err;

	if (number) {
		costs->list.data[number - 1].runs += sum->runs;
		costs->list.data[number - 1].cost_ns += sum->cost_ns;
		return 0;
	}
	err = vec_push(&costs->list, *sum);
	return err ? err
		   : bytes_map_put(&costs->index, &sum->of, sizeof(sum->of),
				   (void *)costs->list.count);
}

int costs_merge(struct cost_sums *left, const struct cost_sums *right)
{
	int err = 0;

	for (size_t i = 0; i < right->list.count && !err; i++)
		err = costs_sum_add(left, &right->list.data[i]);
	return err;
}

static int cost_compare(const void *a, const void *b)
{
	const struct cost_sum *x = a, *y = b;

	return memcmp(&x->of, &y->of, sizeof(x->of));
}

void costs_sort(struct cost_sums *costs)
{
	if (costs->list.count)
		qsort(costs->list.data, costs->list.count, sizeof(*costs->list.data), cost_compare);
	bytes_map_free(&costs->index);
}

void costs_free(struct cost_sums *costs)
{
	vec_free(&costs->list);
	bytes_map_free(&costs->index);
}
