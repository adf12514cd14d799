/* SPDX-License-Identifier: Apache-2.0 */
#include "base/wall_time.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SECOND_NS 1000000000

/* Reads exactly `digits` digits of a number from `least` to `most`, and moves *text behind them. */
static bool number_read(const char **text, int digits, int least, int most, int *number)
{
	*number = 0;
	for (int i = 0; i < digits; i++, ++*text) {
		if (**text < '0' || **text > '9')
			return false;
		*number = *number * 10 + (**text - '0');
	}
	return *number >= least && *number <= most;
}

static bool sign_read(const char **text, char sign)
{
	if (**text != sign)
		return false;
	++*text;
	return true;
}

/* Reads ".5", if it is there. */
static bool fraction_read(const char **text, int64_t *ns)
{
	int64_t scale = SECOND_NS;

	*ns = 0;
	if (!sign_read(text, '.'))
		return true;
	for (; **text >= '0' && **text <= '9'; ++*text) {
		scale /= 10;
		if (!scale)
			return false;
		*ns += (**text - '0') * scale;
	}
	return scale < SECOND_NS;
}

/* Reads "Z", "+01:00" or "-0330". */
static bool offset_read(const char **text, int *offset_s)
{
	int hours, minutes;
	bool behind;

	*offset_s = 0;
	if (sign_read(text, 'Z'))
		return true;
	behind = **text == '-';
	if (!sign_read(text, behind ? '-' : '+') || !number_read(text, 2, 0, 23, &hours))
		return false;
	sign_read(text, ':');
	if (!number_read(text, 2, 0, 59, &minutes))
		return false;
	*offset_s = (behind ? -1 : 1) * (hours * 3600 + minutes * 60);
	return true;
}

static int result(int64_t seconds, int64_t ns, uint64_t *unix_ns)
{
	if (seconds < 0 || seconds >= INT64_MAX / SECOND_NS)
		return -ERANGE;
	*unix_ns = (uint64_t)(seconds * SECOND_NS + ns);
	return 0;
}

static int seconds_parse(const char *text, uint64_t *unix_ns)
{
	int64_t seconds = 0, ns;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	for (; *text >= '0' && *text <= '9'; text++)
		if (seconds < INT64_MAX / SECOND_NS)
			seconds = seconds * 10 + (*text - '0');
	if (!fraction_read(&text, &ns) || *text)
		return -EINVAL;
	return result(seconds, ns, unix_ns);
}

/* Reads "14:03", "14:03:00" or "14:03:00.5". */
static bool clock_read(const char **text, struct tm *tm, int64_t *ns)
{
	*ns = 0;
	if (!number_read(text, 2, 0, 23, &tm->tm_hour) || !sign_read(text, ':') ||
	    !number_read(text, 2, 0, 59, &tm->tm_min))
		return false;
	if (!sign_read(text, ':'))
		return true;
	return number_read(text, 2, 0, 60, &tm->tm_sec) && fraction_read(text, ns);
}

static bool date_read(const char **text, struct tm *tm)
{
	return number_read(text, 4, 0, 9999, &tm->tm_year) && sign_read(text, '-') &&
	       number_read(text, 2, 1, 12, &tm->tm_mon) && sign_read(text, '-') &&
	       number_read(text, 2, 1, 31, &tm->tm_mday) &&
	       (sign_read(text, 'T') || sign_read(text, ' '));
}

int wall_time_parse(const char *text, uint64_t *unix_ns)
{
	struct tm tm = {.tm_isdst = -1}, again;
	int offset_s = 0;
	bool local;
	int64_t ns;
	time_t seconds;

	if (sign_read(&text, '@'))
		return seconds_parse(text, unix_ns);
	if (!date_read(&text, &tm) || !clock_read(&text, &tm, &ns))
		return -EINVAL;
	local = !*text;
	if (!local && (!offset_read(&text, &offset_s) || *text))
		return -EINVAL;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	again = tm;
	seconds = local ? mktime(&again) : timegm(&again);
	if (again.tm_mday != tm.tm_mday && tm.tm_sec < 60) /* as the 31st of June */
		return -EINVAL;
	return result(seconds - offset_s, ns, unix_ns);
}

int wall_time_parse_of_day(const char *text, uint64_t *of_day_ns)
{
	struct tm tm = {0};
	int64_t ns;

	if (!clock_read(&text, &tm, &ns) || *text)
		return -EINVAL;
	*of_day_ns = (uint64_t)(tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec) * SECOND_NS +
		     (uint64_t)ns;
	return 0;
}

uint64_t wall_time_of_day(uint64_t unix_ns, int days, uint64_t of_day_ns)
{
	time_t seconds = (time_t)(unix_ns / SECOND_NS);
	int of_day = (int)(of_day_ns / SECOND_NS);
	struct tm tm;

	if (!localtime_r(&seconds, &tm))
		return 0;
	tm.tm_mday += days;
	tm.tm_hour = of_day / 3600;
	tm.tm_min = of_day / 60 % 60;
	tm.tm_sec = of_day % 60;
	tm.tm_isdst = -1;
	seconds = mktime(&tm);
	return seconds < 0 ? 0 : (uint64_t)seconds * SECOND_NS + of_day_ns % SECOND_NS;
}

struct wall_text wall_time_write(uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / SECOND_NS);
	struct wall_text text = {"?", "?", "?"};
	struct tm tm;
	size_t n;

	if (!localtime_r(&seconds, &tm))
		return text;
	strftime(text.date, sizeof(text.date), "%Y-%m-%d", &tm);
	n = strftime(text.time, sizeof(text.time), "%H:%M:%S", &tm);
	snprintf(text.time + n, sizeof(text.time) - n, ".%06u",
		 (unsigned int)(unix_ns % SECOND_NS / 1000));
	n = strftime(text.zone, sizeof(text.zone), "%Z", &tm);
	if (strcmp(text.zone, "UTC") != 0)
		strftime(text.zone + n, sizeof(text.zone) - n, " (%z)", &tm);
	return text;
}
