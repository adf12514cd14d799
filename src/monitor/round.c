/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/round.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "monitor/total.h"

#define LATE_NS UINT64_C(2000000000) /* spans of the last seconds are still on their way */
#define POOL_BYTES ((size_t)64 << 20)
#define ALONE_NS UINT64_C(600000000000) /* so long no query is shared after one failed */

/* Rules that a query is for: all have the same time. */
struct sharing {
	struct round *round;
	const struct monitor_rule *first;
	bool is_edge, has_parts;
	uint64_t now_ns;
	struct store_range range;
	struct pool pool;
	struct store_sums sums;
};

static bool is_edge(const struct monitor_rule *rule)
{
	return *rule->texts[RULE_to];
}

static bool is_of(const struct sharing *s, const struct round_rule *one)
{
	return !one->is_done && one->rule.over_ns == s->first->over_ns &&
	       is_edge(&one->rule) == s->is_edge &&
	       measure_needs_parts(&one->rule.measure) == s->has_parts;
}

static struct sharing sharing_begin(struct round *r, const struct round_rule *first)
{
	struct sharing s = {.round = r,
			    .first = &first->rule,
			    .is_edge = is_edge(&first->rule),
			    .has_parts = measure_needs_parts(&first->rule.measure),
			    .now_ns = clock_read_ns(CLOCK_REALTIME),
			    .pool = {.limit_bytes = POOL_BYTES}};
	uint64_t to_ns = s.now_ns - LATE_NS;

	s.range.to_ns = to_ns - to_ns % STORE_SUMS_STEP_NS;
	s.range.from_ns = s.range.to_ns - first->rule.over_ns;
	return s;
}

/* ---- a value out of sums ---- */

static bool matches(const struct monitor_rule *rule, const struct store_sum *sum)
{
	const char *operation = rule->texts[is_edge(rule) ? RULE_to : RULE_operation];

	return strcmp(rule->texts[RULE_service], sum->service) == 0 &&
	       (!*operation || strcmp(operation, sum->operation) == 0) &&
	       (is_edge(rule) || rule->kind < 0 || rule->kind == sum->kind);
}

static void value_find(const struct sharing *s, struct round_rule *one, const struct store_sum *sum)
{
	const struct monitor_rule *rule = &one->rule;
	struct monitor_sample *sample = &one->sample;

	if (!measure_value(&rule->measure, sum, (double)rule->over_ns / 1e9, &sample->value,
			   &sample->count))
		snprintf(one->why, sizeof(one->why), "there is no span");
	else if (rule->below && rule->measure.kind == MEASURE_RATE &&
		 s->range.from_ns < s->round->received_ns)
		snprintf(one->why, sizeof(one->why), "spans are not received for long enough yet");
	else
		sample->is_known = true;
}

static void one_end(const struct sharing *s, struct round_rule *one)
{
	one->sample.at_ns = s->now_ns;
	one->is_done = true;
	s->round->take(s->round->arg, one);
}

static void shared_take(const struct sharing *s, struct round_rule *one)
{
	struct total total = {0};
	bool has_some = false;
	int err = 0;

	for (size_t i = 0; i < s->sums.count && !err; i++) {
		if (!matches(&one->rule, &s->sums.data[i]))
			continue;
		has_some = true;
		err = total_add(&total, &s->sums.data[i]);
	}
	if (err)
		snprintf(one->why, sizeof(one->why), "there is no memory");
	else
		value_find(s, one, has_some ? &total.sum : NULL);
	total_free(&total);
	one_end(s, one);
}

/* ---- queries ---- */

/* A query for all rules of that time: its answer has all operations, and is sorted out here. */
static int shared_ask(struct sharing *s, struct error *e)
{
	const struct store_sums_query query = {.kind = -1,
					       .from_ns = s->range.from_ns,
					       .to_ns = s->range.to_ns,
					       .by = STORE_BY_SERVICE | STORE_BY_OPERATION |
						     STORE_BY_KIND,
					       .has_parts = s->has_parts};
	struct store *store = s->round->store;

	return s->is_edge ? store_edges(store, &s->range, &s->pool, &s->sums, e)
			  : store_sums(store, &query, &s->pool, &s->sums, e);
}

static int shared_run(struct sharing *s, struct error *e)
{
	struct round *r = s->round;
	int err = shared_ask(s, e);

	for (size_t i = 0; i < r->rules.count && !err; i++) {
		if (is_of(s, &r->rules.data[i]))
			shared_take(s, &r->rules.data[i]);
	}
	store_sums_free(&s->sums);
	s->sums = (struct store_sums){0};
	return err;
}

static void single_run(struct sharing *s, struct round_rule *one)
{
	const char *operation = one->rule.texts[RULE_operation];
	const struct store_sums_query query = {.service = one->rule.texts[RULE_service],
					       .operation = *operation ? operation : NULL,
					       .kind = one->rule.kind,
					       .from_ns = s->range.from_ns,
					       .to_ns = s->range.to_ns,
					       .has_parts = s->has_parts};
	struct error e = {0};

	if (store_sums(s->round->store, &query, &s->pool, &s->sums, &e))
		snprintf(one->why, sizeof(one->why), "the store does not answer: %.90s", e.text);
	else
		value_find(s, one, s->sums.count ? s->sums.data : NULL);
	store_sums_free(&s->sums);
	one_end(s, one);
}

static size_t sharing_count(const struct sharing *s)
{
	size_t count = 0;

	for (size_t i = 0; i < s->round->rules.count; i++)
		count += is_of(s, &s->round->rules.data[i]);
	return count;
}

static void all_fail(struct sharing *s, const struct error *e)
{
	for (size_t i = 0; i < s->round->rules.count; i++) {
		struct round_rule *one = &s->round->rules.data[i];

		if (!is_of(s, one))
			continue;
		snprintf(one->why, sizeof(one->why), "the store does not answer: %.90s", e->text);
		one_end(s, one);
	}
}

/* Finds the value of a rule, and of others that share its query. */
static void rule_run(struct round *r, struct round_rule *one)
{
	struct sharing s = sharing_begin(r, one);
	bool shares = clock_now_ns() >= *r->alone_until_ns && sharing_count(&s) >= ROUND_SHARED_MIN;
	struct error e = {0};
	int err = s.is_edge || shares ? shared_run(&s, &e) : 0;

	if (err && s.is_edge)
		all_fail(&s, &e);
	else if (err)
		*r->alone_until_ns = clock_now_ns() + ALONE_NS;
	pool_reset(&s.pool);
	if (!one->is_done)
		single_run(&s, one);
	pool_free(&s.pool);
}

size_t round_run(struct round *r)
{
	uint64_t until_ns = clock_now_ns() + ROUND_NS;
	size_t late = r->rules.count;

	for (size_t i = 0; i < r->rules.count; i++) {
		struct round_rule *one = &r->rules.data[i];

		if (!one->is_done && clock_now_ns() < until_ns && !atomic_load(r->stop))
			rule_run(r, one);
		if (!one->is_done && i < late)
			late = i;
	}
	return late;
}

void round_free(struct round *r)
{
	vec_free(&r->rules);
}
