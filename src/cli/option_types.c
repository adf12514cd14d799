/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types of option values.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/wall_time.h"
#include "cli/option.h"

#define DURATION_SYNTAX "is not a duration: write a number and us, ms, s, m, h or d, like 250ms"
#define SIZE_SYNTAX "is not a size: write a number and K, M, G or T, like 64M"
#define LIMIT_SYNTAX                                                                               \
	"is not a limit: write a duration like 10m, a size like 64M, or both separated by a comma"

int option_flag(void *field, const char *text, struct error *e)
{
	*(bool *)field = true;
	return 0;
}

int option_text(void *field, const char *text, struct error *e)
{
	if (!*text)
		return error_say(e, EINVAL, "must not be empty");
	*(const char **)field = text;
	return 0;
}

static int list_add(struct option_list *list, const char *text, size_t len, struct error *e)
{
	char *copy;
	int err;

	if (len == 0)
		return error_say(e, EINVAL, "has an empty part");
	copy = strndup(text, len);
	if (!copy)
		return error_set(e, ENOMEM, "cannot read the list");
	err = vec_push(list, copy);
	if (err) {
		free(copy);
		return error_set(e, err, "cannot read the list");
	}
	return 0;
}

int option_texts(void *field, const char *text, struct error *e)
{
	return list_add(field, text, strlen(text), e);
}

/* Calls `each` for each part between commas; it refuses empty parts. */
static int parts_each(const char *text, void *field, struct error *e,
		      int (*each)(void *field, const char *part, size_t len, struct error *e))
{
	for (;;) {
		size_t len = strcspn(text, ",");
		int err = each(field, text, len, e);

		if (err || !text[len])
			return err;
		text += len + 1;
	}
}

static int name_each(void *field, const char *part, size_t len, struct error *e)
{
	return list_add(field, part, len, e);
}

int option_names(void *field, const char *text, struct error *e)
{
	return parts_each(text, field, e, name_each);
}

void option_list_free(struct option_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->data[i]);
	vec_free(list);
}

/* A whole number from 1 to max. */
static int number_parse(const char *text, size_t len, uint64_t max, uint64_t *value)
{
	uint64_t number = 0;

	if (len == 0)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		unsigned int digit = (unsigned int)(text[i] - '0');

		if (digit > 9 || number > (max - digit) / 10)
			return -EINVAL;
		number = number * 10 + digit;
	}
	if (number == 0)
		return -EINVAL;
	*value = number;
	return 0;
}

static int pid_each(void *field, const char *part, size_t len, struct error *e)
{
	struct option_pids *pids = field;
	uint64_t pid;

	if (number_parse(part, len, INT32_MAX, &pid))
		return error_say(e, EINVAL, "is not a process id");
	if (vec_push(pids, (uint32_t)pid))
		return error_set(e, ENOMEM, "cannot read the list");
	return 0;
}

int option_pids(void *field, const char *text, struct error *e)
{
	return parts_each(text, field, e, pid_each);
}

int option_pid(void *field, const char *text, struct error *e)
{
	uint64_t pid;

	if (number_parse(text, strlen(text), INT32_MAX, &pid))
		return error_say(e, EINVAL, "is not a process or thread id");
	*(uint32_t *)field = (uint32_t)pid;
	return 0;
}

int option_count(void *field, const char *text, struct error *e)
{
	if (number_parse(text, strlen(text), INT64_MAX, field))
		return error_say(e, EINVAL, "is not a whole number of 1 or more");
	return 0;
}

/* Durations and sizes of options are never 0. */
static int positive(int err, uint64_t value, void *field, const char *syntax, struct error *e)
{
	if (err == -ERANGE)
		return error_say(e, EINVAL, "is too large");
	if (err)
		return error_say(e, EINVAL, "%s", syntax);
	if (value == 0)
		return error_say(e, EINVAL, "must be more than 0");
	*(uint64_t *)field = value;
	return 0;
}

int option_duration(void *field, const char *text, struct error *e)
{
	uint64_t ns = 0;
	int err = units_parse_duration(text, &ns);

	return positive(err, ns, field, DURATION_SYNTAX, e);
}

int option_seconds(void *field, const char *text, struct error *e)
{
	uint64_t ns = 0;
	int err = units_parse_seconds(text, &ns);

	return positive(err, ns, field, DURATION_SYNTAX ", or a bare number of seconds", e);
}

int option_size(void *field, const char *text, struct error *e)
{
	uint64_t bytes = 0;
	int err = units_parse_size(text, &bytes);

	return positive(err, bytes, field, SIZE_SYNTAX, e);
}

static int limit_each(void *field, const char *part, size_t len, struct error *e)
{
	struct limits *limits = field;
	char text[32];

	if (len >= sizeof(text))
		return error_say(e, EINVAL, LIMIT_SYNTAX);
	memcpy(text, part, len);
	text[len] = '\0';
	if (len > 0 && strchr("KMGT", text[len - 1])) {
		if (limits->bytes)
			return error_say(e, EINVAL, "has two sizes");
		return option_size(&limits->bytes, text, e);
	}
	if (limits->time_ns)
		return error_say(e, EINVAL, "has two durations");
	if (units_parse_duration(text, &(uint64_t){0}) == -EINVAL)
		return error_say(e, EINVAL, LIMIT_SYNTAX);
	return option_duration(&limits->time_ns, text, e);
}

int option_limits(void *field, const char *text, struct error *e)
{
	struct limits limits = {0};
	int err = parts_each(text, &limits, e, limit_each);

	if (err == 0)
		*(struct limits *)field = limits;
	return err;
}

int option_time(void *field, const char *text, struct error *e)
{
	struct time_point *time = field;
	uint64_t ns = 0;

	if (strcmp(text, "0") == 0 || number_parse(text, strlen(text), INT64_MAX, &ns) == 0) {
		*time = (struct time_point){TIME_POINT_MONOTONIC, ns};
		return 0;
	}
	if (units_parse_duration(text, &ns) == 0) {
		*time = (struct time_point){TIME_POINT_SINCE_BEGIN, ns};
		return 0;
	}
	if (text[0] == '-' && units_parse_duration(text + 1, &ns) == 0) {
		*time = (struct time_point){TIME_POINT_BEFORE_END, ns};
		return 0;
	}
	if (wall_time_parse_of_day(text, &ns) == 0) {
		*time = (struct time_point){TIME_POINT_OF_DAY, ns};
		return 0;
	}
	if (wall_time_parse(text, &ns) == 0) {
		*time = (struct time_point){TIME_POINT_UNIX, ns};
		return 0;
	}
	return error_say(e, EINVAL,
			 "is not a point in time: write a time of day, like 11:31:17, a date and "
			 "time, like 2026-11-26T14:03:00Z, how long before the end of the "
			 "recording, like -5m, how long after its begin, like 1.5s, or nanoseconds "
			 "of the monotonic clock, as --json shows them");
}

int option_boot(void *field, const char *text, struct error *e)
{
	uint64_t back = 0;

	if (strcmp(text, "0") != 0 &&
	    (text[0] != '-' || number_parse(text + 1, strlen(text + 1), 1000000, &back)))
		return error_say(e, EINVAL, "is not a boot: 0 is the latest, -1 the one before it");
	*(int *)field = -(int)back;
	return 0;
}
