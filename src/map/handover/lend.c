/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of spans that are finished and asked: finishing changes nothing but the times that threads
 * gave, so that names, events and attributes are lent.
 */
#include <errno.h>
#include <string.h>

#include "map/handover/internal.h"
#include "map/span/shares.h"

static int shares_copy(struct span_shares *to, const struct span_shares *from)
{
	int err = 0;

	to->sighted = from->sighted;
	for (size_t i = 0; i < from->list.count && !err; i++) {
		const struct span_share *s = &from->list.data[i];
		struct span_share copy = *s;

		copy.holds.data = NULL;
		copy.holds.count = copy.holds.capacity = 0;
		err = vec_reserve(&copy.holds, s->holds.count);
		for (size_t k = 0; k < s->holds.count && !err; k++)
			err = vec_push(&copy.holds, s->holds.data[k]);
		err = err ? err : vec_push(&to->list, copy);
		if (err)
			vec_free(&copy.holds);
	}
	return err ? err : shares_sort(to);
}

static int span_lend(struct partial *to, const struct app_span *span)
{
	struct app_span *copy = span_get(to, &span->ctx);
	int err;

	if (!copy)
		return -ENOMEM;
	*copy = *span;
	copy->active = copy->seen = (struct span_shares){0};
	copy->last_events = (struct map){0};
	copy->events_numbered = 0;
	err = shares_copy(&copy->active, &span->active);
	return err ? err : shares_copy(&copy->seen, &span->seen);
}

int handover_spans_lend(const struct partial *p, struct partial *to)
{
	int err = 0;

	for (size_t i = 0; i < p->spans.count && !err; i++)
		err = span_lend(to, p->spans.data[i]);
	return err;
}

void handover_spans_return(struct partial *from)
{
	/* spans that the end of a thread made have nothing of the kind */
	for (size_t i = 0; i < from->spans.count; i++) {
		struct app_span *copy = from->spans.data[i];

		copy->name = copy->message = NULL;
		memset(&copy->events, 0, sizeof(copy->events));
		memset(&copy->attributes, 0, sizeof(copy->attributes));
	}
}
