/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/compare.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/time_shares.h"

#define ROWS_MAX 20000	   /* values that come later are left out */
#define VALUE_BYTES 256	   /* longer values of attributes are left out: nobody shares them */
#define DEPTH_MAX 64	   /* of what lies beneath a span */
#define KERNEL_DEPTH_MAX 4 /* of waits in calls and faults */
#define COUNT_LEAST 3	   /* spans of an attribute that is shown */

static const char *copy_make(struct pool *pool, const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = pool_alloc(pool, bytes, 1);

	return copy ? memcpy(copy, text, bytes) : NULL;
}

static int key_make(struct bytes *to, const struct difference *d)
{
	bytes_put_u8(to, (uint8_t)d->kind);
	bytes_put(to, d->key, strlen(d->key) + 1);
	bytes_put(to, d->service, strlen(d->service) + 1);
	bytes_put(to, d->value, strlen(d->value));
	return to->failed ? -ENOMEM : 0;
}

static int row_make(struct comparison *c, const struct difference *d, const struct bytes *key)
{
	const struct difference row = {.kind = d->kind,
				       .key = copy_make(c->pool, d->key),
				       .value = copy_make(c->pool, d->value),
				       .service = copy_make(c->pool, d->service)};

	if (!row.key || !row.value || !row.service || vec_push(&c->list, row))
		return -ENOMEM;
	return bytes_map_put(&c->rows, key->data, key->count, (void *)(uintptr_t)c->list.count);
}

/* Puts the last subject into its bin: all of its time is there. */
static void last_count(struct difference *d)
{
	unsigned int bin = d->last_ns ? 63 - (unsigned int)__builtin_clzll(d->last_ns) : 0;

	if (d->last)
		d->sides[d->side].bins[bin < DIFFERENCE_BINS ? bin : DIFFERENCE_BINS - 1]++;
	d->last = d->last_ns = 0;
}

/* Adds time of the subject to a row; the first time counts the subject. */
static int row_add(struct comparison *c, unsigned int side, const struct difference *d, uint64_t ns)
{
	struct bytes key = {0};
	struct difference *row;
	uintptr_t place;
	int err = key_make(&key, d);

	place = err ? 0 : (uintptr_t)bytes_map_get(&c->rows, key.data, key.count);
	if (!err && !place && c->list.count < ROWS_MAX) {
		err = row_make(c, d, &key);
		place = c->list.count;
	}
	bytes_free(&key);
	if (err || !place)
		return err;
	row = &c->list.data[place - 1];
	if (row->last != c->subject) {
		last_count(row);
		row->sides[side].count++;
	}
	row->sides[side].total_ns += ns;
	row->last = c->subject;
	row->last_ns += ns;
	row->side = side;
	return 0;
}

static bool attribute_text(const struct attribute *a, char text[VALUE_BYTES])
{
	int n = -1;

	if (a->type == VALUE_STRING)
		n = snprintf(text, VALUE_BYTES, "%s", a->string);
	else if (a->type == VALUE_INTEGER)
		n = snprintf(text, VALUE_BYTES, "%" PRId64, a->integer);
	else if (a->type == VALUE_BOOLEAN)
		n = snprintf(text, VALUE_BYTES, "%s", a->integer ? "true" : "false");
	else if (a->type == VALUE_REAL)
		n = snprintf(text, VALUE_BYTES, "%g", a->real);
	return n > 0 && n < VALUE_BYTES;
}

/* Where the bytes of a request lie, and which thread had it, makes no request slow. */
static bool attribute_tells(const char *key)
{
	static const char *const others[] = {"thread.id", "bytes.from", "bytes.to", "answer.from",
					     "answer.to"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (strcmp(key, others[i]) == 0)
			return false;
	}
	return strncmp(key, "fathom.", 7) != 0;
}

static int attributes_add(struct comparison *c, unsigned int side, const struct received_span *span,
			  const struct received_list *list)
{
	char text[VALUE_BYTES];
	int err = 0;

	for (size_t i = 0; i < list->count && !err; i++) {
		const struct attribute *a = &list->data[i];
		struct difference d = {
			.kind = DIFFERENCE_ATTRIBUTE, .key = a->key, .value = text, .service = ""};

		if (attribute_tells(a->key) && attribute_text(a, text))
			err = row_add(c, side, &d, received_duration_ns(span));
	}
	return err;
}

/* A subject that is added to a side. */
struct adding {
	struct comparison *c;
	unsigned int side;
	const struct gathered *g;
	bool is_measured; /* it has a split, or one beneath it has */
	bool is_over;	  /* the time for it */
};

/* A span at or beneath the subject. */
struct beneath {
	uint32_t at;
	uint64_t width_ns; /* of the subject's time */
	struct time_shares shares;
};

