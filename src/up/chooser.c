/* SPDX-License-Identifier: Apache-2.0 */
#include "up/chooser.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/map.h"
#include "up/slowness.h"

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
	struct slowness slowness;
};

struct chooser {
	struct bytes_map operations;
	struct bytes key;
	uint64_t budget_ns, filled_ns;
	pthread_mutex_t lock;
	uint64_t now_ns; /* the latest time that somebody gave */
	const struct chooser_rule *rules;
	size_t rules_count;
	uint32_t raise_pid;	 /* to be recorded with its calls; 0: none */
	uint64_t raised_next_ns; /* when the next one may be */
	struct chooser_pin pin;	 /* end 0: none */
	uint64_t pinned_ns;	 /* when the last one was chosen; 0: none was */
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

static void duration_learn(struct operation *o, uint64_t duration_ns, uint32_t times,
			   uint64_t now_ns)
{
	struct window *w = window_now(o, now_ns);

	o->seen_ns = now_ns;
	w->seen += times;
	if (duration_ns >> LEAST_EXPONENT == 0)
		return;
	if (!w->counts)
		w->counts = calloc(BUCKETS, sizeof(*w->counts));
	if (w->counts) /* else it counts as a short one */
		w->counts[bucket_of(duration_ns)] += times;
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

static bool rule_fits(const struct chooser_rule *rule, const struct chooser_span *span)
{
	return (!rule->service || strcmp(rule->service, span->service) == 0) &&
	       (!rule->name || strcmp(rule->name, span->name) == 0);
}

/* What is slow by a rule of the user; 0: no rule fits. */
static uint64_t rule_ns(const struct chooser *c, const struct chooser_span *span)
{
	for (size_t i = c->rules_count; i-- > 0;) {
		if (rule_fits(&c->rules[i], span))
			return c->rules[i].slow_ns;
	}
	return 0;
}

static bool is_slow_itself(struct operation *o, uint64_t duration_ns, uint64_t now_ns)
{
	if (duration_ns <= CHOOSER_SLOW_NS)
		return false;
	/* many spans may come at one instant: too little was seen only so far */
	if (o->judged_ns != now_ns || o->threshold_ns == UINT64_MAX) {
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

/* Two threads are not at the same chunk, and a time must not go back. */
static uint64_t now_follow(struct chooser *c, uint64_t now_ns)
{
	c->now_ns = now_ns > c->now_ns ? now_ns : c->now_ns;
	return c->now_ns;
}

static void pin_choose(struct chooser *c, const struct chooser_span *span, uint64_t slow_ns,
		       uint64_t now_ns)
{
	if (span->duration_ns / CHOOSER_PIN_TIMES <= slow_ns || !span->begin_ns ||
	    (c->pinned_ns && now_ns - c->pinned_ns < CHOOSER_PIN_REST_NS))
		return;
	c->pinned_ns = now_ns;
	c->pin = (struct chooser_pin){span->trace, span->begin_ns,
				      span->begin_ns + span->duration_ns};
}

static bool is_slow(struct chooser *c, struct operation *o, const struct chooser_span *span,
		    uint64_t now_ns)
{
	uint64_t ns = rule_ns(c, span);
	bool slow = ns ? span->duration_ns > ns : o && is_slow_itself(o, span->duration_ns, now_ns);

	if (slow)
		pin_choose(c, span, ns ? ns : o->threshold_ns, now_ns);
	return slow;
}

static enum chosen choose(struct chooser *c, const struct chooser_span *span, uint64_t now_ns)
{
	struct operation *o = operation_get(c, span, now_ns);
	bool slow = is_slow(c, o, span, now_ns);
	uint32_t times = span->times ? span->times : 1;

	if (o)
		duration_learn(o, span->duration_ns, times, now_ns);
	if (o && slowness_add(&o->slowness, slow, times, now_ns) && span->pid &&
	    now_ns >= c->raised_next_ns)
		c->raise_pid = span->pid;
	if (span->is_error)
		return CHOSEN_ERROR;
	if (slow)
		return CHOSEN_SLOW;
	return o && span->has_children && sample_is_due(o, now_ns) ? CHOSEN_SAMPLE : CHOSEN_NOT;
}

enum chosen chooser_ask(struct chooser *c, const struct chooser_span *span, uint64_t now_ns)
{
	enum chosen chosen;

	pthread_mutex_lock(&c->lock);
	chosen = choose(c, span, now_follow(c, now_ns));
	pthread_mutex_unlock(&c->lock);
	return chosen;
}

bool chooser_raise_take(struct chooser *c, uint64_t now_ns, uint32_t *pid)
{
	bool raises;

	pthread_mutex_lock(&c->lock);
	raises = c->raise_pid != 0;
	if (raises) {
		*pid = c->raise_pid;
		c->raise_pid = 0;
		c->raised_next_ns = now_follow(c, now_ns) + 10 * CHOOSER_RAISE_NS;
	}
	pthread_mutex_unlock(&c->lock);
	return raises;
}

bool chooser_pin_take(struct chooser *c, struct chooser_pin *pin)
{
	bool has;

	pthread_mutex_lock(&c->lock);
	has = c->pin.end_ns != 0;
	*pin = c->pin;
	c->pin.end_ns = 0;
	pthread_mutex_unlock(&c->lock);
	return has;
}

void chooser_rules_set(struct chooser *c, const struct chooser_rule *rules, size_t count)
{
	c->rules = rules;
	c->rules_count = count;
}

static size_t grant(struct chooser *c, enum chosen chosen, size_t wanted, uint64_t now_ns)
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

size_t chooser_grant(struct chooser *c, enum chosen chosen, size_t wanted, uint64_t now_ns)
{
	size_t granted;

	pthread_mutex_lock(&c->lock);
	granted = grant(c, chosen, wanted, now_follow(c, now_ns));
	pthread_mutex_unlock(&c->lock);
	return granted;
}

struct chooser *chooser_new(void)
{
	struct chooser *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->budget_ns = BUDGET_NS;
	pthread_mutex_init(&c->lock, NULL);
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
	pthread_mutex_destroy(&c->lock);
	free(c);
}
