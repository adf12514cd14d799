/* SPDX-License-Identifier: Apache-2.0 */
/* The begin and the end of a partial. */
#include "map/partial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/kernel/kspan_filter.h"
#include "map/life_sink.h"

struct partial *partial_new(const struct partial_options *options)
{
	struct partial *p = calloc(1, sizeof(*p));

	if (p && options)
		p->options = *options;
	if (p)
		p->sink = partial_sink(p);
	return p;
}

void partial_free(struct partial *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->lives.count; i++) {
		life_free(p->lives.data[i]);
		free(p->lives.data[i]);
	}
	vec_free(&p->lives);
	cpu_turns_free(&p->turns);
	map_free(&p->current);
	map_free(&p->taken);
	facts_free(&p->facts);
	kspans_free(&p->kspans);
	undecided_free(p);
	spans_free(p);
	vec_free(&p->span_losses);
	vec_free(&p->unsure);
	sums_free(&p->calls);
	call_details_free(&p->details);
	openings_free(&p->openings);
	sums_free(&p->call_waits);
	sums_free(&p->waits);
	sums_free(&p->blocks);
	sums_free(&p->futexes);
	vec_free(&p->futex_uses);
	events_free(&p->events);
	samples_free(&p->samples);
	samples_free(&p->wait_stacks);
	costs_free(&p->costs);
	hits_free(&p->hits);
	vec_free(&p->filters_told);
	vec_free(&p->gaps);
	vec_free(&p->gap_ends);
	vec_free(&p->gaps_joined);
	vec_free(&p->losses_joined);
	vec_free(&p->losses);
	loss_index_free(&p->loss_index);
	vec_free(&p->holes);
	uneven_cuts_free(p);
	free(p);
}

void partial_cover(struct partial *p, u64 from_ns, u64 to_ns)
{
	if (!p->from_ns || from_ns < p->from_ns)
		p->from_ns = from_ns;
	if (to_ns > p->to_ns)
		p->to_ns = to_ns;
}
