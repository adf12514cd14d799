/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/metrics.h"

#include "tests/unit/check.h"

static void text_end(struct bytes *text)
{
	bytes_put_u8(text, '\0');
	CHECK(!text->failed);
}

static bool has(const struct bytes *text, const char *line)
{
	return strstr((const char *)text->data, line) != NULL;
}

TEST(an_operation_has_counters_and_a_histogram)
{
	struct tally_operation operation = {
		"a\"b\\",
		"GET\n/",
		RECEIVED_CLIENT,
		{.spans = 3, .errors = 1, .duration_ns = 1500000001, .splits = 1}};
	tally_list list = {&operation, 1, 1};
	struct bytes text = {0};

	operation.sums.buckets[0] = 1;
	operation.sums.buckets[3] = 1;
	operation.sums.buckets[TALLY_BOUNDS] = 1;
	operation.sums.time_ns[SPLIT_lock] = 5;
	metrics_operations_write(&text, &list);
	text_end(&text);
#define LABELS "service=\"a\\\"b\\\\\",operation=\"GET\\n/\",kind=\"client\""
	CHECK(has(&text, "# TYPE fathom_spans_total counter\nfathom_spans_total{" LABELS "} 3\n"));
	CHECK(has(&text, "\nfathom_span_errors_total{" LABELS "} 1\n"));
	CHECK(has(&text, "seconds_bucket{" LABELS ",le=\"0.0001\"} 1\n"));
	CHECK(has(&text, "seconds_bucket{" LABELS ",le=\"0.0005\"} 1\n"));
	CHECK(has(&text, "seconds_bucket{" LABELS ",le=\"0.001\"} 2\n"));
	CHECK(has(&text, "seconds_bucket{" LABELS ",le=\"10\"} 2\n"));
	CHECK(has(&text, "seconds_bucket{" LABELS ",le=\"+Inf\"} 3\n"));
	CHECK(has(&text, "seconds_sum{" LABELS "} 1.500000001\n"));
	CHECK(has(&text, "seconds_count{" LABELS "} 3\n"));
	CHECK(has(&text, "fathom_span_time_seconds_total{" LABELS ",part=\"lock\"} 0.000000005\n"));
	CHECK(!has(&text, "part=\"user\""));
	bytes_free(&text);
}

TEST(a_value_has_its_type)
{
	struct bytes text = {0};

	metrics_value_write(&text, "x_bytes", "gauge", "Bytes.", 123456789012345.0);
	text_end(&text);
	CHECK_STR((const char *)text.data,
		  "# HELP x_bytes Bytes.\n# TYPE x_bytes gauge\nx_bytes 123456789012345\n");
	bytes_free(&text);
}

TEST(a_monitor_has_a_state_and_a_value_in_seconds)
{
	struct monitor_brief two[] = {
		{"a\"b", MONITOR_ALERT, MEASURE_NS, 300e6, true},
		{"c", MONITOR_NO_DATA, MEASURE_RATIO, 0, false},
	};
	monitor_briefs list = {two, 2, 2};
	struct bytes text = {0};

	metrics_monitors_write(&text, &list);
	text_end(&text);
	CHECK(has(&text, "# TYPE fathom_monitor_state gauge\n"
			 "fathom_monitor_state{monitor=\"a\\\"b\"} 2\n"
			 "fathom_monitor_state{monitor=\"c\"} 3\n"));
	CHECK(has(&text, "fathom_monitor_value{monitor=\"a\\\"b\"} 0.3\n"));
	CHECK(!has(&text, "fathom_monitor_value{monitor=\"c\"}"));
	bytes_free(&text);
}

TEST_MAIN()
