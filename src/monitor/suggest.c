/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/suggest.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "monitor/state.h"
#include "monitor/total.h"

#define DAY_NS UINT64_C(86400000000000)
#define MINUTE_NS UINT64_C(60000000000)
#define BUDGET_NS UINT64_C(5000000000)
/* of the median distance of a normal distribution to its standard deviation */
#define SCALE 1.4826
#define SPREADS 3
#define LEAST_SHARE 0.01 /* where there were no errors at all */
#define LEAST_RATE 0.1

/* ---- the threshold ---- */

static int double_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double suggestion_day_rate(double *values, size_t count, bool below)
{
	size_t beyond = count / 100;

	qsort(values, count, sizeof(*values), double_compare);
	return values[below ? beyond : count - 1 - beyond];
}

static double median_of(double *values, unsigned int count)
{
	qsort(values, count, sizeof(*values), double_compare);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* Two digits, away from the values. */
static double rounded(double value, bool down)
{
	double unit;

	if (!(value > 0))
		return 0;
	unit = pow(10, floor(log10(value)) - 1);
	value = value / unit;
	return (down ? floor(value + 1e-9) : ceil(value - 1e-9)) * unit;
}

static double bounded(const struct monitor_rule *rule, double value)
{
	enum measure_unit unit = measure_unit(&rule->measure);

	if (rule->below)
		return value > 0 ? value : 0;
	if (unit == MEASURE_RATIO)
		return fmin(fmax(value, LEAST_SHARE), 1);
	return unit == MEASURE_PER_S ? fmax(value, LEAST_RATE) : fmax(value, 1000);
}

void suggestion_threshold(const struct monitor_rule *rule, double *values, unsigned int count,
			  struct suggestion *out)
{
	double sign = rule->below ? -1 : 1, far;

	out->median = median_of(values, count);
	for (unsigned int i = 0; i < count; i++)
		values[i] = fabs(values[i] - out->median);
	out->spread = SCALE * median_of(values, count);
	far = fmax(SPREADS * out->spread, out->median / 5);
	out->threshold = bounded(rule, rounded(out->median + sign * far, rule->below));
	out->is_known = true;
}

char *suggestion_text(double value, enum measure_unit unit, char text[MEASURE_TEXT_BYTES])
{
	bool is_time = unit == MEASURE_NS || unit == MEASURE_NS_PER_S;
	const char *behind = unit == MEASURE_RATIO ? "%" : unit == MEASURE_NS ? "" : "/s";
	double scale = unit == MEASURE_RATIO ? 0.01 : 1;
	const char *name = "";

	if (is_time) {
		scale = value >= 1e9 ? 1e9 : value >= 1e6 ? 1e6 : 1e3;
		name = value >= 1e9 ? "s" : value >= 1e6 ? "ms" : "us";
	}
	value /= scale;
	/* no exponent, which no rule has */
	snprintf(text, MEASURE_TEXT_BYTES, "%.*f%s%s",
		 value >= 10  ? 0
		 : value >= 1 ? 1
			      : 3,
		 value, name, behind);
	return text;
}

/* ---- the week ---- */

struct looking {
	struct store *store;
	const struct monitor_rule *rule;
	uint64_t step_ns, day_ns;	    /* a day has whole steps */
	uint64_t until_ns;		    /* of CLOCK_MONOTONIC */
	VEC(struct monitor_sample) samples; /* of windows; those of a day in the order of time */
	size_t days[SUGGESTION_DAYS + 1];   /* where the samples of each day begin */
};

static bool is_rate(const struct looking *l)
{
	return l->rule->measure.kind == MEASURE_RATE;
}

/* Windows without a span are not among the sums: a rate was 0 in those between two others. */
static int gap_add(struct looking *l, uint64_t begin_ns)
{
	uint64_t at_ns = l->samples.data[l->samples.count - 1].at_ns;
	int err = 0;

	for (; is_rate(l) && at_ns < begin_ns && !err; at_ns += l->step_ns)
		err = vec_push(&l->samples, ((struct monitor_sample){.at_ns = at_ns + l->step_ns,
								     .is_known = true}));
	return err;
}

static int window_add(struct looking *l, const struct store_sum *sum)
{
	struct monitor_sample sample = {.at_ns = sum->begin_ns + l->step_ns};

	sample.is_known = measure_value(&l->rule->measure, sum, (double)l->step_ns / 1e9,
					&sample.value, &sample.count);
	return vec_push(&l->samples, sample);
}

/*
 * A rate over a day with quiet hours says nothing of a window. So the value of the day is one of
 * its windows with spans, without the first and the last of them, which may be cut.
 */
static int rate_take(const struct looking *l, size_t first, struct suggestion_day *day)
{
	size_t count = l->samples.count - first, seen = 0;
	double *values = malloc((count + 1) * sizeof(*values));

	if (!values)
		return -ENOMEM;
	for (size_t i = first; i < l->samples.count; i++) {
		if (l->samples.data[i].count)
			values[seen++] = l->samples.data[i].value;
	}
	if (seen > 2)
		day->value = suggestion_day_rate(values + 1, seen - 2, l->rule->below);
	else if (seen)
		day->value = suggestion_day_rate(values, seen, l->rule->below);
	free(values);
	return 0;
}

static int day_take(struct looking *l, const struct store_sums *sums, struct suggestion_day *day)
{
	struct total total = {0};
	size_t first = l->samples.count;
	int err = 0;

	for (size_t i = 0; i < sums->count && !err; i++) {
		err = l->samples.count > first ? gap_add(l, sums->data[i].begin_ns) : 0;
		err = err ? err : window_add(l, &sums->data[i]);
		err = err ? err : total_add(&total, &sums->data[i]);
	}
	measure_value(&l->rule->measure, &total.sum, (double)l->day_ns / 1e9, &day->value,
		      &day->count);
	if (!err && is_rate(l))
		err = rate_take(l, first, day);
	total_free(&total);
	return err;
}

static int day_look(struct looking *l, struct suggestion_day *day, struct error *e)
{
	const char *operation = l->rule->texts[RULE_operation];
	const struct store_sums_query query = {.service = l->rule->texts[RULE_service],
					       .operation = *operation ? operation : NULL,
					       .kind = l->rule->kind,
					       .from_ns = day->begin_ns,
					       .to_ns = day->begin_ns + l->day_ns,
					       .by = STORE_BY_TIME,
					       .step_ns = l->step_ns,
					       .has_parts = measure_needs_parts(&l->rule->measure)};
	struct pool pool = {.limit_bytes = (size_t)64 << 20};
	struct store_sums sums = {0};
	int err = store_sums(l->store, &query, &pool, &sums, e);

	err = err ? err : day_take(l, &sums, day);
	store_sums_free(&sums);
	pool_free(&pool);
	return err;
}

/* From the newest day on, until the time is over. days[0] is the newest one. */
static int week_look(struct looking *l, struct suggestion *out, struct suggestion_day *days,
		     struct error *e)
{
	int err;

	for (unsigned int i = 0; i < SUGGESTION_DAYS; i++) {
		days[i] = (struct suggestion_day){.begin_ns = out->to_ns - (i + 1) * l->day_ns};
		out->is_partial = out->is_partial || (i && clock_now_ns() > l->until_ns);
		if (!out->is_partial) {
			err = day_look(l, &days[i], e);
			if (err == -ETIMEDOUT && i)
				out->is_partial = true;
			else if (err)
				return err;
			else
				out->from_ns = days[i].begin_ns;
		}
		l->days[i + 1] = l->samples.count;
	}
	return 0;
}

/* ---- what it would have said ---- */

static bool is_worse(const struct monitor_rule *rule, double value, double than)
{
	return rule->below ? value < than : value > than;
}

struct replay {
	struct monitor_rule rule;
	struct monitor_status status;
	struct suggestion *out;
};

static void window_replay(struct replay *r, const struct monitor_sample *sample, uint64_t step_ns)
{
	bool was_alert = r->status.level == MONITOR_ALERT;
	struct suggestion *out = r->out;
	struct suggestion_alert *alert;

	monitor_step(&r->status, &r->rule, sample);
	out->windows++;
	if (r->status.level != MONITOR_ALERT)
		return;
	out->alerts += !was_alert;
	out->alert_ns += step_ns;
	if (out->alerts > SUGGESTION_ALERTS_MAX)
		return;
	alert = &out->list[out->alerts - 1];
	if (!was_alert)
		*alert = (struct suggestion_alert){sample->at_ns - step_ns, 0, sample->value};
	alert->end_ns = sample->at_ns;
	if (sample->is_known && is_worse(&r->rule, sample->value, alert->value))
		alert->value = sample->value;
}

static void replay(const struct looking *l, bool tries, struct suggestion *out)
{
	struct replay r = {*l->rule, MONITOR_STATUS_INITIAL, out};

	out->tried = tries ? l->rule->alert : out->threshold;
	r.rule.alert = out->tried;
	r.rule.has_warn = false;
	for (int day = SUGGESTION_DAYS - 1; day >= 0; day--) {
		for (size_t i = l->days[day]; i < l->days[day + 1]; i++)
			window_replay(&r, &l->samples.data[i], l->step_ns);
	}
}

int monitor_suggest(struct store *store, const struct monitor_rule *rule, bool tries,
		    struct suggestion *out, struct error *e)
{
	uint64_t now_ns = clock_read_ns(CLOCK_REALTIME);
	uint64_t step_ns = (rule->over_ns + MINUTE_NS - 1) / MINUTE_NS * MINUTE_NS;
	struct looking l = {.store = store,
			    .rule = rule,
			    .step_ns = step_ns,
			    .day_ns = DAY_NS - DAY_NS % step_ns,
			    .until_ns = clock_now_ns() + BUDGET_NS};
	struct suggestion_day days[SUGGESTION_DAYS];
	double values[SUGGESTION_DAYS];
	int err;

	/* the window of now is one, too, though it is not over */
	*out = (struct suggestion){.to_ns = now_ns - now_ns % step_ns + step_ns};
	err = week_look(&l, out, days, e);
	for (int i = SUGGESTION_DAYS - 1; i >= 0 && !err; i--) {
		if (!days[i].count || days[i].count < rule->min_count)
			continue;
		values[out->days_count] = days[i].value;
		out->days[out->days_count++] = days[i];
	}
	if (!err && out->days_count)
		suggestion_threshold(rule, values, out->days_count, out);
	if (!err && (out->is_known || tries))
		replay(&l, tries, out);
	vec_free(&l.samples);
	return err;
}
