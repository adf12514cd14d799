/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/metrics.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void __attribute__((format(printf, 2, 3))) print(struct bytes *to, const char *format, ...)
{
	char text[512];
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	bytes_put(to, text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

static void head_write(struct bytes *to, const char *name, const char *type, const char *help)
{
	print(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metrics_value_write(struct bytes *to, const char *name, const char *type, const char *help,
			 double value)
{
	head_write(to, name, type, help);
	print(to, "%s %.15g\n", name, value);
}

static void label_write(struct bytes *to, const char *name, const char *value)
{
	print(to, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\n') {
			bytes_put(to, "\\n", 2);
			continue;
		}
		if (*value == '"' || *value == '\\')
			bytes_put_u8(to, '\\');
		bytes_put_u8(to, (unsigned char)*value);
	}
	bytes_put_u8(to, '"');
}

/* Name and labels of a series, with one label more unless `label` is NULL. */
static void series_write(struct bytes *to, const char *name, const struct tally_operation *o,
			 const char *label, const char *value)
{
	print(to, "%s{", name);
	label_write(to, "service", o->service);
	bytes_put_u8(to, ',');
	label_write(to, "operation", o->name);
	bytes_put_u8(to, ',');
	label_write(to, "kind", received_kind_name(o->kind));
	if (label) {
		bytes_put_u8(to, ',');
		label_write(to, label, value);
	}
	bytes_put(to, "} ", 2);
}

static void seconds_write(struct bytes *to, uint64_t ns)
{
	print(to, "%" PRIu64 ".%09" PRIu64 "\n", ns / 1000000000u, ns % 1000000000u);
}

static void counters_write(struct bytes *to, const tally_list *list)
{
	head_write(to, "fathom_spans_total", "counter", "Spans of an operation that were stored.");
	for (size_t i = 0; i < list->count; i++) {
		series_write(to, "fathom_spans_total", &list->data[i], NULL, NULL);
		print(to, "%" PRIu64 "\n", list->data[i].sums.spans);
	}
	head_write(to, "fathom_span_errors_total", "counter",
		   "Spans of an operation that were stored, in error.");
	for (size_t i = 0; i < list->count; i++) {
		series_write(to, "fathom_span_errors_total", &list->data[i], NULL, NULL);
		print(to, "%" PRIu64 "\n", list->data[i].sums.errors);
	}
}

static void histogram_write(struct bytes *to, const struct tally_operation *o)
{
	uint64_t sum = 0;
	char bound[32];

	for (size_t i = 0; i <= TALLY_BOUNDS; i++) {
		sum += o->sums.buckets[i];
		if (i < TALLY_BOUNDS)
			snprintf(bound, sizeof(bound), "%g", (double)tally_bounds_ns[i] / 1e9);
		series_write(to, "fathom_span_duration_seconds_bucket", o, "le",
			     i < TALLY_BOUNDS ? bound : "+Inf");
		print(to, "%" PRIu64 "\n", sum);
	}
	series_write(to, "fathom_span_duration_seconds_sum", o, NULL, NULL);
	seconds_write(to, o->sums.duration_ns);
	series_write(to, "fathom_span_duration_seconds_count", o, NULL, NULL);
	print(to, "%" PRIu64 "\n", sum);
}

static void times_write(struct bytes *to, const tally_list *list)
{
	static const char name[] = "fathom_span_time_seconds_total";

	head_write(to, name, "counter",
		   "Time of spans of an operation by what it went to, where that is known.");
	for (size_t i = 0; i < list->count; i++) {
		const struct tally_sums *sums = &list->data[i].sums;

		for (unsigned int part = 0; part < SPLIT_PARTS_COUNT && sums->splits; part++) {
			if (!sums->time_ns[part])
				continue;
			series_write(to, name, &list->data[i], "part", split_part_name(part));
			seconds_write(to, sums->time_ns[part]);
		}
	}
}

void metrics_operations_write(struct bytes *to, const tally_list *list)
{
	counters_write(to, list);
	head_write(to, "fathom_span_duration_seconds", "histogram", "Durations of spans.");
	for (size_t i = 0; i < list->count; i++)
		histogram_write(to, &list->data[i]);
	times_write(to, list);
}

/* Times in seconds, as all metrics have them. */
static double value_of(const struct monitor_brief *brief)
{
	bool is_time = brief->unit == MEASURE_NS || brief->unit == MEASURE_NS_PER_S;

	return is_time ? brief->value / 1e9 : brief->value;
}

static void monitor_series_write(struct bytes *to, const char *name, const char *monitor,
				 double value)
{
	print(to, "%s{", name);
	label_write(to, "monitor", monitor);
	print(to, "} %.15g\n", value);
}

void metrics_monitors_write(struct bytes *to, const monitor_briefs *list)
{
	head_write(to, "fathom_monitor_state", "gauge",
		   "The state of a monitor: 0 ok, 1 warn, 2 alert, 3 no data.");
	for (size_t i = 0; i < list->count; i++)
		monitor_series_write(to, "fathom_monitor_state", list->data[i].name,
				     list->data[i].state);
	head_write(to, "fathom_monitor_value", "gauge",
		   "The value of a monitor: seconds, a rate in 1/s, or a share from 0 to 1.");
	for (size_t i = 0; i < list->count; i++) {
		if (list->data[i].is_known)
			monitor_series_write(to, "fathom_monitor_value", list->data[i].name,
					     value_of(&list->data[i]));
	}
}
