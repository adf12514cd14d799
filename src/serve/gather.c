/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/gather.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "serve/join.h"
#include "span/attributes.h"

const struct attribute *gather_attribute(const struct received_span *span, const char *key)
{
	return attributes_find(span->attributes.data, span->attributes.count, key);
}

static const char *text_of(const struct received_span *span, const char *key)
{
	const struct attribute *a = gather_attribute(span, key);

	return a && a->type == VALUE_STRING ? a->string : NULL;
}

const char *gather_kernel_kind(const struct received_span *span)
{
	const char *kind = text_of(span, "fathom.kind");

	return kind && strcmp(kind, "context") != 0 ? kind : NULL;
}

bool gather_is_counted(const struct received_span *span)
{
	return gather_attribute(span, "fathom.counted_as") != NULL;
}

bool gather_is_context(const struct received_span *span)
{
	const char *kind = text_of(span, "fathom.kind");

	return kind && strcmp(kind, "context") == 0;
}

int64_t gather_thread(const struct received_span *span)
{
	const struct attribute *a = gather_attribute(span, "fathom.tid");

	a = a ? a : gather_attribute(span, "thread.id");
	return a && a->type == VALUE_INTEGER ? a->integer : -1;
}

static const struct attribute *resource_attribute(const struct received_span *span, const char *key,
						  enum value_type type)
{
	const struct received_list *list = &span->resource->attributes;
	const struct attribute *a = attributes_find(list->data, list->count, key);

	return a && a->type == type ? a : NULL;
}

const char *gather_host(const struct received_span *span)
{
	const struct attribute *host = resource_attribute(span, "host.name", VALUE_STRING);

	return host ? host->string : NULL;
}

bool gather_same_process(const struct received_span *a, const struct received_span *b)
{
	const struct attribute *one = resource_attribute(a, "process.pid", VALUE_INTEGER);
	const struct attribute *other = resource_attribute(b, "process.pid", VALUE_INTEGER);
	const char *host = gather_host(a), *other_host = gather_host(b);

	if (a->resource == b->resource)
		return true;
	return one && other && one->integer == other->integer && host && other_host &&
	       strcmp(host, other_host) == 0;
}

int gather_part(const char *name)
{
	for (unsigned int part = 0; part < SPLIT_PARTS_COUNT; part++) {
		if (strcmp(split_part_name(part), name) == 0)
			return (int)part;
	}
	return -1;
}

bool gather_split(const struct received_span *span, struct split *out)
{
	static const char begin[] = "fathom.time.";
	bool any = false;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < span->attributes.count; i++) {
		const struct attribute *a = &span->attributes.data[i];
		const char *name = a->key + sizeof(begin) - 1;

		if (a->type != VALUE_INTEGER || a->integer < 0 ||
		    strncmp(a->key, begin, sizeof(begin) - 1) != 0)
			continue;
		for (unsigned int part = 0; part < SPLIT_PARTS_COUNT; part++) {
			size_t bytes = strlen(split_part_name(part));

			if (strncmp(name, split_part_name(part), bytes) == 0 &&
			    strcmp(name + bytes, "_ns") == 0) {
				out->ns[part] = a->integer;
				any = true;
			}
		}
	}
	return any;
}

/* The letters of "socket:[4711]" that others of its kind have, too; at most 380. */
static size_t common_bytes(const char *file)
{
	size_t bytes = strcspn(file, "[");

	if (file[bytes] && bytes && file[bytes - 1] == ':' &&
	    strspn(file + bytes + 1, "0123456789") + 2 == strlen(file + bytes))
		return bytes - 1;
	return strlen(file) < 380 ? strlen(file) : 380;
}

/* Whom a thread waits for where no file tells it: "worker" of "worker/4112". */
static void waker_add(const struct received_span *wait, char text[GATHER_PLACE_BYTES])
{
	bool is_other = strcmp(wait->name, "lock") == 0 || strcmp(wait->name, "ipc") == 0;
	const char *waker = is_other && gather_attribute(wait, "waker.tid") ? text_of(wait, "waker")
									    : NULL;
	size_t bytes = strlen(text);

	if (waker && strchr(waker, '/'))
		snprintf(text + bytes, GATHER_PLACE_BYTES - bytes, ", woken by %.*s",
			 (int)strcspn(waker, "/"), waker);
}

/* The peer of a connection, and the program that it is. False: it is not known. */
static bool peer_place(const struct received_span *span, const char *call,
		       char text[GATHER_PLACE_BYTES])
{
	const char *address = text_of(span, "network.peer.address");
	const char *program = text_of(span, "peer.program");
	const struct attribute *port = gather_attribute(span, "network.peer.port");
	bool is_v6 = address && strchr(address, ':');

	if (!address || !port || port->type != VALUE_INTEGER)
		return false;
	snprintf(text, GATHER_PLACE_BYTES, "%.100s on %s%.64s%s:%" PRId64 "%s%.100s%s", call,
		 is_v6 ? "[" : "", address, is_v6 ? "]" : "", port->integer, program ? " (" : "",
		 program ? program : "", program ? ")" : "");
	return true;
}

