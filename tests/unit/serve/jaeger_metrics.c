/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/jaeger_metrics.h"

#include "serve/answer.h"
#include "tests/unit/check.h"

#define S UINT64_C(1000000000)

/* A sum of a server's spans of 2 ms, of which one failed. */
static struct store_sum make(const char *service, uint8_t kind, uint64_t begin_s, uint64_t count)
{
	struct store_sum sum = {.service = service,
				.operation = "get",
				.kind = kind,
				.begin_ns = begin_s * S,
				.count = count,
				.errors = 1};

	CHECK_EQ(durations_add(&sum.durations, 2000000, (int64_t)count), 0);
	return sum;
}

static void written_check(const struct jaeger_metrics *m, struct store_sum *sums, size_t count,
			  const char *wanted)
{
	const struct store_sums list = {sums, count, count};
	struct bytes text = {0};
	struct json j;

	json_init_bytes(&j, &text);
	CHECK_EQ(jaeger_metrics_write(&j, m, &list), 0);
	CHECK_EQ(json_end(&j), 0);
	bytes_put_u8(&text, '\0');
	CHECK_STR((const char *)text.data, wanted);
	bytes_free(&text);
	for (size_t i = 0; i < count; i++)
		durations_free(&sums[i].durations);
}

static struct jaeger_metrics query(enum jaeger_metric metric)
{
	return (struct jaeger_metrics){.metric = metric,
				       .per_10000 = 5000,
				       .kinds = 1u << RECEIVED_SERVER,
				       .end_ns = 130 * S,
				       .lookback_ns = 20 * S,
				       .step_ns = 10 * S,
				       .rate_ns = 20 * S};
}

TEST(a_rate_is_of_the_time_before_the_point)
{
	const struct jaeger_metrics m = query(JAEGER_CALLS);
	struct store_sum sums[] = {make("a", RECEIVED_SERVER, 90, 2),
				   make("a", RECEIVED_SERVER, 110, 4),
				   make("a", RECEIVED_CLIENT, 110, 8)};

	written_check(&m, sums, 3,
		      "{\"name\":\"service_call_rate\",\"type\":\"GAUGE\",\"help\":\"calls/sec, "
		      "grouped by service\",\"metrics\":[{\"labels\":[{\"name\":\"service_name\","
		      "\"value\":\"a\"}],\"metricPoints\":["
		      "{\"gaugeValue\":{\"doubleValue\":0.1},"
		      "\"timestamp\":\"1970-01-01T00:01:50.000Z\"},"
		      "{\"gaugeValue\":{\"doubleValue\":0.2},"
		      "\"timestamp\":\"1970-01-01T00:02:00.000Z\"},"
		      "{\"gaugeValue\":{\"doubleValue\":0.2},"
		      "\"timestamp\":\"1970-01-01T00:02:10.000Z\"}]}]}\n");
}

TEST(errors_and_latencies_need_calls)
{
	struct jaeger_metrics m = query(JAEGER_ERRORS);
	struct store_sum once[] = {make("a", RECEIVED_SERVER, 80, 2),
				   make("a", RECEIVED_SERVER, 120, 4),
				   make("b", RECEIVED_CLIENT, 120, 4)};
	struct store_sum again[] = {make("a", RECEIVED_SERVER, 120, 4)};

	written_check(&m, once, 3,
		      "{\"name\":\"service_error_rate\",\"type\":\"GAUGE\",\"help\":\"errors/sec "
		      "as a fraction of calls/sec, grouped by service\",\"metrics\":[{\"labels\":["
		      "{\"name\":\"service_name\",\"value\":\"a\"}],\"metricPoints\":["
		      "{\"gaugeValue\":{\"doubleValue\":0.25},"
		      "\"timestamp\":\"1970-01-01T00:02:10.000Z\"}]}]}\n");
	m = query(JAEGER_LATENCIES);
	m.by_operation = true;
	written_check(&m, again, 1,
		      "{\"name\":\"service_operation_latencies\",\"type\":\"GAUGE\",\"help\":"
		      "\"0.50th quantile of latencies in ms, grouped by service & operation\","
		      "\"metrics\":[{\"labels\":[{\"name\":\"operation\",\"value\":\"get\"},"
		      "{\"name\":\"service_name\",\"value\":\"a\"}],\"metricPoints\":["
		      "{\"gaugeValue\":{\"doubleValue\":2.015231},"
		      "\"timestamp\":\"1970-01-01T00:02:10.000Z\"}]}]}\n");
}

TEST(the_store_is_asked_for_all_that_points_need)
{
	struct jaeger_metrics m = query(JAEGER_CALLS);
	struct store_sums_query q = jaeger_metrics_query(&m);

	CHECK_EQ(q.step_ns, 10 * S);
	CHECK(q.from_ns <= 90 * S);
	CHECK_EQ(q.to_ns, 140 * S);
	m.rate_ns = 600 * S;
	q = jaeger_metrics_query(&m);
	CHECK_EQ(q.step_ns, 30 * S);
	CHECK_EQ(q.from_ns, 1);
}

TEST_MAIN()
