/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const names[MONITOR_STATES] = {"ok", "warn", "alert", "no_data"};

const char *monitor_state_name(enum monitor_state state)
{
	return names[state];
}

enum monitor_state monitor_state_find(const char *name)
{
	int state = 0;

	while (state < MONITOR_STATES && strcmp(name, names[state]) != 0)
		state++;
	return (enum monitor_state)state;
}

void monitor_history_add(struct monitor_status *status, const struct monitor_change *change)
{
	if (status->history_count == MONITOR_HISTORY_MAX) {
		memmove(status->history, status->history + 1,
			(MONITOR_HISTORY_MAX - 1) * sizeof(*status->history));
		status->history_count--;
	}
	status->history[status->history_count++] = *change;
}

/* Whether a value is beyond a threshold; `eased` is the share by which that is nearer. */
static bool is_beyond(const struct monitor_rule *rule, double threshold, double eased, double value)
{
	if (rule->below)
		return value < threshold * (1 + eased);
	return value > threshold * (1 - eased);
}

/* A level that holds is left later than it is reached. */
static bool holds(const struct monitor_rule *rule, double threshold, bool held, double value)
{
	return is_beyond(rule, threshold, held ? rule->hysteresis : 0, value);
}

static enum monitor_state level_of(const struct monitor_status *status,
				   const struct monitor_rule *rule, double value)
{
	if (holds(rule, rule->alert, status->level == MONITOR_ALERT, value))
		return MONITOR_ALERT;
	if (rule->has_warn && holds(rule, rule->warn, status->level != MONITOR_OK, value))
		return MONITOR_WARN;
	return MONITOR_OK;
}

static bool state_set(struct monitor_status *status, enum monitor_state state,
		      const struct monitor_sample *sample)
{
	const struct monitor_change change = {sample->at_ns, sample->value, state};

	if (status->state == state && status->since_ns)
		return false;
	status->state = state;
	status->since_ns = sample->at_ns;
	monitor_history_add(status, &change);
	return true;
}

bool monitor_step(struct monitor_status *status, const struct monitor_rule *rule,
		  const struct monitor_sample *sample)
{
	status->last = *sample;
	if (!sample->is_known)
		return state_set(status, MONITOR_NO_DATA, sample);
	if (sample->count < rule->min_count) {
		snprintf(status->why, sizeof(status->why),
			 "%" PRIu64 " spans, %" PRIu64 " are needed", sample->count,
			 rule->min_count);
		status->last.is_known = false;
		return state_set(status, MONITOR_NO_DATA, sample);
	}
	*status->why = '\0';
	status->level = level_of(status, rule, sample->value);
	return state_set(status, status->level, sample);
}

bool monitor_is_muted(const struct monitor_status *status, const struct monitor_rule *rule,
		      uint64_t now_ns)
{
	return rule->muted || status->muted_until_ns > now_ns;
}

bool monitor_is_due(const struct monitor_status *status, const struct monitor_rule *rule,
		    uint64_t now_ns)
{
	return status->level != status->told && status->last.is_known &&
	       !monitor_is_muted(status, rule, now_ns);
}

void monitor_interrupt(struct monitor_status *status, uint64_t at_ns)
{
	const struct monitor_sample none = {.at_ns = at_ns};

	if (status->since_ns)
		state_set(status, MONITOR_NO_DATA, &none);
}
