/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates the rules. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "monitor/internal.h"

#define SAVE_NS MINUTE_NS	/* where nothing changes: so a restart knows when it ended */
#define LATE_NS (2 * SECOND_NS) /* spans of the last seconds are still on their way */
#define POOL_BYTES ((size_t)32 << 20)

/* ---- one value ---- */

/* What the store is asked for a rule, and what it said. */
struct asking {
	struct store *store;
	const struct monitor_rule *rule;
	struct store_range range;
	struct pool pool;
	struct store_sums sums;
	const struct store_sum *sum; /* NULL: there is no span */
};

/* The sums of the calls from a service to another. */
static int edge_ask(struct asking *a, struct error *e)
{
	int err = store_edges(a->store, &a->range, &a->pool, &a->sums, e);

	for (size_t i = 0; i < a->sums.count && !err; i++) {
		const struct store_sum *sum = &a->sums.data[i];

		if (strcmp(sum->service, a->rule->texts[RULE_service]) == 0 &&
		    strcmp(sum->operation, a->rule->texts[RULE_to]) == 0)
			a->sum = sum;
	}
	return err;
}

static int sums_ask(struct asking *a, struct error *e)
{
	const char *operation = a->rule->texts[RULE_operation];
	const struct store_sums_query query = {.service = a->rule->texts[RULE_service],
					       .operation = *operation ? operation : NULL,
					       .kind = a->rule->kind,
					       .from_ns = a->range.from_ns,
					       .to_ns = a->range.to_ns,
					       .has_parts = measure_needs_parts(&a->rule->measure)};
	int err = store_sums(a->store, &query, &a->pool, &a->sums, e);

	a->sum = !err && a->sums.count ? a->sums.data : NULL;
	return err;
}

struct monitor_sample monitors_measure(struct store *store, const struct monitor_rule *rule,
				       uint64_t begun_ns, char why[MONITOR_WHY_BYTES])
{
	uint64_t now_ns = monitors_now_ns(), to_ns = now_ns - LATE_NS;
	struct asking a = {.store = store, .rule = rule, .pool = {.limit_bytes = POOL_BYTES}};
	struct monitor_sample sample = {.at_ns = now_ns};
	struct error e = {0};
	int err;

	a.range.to_ns = to_ns - to_ns % STORE_SUMS_STEP_NS;
	a.range.from_ns = a.range.to_ns - rule->over_ns;
	*why = '\0';
	err = *rule->texts[RULE_to] ? edge_ask(&a, &e) : sums_ask(&a, &e);
	if (err)
		snprintf(why, MONITOR_WHY_BYTES, "the store does not answer: %.90s", e.text);
	else if (!measure_value(&rule->measure, a.sum, (double)rule->over_ns / 1e9, &sample.value,
				&sample.count))
		snprintf(why, MONITOR_WHY_BYTES, "there is no span");
	else if (rule->below && rule->measure.kind == MEASURE_RATE && a.range.from_ns < begun_ns)
		snprintf(why, MONITOR_WHY_BYTES, "spans are not received for long enough yet");
	else
		sample.is_known = true;
	store_sums_free(&a.sums);
	pool_free(&a.pool);
	return sample;
}

/* ---- all of them ---- */

struct monitor_copy {
	struct monitor_rule rule;
	uint64_t number;
};

static struct monitor *same_find(struct monitors *m, const struct monitor_copy *copy)
{
	struct monitor *found = monitor_find(&m->kept, copy->rule.name);

	return found && found->number == copy->number ? found : NULL;
}

/* Takes a value, with the lock. Returns whether something is to be saved. */
static bool sample_take(struct monitors *m, struct monitor *monitor,
			const struct monitor_sample *sample, const char *why, bool *is_red)
{
	struct monitor_status *s = &monitor->status;
	bool changed;

	snprintf(s->why, sizeof(s->why), "%s", why);
	changed = monitor_step(s, &monitor->rule, sample);
	*is_red = changed && s->state == MONITOR_ALERT;
	if (!monitor_is_due(s, &monitor->rule, sample->at_ns))
		return changed;
	monitors_tell(m, monitor, sample->at_ns);
	return true;
}

/* The minute of an alert is kept of the recording. */
static void red_pin(struct monitors *m, const struct monitor_copy *copy, uint64_t now_ns)
{
	char why[MONITOR_NAME_BYTES + 16], text[512];
	struct error e = {0};

	if (!m->options.pin)
		return;
	snprintf(why, sizeof(why), "monitor %.50s", copy->rule.name);
	if (!m->options.pin(m->options.arg, why, now_ns - MINUTE_NS, now_ns, &e) ||
	    !m->options.warn)
		return;
	snprintf(text, sizeof(text), "the minute of monitor '%s' is not pinned: %.300s",
		 copy->rule.name, e.text);
	m->options.warn(text);
}

/* Without the lock, but for a moment. */
static bool one_evaluate(struct monitors *m, const struct monitor_copy *copy)
{
	char why[MONITOR_WHY_BYTES];
	struct monitor_sample sample = monitors_measure(m->options.store, &copy->rule, m->begun_ns,
							why);
	bool changed = false, is_red = false;
	struct monitor *monitor;

	pthread_mutex_lock(&m->lock);
	monitor = m->is_ending ? NULL : same_find(m, copy);
	if (monitor)
		changed = sample_take(m, monitor, &sample, why, &is_red);
	pthread_mutex_unlock(&m->lock);
	if (is_red)
		red_pin(m, copy, sample.at_ns);
	return changed;
}

/* The rule at a place, copied; false behind the last one. With `fresh`, only one without a value.
 */
static bool copy_next(struct monitors *m, size_t *at, bool fresh, struct monitor_copy *copy)
{
	bool found = false;

	pthread_mutex_lock(&m->lock);
	while (!found && !m->is_ending && *at < m->kept.monitors.count) {
		const struct monitor *monitor = m->kept.monitors.data[(*at)++];

		found = !fresh || !monitor->status.last.at_ns;
		if (found)
			*copy = (struct monitor_copy){monitor->rule, monitor->number};
	}
	pthread_mutex_unlock(&m->lock);
	return found;
}

static void all_evaluate(struct monitors *m, bool fresh, uint64_t *save_ns)
{
	struct monitor_copy copy;
	bool changed = false;

	for (size_t at = 0; copy_next(m, &at, fresh, &copy);)
		changed |= one_evaluate(m, &copy);
	pthread_mutex_lock(&m->lock);
	m->evaluation++;
	m->kept.evaluated_ns = monitors_now_ns();
	monitors_forget(m, m->kept.evaluated_ns);
	if (m->kept.monitors.count && (changed || clock_now_ns() >= *save_ns)) {
		monitors_save(m, changed);
		*save_ns = clock_now_ns() + SAVE_NS;
	}
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
}

void *monitors_evaluator_run(void *arg)
{
	struct monitors *m = arg;
	uint64_t next_ns = clock_now_ns(), save_ns = next_ns + SAVE_NS;
	bool fresh;

	pthread_mutex_lock(&m->lock);
	while (!m->is_ending) {
		uint64_t now_ns = clock_now_ns();

		fresh = now_ns < next_ns;
		if (fresh && !m->is_new) {
			monitors_wait(m, next_ns);
			continue;
		}
		m->is_new = false;
		if (!fresh)
			next_ns = now_ns + MONITORS_STEP_NS;
		pthread_mutex_unlock(&m->lock);
		all_evaluate(m, fresh, &save_ns);
		pthread_mutex_lock(&m->lock);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}
