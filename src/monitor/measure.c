/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/measure.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define WORDS_MAX 3
#define VALUE_MOST 1e18

/* ---- texts ---- */

static int measure_wrong(struct error *e)
{
	return error_say(e, EINVAL,
			 "write average, p50, p99, rate or share; a cause may follow, as in 'p99 "
			 "lock', and errors or >200ms behind rate and share");
}

/* "p99.9" in 10,000ths. */
static bool quantile_parse(const char *text, unsigned int *per_10000)
{
	unsigned int whole = 0, fraction = 0, scale = 100;

	if (*text++ != 'p' || *text < '0' || *text > '9')
		return false;
	for (int digits = 0; *text >= '0' && *text <= '9'; text++, digits++) {
		if (digits == 2)
			return false;
		whole = whole * 10 + (unsigned int)(*text - '0');
	}
	if (*text == '.') {
		if (!text[1])
			return false;
		for (text++; *text >= '0' && *text <= '9'; text++) {
			scale /= 10;
			if (!scale)
				return false;
			fraction += (unsigned int)(*text - '0') * scale;
		}
	}
	*per_10000 = whole * 100 + fraction;
	return !*text && *per_10000;
}

static bool kind_parse(const char *word, struct measure *m)
{
	if (strcmp(word, "average") == 0)
		m->kind = MEASURE_AVERAGE;
	else if (strcmp(word, "median") == 0) {
		m->kind = MEASURE_QUANTILE;
		m->per_10000 = 5000;
	} else if (strcmp(word, "rate") == 0)
		m->kind = MEASURE_RATE;
	else if (strcmp(word, "share") == 0)
		m->kind = MEASURE_SHARE;
	else {
		m->kind = MEASURE_QUANTILE;
		return quantile_parse(word, &m->per_10000);
	}
	return true;
}

static bool of_parse(const char *word, struct measure *m)
{
	int part;

	if (strcmp(word, "errors") == 0) {
		m->of = MEASURE_ERRORS;
		return true;
	}
	if (*word == '>') {
		m->of = MEASURE_SLOW;
		return units_parse_duration(word + 1, &m->slow_ns) == 0;
	}
	if (strcmp(word, "latency") == 0)
		return m->kind == MEASURE_AVERAGE || m->kind == MEASURE_QUANTILE;
	if (strcmp(word, "requests") == 0 || strcmp(word, "spans") == 0)
		return m->kind == MEASURE_RATE;
	m->of = MEASURE_PART;
	part = split_part_find(word, strlen(word));
	m->part = part < 0 ? 0 : (enum split_part)part;
	return part >= 0;
}

/* Whether there is such a number. */
static bool is_possible(const struct measure *m)
{
	bool is_of_time = m->kind == MEASURE_AVERAGE || m->kind == MEASURE_QUANTILE;

	if (is_of_time)
		return m->of == MEASURE_SPANS || m->of == MEASURE_PART;
	return m->kind == MEASURE_RATE || m->of != MEASURE_SPANS;
}

int measure_parse(const char *text, struct measure *out, struct error *e)
{
	char copy[64], *rest = copy, *word, *words[WORDS_MAX];
	struct measure m = {0};
	size_t count = 0;

	if (strlen(text) >= sizeof(copy))
		return measure_wrong(e);
	strcpy(copy, text);
	while ((word = strsep(&rest, " \t"))) {
		if (!*word || (count == 1 && strcmp(word, "of") == 0))
			continue;
		if (count == WORDS_MAX)
			return measure_wrong(e);
		words[count++] = word;
	}
	if (!count || count > 2 || !kind_parse(words[0], &m) ||
	    (count == 2 && !of_parse(words[1], &m)) || !is_possible(&m))
		return measure_wrong(e);
	*out = m;
	return 0;
}

enum measure_unit measure_unit(const struct measure *m)
{
	if (m->kind == MEASURE_SHARE)
		return MEASURE_RATIO;
	if (m->kind != MEASURE_RATE)
		return MEASURE_NS;
	return m->of == MEASURE_PART ? MEASURE_NS_PER_S : MEASURE_PER_S;
}

const char *measure_unit_name(enum measure_unit unit)
{
	static const char *const names[] = {"ns", "per_s", "ratio", "ns_per_s"};

	return names[unit];
}

/* A decimal number, and what stands behind it. */
static bool number_parse(const char *text, const char **behind, double *out)
{
	size_t bytes = strspn(text, "0123456789.");
	char copy[32], *end;

	if (!bytes || bytes >= sizeof(copy))
		return false;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	*out = strtod(copy, &end);
	*behind = text + bytes;
	return !*end && *out <= VALUE_MOST;
}