/* A wait in a call that is a span itself is told by the call. */
static int place_add(const struct adding *a, const struct beneath *b, uint32_t wait, uint32_t above)
{
	const struct received_span *span = &a->g->batch.data[wait];
	const struct received_span *call = &a->g->batch.data[above];
	const char *kind = gather_kernel_kind(call);
	uint64_t ns = time_shares_wait_ns(&b->shares, span), all_ns = b->shares.duration_ns;
	char text[GATHER_PLACE_BYTES];
	struct difference d = {
		.kind = DIFFERENCE_PLACE, .key = span->name, .value = text, .service = ""};

	if (b->width_ns < all_ns)
		ns = (uint64_t)((unsigned __int128)ns * b->width_ns / all_ns);
	gather_place(span, kind && strcmp(kind, "syscall") == 0 ? call : NULL, text);
	return ns ? row_add(a->c, a->side, &d, ns) : 0;
}

static int places_add(const struct adding *a, const struct beneath *b, uint32_t above,
		      unsigned int depth)
{
	int err = 0;

	for (uint32_t at = a->g->first[above]; at != GATHER_NONE && depth && !err;
	     at = a->g->next[at]) {
		const char *kind = gather_kernel_kind(&a->g->batch.data[at]);

		if (kind && strcmp(kind, "wait") == 0)
			err = place_add(a, b, at, above);
		else if (kind)
			err = places_add(a, b, at, depth - 1);
	}
	return err;
}

/* The time of the span that no child has, for the whole request and for the operation. */
static int parts_add(const struct adding *a, const struct beneath *b, struct scale *scale)
{
	const struct received_span *span = &a->g->batch.data[b->at];
	int err = 0;

	for (unsigned int part = 0; part < SPLIT_PARTS_COUNT && !err; part++) {
		const char *name = split_part_name(part);
		struct difference all = {
			.kind = DIFFERENCE_PART, .key = "", .value = name, .service = ""};
		struct difference own = {.kind = DIFFERENCE_OWN,
					 .key = name,
					 .value = span->name,
					 .service = span->resource->service};
		uint64_t ns = scale_next(scale, (uint64_t)b->shares.own.ns[part]);

		if (!ns)
			continue;
		err = row_add(a->c, a->side, &all, ns);
		err = err ? err : row_add(a->c, a->side, &own, ns);
	}
	return err;
}

static int call_add(const struct adding *a, const struct received_span *span)
{
	const struct difference d = {.kind = DIFFERENCE_CALL,
				     .key = span->resource->service,
				     .value = span->name,
				     .service = ""};

	return row_add(a->c, a->side, &d, received_duration_ns(span));
}

static int beneath_add(struct adding *a, struct beneath b, unsigned int depth)
{
	struct scale scale = {.to_ns = b.width_ns};
	int err = time_shares_calculate(a->g, b.at, &b.shares);

	scale.from_ns = b.shares.duration_ns;
	a->is_measured = a->is_measured || b.shares.is_measured;
	err = err ? err : parts_add(a, &b, &scale);
	err = err ? err : places_add(a, &b, b.at, KERNEL_DEPTH_MAX);
	a->is_over = a->is_over || gathered_is_over(a->g);
	for (size_t i = 0; i < b.shares.children.count && depth && !err && !a->is_over; i++) {
		const struct child_share *child = &b.shares.children.data[i];
		struct beneath below = {.at = child->at,
					.width_ns = scale_next(&scale, child->share_ns)};

		err = call_add(a, &a->g->batch.data[child->at]);
		err = err ? err : beneath_add(a, below, depth - 1);
	}
	time_shares_free(&b.shares);
	return err;
}

static int subject_add(struct comparison *c, unsigned int side, const struct gathered *g,
		       uint32_t at)
{
	const struct received_span *span = &g->batch.data[at];
	struct adding a = {.c = c, .side = side, .g = g};
	int err;

	c->subject++;
	c->sides[side].spans++;
	c->sides[side].total_ns += received_duration_ns(span);
	c->sides[side].detailed += gather_attribute(span, "fathom.kernel.why") != NULL;
	err = attributes_add(c, side, span, &span->attributes);
	err = err ? err : attributes_add(c, side, span, &span->resource->attributes);
	err = err ? err
		  : beneath_add(&a,
				(struct beneath){.at = at, .width_ns = received_duration_ns(span)},
				DEPTH_MAX);
	c->sides[side].measured += a.is_measured;
	c->sides[side].is_partial = c->sides[side].is_partial || a.is_over;
	return err;
}

int comparison_add(struct comparison *c, unsigned int side, const struct gathered *g,
		   const struct gather_query *without)
{
	struct compared_side *to = &c->sides[side];
	int err = 0;

	to->is_partial = to->is_partial || gathered_is_over(g);
	for (size_t i = 0; i < g->subjects.count && !err && !to->is_partial; i++) {
		uint32_t at = g->subjects.data[i];

		if (!without || !gather_takes(without, &g->batch.data[at]))
			err = subject_add(c, side, g, at);
	}
	return err;
}

