/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A threshold out of the past week, and when it would have been an alert.
 *
 * The value of each day is taken, and of a rate one of its windows in which there were spans; the
 * threshold is their median and three of their spreads (the median distance from the median, scaled
 * to be a standard deviation where they are normally distributed), and at least a fifth more than
 * the median. It is rounded to two digits.
 */
#ifndef MONITOR_SUGGEST_H
#define MONITOR_SUGGEST_H

#include "monitor/rule.h"

#define SUGGESTION_DAYS 7
#define SUGGESTION_ALERTS_MAX 50 /* that are listed */

struct suggestion_day {
	uint64_t begin_ns; /* since 1970 */
	uint64_t count;	   /* of spans that were seen */
	double value;
};

struct suggestion_alert {
	uint64_t begin_ns, end_ns; /* since 1970 */
	double value;		   /* the worst one */
};

struct suggestion {
	uint64_t from_ns, to_ns;
	bool is_partial; /* the time was over before all days were read: the newest ones are there
			  */
	struct suggestion_day days[SUGGESTION_DAYS]; /* with enough spans; the oldest first */
	unsigned int days_count;
	bool is_known; /* there are such days: these follow */
	double median, spread, threshold;
	/* of the threshold that the rule has, or else of the suggested one: */
	double tried;
	uint64_t windows; /* that were looked at, each as long as the rule says */
	unsigned int alerts;
	uint64_t alert_ns; /* how long it would have been an alert, in all */
	struct suggestion_alert list[SUGGESTION_ALERTS_MAX]; /* the first ones */
};

/*
 * Looks at the past week for a finished rule. With `tries`, the threshold of the rule is tried,
 * else the suggested one. 0 or a negative errno with the cause.
 */
int monitor_suggest(struct store *store, const struct monitor_rule *rule, bool tries,
		    struct suggestion *out, struct error *e);

/* A rate of a day by those of its windows: 99 of 100 are not beyond it. Changes their order. */
double suggestion_day_rate(double *values, size_t count, bool below);

/* The threshold of values of days, as above. Changes the order of the values. */
void suggestion_threshold(const struct monitor_rule *rule, double *values, unsigned int count,
			  struct suggestion *out);

/* A threshold as a rule has it: "320ms", "2.1%", "12/s". Returns `text`. */
char *suggestion_text(double value, enum measure_unit unit, char text[MEASURE_TEXT_BYTES]);

#endif