static bool duration_parse(const char *text, bool is_rate, double *out)
{
	char copy[32];
	size_t bytes = strlen(text);
	uint64_t ns;

	if (is_rate && bytes > 2 && strcmp(text + bytes - 2, "/s") == 0)
		bytes -= 2;
	if (bytes >= sizeof(copy))
		return false;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	if (units_parse_duration(copy, &ns))
		return false;
	*out = (double)ns;
	return true;
}

int measure_value_parse(const char *text, enum measure_unit unit, double *out)
{
	const char *behind;
	double value;

	if (unit == MEASURE_NS || unit == MEASURE_NS_PER_S)
		return duration_parse(text, unit == MEASURE_NS_PER_S, out) ? 0 : -EINVAL;
	if (!number_parse(text, &behind, &value))
		return -EINVAL;
	if (unit == MEASURE_RATIO) {
		behind += *behind == ' ';
		if (strcmp(behind, "%") == 0)
			value /= 100;
		else if (*behind)
			return -EINVAL;
		if (value > 1)
			return -EINVAL;
	} else if (strcmp(behind, "/min") == 0) {
		value /= 60;
	} else if (*behind && strcmp(behind, "/s") != 0) {
		return -EINVAL;
	}
	*out = value;
	return 0;
}

char *measure_value_format(double value, enum measure_unit unit, char text[MEASURE_TEXT_BYTES])
{
	char ns[UNITS_TEXT_BYTES];

	switch (unit) {
	case MEASURE_NS:
		units_format_ns((int64_t)value, text);
		break;
	case MEASURE_NS_PER_S:
		snprintf(text, MEASURE_TEXT_BYTES, "%s/s", units_format_ns((int64_t)value, ns));
		break;
	case MEASURE_RATIO:
		snprintf(text, MEASURE_TEXT_BYTES, "%.3g %%", value * 100);
		break;
	case MEASURE_PER_S:
		snprintf(text, MEASURE_TEXT_BYTES, "%.3g/s", value);
		break;
	}
	return text;
}

/* ---- numbers ---- */

/* Spans without the part have 0 of it, and stand before all others. */
static double part_quantile(const struct measure *m, const struct store_sum *sum)
{
	const struct durations *d = &sum->parts[m->part];
	uint64_t values = durations_below(d, UINT64_MAX), end_ns = 0, count, seen;
	__uint128_t wanted = ((__uint128_t)sum->measured * m->per_10000 + 9999) / 10000;

	seen = sum->measured > values ? sum->measured - values : 0;
	if (seen >= wanted)
		return 0;
	for (size_t at = 0; durations_next(d, &at, &end_ns, &count);) {
		seen += count;
		if (seen >= wanted)
			break;
	}
	return (double)end_ns;
}

static double quantile(const struct measure *m, const struct store_sum *sum)
{
	uint64_t value = durations_quantile(&sum->durations, m->per_10000);

	/* a bucket may end behind the greatest value in it */
	return (double)(value < sum->max_ns ? value : sum->max_ns);
}

/* How many spans, or how much time, a rate or a share is of. */
static double amount(const struct measure *m, const struct store_sum *sum)
{
	switch (m->of) {
	case MEASURE_ERRORS:
		return (double)sum->errors;
	case MEASURE_PART:
		return (double)sum->time.ns[m->part];
	case MEASURE_SLOW:
		return (double)(sum->count - durations_below(&sum->durations, m->slow_ns));
	default:
		return (double)sum->count;
	}
}

static double share(const struct measure *m, const struct store_sum *sum)
{
	double all = m->of == MEASURE_PART ? (double)split_total(&sum->time) : (double)sum->count;

	return all > 0 ? amount(m, sum) / all : 0;
}

bool measure_value(const struct measure *m, const struct store_sum *sum, double seconds,
		   double *value, uint64_t *seen)
{
	uint64_t spans = !sum ? 0 : m->of == MEASURE_PART ? sum->measured : sum->count;

	*seen = !sum ? 0 : m->of == MEASURE_PART ? sum->measured_seen : sum->seen;
	*value = 0;
	if (!spans || !(seconds > 0))
		return m->kind == MEASURE_RATE && seconds > 0;
	switch (m->kind) {
	case MEASURE_AVERAGE:
		*value = (m->of == MEASURE_PART ? (double)sum->time.ns[m->part]
						: (double)sum->total_ns) /
			 (double)spans;
		break;
	case MEASURE_QUANTILE:
		*value = m->of == MEASURE_PART ? part_quantile(m, sum) : quantile(m, sum);
		break;
	case MEASURE_RATE:
		*value = amount(m, sum) / seconds;
		break;
	case MEASURE_SHARE:
		*value = share(m, sum);
		break;
	}
	if (*value < 0 || !isfinite(*value))
		*value = 0;
	return true;
}
