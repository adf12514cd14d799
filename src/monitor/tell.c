/* SPDX-License-Identifier: Apache-2.0 */
/* Tells actions of changes, and tries again where that fails. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json_bytes.h"
#include "monitor/action.h"
#include "monitor/internal.h"

/* ---- what is told ---- */

char *monitor_sentence(const struct monitor *monitor, char *text, size_t size)
{
	const struct monitor_rule *rule = &monitor->rule;
	const struct monitor_status *s = &monitor->status;
	enum measure_unit unit = measure_unit(&rule->measure);
	char of[MONITOR_OF_BYTES], value[MEASURE_TEXT_BYTES], bound[MEASURE_TEXT_BYTES];
	int n;

	monitor_rule_of(rule, of);
	n = snprintf(text, size, "%s is %s", of, measure_value_format(s->last.value, unit, value));
	if (n < 0 || (size_t)n >= size || s->level == MONITOR_OK)
		return text;
	measure_value_format(s->level == MONITOR_ALERT ? rule->alert : rule->warn, unit, bound);
	snprintf(text + n, size - (size_t)n, ", %s %s", rule->below ? "below" : "above", bound);
	return text;
}

static void payload_members(struct json *j, const struct monitor *monitor)
{
	const struct monitor_rule *rule = &monitor->rule;
	const struct monitor_status *s = &monitor->status;

	json_string(j, "monitor", rule->name);
	json_string(j, "state", monitor_state_name(s->level));
	json_string(j, "before", monitor_state_name(s->told));
	json_u64(j, "at_unix_ns", s->last.at_ns);
	json_string(j, "service", rule->texts[RULE_service]);
	if (*rule->texts[RULE_operation])
		json_string(j, "operation", rule->texts[RULE_operation]);
	if (*rule->texts[RULE_to])
		json_string(j, "to", rule->texts[RULE_to]);
	json_string(j, "value", rule->texts[RULE_value]);
	json_double(j, "now", s->last.value);
	json_double(j, "threshold", rule->alert);
	json_string(j, "unit", measure_unit_name(measure_unit(&rule->measure)));
	json_u64(j, "over_ns", rule->over_ns);
	json_u64(j, "count", s->last.count);
}

/* A text with NUL that the caller frees; NULL: no memory. */
static char *payload_make(const struct monitor *monitor)
{
	char host[256] = "", sentence[MONITOR_OF_BYTES + 128], text[sizeof(sentence) + 128],
	     id[128];
	struct bytes out = {0};
	struct json j;

	gethostname(host, sizeof(host) - 1);
	monitor_sentence(monitor, sentence, sizeof(sentence));
	snprintf(text, sizeof(text), "%s: %s (%s)", monitor_state_name(monitor->status.level),
		 monitor->rule.name, sentence);
	snprintf(id, sizeof(id), "%s@%" PRIu64, monitor->rule.name, monitor->status.last.at_ns);
	json_init_bytes(&j, &out);
	json_object_begin(&j, NULL);
	json_u64(&j, "version", 1);
	json_string(&j, "id", id);
	json_string(&j, "text", text);
	json_string(&j, "host", host);
	payload_members(&j, monitor);
	json_object_end(&j);
	if (!json_end(&j))
		bytes_put_u8(&out, 0);
	if (!out.failed)
		return (char *)out.data;
	bytes_free(&out);
	return NULL;
}

void monitors_tell(struct monitors *m, struct monitor *monitor, uint64_t now_ns)
{
	for (unsigned int i = 0; i < monitor->rule.notify_count; i++) {
		struct telling t = {.state = monitor->status.level,
				    .at_ns = now_ns,
				    .next_ns = now_ns,
				    .payload = payload_make(monitor)};

		snprintf(t.monitor, sizeof(t.monitor), "%s", monitor->rule.name);
		snprintf(t.action, sizeof(t.action), "%s", monitor->rule.notify[i]);
		if (!t.payload || vec_push(&m->kept.tellings, t)) {
			telling_free(&t);
			m->kept.failed++;
		} else if (m->kept.tellings.count > TELLINGS_MAX) {
			monitors_give_up(m, &m->kept.tellings.data[m->kept.tellings.count - 1],
					 "too much is waiting to be told");
		}
	}
	monitors_forget(m, now_ns);
	monitor->status.told = monitor->status.level;
	pthread_cond_broadcast(&m->changed);
}