static double share(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : 0;
}

/*
 * Of an attribute: how much more often the first side has it, times how much longer the spans of
 * both sides take that have it.
 */
static double attribute_explains(const struct comparison *c, const struct difference *d)
{
	const struct compared_side *a = &c->sides[0], *b = &c->sides[1];
	uint64_t with = d->sides[0].count + d->sides[1].count, all = a->spans + b->spans;
	uint64_t with_ns = d->sides[0].total_ns + d->sides[1].total_ns;
	double more = share(d->sides[0].count, a->spans) - share(d->sides[1].count, b->spans);

	/* what the others have more often is told by the values that they lack */
	if (with < COUNT_LEAST || with >= all || more <= 0 || !b->spans)
		return 0;
	return more *
	       (share(with_ns, with) - share(a->total_ns + b->total_ns - with_ns, all - with));
}

/* Time of each part, of a side: of a span, and of all places. */
struct part_times {
	double mean_ns[SPLIT_PARTS_COUNT];
	uint64_t places_ns[SPLIT_PARTS_COUNT];
};

static void parts_read(const struct comparison *c, unsigned int side, struct part_times *out)
{
	for (size_t i = 0; i < c->list.count; i++) {
		const struct difference *d = &c->list.data[i];
		const struct difference_side *of = &d->sides[side];
		int part = gather_part(d->kind == DIFFERENCE_PART ? d->value : d->key);

		if (part >= 0 && d->kind == DIFFERENCE_PART)
			out->mean_ns[part] = share(of->total_ns, c->sides[side].measured);
		else if (part >= 0 && d->kind == DIFFERENCE_PLACE)
			out->places_ns[part] += of->total_ns;
	}
}

/*
 * Only some spans tell places, slow ones more often than others. So a place has that share of its
 * part which it has in those; where none of a side tells it, the share is that of the other side.
 */
static double place_mean(const struct difference *d, const struct part_times times[2],
			 unsigned int side)
{
	int part = gather_part(d->key);
	unsigned int from = part >= 0 && times[side].places_ns[part] ? side : !side;

	if (part < 0)
		return 0;
	return times[side].mean_ns[part] *
	       share(d->sides[from].total_ns, times[from].places_ns[part]);
}

static bool has_part(const struct difference *d)
{
	return d->kind == DIFFERENCE_PART || d->kind == DIFFERENCE_OWN;
}

static void means_calculate(struct comparison *c)
{
	struct part_times times[2] = {0};

	for (unsigned int side = 0; side < 2; side++)
		parts_read(c, side, &times[side]);
	for (size_t i = 0; i < 2 * c->list.count; i++) {
		struct difference *d = &c->list.data[i / 2];
		unsigned int side = i % 2;
		struct difference_side *of = &d->sides[side];
		uint64_t spans = d->kind == DIFFERENCE_ATTRIBUTE ? of->count
				 : has_part(d)			 ? c->sides[side].measured
								 : c->sides[side].spans;

		of->mean_ns = d->kind == DIFFERENCE_PLACE ? place_mean(d, times, side)
							  : share(of->total_ns, spans);
	}
}

static bool is_comparable(const struct comparison *c, const struct difference *d)
{
	if (d->kind == DIFFERENCE_CALL)
		return c->sides[0].spans && c->sides[1].spans;
	return c->sides[0].measured && c->sides[1].measured;
}

static double time_explains(const struct comparison *c, const struct difference *d)
{
	return is_comparable(c, d) ? d->sides[0].mean_ns - d->sides[1].mean_ns : 0;
}

static int difference_compare(const void *a, const void *b)
{
	const struct difference *x = a, *y = b;
	double x_ns = fabs(x->explains_ns), y_ns = fabs(y->explains_ns);
	int order = (x_ns < y_ns) - (x_ns > y_ns);

	order = order ? order : (int)x->kind - (int)y->kind;
	order = order ? order : strcmp(x->key, y->key);
	order = order ? order : strcmp(x->value, y->value);
	return order ? order : strcmp(x->service, y->service);
}

void comparison_finish(struct comparison *c)
{
	means_calculate(c);
	for (size_t i = 0; i < c->list.count; i++) {
		struct difference *d = &c->list.data[i];

		last_count(d);
		d->explains_ns = d->kind == DIFFERENCE_ATTRIBUTE ? attribute_explains(c, d)
								 : time_explains(c, d);
	}
	if (c->list.count)
		qsort(c->list.data, c->list.count, sizeof(*c->list.data), difference_compare);
}

void comparison_free(struct comparison *c)
{
	bytes_map_free(&c->rows);
	vec_free(&c->list);
}
