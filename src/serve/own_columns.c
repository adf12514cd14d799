/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/own_columns.h"

#include <errno.h>
#include <stdlib.h>

#include "serve/columns.h"
#include "serve/own_span.h"
#include "serve/stored_path.h"

#define ID_DIGITS 16
#define NO_PARENT (-1)
#define PARENT_GONE (-2) /* it is named, but not there */

/* Numbers of one member, of each span in its order. */
typedef VEC(int64_t) number_list;

struct writing {
	struct json *j;
	const struct gathered *g;
	struct columns columns;
	struct origins resources, scopes;
	uint64_t begin_ns; /* of the earliest span */
	number_list numbers;
};

static void numbers_write(struct writing *w, const char *key)
{
	json_array_begin(w->j, key);
	for (size_t i = 0; i < w->numbers.count; i++)
		json_s64(w->j, NULL, w->numbers.data[i]);
	json_array_end(w->j);
}

/* ---- members that each span has ---- */

static int ids_write(struct writing *w)
{
	static const char digits[] = "0123456789abcdef";
	size_t count = w->g->batch.count;
	char *text = malloc(count * ID_DIGITS + 1), *at = text;

	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		for (int shift = 60; shift >= 0; shift -= 4)
			*at++ = digits[w->g->batch.data[i].span_id >> shift & 15];
	}
	*at = '\0';
	json_string(w->j, "ids", text);
	free(text);
	return 0;
}

static void parents_write(struct writing *w)
{
	const struct received_batch *batch = &w->g->batch;

	for (uint32_t i = 0; i < batch->count; i++) {
		const struct received_span *span = &batch->data[i];
		bool is_gone = span->parent_id && span->parent_id != span->span_id;

		w->numbers.data[i] = is_gone ? PARENT_GONE : NO_PARENT;
	}
	for (uint32_t i = 0; i < batch->count; i++) {
		for (uint32_t c = w->g->first[i]; c != GATHER_NONE; c = w->g->next[c])
			w->numbers.data[c] = i;
	}
	numbers_write(w, "parent");
}

enum member { BEGIN, DURATION, KIND, STATUS, NAME, RESOURCE, SCOPE, TRACE };

static int trace_number(struct writing *w, const struct received_span *span, uint32_t *number)
{
	char text[TRACE_ID_BYTES], *copy;

	trace_id_text(text, span->trace);
	copy = pool_alloc(w->columns.pool, sizeof(text), 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, sizeof(text));
	return column_text(&w->columns.texts, copy, number);
}

static int member_number(struct writing *w, const struct received_span *span, enum member member,
			 int64_t *out)
{
	uint32_t text = 0;
	size_t origin = 0;
	int err = 0;

	if (member == NAME)
		err = column_text(&w->columns.texts, span->name, &text);
	else if (member == TRACE)
		err = trace_number(w, span, &text);
	else if (member == RESOURCE)
		err = origins_number(&w->resources, span->resource, &origin);
	else if (member == SCOPE)
		err = origins_number(&w->scopes, span->scope, &origin);
	*out = member == BEGIN	    ? (int64_t)(span->begin_ns - w->begin_ns)
	       : member == DURATION ? (int64_t)received_duration_ns(span)
	       : member == KIND	    ? span->kind
	       : member == STATUS   ? span->status
				    : (int64_t)(origin + text);
	return err;
}

static int member_write(struct writing *w, const char *key, enum member member)
{
	int err = 0;

	for (size_t i = 0; i < w->g->batch.count && !err; i++)
		err = member_number(w, &w->g->batch.data[i], member, &w->numbers.data[i]);
	numbers_write(w, key);
	return err;
}

static int members_write(struct writing *w, bool has_traces)
{
	static const struct {
		const char *key;
		enum member member;
	} members[] = {
		{"begin_ns", BEGIN}, {"duration_ns", DURATION}, {"kind", KIND},	 {"status", STATUS},
		{"name", NAME},	     {"resource", RESOURCE},	{"scope", SCOPE}};
	int err = ids_write(w);

	parents_write(w);
	for (size_t i = 0; i < sizeof(members) / sizeof(*members) && !err; i++)
		err = member_write(w, members[i].key, members[i].member);
	if (!err && has_traces)
		err = member_write(w, "trace", TRACE);
	return err;
}

/* ---- what only some have ---- */

static int attributes_write(struct writing *w)
{
	const struct received_batch *batch = &w->g->batch;
	int err = 0;

	for (uint32_t i = 0; i < batch->count && !err; i++)
		err = columns_add(&w->columns, i, &batch->data[i].attributes);
	if (!err)
		columns_write(w->j, "attributes", &w->columns, batch->count);
	return err;
}

static bool has_more(const struct received_span *span)
{
	return span->events_count || span->links_count || span->events_dropped ||
	       span->links_dropped || span->attributes.dropped || *span->status_text ||
	       *span->trace_state;
}

static void more_write(struct writing *w)
{
	json_array_begin_lines(w->j, "more");
	for (size_t i = 0; i < w->g->batch.count; i++) {
		const struct received_span *span = &w->g->batch.data[i];

		if (!has_more(span))
			continue;
		json_object_begin(w->j, NULL);
		json_u64(w->j, "span", i);
		own_span_more_write(w->j, span);
		json_object_end(w->j);
	}
	json_array_end(w->j);
}

