/* SPDX-License-Identifier: Apache-2.0 */
#include "up/sent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

#define SLACK_NS 1000000u /* a span may begin or end so much on the wrong side of its exchange */
#define LOOKED_AT_MAX 256 /* spans, of those that began around an end */

/* ---- the ring ---- */

static const char *name_keep(struct sent_ring *ring, const char *name)
{
	size_t bytes = strlen(name);
	char *kept = bytes_map_get(&ring->names, name, bytes);

	if (kept || ring->names.count >= SENT_NAMES_MAX)
		return kept ? kept : "";
	kept = strdup(name);
	if (kept && bytes_map_put(&ring->names, name, bytes, kept) == 0)
		return kept;
	free(kept);
	return "";
}

struct ids {
	struct trace_id trace;
	u64 span_id;
};

/* The place of a new span: behind the last one, or that of the oldest. NULL: no memory. */
static struct sent_span *place_take(struct sent_ring *ring)
{
	struct sent_span *place;

	if (ring->list.count < SENT_MAX)
		return vec_push(&ring->list, ((struct sent_span){0}))
			       ? NULL
			       : &ring->list.data[ring->list.count - 1];
	place = &ring->list.data[ring->at];
	ring->at = (ring->at + 1) % SENT_MAX;
	bytes_map_remove(&ring->by_ids, &(struct ids){place->trace, place->span_id},
			 sizeof(struct ids));
	return place;
}

void sent_add(struct sent_ring *ring, const struct sent_span *span)
{
	const struct ids ids = {span->trace, span->span_id};
	struct sent_span *place;
	uintptr_t number;

	pthread_mutex_lock(&ring->lock);
	number = (uintptr_t)bytes_map_get(&ring->by_ids, &ids, sizeof(ids));
	place = number ? &ring->list.data[number - 1] : place_take(ring);
	number = place ? (uintptr_t)(place - ring->list.data) + 1 : 0;
	if (number && bytes_map_put(&ring->by_ids, &ids, sizeof(ids), (void *)number) == 0) {
		*place = *span;
		place->service = name_keep(ring, span->service);
	}
	pthread_mutex_unlock(&ring->lock);
}

void sent_ring_free(struct sent_ring *ring)
{
	struct bytes_map_entry entry;

	for (size_t at = 0; bytes_map_next(&ring->names, &at, &entry);)
		free(entry.value);
	bytes_map_free(&ring->names);
	bytes_map_free(&ring->by_ids);
	vec_free(&ring->list);
	pthread_mutex_destroy(&ring->lock);
}

/* ---- a copy ---- */

static int span_compare(const void *a, const void *b)
{
	const struct sent_span *x = a, *y = b;

	COMPARE(x->pid, y->pid);
	COMPARE(x->begin_ns, y->begin_ns);
	COMPARE(y->end_ns, x->end_ns);
	COMPARE(x->span_id, y->span_id);
	return 0;
}

static int index_make(struct sent *sent)
{
	int err = 0;

	for (size_t i = 0; i < sent->list.count && !err; i++) {
		const struct sent_span *span = &sent->list.data[i];
		const struct ids ids = {span->trace, span->span_id};

		err = bytes_map_put(&sent->by_ids, &ids, sizeof(ids), (void *)(uintptr_t)(i + 1));
		if (!err && *span->service) /* they stand by begin: the latest one stays */
			err = map_put(&sent->services, span->pid, (void *)span->service);
		err = err ? err : vec_push(&sent->taken, false);
	}
	return err;
}

int sent_take(struct sent_ring *ring, u64 since_ns, struct sent *out)
{
	int err = 0;

	pthread_mutex_lock(&ring->lock);
	for (size_t i = 0; i < ring->list.count && !err; i++) {
		if (ring->list.data[i].end_ns >= since_ns)
			err = vec_push(&out->list, ring->list.data[i]);
	}
	pthread_mutex_unlock(&ring->lock);
	if (err || !out->list.count)
		return err;
	qsort(out->list.data, out->list.count, sizeof(*out->list.data), span_compare);
	return index_make(out);
}

void sent_free(struct sent *sent)
{
	vec_free(&sent->list);
	vec_free(&sent->taken);
	bytes_map_free(&sent->by_ids);
	map_free(&sent->services);
}

const struct sent_span *sent_by_ids(const struct sent *sent, struct trace_id trace, u64 span_id)
{
	const struct ids ids = {trace, span_id};
	uintptr_t number = (uintptr_t)bytes_map_get(&sent->by_ids, &ids, sizeof(ids));

	return number ? &sent->list.data[number - 1] : NULL;
}

/* ---- the span of an end ---- */

static u64 apart(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

static bool tells_of_server(const struct sent_query *q, const struct sent_span *span)
{
	u64 end_ns = span->end_ns < q->end_ns ? span->end_ns : q->end_ns;

	if (span->kind != RECEIVED_SERVER && span->kind != RECEIVED_CONSUMER)
		return false;
	/* what goes on behind the answer has most of its time before it */
	return span->begin_ns + SLACK_NS >= q->begin_ns && span->begin_ns < q->end_ns &&
	       2 * (end_ns - span->begin_ns) >= span->end_ns - span->begin_ns;
}

static bool tells_of_client(const struct sent_query *q, const struct sent_span *span)
{
	if (span->kind != RECEIVED_CLIENT && span->kind != RECEIVED_PRODUCER)
		return false;
	return span->begin_ns <= q->begin_ns + SLACK_NS && span->end_ns + SLACK_NS >= q->end_ns;
}

struct best {
	const struct sent_span *span;
	bool is_other; /* it is of another thread */
	u64 apart_ns;
};

static void look(const struct sent *sent, const struct sent_query *q, size_t i, struct best *best)
{
	const struct sent_span *span = &sent->list.data[i];
	bool other = q->tid && span->tid && q->tid != span->tid;
	u64 apart_ns = apart(span->begin_ns, q->begin_ns) + apart(span->end_ns, q->end_ns);

	if (sent->taken.data[i] ||
	    !(q->server ? tells_of_server(q, span) : tells_of_client(q, span)))
		return;
	if (!best->span || other < best->is_other ||
	    (other == best->is_other && apart_ns < best->apart_ns))
		*best = (struct best){span, other, apart_ns};
}

const struct sent_span *sent_find(const struct sent *sent, const struct sent_query *q)
{
	u64 near_ns = q->begin_ns > SLACK_NS ? q->begin_ns - SLACK_NS : 0;
	/* what begins later than around the begin of the end, and what began before */
	size_t at = COUNT_BEFORE(&sent->list, e,
				 e->pid < q->pid || (e->pid == q->pid && e->begin_ns < near_ns));
	struct best best = {0};

	for (size_t i = at; i < sent->list.count && i < at + LOOKED_AT_MAX; i++) {
		const struct sent_span *span = &sent->list.data[i];

		if (span->pid != q->pid || span->begin_ns > q->end_ns)
			break;
		look(sent, q, i, &best);
	}
	for (size_t i = at; !q->server && i > 0 && i + LOOKED_AT_MAX > at; i--) {
		if (sent->list.data[i - 1].pid != q->pid)
			break;
		look(sent, q, i - 1, &best);
	}
	return best.span;
}

void sent_mark(struct sent *sent, const struct sent_span *span)
{
	sent->taken.data[span - sent->list.data] = true;
}
