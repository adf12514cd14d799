/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/parameters.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND_NS 1000000000u

bool number_parse(const char *text, uint64_t most, uint64_t *number)
{
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value > most)
		return false;
	*number = value;
	return true;
}

bool duration_parse(const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1},	    {"us", 1e3}, {"\xc2\xb5s", 1e3}, {"ms", 1e6},
		     {"h", 3600e9}, {"m", 60e9}, {"s", 1e9}};
	double sum = 0;

	do {
		char *end;
		double number = strtod(text, &end);
		size_t i = 0;

		if (end == text || !isfinite(number) || number < 0)
			return false;
		while (i < 7 && strncmp(end, units[i].name, strlen(units[i].name)) != 0)
			i++;
		if (i == 7)
			return false;
		sum += number * units[i].ns;
		text = end + strlen(units[i].name);
	} while (*text);
	if (sum > 1e18)
		return false;
	*ns = (uint64_t)sum;
	return true;
}

/* Reads digits of a fixed number, and the sign behind them unless it is NUL. */
static bool field_read(const char **text, int digits, char behind, int *value)
{
	*value = 0;
	for (int i = 0; i < digits; i++, ++*text) {
		if (**text < '0' || **text > '9')
			return false;
		*value = *value * 10 + (**text - '0');
	}
	if (behind && **text != behind)
		return false;
	*text += behind != '\0';
	return true;
}

/* ".123": what a second has beyond its whole. */
static bool fraction_read(const char **text, uint64_t *ns)
{
	uint64_t unit = SECOND_NS;

	*ns = 0;
	if (**text != '.')
		return true;
	++*text;
	if (**text < '0' || **text > '9')
		return false;
	for (; **text >= '0' && **text <= '9'; ++*text) {
		unit /= 10;
		*ns += unit * (uint64_t)(**text - '0');
	}
	return true;
}

/* "Z" or "+01:00", in seconds that the time is before UTC's. */
static bool zone_read(const char *text, long *seconds)
{
	int sign = *text == '-' ? -1 : 1, hours, minutes;

	*seconds = 0;
	if (strcmp(text, "Z") == 0 || strcmp(text, "z") == 0)
		return true;
	if (*text != '+' && *text != '-')
		return false;
	text++;
	if (!field_read(&text, 2, ':', &hours) || !field_read(&text, 2, '\0', &minutes) || *text ||
	    hours > 23 || minutes > 59)
		return false;
	*seconds = sign * (hours * 3600L + minutes * 60L);
	return true;
}

bool time_parse(const char *text, uint64_t *unix_ns)
{
	struct tm day = {0};
	uint64_t fraction;
	time_t seconds;
	long zone;

	if (!field_read(&text, 4, '-', &day.tm_year) || !field_read(&text, 2, '-', &day.tm_mon) ||
	    !field_read(&text, 2, '\0', &day.tm_mday) || (*text != 'T' && *text != 't'))
		return false;
	text++;
	if (!field_read(&text, 2, ':', &day.tm_hour) || !field_read(&text, 2, ':', &day.tm_min) ||
	    !field_read(&text, 2, '\0', &day.tm_sec) || !fraction_read(&text, &fraction) ||
	    !zone_read(text, &zone))
		return false;
	if (day.tm_year < 1970 || day.tm_year > 2261 || day.tm_mon < 1 || day.tm_mon > 12 ||
	    day.tm_mday < 1 || day.tm_mday > 31 || day.tm_hour > 23 || day.tm_min > 59 ||
	    day.tm_sec > 60)
		return false;
	day.tm_year -= 1900;
	day.tm_mon--;
	seconds = timegm(&day) - zone;
	if (seconds < 0)
		return false;
	*unix_ns = (uint64_t)seconds * SECOND_NS + fraction;
	return true;
}
