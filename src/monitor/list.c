/* SPDX-License-Identifier: Apache-2.0 */
/* Shows monitors. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "monitor/internal.h"

static void rule_write(struct json *j, const struct monitor_rule *rule)
{
	json_object_begin(j, "rule");
	for (int key = 0; key < RULE_KEYS_COUNT; key++) {
		char name[16];

		if (!*rule->texts[key])
			continue;
		snprintf(name, sizeof(name), "%s", rule_key_text((enum rule_key)key));
		for (char *c = name; *c; c++)
			*c = *c == '-' ? '_' : *c;
		json_string(j, name, rule->texts[key]);
	}
	json_object_end(j);
}

static void bounds_write(struct json *j, const struct monitor_rule *rule)
{
	json_string(j, "unit", measure_unit_name(measure_unit(&rule->measure)));
	json_string(j, "direction", rule->below ? "below" : "above");
	json_double(j, "threshold", rule->alert);
	if (rule->has_warn)
		json_double(j, "warn_threshold", rule->warn);
	json_double(j, "hysteresis", rule->hysteresis);
	json_u64(j, "over_ns", rule->over_ns);
	json_u64(j, "min_count", rule->min_count);
	json_array_begin(j, "notify");
	for (unsigned int i = 0; i < rule->notify_count; i++)
		json_string(j, NULL, rule->notify[i]);
	json_array_end(j);
}

static void history_write(struct json *j, const struct monitor_status *s)
{
	json_array_begin(j, "history");
	for (unsigned int i = 0; i < s->history_count; i++) {
		const struct monitor_change *change = &s->history[i];

		json_object_begin(j, NULL);
		json_u64(j, "at_unix_ns", change->at_ns);
		json_string(j, "state", monitor_state_name(change->state));
		if (change->state != MONITOR_NO_DATA)
			json_double(j, "value", change->value);
		json_object_end(j);
	}
	json_array_end(j);
}

static void status_write(struct json *j, const struct monitor *monitor)
{
	const struct monitor_status *s = &monitor->status;
	char text[MONITOR_OF_BYTES + 128];

	json_string(j, "state", monitor_state_name(s->state));
	json_u64(j, "since_unix_ns", s->since_ns);
	json_string(j, "told", monitor_state_name(s->told));
	json_u64(j, "evaluated_unix_ns", s->last.at_ns);
	json_u64(j, "count", s->last.count);
	if (s->last.is_known)
		json_double(j, "now", s->last.value);
	json_string(j, "text",
		    s->last.is_known ? monitor_sentence(monitor, text, sizeof(text))
				     : monitor_rule_of(&monitor->rule, text));
	if (*s->why)
		json_string(j, "why", s->why);
	json_bool(j, "muted", monitor_is_muted(s, &monitor->rule, monitors_now_ns()));
	if (s->muted_until_ns && s->muted_until_ns != UINT64_MAX)
		json_u64(j, "muted_until_unix_ns", s->muted_until_ns);
}

static void monitor_write(struct json *j, const struct monitor *monitor)
{
	json_object_begin(j, NULL);
	json_string(j, "name", monitor->rule.name);
	json_string(j, "source", monitor->is_of_file ? "file" : "api");
	rule_write(j, &monitor->rule);
	bounds_write(j, &monitor->rule);
	status_write(j, monitor);
	history_write(j, &monitor->status);
	json_object_end(j);
}

/* What is not told yet, or was given up. */
static void tellings_write(struct json *j, const struct monitors *m)
{
	json_array_begin_lines(j, "untold");
	for (size_t i = 0; i < m->kept.tellings.count; i++) {
		const struct telling *t = &m->kept.tellings.data[i];

		json_object_begin(j, NULL);
		json_string(j, "monitor", t->monitor);
		json_string(j, "action", t->action);
		json_string(j, "state", monitor_state_name(t->state));
		json_u64(j, "at_unix_ns", t->at_ns);
		json_u64(j, "attempts", t->attempts);
		json_bool(j, "given_up", t->is_failed);
		if (!t->is_failed)
			json_u64(j, "next_unix_ns", t->next_ns);
		json_string(j, "why", t->why);
		json_object_end(j);
	}
	json_array_end(j);
}