void gather_place(const struct received_span *wait, const struct received_span *in_call,
		  char text[GATHER_PLACE_BYTES])
{
	const struct received_span *span = in_call ? in_call : wait;
	const char *call = text_of(span, "syscall"), *file = text_of(span, "fd.name");
	const char *reason = text_of(span, "cause.reason"), *cgroup = text_of(wait, "cgroup");

	if (!call)
		call = reason ? reason : span->name;
	if (cgroup) {
		snprintf(text, GATHER_PLACE_BYTES, "CPU quota of %.380s", cgroup);
		return;
	}
	if (peer_place(span, call, text))
		return;
	snprintf(text, GATHER_PLACE_BYTES, file ? "%.100s on %.*s" : "%.100s", call,
		 file ? (int)common_bytes(file) : 0, file);
	waker_add(wait, text);
}

bool gather_takes(const struct gather_query *q, const struct received_span *span)
{
	uint64_t duration_ns = received_duration_ns(span);

	return (!q->service || strcmp(q->service, span->resource->service) == 0) &&
	       (!q->operation || strcmp(q->operation, span->name) == 0) &&
	       (q->kind < 0 || q->kind == span->kind) && span->begin_ns >= q->from_ns &&
	       (!q->to_ns || span->begin_ns < q->to_ns) && duration_ns >= q->duration_from_ns &&
	       (!q->duration_to_ns || duration_ns <= q->duration_to_ns);
}

#define FIRST_TRACES 32 /* that are read at once; then twice as many, and so on */

/* When so many parts of `of` of the time that is left are over; 0: never. */
static uint64_t part_until(uint64_t until_ns, unsigned int parts, unsigned int of)
{
	uint64_t now_ns = clock_now_ns();

	if (!until_ns)
		return 0;
	return until_ns > now_ns ? now_ns + (until_ns - now_ns) / of * parts : now_ns;
}

static int marks_find(struct query *q, const struct gather_query *query, struct store_marks *out)
{
	const struct store_query search = {.service = query->service,
					   .operation = query->operation,
					   .kind = query->kind,
					   .begin_from_ns = query->from_ns,
					   .begin_to_ns = query->to_ns ? query->to_ns - 1 : 0,
					   .duration_from_ns = query->duration_from_ns,
					   .duration_to_ns = query->duration_to_ns,
					   .limit = query->traces,
					   .until_ns = part_until(query->until_ns, 1, 2)};

	return store_search_marks(q->source->store, &search, out, q->e);
}

#define EARLIER_NS UINT64_C(10000000000) /* what lies beneath a span begins no longer before it */

/* The marks are begins of subjects: of what is long before all of them, nothing lies beneath one.
 */
static int marks_ids(const struct store_mark *marks, size_t count, struct store_ids *ids,
		     uint64_t *begin_from_ns)
{
	uint64_t least_ns = UINT64_MAX;
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		least_ns = marks[i].value < least_ns ? marks[i].value : least_ns;
		err = vec_push(ids, marks[i].id);
	}
	*begin_from_ns = least_ns > EARLIER_NS ? least_ns - EARLIER_NS : 0;
	return err;
}

/* Adds the spans of the next traces, so many. */
static int slice_add(struct query *q, const struct gather_traces *what, size_t count,
		     struct gathered *g)
{
	struct store_ids ids = {0};
	struct store_finding finding = {.ids = &ids, .until_ns = what->until_ns};
	struct store *store = q->source->store;
	struct received_batch slice = {0};
	int err = marks_ids(what->marks->data + g->traces, count, &ids, &finding.begin_from_ns);

	err = err ? err : store_find_until(store, &finding, q->pool, &slice, q->e);
	err = err ? err : spans_join(&slice, q->pool);
	finding.kernel = true;
	if (what->with_kernel)
		err = err ? err : store_find_until(store, &finding, q->pool, &slice, q->e);
	err = err ? err : vec_reserve(&g->batch, slice.count);
	for (size_t i = 0; i < slice.count && !err; i++)
		g->batch.data[g->batch.count++] = slice.data[i];
	vec_free(&slice);
	vec_free(&ids);
	g->traces += err ? 0 : count;
	return err;
}

int gather_traces(struct query *q, const struct gather_traces *what, struct gathered *g)
{
	size_t limit = q->pool->limit_bytes, room = limit - q->pool->bytes, count = FIRST_TRACES;
	int err = 0;

	if (limit)
		q->pool->limit_bytes = q->pool->bytes + room / 4 * 3;
	while (g->traces < what->marks->count && !err) {
		size_t left = what->marks->count - g->traces;

		err = slice_add(q, what, count < left ? count : left, g);
		count *= 2;
	}
	q->pool->limit_bytes = limit;
	if (err != -ETIMEDOUT && (err != -ENOMEM || !g->traces))
		return err;
	error_clear(q->e);
	g->is_partial = true;
	return 0;
}

