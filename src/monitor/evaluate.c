/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates the rules. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "monitor/internal.h"
#include "monitor/round.h"

#define SAVE_NS MINUTE_NS /* where nothing changes: so a restart knows when it ended */

static struct monitor *same_find(struct monitors *m, const struct round_rule *one)
{
	struct monitor *found = monitor_find(&m->kept, one->rule.name);

	return found && found->number == one->number ? found : NULL;
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
static void red_pin(struct monitors *m, const struct round_rule *one, uint64_t now_ns)
{
	char why[MONITOR_NAME_BYTES + 16], text[512];
	struct error e = {0};

	if (!m->options.pin)
		return;
	snprintf(why, sizeof(why), "monitor %.50s", one->rule.name);
	if (!m->options.pin(m->options.arg, why, now_ns - MINUTE_NS, now_ns, &e) ||
	    !m->options.warn)
		return;
	snprintf(text, sizeof(text), "the minute of monitor '%s' is not pinned: %.300s",
		 one->rule.name, e.text);
	m->options.warn(text);
}

struct evaluating {
	struct monitors *monitors;
	bool changed;
};

/* Without the lock, but for a moment. */
static void value_take(void *arg, struct round_rule *one)
{
	struct evaluating *evaluating = arg;
	struct monitors *m = evaluating->monitors;
	struct monitor *monitor;
	bool is_red = false;

	pthread_mutex_lock(&m->lock);
	monitor = m->is_ending ? NULL : same_find(m, one);
	if (monitor)
		evaluating->changed |= sample_take(m, monitor, &one->sample, one->why, &is_red);
	pthread_mutex_unlock(&m->lock);
	if (is_red)
		red_pin(m, one, one->sample.at_ns);
}

/* Copies the rules, from the one on that was late first. With `fresh`, those without a value. */
static int rules_copy(struct monitors *m, bool fresh, struct round *r)
{
	size_t count;
	int err = 0;

	pthread_mutex_lock(&m->lock);
	count = m->is_ending ? 0 : m->kept.monitors.count;
	for (size_t i = 0; i < count && !err; i++) {
		const struct monitor *monitor =
			m->kept.monitors.data[(i + (fresh ? 0 : m->first_late)) % count];

		if (!fresh || !monitor->status.last.at_ns)
			err = vec_push(&r->rules, ((struct round_rule){.rule = monitor->rule,
								       .number = monitor->number}));
	}
	pthread_mutex_unlock(&m->lock);
	return err;
}

/* With the lock: how a round went in which all were to be evaluated. */
static void round_end(struct monitors *m, const struct round *r, size_t late, uint64_t begun_ns)
{
	m->health.round_ns = clock_now_ns() - begun_ns;
	m->health.late = 0;
	for (size_t i = late; i < r->rules.count; i++)
		m->health.late += !r->rules.data[i].is_done;
	m->first_late = m->health.late ? m->first_late + late : 0;
	m->kept.evaluated_ns = monitors_now_ns();
}

static void all_evaluate(struct monitors *m, bool fresh, uint64_t *save_ns)
{
	struct evaluating evaluating = {.monitors = m};
	struct round r = {.store = m->options.store,
			  .received_ns = m->begun_ns,
			  .alone_until_ns = &m->alone_until_ns,
			  .stop = &m->stop,
			  .take = value_take,
			  .arg = &evaluating};
	uint64_t begun_ns = clock_now_ns();
	size_t late = 0;

	if (!rules_copy(m, fresh, &r))
		late = round_run(&r);
	pthread_mutex_lock(&m->lock);
	if (!fresh)
		round_end(m, &r, late, begun_ns);
	monitors_forget(m, monitors_now_ns());
	if (m->kept.monitors.count && (evaluating.changed || clock_now_ns() >= *save_ns)) {
		monitors_save(m, evaluating.changed);
		*save_ns = clock_now_ns() + SAVE_NS;
	}
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
	round_free(&r);
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
