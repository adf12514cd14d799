/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a monitor, as a pure function of its rule and one value after another.
 *
 * A value beyond a threshold raises the level at once. The level falls when the value is back
 * beyond the threshold by the hysteresis. Without enough spans the state is "no data", and the
 * level stays as it was. A change of the level is due to be told, unless the monitor is muted; it
 * is due later if it still holds when the mute ends. So nothing is told twice, and what nobody was
 * told of ends without a word.
 */
#ifndef MONITOR_STATE_H
#define MONITOR_STATE_H

#include "monitor/rule.h"

/* The values are in files and in metrics. */
enum monitor_state { MONITOR_OK = 0, MONITOR_WARN = 1, MONITOR_ALERT = 2, MONITOR_NO_DATA = 3 };
#define MONITOR_STATES 4

#define MONITOR_HISTORY_MAX 128
#define MONITOR_WHY_BYTES 128

/* A value, or that there is none. */
struct monitor_sample {
	uint64_t at_ns; /* since 1970 */
	uint64_t count; /* of spans that were seen */
	double value;
	bool is_known;
};

struct monitor_change {
	uint64_t at_ns;
	double value;
	enum monitor_state state;
};

/* Starts as MONITOR_STATUS_INITIAL. */
struct monitor_status {
	enum monitor_state state; /* as it is shown */
	enum monitor_state level; /* the last one of a value: never MONITOR_NO_DATA */
	enum monitor_state told;  /* the last level that was told */
	uint64_t since_ns;	  /* of `state`, since 1970; 0: never evaluated */
	uint64_t muted_until_ns;  /* since 1970; UINT64_MAX: until it is unmuted; 0: it is not */
	struct monitor_sample last;
	struct monitor_change history[MONITOR_HISTORY_MAX]; /* the oldest first */
	unsigned int history_count;
	char why[MONITOR_WHY_BYTES]; /* why there is no value; "": there is one */
};

#define MONITOR_STATUS_INITIAL ((struct monitor_status){.state = MONITOR_NO_DATA})

/* "ok", "warn", "alert", "no_data" */
const char *monitor_state_name(enum monitor_state state);

/* MONITOR_STATES: there is none. */
enum monitor_state monitor_state_find(const char *name);

/* Takes a value. Returns whether the state changed. */
bool monitor_step(struct monitor_status *status, const struct monitor_rule *rule,
		  const struct monitor_sample *sample);

bool monitor_is_muted(const struct monitor_status *status, const struct monitor_rule *rule,
		      uint64_t now_ns);

/* Whether the level is to be told now. Whoever tells it sets `told`. */
bool monitor_is_due(const struct monitor_status *status, const struct monitor_rule *rule,
		    uint64_t now_ns);

/* Nothing was evaluated from `at_ns` on. */
void monitor_interrupt(struct monitor_status *status, uint64_t at_ns);

/* Appends to the history, and forgets the oldest change where it is full. */
void monitor_history_add(struct monitor_status *status, const struct monitor_change *change);

#endif