/* ---- telling ---- */

static struct telling *due_find(struct monitors *m, uint64_t now_ns, uint64_t *next_ns)
{
	struct telling *due = NULL;

	for (size_t i = 0; i < m->kept.tellings.count; i++) {
		struct telling *t = &m->kept.tellings.data[i];

		if (t->is_failed || telling_is_behind(&m->kept, i))
			continue;
		if (t->next_ns < *next_ns)
			*next_ns = t->next_ns;
		if (telling_is_due(t, now_ns) && (!due || t->next_ns < due->next_ns))
			due = t;
	}
	return due;
}

/* The one that is under way; another thread may have moved it. */
static struct telling *begun_find(struct monitors *m)
{
	for (size_t i = 0; i < m->kept.tellings.count; i++) {
		if (m->kept.tellings.data[i].is_begun)
			return &m->kept.tellings.data[i];
	}
	return NULL;
}

static void arrived(struct monitors *m, struct telling *t)
{
	size_t place = (size_t)(t - m->kept.tellings.data);

	telling_free(t);
	memmove(t, t + 1, (m->kept.tellings.count - place - 1) * sizeof(*t));
	m->kept.tellings.count--;
	m->kept.told++;
}

static void ended(struct monitors *m, int err, const char *why)
{
	uint64_t now_ns = monitors_now_ns();
	struct telling *t = begun_find(m);

	if (!t)
		return;
	t->is_begun = false;
	if (!err) {
		arrived(m, t);
		return;
	}
	if (err == -ECANCELED) {
		monitors_give_up(m, t, TELLING_CUT_SHORT);
		return;
	}
	t->next_ns = telling_again_ns(t->at_ns, t->attempts, now_ns);
	snprintf(t->why, sizeof(t->why), "%s", why);
	if (!t->next_ns)
		monitors_give_up(m, t, why);
}

/* With the lock, which it leaves while the action runs. */
static void attempt(struct monitors *m, struct telling *t)
{
	const struct monitor_action *action =
		m->options.config ? monitor_action_find(m->options.config, t->action) : NULL;
	char why[ACTION_WHY_BYTES] = "", monitor[MONITOR_NAME_BYTES], *payload;
	struct acting acting = {action, monitor, monitor_state_name(t->state), NULL, &m->stop};
	int err;

	if (!action || !t->payload) {
		monitors_give_up(m, t, "there is no action of this name in the file any more");
		monitors_save(m, true);
		return;
	}
	payload = strdup(t->payload);
	if (!payload) {
		t->next_ns += 10 * SECOND_NS;
		return;
	}
	acting.payload = payload;
	snprintf(monitor, sizeof(monitor), "%s", t->monitor);
	t->is_begun = true;
	t->attempts++;
	monitors_save(m, true);
	monitors_save_await(m);
	pthread_mutex_unlock(&m->lock);
	err = action->is_webhook ? action_webhook(&acting, why) : action_command(&acting, why);
	pthread_mutex_lock(&m->lock);
	free(payload);
	ended(m, err, why);
	monitors_save(m, true);
	pthread_cond_broadcast(&m->changed);
}

void *monitors_teller_run(void *arg)
{
	struct monitors *m = arg;

	pthread_mutex_lock(&m->lock);
	while (!m->is_ending) {
		uint64_t now_ns = monitors_now_ns(), next_ns = now_ns + MINUTE_NS;
		struct telling *due = due_find(m, now_ns, &next_ns);

		if (due)
			attempt(m, due);
		else
			monitors_wait(m, clock_now_ns() + (next_ns - now_ns));
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}