static int spans_find(struct query *q, const struct gather_query *query, struct gathered *g)
{
	struct store_marks marks = {0};
	const struct gather_traces what = {&marks, query->until_ns, true};
	int err = marks_find(q, query, &marks);

	g->is_partial = marks.is_partial;
	err = err ? err : gather_traces(q, &what, g);
	vec_free(&marks);
	return err;
}

static uint64_t key_of(struct trace_id trace, uint64_t span_id)
{
	return hash_u64(span_id ^ hash_u64(trace.low ^ hash_u64(trace.high)));
}

/* The first span with an id, from 1; 0: there is none. `key` gets its key, or a free one. */
static uintptr_t place_of(const struct gathered *g, const struct map *places, struct trace_id trace,
			  uint64_t span_id, uint64_t *key)
{
	uintptr_t place;

	for (*key = key_of(trace, span_id);; ++*key) {
		const struct received_span *span;

		place = (uintptr_t)map_get(places, *key);
		span = place ? &g->batch.data[place - 1] : NULL;
		if (!span || (span->span_id == span_id && span->trace.low == trace.low &&
			      span->trace.high == trace.high))
			return place;
	}
}

/* Of spans with one id, which are the two sides of a call, the first one has the children. */
static int spans_link(struct gathered *g)
{
	struct map places = {0};
	uint64_t key;
	int err = 0;

	for (size_t i = 0; i < g->batch.count && !err; i++) {
		const struct received_span *span = &g->batch.data[i];

		g->first[i] = g->next[i] = GATHER_NONE;
		if (!place_of(g, &places, span->trace, span->span_id, &key))
			err = map_put(&places, key, (void *)(uintptr_t)(i + 1));
	}
	/* from the last one on, so that lists are in the order of the batch */
	for (size_t i = g->batch.count; i-- && !err;) {
		const struct received_span *span = &g->batch.data[i];
		uintptr_t parent = span->parent_id && span->parent_id != span->span_id
					   ? place_of(g, &places, span->trace, span->parent_id,
						      &key)
					   : 0;

		if (!parent || parent - 1 == i)
			continue;
		g->next[i] = g->first[parent - 1];
		g->first[parent - 1] = (uint32_t)i;
	}
	map_free(&places);
	return err;
}

int gathered_link(struct gathered *out)
{
	out->first = calloc(out->batch.count + 1, sizeof(*out->first));
	out->next = calloc(out->batch.count + 1, sizeof(*out->next));
	if (!out->first || !out->next || out->batch.count >= GATHER_NONE)
		return -ENOMEM;
	return spans_link(out);
}

int gathered_index(struct gathered *out, const struct gather_query *query)
{
	int err = gathered_link(out);

	for (size_t i = 0; i < out->batch.count && !err; i++) {
		const struct received_span *span = &out->batch.data[i];

		if (!gather_kernel_kind(span) && !gather_is_counted(span) &&
		    gather_takes(query, span))
			err = vec_push(&out->subjects, (uint32_t)i);
	}
	return err;
}

/*
 * Each set has as much of the time and memory that are left as those behind it. A quarter of it is
 * for what is made of the spans.
 */
int gather(struct query *q, const struct gather_query *query, struct gathered *out)
{
	unsigned int sets = 1 + query->sets_behind;
	size_t limit = q->pool->limit_bytes, left = limit - q->pool->bytes;
	struct gather_query own = *query;
	int err;

	out->until_ns = part_until(query->until_ns, 1, sets);
	own.until_ns = part_until(query->until_ns, 3, 4 * sets);
	if (limit)
		q->pool->limit_bytes = q->pool->bytes + left / sets;
	err = spans_find(q, &own, out);
	q->pool->limit_bytes = limit;
	return err ? err : gathered_index(out, query);
}

/* The longest span that is no child. Of a trace in which all are, it is the longest one. */
static int root_find(struct gathered *g)
{
	bool *is_child = calloc(g->batch.count + 1, sizeof(*is_child));
	uint32_t found = GATHER_NONE;

	if (!is_child)
		return -ENOMEM;
	for (size_t i = 0; i < g->batch.count; i++) {
		for (uint32_t c = g->first[i]; c != GATHER_NONE; c = g->next[c])
			is_child[c] = true;
	}
	for (uint32_t i = 0; i < g->batch.count; i++) {
		const struct received_span *best = found == GATHER_NONE ? NULL
									: &g->batch.data[found];

		if (gather_kernel_kind(&g->batch.data[i]))
			continue;
		if (!best || is_child[found] > is_child[i] ||
		    (is_child[found] == is_child[i] &&
		     received_duration_ns(&g->batch.data[i]) > received_duration_ns(best)))
			found = i;
	}
	free(is_child);
	return found == GATHER_NONE ? -ENOENT : vec_push(&g->subjects, found);
}

int gather_trace(struct query *q, struct trace_id id, struct gathered *out)
{
	int err = trace_find(q, id, &out->batch);

	out->traces = 1;
	err = err ? err : gathered_link(out);
	return err ? err : root_find(out);
}

void gathered_free(struct gathered *g)
{
	vec_free(&g->batch);
	vec_free(&g->subjects);
	free(g->first);
	free(g->next);
	*g = (struct gathered){0};
}
