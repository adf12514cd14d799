/* SPDX-License-Identifier: Apache-2.0 */
#include "up/chooser.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/map.h"

#define SECOND_NS UINT64_C(1000000000)
#define WINDOWS 5
#define WINDOW_NS (120 * SECOND_NS) /* so all windows are ten minutes */
/* Of durations from half a millisecond to two hours: 32 buckets for each power of two. */
#define LEAST_EXPONENT 19
#define EXPONENTS 24
#define PARTS_BITS 5
#define PARTS (1u << PARTS_BITS)
#define BUCKETS (EXPONENTS * PARTS)
/* Each kernel span costs so much of a budget, which grows with the time. */
#define COST_NS (SECOND_NS / CHOOSER_RATE)
#define BUDGET_NS (CHOOSER_BURST * COST_NS)

struct window {
	uint64_t number;  /* of the two minutes that it is of */
	uint32_t seen;	  /* also shorter spans */
	uint32_t *counts; /* of the buckets; NULL: all zero */
};

struct operation {
	struct window windows[WINDOWS];
	uint64_t sampled_ns, seen_ns;
	uint64_t threshold_ns, judged_ns;
};

struct chooser {
	struct bytes_map operations;
	struct bytes key;
	uint64_t budget_ns, filled_ns;
};

const char *chosen_name(enum chosen chosen)
{
	static const char *const names[] = {"", "error", "slow", "sample", "trace"};

	return names[chosen];
}

static unsigned int bucket_of(uint64_t ns)
{
	unsigned int exponent = 63 - (unsigned int)__builtin_clzll(ns);

	if (exponent >= LEAST_EXPONENT + EXPONENTS)
		return BUCKETS - 1;
	return (exponent - LEAST_EXPONENT) * PARTS +
	       (unsigned int)(ns >> (exponent - PARTS_BITS) & (PARTS - 1));
}

/* The longest duration of a bucket. */
static uint64_t bucket_end(unsigned int bucket)
{
	unsigned int exponent = LEAST_EXPONENT + bucket / PARTS;

	return ((uint64_t)(PARTS + bucket % PARTS + 1) << (exponent - PARTS_BITS)) - 1;
}

static struct window *window_now(struct operation *o, uint64_t now_ns)
{
	uint64_t number = now_ns / WINDOW_NS;
	struct window *w = &o->windows[number % WINDOWS];

	if (w->number == number)
		return w;
	w->number = number;
	w->seen = 0;
	if (w->counts)
		memset(w->counts, 0, BUCKETS * sizeof(*w->counts));
	return w;
}

static void duration_learn(struct operation *o, uint64_t duration_ns, uint64_t now_ns)
{
	struct window *w = window_now(o, now_ns);

	o->seen_ns = now_ns;
	w->seen++;
	if (duration_ns >> LEAST_EXPONENT == 0)
		return;
	if (!w->counts)
		w->counts = calloc(BUCKETS, sizeof(*w->counts));
	if (w->counts) /* else it counts as a short one */
		w->counts[bucket_of(duration_ns)]++;
}

/* The percentile, but no less than what is slow at all; UINT64_MAX if too little was seen. */
static uint64_t threshold_find(const struct operation *o, uint64_t now_ns)
{
	uint64_t number = now_ns / WINDOW_NS, seen = 0, longer = 0;
	const struct window *recent[WINDOWS];
	size_t count = 0;

	for (size_t i = 0; i < WINDOWS; i++) {
		const struct window *w = &o->windows[i];

		if (w->number + WINDOWS <= number)
			continue;
		seen += w->seen;
		if (w->counts)
			recent[count++] = w;
	}
	if (seen < CHOOSER_SEEN)
		return UINT64_MAX;
	for (unsigned int bucket = BUCKETS; bucket-- > 0;) {
		for (size_t i = 0; i < count; i++)
			longer += recent[i]->counts[bucket];
		if (longer > seen / 100)
			return bucket_end(bucket) > CHOOSER_SLOW_NS ? bucket_end(bucket)
								    : CHOOSER_SLOW_NS;
	}
	return CHOOSER_SLOW_NS;
}

