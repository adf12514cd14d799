/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/suggest.h"

#include "tests/unit/check.h"

static double threshold(const char *value, bool below, const double *days, unsigned int count)
{
	struct monitor_rule rule = {.below = below};
	struct suggestion s = {0};
	double copy[SUGGESTION_DAYS];

	CHECK_EQ(measure_parse(value, &rule.measure, NULL), 0);
	memcpy(copy, days, count * sizeof(*days));
	suggestion_threshold(&rule, copy, count, &s);
	return s.threshold;
}

static bool is_near(double a, double b)
{
	return a > b * 0.9999 && a < b * 1.0001;
}

TEST(steady_days_give_a_fifth_more)
{
	const double days[] = {100e6, 100e6, 100e6, 100e6};

	CHECK(is_near(threshold("p99", false, days, 4), 120e6));
	CHECK(is_near(threshold("p99", true, days, 4), 80e6));
	CHECK(is_near(threshold("p99", false, days, 1), 120e6));
}

TEST(a_bad_day_changes_little)
{
	/* distances from the median of 100: 0 10 10 20 20 30 900; the spread is 1.4826 * 20 */
	const double days[] = {80e6, 90e6, 100e6, 110e6, 120e6, 1000e6, 70e6};

	CHECK(is_near(threshold("p99", false, days, 7), 190e6));
}

TEST(where_nothing_happened_there_is_a_least_threshold)
{
	const double none[] = {0, 0, 0}, all[] = {0.9, 0.9, 0.9};

	CHECK(is_near(threshold("share errors", false, none, 3), 0.01));
	CHECK(is_near(threshold("share errors", false, all, 3), 1));
	CHECK(is_near(threshold("rate errors", false, none, 3), 0.1));
	CHECK(threshold("rate", true, none, 3) == 0);
}

/* Quiet windows are not among the values: a day of them and of busy hours is a busy one. */
TEST(a_rate_of_a_day_is_that_of_its_windows)
{
	double values[300], few[] = {5, 7, 6};

	for (int i = 0; i < 300; i++)
		values[i] = 300 - i;
	CHECK(is_near(suggestion_day_rate(values, 300, false), 297));
	CHECK(is_near(suggestion_day_rate(values, 300, true), 4));
	CHECK(is_near(suggestion_day_rate(few, 3, false), 7));
	CHECK(is_near(suggestion_day_rate(few, 3, true), 5));
	CHECK(is_near(suggestion_day_rate(few, 1, true), 5));
}

TEST(texts_are_thresholds_again)
{
	static const struct {
		double value;
		enum measure_unit unit;
		const char *text;
	} wanted[] = {{320e6, MEASURE_NS, "320ms"},	  {1.2e9, MEASURE_NS, "1.2s"},
		      {19e9, MEASURE_NS, "19s"},	  {4500, MEASURE_NS, "4.5us"},
		      {0.023, MEASURE_RATIO, "2.3%"},	  {12, MEASURE_PER_S, "12/s"},
		      {50e6, MEASURE_NS_PER_S, "50ms/s"}, {0.1, MEASURE_PER_S, "0.100/s"}};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		char text[MEASURE_TEXT_BYTES];
		double value;

		CHECK_STR(suggestion_text(wanted[i].value, wanted[i].unit, text), wanted[i].text);
		CHECK_EQ(measure_value_parse(text, wanted[i].unit, &value), 0);
		CHECK(is_near(value, wanted[i].value));
	}
}

TEST_MAIN()
