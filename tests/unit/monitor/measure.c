/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/measure.h"

#include "tests/unit/check.h"

#define MS 1000000u

static struct measure parsed(const char *text)
{
	struct measure m = {0};
	struct error e = {0};

	if (measure_parse(text, &m, &e))
		CHECK_FAIL("'%s': %s", text, e.text);
	return m;
}

static bool refused(const char *text)
{
	struct measure m;

	return measure_parse(text, &m, NULL) != 0;
}

TEST(texts_are_measures)
{
	struct measure m = parsed("p99");

	CHECK_EQ(m.kind, MEASURE_QUANTILE);
	CHECK_EQ(m.per_10000, 9900);
	CHECK_EQ(parsed("p99.95 of latency").per_10000, 9995);
	CHECK_EQ(parsed("median").per_10000, 5000);
	CHECK_EQ(parsed("average lock").part, SPLIT_lock);
	CHECK_EQ(parsed("share of errors").of, MEASURE_ERRORS);
	CHECK_EQ(parsed("rate").of, MEASURE_SPANS);
	CHECK_EQ(parsed("rate requests").of, MEASURE_SPANS);
	CHECK_EQ(parsed("share >200ms").slow_ns, 200 * MS);
	CHECK_EQ(measure_unit(&(struct measure){.kind = MEASURE_RATE, .of = MEASURE_PART}),
		 MEASURE_NS_PER_S);
}

TEST(what_is_no_measure_is_refused)
{
	static const char *const texts[] = {
		"",	      "p",	 "p0",		 "p100",
		"p99.123",    "p99x",	 "99",		 "average errors",
		"share",      "p99 >1s", "rate latency", "p99 lock disk",
		"share >200", "sum",	 "p99 lock x y"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		if (!refused(texts[i]))
			CHECK_FAIL("'%s' is taken", texts[i]);
	}
}

TEST(thresholds_have_units)
{
	double value = 0;

	CHECK_EQ(measure_value_parse("200ms", MEASURE_NS, &value), 0);
	CHECK(value == 200e6);
	CHECK_EQ(measure_value_parse("2.5%", MEASURE_RATIO, &value), 0);
	CHECK(value > 0.0249 && value < 0.0251);
	CHECK_EQ(measure_value_parse("0.5", MEASURE_RATIO, &value), 0);
	CHECK_EQ(measure_value_parse("30/min", MEASURE_PER_S, &value), 0);
	CHECK(value == 0.5);
	CHECK_EQ(measure_value_parse("50ms/s", MEASURE_NS_PER_S, &value), 0);
	CHECK(value == 50e6);
	CHECK(measure_value_parse("200", MEASURE_NS, &value) != 0);
	CHECK(measure_value_parse("101%", MEASURE_RATIO, &value) != 0);
	CHECK(measure_value_parse("1e3", MEASURE_PER_S, &value) != 0);
	CHECK(measure_value_parse("-1/s", MEASURE_PER_S, &value) != 0);
	CHECK(measure_value_parse("1.2.3/s", MEASURE_PER_S, &value) != 0);
	CHECK(value == 50e6);
}

/* 90 spans of 10 ms, 10 of 400 ms with 300 ms of lock in them, of which 4 are in error. */
static void spans_make(struct store_sum *sum, struct durations parts[SPLIT_PARTS_COUNT])
{
	*sum = (struct store_sum){.count = 100,
				  .seen = 3,
				  .errors = 4,
				  .total_ns = (90 * 10 + 10 * 400) * (uint64_t)MS,
				  .max_ns = 400 * MS,
				  .measured = 100,
				  .measured_seen = 2,
				  .parts = parts};
	sum->time.ns[SPLIT_lock] = 3000 * (int64_t)MS;
	sum->time.ns[SPLIT_user] = 1900 * (int64_t)MS;
	CHECK_EQ(durations_add(&sum->durations, 10 * MS, 90), 0);
	CHECK_EQ(durations_add(&sum->durations, 400 * MS, 10), 0);
	CHECK_EQ(durations_add(&parts[SPLIT_lock], 300 * MS, 10), 0);
}

TEST(values_are_those_of_the_spans)
{
	struct durations parts[SPLIT_PARTS_COUNT] = {0};
	const struct {
		const char *text;
		double least, most;
	} wanted[] = {{"average", 49e6, 49e6},
		      {"p99", 400e6, 400e6},
		      {"p90", 10e6, 10.2e6},
		      {"average lock", 30e6, 30e6},
		      {"p90 lock", 0, 0},
		      {"p95 lock", 300e6, 305e6},
		      {"rate", 10, 10},
		      {"rate errors", 0.4, 0.4},
		      {"rate lock", 300e6, 300e6},
		      {"share errors", 0.04, 0.04},
		      {"share lock", 0.612, 0.613},
		      {"share >100ms", 0.1, 0.1},
		      {"rate >100ms", 1, 1},
		      {"p99 disk", 0, 0}};
	struct store_sum sum;
	uint64_t seen;
	double value;

	spans_make(&sum, parts);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		struct measure m = parsed(wanted[i].text);

		CHECK(measure_value(&m, &sum, 10, &value, &seen));
		CHECK_EQ(seen, m.of == MEASURE_PART ? 2 : 3);
		if (value < wanted[i].least || value > wanted[i].most)
			CHECK_FAIL("%s is %g", wanted[i].text, value);
	}
	durations_free(&sum.durations);
	durations_free(&parts[SPLIT_lock]);
}

TEST(without_spans_only_a_rate_is_known)
{
	struct measure rate = parsed("rate"), p99 = parsed("p99");
	uint64_t count = 1;
	double value = 1;

	CHECK(measure_value(&rate, NULL, 10, &value, &count));
	CHECK(value == 0 && count == 0);
	CHECK(!measure_value(&p99, NULL, 10, &value, &count));
}

TEST_MAIN()
