/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Monitors: rules that are evaluated each ten seconds over the sums of the store, with the state of
 * each, and the actions that are told of changes.
 *
 * One thread evaluates, another one tells, a third one writes the file. Rules are those of the
 * configuration, which only a restart changes, and those of the API. States, histories and what is
 * still to be told are in the file monitors.json of the directory (kept.h), which is written before
 * an attempt to tell begins. So nothing is told twice: an attempt that a crash cut short is given
 * up, and shown. While a change is tried again, later ones of the same monitor wait behind it, for
 * the same action. Any thread may call these functions.
 */
#ifndef MONITOR_MONITORS_H
#define MONITOR_MONITORS_H

#include "base/json.h"
#include "monitor/config.h"
#include "monitor/state.h"

#define MONITORS_STEP_NS STORE_SUMS_STEP_NS
#define MONITORS_FILE "monitors.json"

struct monitors;

struct monitors_options {
	const struct monitors_config *config; /* NULL: none; outlives it */
	const char *dir;		      /* of the file */
	struct store *store;
	/*
	 * Pins the chunks of a time, in the thread that evaluates. 0 or a negative errno with the
	 * cause. NULL: nothing is recorded.
	 */
	int (*pin)(void *arg, const char *why, uint64_t from_ns, uint64_t to_ns, struct error *e);
	void *arg;
	void (*warn)(const char *text); /* or NULL */
};

/* Begins to evaluate. 0 or a negative errno with the cause. */
int monitors_open(const struct monitors_options *options, struct monitors **out, struct error *e);

/* Ends; what is being told has a second. NULL is allowed. */
void monitors_close(struct monitors *m);

/* Writes members of an object: monitors with their states, and names of actions. */
void monitors_write(struct monitors *m, struct json *j);

/* Writes the member `monitors` with this one alone. -ENOENT: there is none of that name. */
int monitors_write_one(struct monitors *m, const char *name, struct json *j);

/*
 * Makes or changes a rule by texts in JSON: {"name":"x","value":"p99",...}. Other threads evaluate
 * and save it: monitors_await().
 * `name`: NULL to make one that is named in the text; else of the one to change, whose other keys
 * stay. "mute" may be a time, such as 2h. A rule of the file can only be muted and unmuted.
 * `made` gets its name. -EINVAL: the text is wrong; -EEXIST, -ENOENT, -EPERM; -ENOSPC: there are
 * too many; all with a cause.
 */
int monitors_put(struct monitors *m, const char *name, const struct bytes *text,
		 char made[MONITOR_NAME_BYTES], struct error *e);

/*
 * Calls back once what was put last is on the disk and the rule of this name has a value, after two
 * seconds at most, and at once when all are released: from any thread, in which the callback waits
 * for nothing and calls none of these functions. 0; -ECANCELED: they were released; or -ENOMEM.
 */
int monitors_await(struct monitors *m, const char *name, void (*ready)(void *arg), void *arg);

/* Calls back all who wait, now and from now on. NULL is allowed. */
void monitors_release(struct monitors *m);

/* -ENOENT; -EPERM: it is a rule of the file. */
int monitors_remove(struct monitors *m, const char *name, struct error *e);

/* How evaluating goes. */
struct monitors_health {
	uint64_t round_ns; /* what the last evaluation of all took */
	unsigned int late; /* rules that it had no time for: the next one begins with them */
	uint64_t failed;   /* tellings that were given up, ever */
};

#define MONITORS_RED_MAX 8

struct monitors_red {
	char name[MONITOR_NAME_BYTES];
	char text[MONITOR_OF_BYTES + 64]; /* "p99 of shop is 312 ms, above 200 ms" */
	uint64_t since_ns;		  /* since 1970 */
};

struct monitors_counts {
	unsigned int states[MONITOR_STATES], muted;
	unsigned int failed,
		waiting;	/* tellings that are shown as given up; that are tried again */
	unsigned int red_count; /* of these: */
	struct monitors_red red[MONITORS_RED_MAX];
};

void monitors_count(struct monitors *m, struct monitors_counts *out);

/* Writes the member `monitors` of an object. */
void monitors_counts_write(const struct monitors_counts *counts, struct json *j);

/* A monitor, for metrics. */
struct monitor_brief {
	char name[MONITOR_NAME_BYTES];
	enum monitor_state state;
	enum measure_unit unit;
	double value;
	bool is_known; /* there is a value */
};

typedef VEC(struct monitor_brief) monitor_briefs;

/* Appends all. 0 or -ENOMEM. */
int monitors_brief(struct monitors *m, monitor_briefs *out, struct monitors_health *health);

#endif