static void actions_write(struct json *j, const struct monitors *m)
{
	const struct monitors_config *config = m->options.config;

	json_array_begin_lines(j, "actions");
	for (size_t i = 0; config && i < config->actions.count; i++) {
		json_object_begin(j, NULL);
		json_string(j, "name", config->actions.data[i].name);
		json_string(j, "kind", config->actions.data[i].is_webhook ? "webhook" : "command");
		json_object_end(j);
	}
	json_array_end(j);
}

void monitors_write(struct monitors *m, struct json *j)
{
	pthread_mutex_lock(&m->lock);
	json_u64(j, "evaluated_unix_ns", m->kept.evaluated_ns);
	json_u64(j, "told", m->kept.told);
	json_u64(j, "given_up", m->kept.failed);
	json_u64(j, "round_ns", m->health.round_ns);
	json_u64(j, "late", m->health.late);
	if (*m->save_failed)
		json_string(j, "not_saved", m->save_failed);
	json_array_begin_lines(j, "monitors");
	for (size_t i = 0; i < m->kept.monitors.count; i++)
		monitor_write(j, m->kept.monitors.data[i]);
	json_array_end(j);
	tellings_write(j, m);
	actions_write(j, m);
	pthread_mutex_unlock(&m->lock);
}

int monitors_write_one(struct monitors *m, const char *name, struct json *j)
{
	const struct monitor *monitor;

	pthread_mutex_lock(&m->lock);
	monitor = monitor_find(&m->kept, name);
	json_array_begin_lines(j, "monitors");
	if (monitor)
		monitor_write(j, monitor);
	json_array_end(j);
	pthread_mutex_unlock(&m->lock);
	return monitor ? 0 : -ENOENT;
}

void monitors_count(struct monitors *m, struct monitors_counts *out)
{
	*out = (struct monitors_counts){0};
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->kept.monitors.count; i++) {
		const struct monitor *one = m->kept.monitors.data[i];
		struct monitors_red *red = &out->red[out->red_count];

		out->states[one->status.state]++;
		out->muted += monitor_is_muted(&one->status, &one->rule, monitors_now_ns());
		if (one->status.state != MONITOR_ALERT)
			continue;
		if (out->red_count < MONITORS_RED_MAX) {
			strcpy(red->name, one->rule.name);
			monitor_sentence(one, red->text, sizeof(red->text));
			red->since_ns = one->status.since_ns;
		}
		out->red_count += out->red_count < MONITORS_RED_MAX;
	}
	for (size_t i = 0; i < m->kept.tellings.count; i++) {
		out->failed += m->kept.tellings.data[i].is_failed;
		out->waiting += !m->kept.tellings.data[i].is_failed &&
				m->kept.tellings.data[i].attempts > 0;
	}
	pthread_mutex_unlock(&m->lock);
}

void monitors_counts_write(const struct monitors_counts *counts, struct json *j)
{
	json_object_begin(j, "monitors");
	for (int state = 0; state < MONITOR_STATES; state++)
		json_u64(j, monitor_state_name((enum monitor_state)state), counts->states[state]);
	json_u64(j, "muted", counts->muted);
	json_u64(j, "waiting", counts->waiting);
	json_u64(j, "given_up", counts->failed);
	json_array_begin_lines(j, "red");
	for (unsigned int i = 0; i < counts->red_count && i < MONITORS_RED_MAX; i++) {
		json_object_begin(j, NULL);
		json_string(j, "name", counts->red[i].name);
		json_string(j, "text", counts->red[i].text);
		json_u64(j, "since_unix_ns", counts->red[i].since_ns);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

int monitors_brief(struct monitors *m, monitor_briefs *out, struct monitors_health *health)
{
	int err = 0;

	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->kept.monitors.count && !err; i++) {
		const struct monitor *one = m->kept.monitors.data[i];
		struct monitor_brief brief = {.state = one->status.state,
					      .unit = measure_unit(&one->rule.measure),
					      .value = one->status.last.value,
					      .is_known = one->status.last.is_known};

		strcpy(brief.name, one->rule.name);
		err = vec_push(out, brief);
	}
	*health = m->health;
	health->failed = m->kept.failed;
	pthread_mutex_unlock(&m->lock);
	return err;
}