/* ---- the critical path ---- */

enum step_member { STEP_SPAN, STEP_BEGIN, STEP_DURATION, STEP_STATE, STEP_WAIT };
enum step_text { STEP_PART, STEP_PLACE, STEP_WAKER };

static int64_t step_number(const struct writing *w, const struct path_step *step,
			   enum step_member member)
{
	switch (member) {
	case STEP_SPAN:
		return step->at;
	case STEP_BEGIN:
		return (int64_t)(step->begin_ns - w->begin_ns);
	case STEP_DURATION:
		return (int64_t)(step->end_ns - step->begin_ns);
	case STEP_STATE:
		return step->state;
	default:
		return step->wait == GATHER_NONE ? -1 : (int64_t)step->wait;
	}
}

static int place_number(struct writing *w, const struct path_step *step, uint32_t *number)
{
	const struct received_span *spans = w->g->batch.data;
	char place[GATHER_PLACE_BYTES], *copy;

	gather_place(&spans[step->wait], step->call == GATHER_NONE ? NULL : &spans[step->call],
		     place);
	copy = pool_alloc(w->columns.pool, strlen(place) + 1, 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, place, strlen(place) + 1);
	return column_text(&w->columns.texts, copy, number);
}

/* The part of a step, where it waits, or what ended it, as the number of a text. */
static int step_text_number(struct writing *w, const struct path_step *step, enum step_text which,
			    uint32_t *number)
{
	const struct attribute *waker = NULL;
	const char *text = "";

	if (which == STEP_PLACE && step->wait != GATHER_NONE)
		return place_number(w, step, number);
	if (which == STEP_WAKER && step->wait != GATHER_NONE)
		waker = gather_attribute(&w->g->batch.data[step->wait], "waker");
	if (waker && waker->type == VALUE_STRING)
		text = waker->string;
	if (which == STEP_PART && step->part >= 0)
		text = split_part_name((unsigned int)step->part);
	return column_text(&w->columns.texts, text, number);
}

static int step_texts_write(struct writing *w, const struct stored_path *path, enum step_text which)
{
	static const char *const keys[] = {
		[STEP_PART] = "part", [STEP_PLACE] = "place", [STEP_WAKER] = "waker"};
	uint32_t number = 0;
	int err = 0;

	json_array_begin(w->j, keys[which]);
	for (size_t i = 0; i < path->list.count && !err; i++) {
		err = step_text_number(w, &path->list.data[i], which, &number);
		json_u64(w->j, NULL, number);
	}
	json_array_end(w->j);
	return err;
}

static int steps_write(struct writing *w, const struct stored_path *path)
{
	static const char *const keys[] = {[STEP_SPAN] = "span",
					   [STEP_BEGIN] = "begin_ns",
					   [STEP_STATE] = "state",
					   [STEP_DURATION] = "duration_ns",
					   [STEP_WAIT] = "wait"};
	int err = 0;

	for (size_t m = 0; m < sizeof(keys) / sizeof(*keys); m++) {
		json_array_begin(w->j, keys[m]);
		for (size_t i = 0; i < path->list.count; i++)
			json_s64(w->j, NULL,
				 step_number(w, &path->list.data[i], (enum step_member)m));
		json_array_end(w->j);
	}
	for (unsigned int which = STEP_PART; which <= STEP_WAKER && !err; which++)
		err = step_texts_write(w, path, (enum step_text)which);
	return err;
}

static int path_write(struct writing *w)
{
	struct stored_path path = {0};
	int err = stored_path_find(w->g, w->g->subjects.data[0], &path);

	if (!err) {
		json_object_begin(w->j, "critical");
		json_u64(w->j, "subject", w->g->subjects.data[0]);
		json_string(w->j, "known_by", stored_path_known_by(&path));
		json_bool(w->j, "cut", path.is_cut);
		err = steps_write(w, &path);
		json_object_end(w->j);
	}
	stored_path_free(&path);
	return err;
}

/* ---- all of it ---- */

static int all_write(struct writing *w, bool has_path)
{
	const struct received_batch *batch = &w->g->batch;
	int err = vec_reserve(&w->numbers, batch->count);

	if (err)
		return err;
	w->numbers.count = batch->count;
	json_u64(w->j, "begin_unix_ns", w->begin_ns);
	json_u64(w->j, "count", batch->count);
	err = members_write(w, !has_path);
	err = err ? err : attributes_write(w);
	if (!err)
		more_write(w);
	if (!err && has_path && w->g->subjects.count)
		err = path_write(w);
	origins_write(w->j, &w->resources, &w->scopes);
	column_texts_write(w->j, "texts", &w->columns.texts);
	return err;
}

int own_columns_write(struct json *j, const struct gathered *g, struct pool *pool, bool has_path)
{
	struct writing w = {.j = j, .g = g, .columns = {.pool = pool}};
	int err;

	for (size_t i = 0; i < g->batch.count; i++) {
		if (!i || g->batch.data[i].begin_ns < w.begin_ns)
			w.begin_ns = g->batch.data[i].begin_ns;
	}
	err = all_write(&w, has_path);
	columns_free(&w.columns);
	origins_free(&w.resources);
	origins_free(&w.scopes);
	vec_free(&w.numbers);
	return err;
}