static bool is_slow(struct operation *o, uint64_t duration_ns, uint64_t now_ns)
{
	if (duration_ns <= CHOOSER_SLOW_NS)
		return false;
	if (o->judged_ns != now_ns) {
		o->threshold_ns = threshold_find(o, now_ns);
		o->judged_ns = now_ns;
	}
	return duration_ns > o->threshold_ns;
}

static void operation_free(struct operation *o)
{
	for (size_t i = 0; o && i < WINDOWS; i++)
		free(o->windows[i].counts);
	free(o);
}

/* Forgets operations without a span in ten minutes. */
static void old_forget(struct chooser *c, uint64_t now_ns)
{
	struct bytes_map kept = {0};
	struct bytes_map_entry entry;
	size_t at = 0;

	while (bytes_map_next(&c->operations, &at, &entry)) {
		struct operation *o = entry.value;

		if (o->seen_ns + WINDOWS * WINDOW_NS <= now_ns ||
		    bytes_map_put(&kept, entry.key, entry.len, o))
			operation_free(o);
	}
	bytes_map_free(&c->operations);
	c->operations = kept;
}

static struct operation *operation_make(struct chooser *c)
{
	struct operation *o = calloc(1, sizeof(*o));

	if (o && bytes_map_put(&c->operations, c->key.data, c->key.count, o)) {
		free(o);
		return NULL;
	}
	return o;
}

/* NULL: no memory. */
static struct operation *operation_get(struct chooser *c, const struct chooser_span *span,
				       uint64_t now_ns)
{
	struct operation *o;

	c->key.count = 0;
	bytes_put_u8(&c->key, span->kind);
	bytes_put(&c->key, span->service, strlen(span->service) + 1);
	bytes_put(&c->key, span->name, strlen(span->name));
	if (c->key.failed) {
		bytes_free(&c->key);
		return NULL;
	}
	o = bytes_map_get(&c->operations, c->key.data, c->key.count);
	if (o)
		return o;
	if (c->operations.count >= CHOOSER_OPERATIONS)
		old_forget(c, now_ns);
	if (c->operations.count >= CHOOSER_OPERATIONS) {
		c->key.count = 0; /* one for all others */
		bytes_put_u8(&c->key, UINT8_MAX);
		o = bytes_map_get(&c->operations, c->key.data, c->key.count);
	}
	return o ? o : operation_make(c);
}

static bool sample_is_due(struct operation *o, uint64_t now_ns)
{
	if (o->sampled_ns && now_ns - o->sampled_ns < CHOOSER_SAMPLE_NS)
		return false;
	o->sampled_ns = now_ns;
	return true;
}

enum chosen chooser_ask(struct chooser *c, const struct chooser_span *span, uint64_t now_ns)
{
	struct operation *o = operation_get(c, span, now_ns);
	bool slow = o && is_slow(o, span->duration_ns, now_ns);

	if (o)
		duration_learn(o, span->duration_ns, now_ns);
	if (span->is_error)
		return CHOSEN_ERROR;
	if (slow)
		return CHOSEN_SLOW;
	return o && span->has_children && sample_is_due(o, now_ns) ? CHOSEN_SAMPLE : CHOSEN_NOT;
}

size_t chooser_grant(struct chooser *c, enum chosen chosen, size_t wanted, uint64_t now_ns)
{
	uint64_t kept_ns = chosen == CHOSEN_SAMPLE ? BUDGET_NS / 2 : 0, granted;

	if (now_ns > c->filled_ns) {
		c->budget_ns += now_ns - c->filled_ns;
		c->filled_ns = now_ns;
	}
	if (c->budget_ns > BUDGET_NS)
		c->budget_ns = BUDGET_NS;
	granted = c->budget_ns > kept_ns ? (c->budget_ns - kept_ns) / COST_NS : 0;
	granted = granted < wanted ? granted : wanted;
	c->budget_ns -= granted * COST_NS;
	return granted;
}

struct chooser *chooser_new(void)
{
	struct chooser *c = calloc(1, sizeof(*c));

	if (c)
		c->budget_ns = BUDGET_NS;
	return c;
}

void chooser_free(struct chooser *c)
{
	struct bytes_map_entry entry;
	size_t at = 0;

	if (!c)
		return;
	while (bytes_map_next(&c->operations, &at, &entry))
		operation_free(entry.value);
	bytes_map_free(&c->operations);
	bytes_free(&c->key);
	free(c);
}
