/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/jaeger_metrics.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define SECOND_NS 1000000000u
#define RATE_SUMS 20 /* of a rate, at most: each is added to so many points */

static const char *const names[] = {[JAEGER_CALLS] = "call_rate",
				    [JAEGER_ERRORS] = "error_rate",
				    [JAEGER_LATENCIES] = "latencies"};

/* The time of a sum. */
static uint64_t sum_step_ns(const struct jaeger_metrics *m)
{
	uint64_t steps = m->rate_ns / RATE_SUMS / STORE_SUMS_STEP_NS;

	return steps ? steps * STORE_SUMS_STEP_NS : STORE_SUMS_STEP_NS;
}

static uint64_t rounded_up(uint64_t number, uint64_t unit)
{
	return (number + unit - 1) / unit * unit;
}

struct store_sums_query jaeger_metrics_query(const struct jaeger_metrics *m)
{
	uint64_t step_ns = sum_step_ns(m), back_ns = m->lookback_ns + m->rate_ns + step_ns;

	return (struct store_sums_query){.kind = -1,
					 .from_ns = m->end_ns > back_ns ? m->end_ns - back_ns : 1,
					 .to_ns = rounded_up(m->end_ns + 1, step_ns),
					 .by = STORE_BY_SERVICE | STORE_BY_KIND | STORE_BY_TIME |
					       (m->by_operation ? STORE_BY_OPERATION : 0),
					 .step_ns = step_ns};
}

static void label_write(struct json *j, const char *name, const char *value)
{
	json_object_begin(j, NULL);
	json_string(j, "name", name);
	json_string(j, "value", value);
	json_object_end(j);
}

static void point_write(struct json *j, uint64_t time_ns, double value)
{
	time_t seconds = (time_t)(time_ns / SECOND_NS);
	struct tm day;
	char date[32], text[48];

	gmtime_r(&seconds, &day);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &day);
	snprintf(text, sizeof(text), "%s.%03uZ", date,
		 (unsigned int)(time_ns % SECOND_NS / 1000000));
	json_object_begin(j, NULL);
	json_object_begin(j, "gaugeValue");
	json_double(j, "doubleValue", value);
	json_object_end(j);
	json_string(j, "timestamp", text);
	json_object_end(j);
}

/* What the sums of a service or operation have in the time of a point. */
struct point {
	uint64_t count, errors;
	struct durations durations;
};

static int point_sum(const struct jaeger_metrics *m, const struct store_sum *sums, size_t count,
		     uint64_t time_ns, struct point *point)
{
	uint64_t step_ns = sum_step_ns(m), end_ns = rounded_up(time_ns, step_ns);
	uint64_t rate_ns = rounded_up(m->rate_ns, step_ns);
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		if (sums[i].begin_ns >= end_ns || sums[i].begin_ns + rate_ns < end_ns ||
		    !(m->kinds & 1u << sums[i].kind))
			continue;
		point->count += sums[i].count;
		point->errors += sums[i].errors;
		if (m->metric == JAEGER_LATENCIES)
			err = durations_merge(&point->durations, &sums[i].durations);
	}
	return err;
}

/* Writes a point, unless there were no calls by which to divide. */
static void point_end(struct json *j, const struct jaeger_metrics *m, uint64_t time_ns,
		      const struct point *point)
{
	uint64_t rate_ns = rounded_up(m->rate_ns, sum_step_ns(m));
	uint64_t latency_ns = durations_quantile(&point->durations, m->per_10000);

	if (m->metric == JAEGER_CALLS)
		point_write(j, time_ns, (double)point->count / ((double)rate_ns / SECOND_NS));
	else if (!point->count)
		return;
	else if (m->metric == JAEGER_ERRORS)
		point_write(j, time_ns, (double)point->errors / (double)point->count);
	else /* milliseconds */
		point_write(j, time_ns, (double)latency_ns / 1e6);
}

static bool has_kind(const struct jaeger_metrics *m, const struct store_sum *sums, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (m->kinds & 1u << sums[i].kind)
			return true;
	}
	return false;
}

/* The sums of one service or operation. */
static int series_write(struct json *j, const struct jaeger_metrics *m,
			const struct store_sum *sums, size_t count)
{
	uint64_t begin_ns = m->end_ns > m->lookback_ns ? m->end_ns - m->lookback_ns : 0;
	int err = 0;

	if (!has_kind(m, sums, count))
		return 0;
	json_object_begin(j, NULL);
	json_array_begin(j, "labels");
	if (m->by_operation)
		label_write(j, "operation", sums->operation);
	label_write(j, "service_name", sums->service);
	json_array_end(j);
	json_array_begin(j, "metricPoints");
	for (uint64_t i = m->lookback_ns / m->step_ns + 1; i > 0 && !err; i--) {
		uint64_t time_ns = m->end_ns - (i - 1) * m->step_ns;
		struct point point = {0};

		if (time_ns < begin_ns)
			continue;
		err = point_sum(m, sums, count, time_ns, &point);
		if (!err)
			point_end(j, m, time_ns, &point);
		durations_free(&point.durations);
	}
	json_array_end(j);
	json_object_end(j);
	return err;
}

static void head_write(struct json *j, const struct jaeger_metrics *m)
{
	static const char *const texts[] = {
		[JAEGER_CALLS] = "calls/sec",
		[JAEGER_ERRORS] = "errors/sec as a fraction of calls/sec"};
	char text[128];

	snprintf(text, sizeof(text), "service_%s%s", m->by_operation ? "operation_" : "",
		 names[m->metric]);
	json_string(j, "name", text);
	json_string(j, "type", "GAUGE");
	if (m->metric == JAEGER_LATENCIES)
		snprintf(text, sizeof(text), "%.2fth quantile of latencies in ms",
			 m->per_10000 / 1e4);
	else
		snprintf(text, sizeof(text), "%s", texts[m->metric]);
	strcat(text, m->by_operation ? ", grouped by service & operation" : ", grouped by service");
	json_string(j, "help", text);
}

int jaeger_metrics_write(struct json *j, const struct jaeger_metrics *m,
			 const struct store_sums *sums)
{
	int err = 0;

	json_object_begin(j, NULL);
	head_write(j, m);
	json_array_begin(j, "metrics");
	for (size_t i = 0, n; i < sums->count && !err; i += n) {
		const struct store_sum *first = &sums->data[i];

		for (n = 1; i + n < sums->count; n++) {
			if (strcmp(first->service, first[n].service) != 0 ||
			    strcmp(first->operation, first[n].operation) != 0)
				break;
		}
		err = series_write(j, m, first, n);
	}
	json_array_end(j);
	json_object_end(j);
	return err;
}
