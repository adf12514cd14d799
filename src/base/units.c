/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit duration_units[] = {
	{"us", 1000},	      {"ms", 1000000},	     {"s", 1000000000}, {"m", 60000000000},
	{"h", 3600000000000}, {"d", 86400000000000}, {NULL, 0},
};

static const struct unit size_units[] = {
	{"K", 1ull << 10}, {"M", 1ull << 20}, {"G", 1ull << 30}, {"T", 1ull << 40}, {NULL, 0},
};

static const struct unit *unit_find(const struct unit *units, const char *name)
{
	for (; units->name; units++) {
		if (strcmp(units->name, name) == 0)
			return units;
	}
	return NULL;
}

/*
 * Reads "DIGITS[.DIGITS]" into a whole number and billionths, and moves *text
 * behind it. At most nine digits may follow the point.
 */
static int number_parse(const char **text, uint64_t *whole, uint64_t *billionths)
{
	const char *at = *text;
	uint64_t scale = 1000000000;

	*whole = *billionths = 0;
	if (*at < '0' || *at > '9')
		return -EINVAL;
	for (; *at >= '0' && *at <= '9'; at++) {
		if (*whole > (INT64_MAX - 9) / 10)
			return -ERANGE;
		*whole = *whole * 10 + (uint64_t)(*at - '0');
	}
	if (*at == '.') {
		if (at[1] < '0' || at[1] > '9')
			return -EINVAL;
		for (at++; *at >= '0' && *at <= '9'; at++) {
			scale /= 10;
			if (scale == 0)
				return -EINVAL;
			*billionths += (uint64_t)(*at - '0') * scale;
		}
	}
	*text = at;
	return 0;
}

static int quantity_parse(const char *text, const struct unit *units, const char *bare,
			  uint64_t *value)
{
	uint64_t whole, billionths;
	const struct unit *unit;
	unsigned __int128 product;
	int err;

	err = number_parse(&text, &whole, &billionths);
	if (err)
		return err;
	if (*text == '\0' && bare)
		text = bare;
	unit = unit_find(units, text);
	if (!unit)
		return -EINVAL;
	product = (unsigned __int128)whole * unit->factor +
		  (unsigned __int128)billionths * unit->factor / 1000000000;
	if (product > INT64_MAX)
		return -ERANGE;
	*value = (uint64_t)product;
	return 0;
}

int units_parse_duration(const char *text, uint64_t *ns)
{
	return quantity_parse(text, duration_units, NULL, ns);
}

int units_parse_seconds(const char *text, uint64_t *ns)
{
	return quantity_parse(text, duration_units, "s", ns);
}

int units_parse_size(const char *text, uint64_t *bytes)
{
	return quantity_parse(text, size_units, NULL, bytes);
}

/* value / unit in three significant digits, rounded down; value < 1000 * unit. */
static int three_digits(char *text, uint64_t value, uint64_t unit)
{
	uint64_t whole = value / unit;
	uint64_t rest = value % unit;

	if (whole >= 100)
		return snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64, whole);
	if (whole >= 10)
		return snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64 ".%" PRIu64, whole,
				rest / (unit / 10));
	return snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64 ".%02" PRIu64, whole,
			rest / (unit / 100));
}

char *units_format_ns(int64_t ns, char *text)
{
	uint64_t value = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	uint64_t seconds = value / 1000000000;
	char *at = text;

	if (ns < 0)
		*at++ = '-';
	if (value < 1000)
		snprintf(at, UNITS_TEXT_BYTES - 1, "%" PRIu64 " ns", value);
	else if (value < 1000000)
		strcpy(at + three_digits(at, value, 1000), " us");
	else if (value < 1000000000)
		strcpy(at + three_digits(at, value, 1000000), " ms");
	else if (seconds < 100)
		strcpy(at + three_digits(at, value, 1000000000), " s");
	else if (seconds < 6000)
		snprintf(at, UNITS_TEXT_BYTES - 1, "%" PRIu64 " m %02" PRIu64 " s", seconds / 60,
			 seconds % 60);
	else
		snprintf(at, UNITS_TEXT_BYTES - 1, "%" PRIu64 " h %02" PRIu64 " m", seconds / 3600,
			 seconds / 60 % 60);
	return text;
}

char *units_format_bytes(uint64_t bytes, char *text)
{
	static const char names[] = "BKMGTPE";
	uint64_t whole = bytes, hundredths = 0;
	int unit = 0;

	for (; whole >= 1024; unit++) {
		hundredths = whole % 1024 * 100 / 1024;
		whole /= 1024;
	}
	if (unit == 0 || whole >= 100)
		snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64 " %c", whole, names[unit]);
	else if (whole >= 10)
		snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64 ".%" PRIu64 " %c", whole,
			 hundredths / 10, names[unit]);
	else
		snprintf(text, UNITS_TEXT_BYTES, "%" PRIu64 ".%02" PRIu64 " %c", whole, hundredths,
			 names[unit]);
	return text;
}
