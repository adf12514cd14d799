/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu_list.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Reads a number and moves *at behind it; CPU_LIST_END if there is none, or it is too large. */
static uint32_t take_number(const char **at)
{
	uint32_t value = 0;
	const char *begin = *at;

	for (; **at >= '0' && **at <= '9' && value < CPU_LIST_END; ++*at)
		value = 10 * value + (uint32_t)(**at - '0');
	return *at == begin || value > CPU_LIST_END ? CPU_LIST_END : value;
}

struct range {
	uint32_t from, to; /* the last one */
};

/* Reads the range at *at and the comma after it. The range must not begin below `least`. */
static bool take_range(const char **at, uint32_t least, struct range *range)
{
	const char *p = *at;
	struct range r;

	r.from = r.to = take_number(&p);
	if (*p == '-') {
		p++;
		r.to = take_number(&p);
	}
	if (r.from < least || r.to < r.from || r.to == CPU_LIST_END)
		return false;
	if (*p == ',' && p[1])
		p++;
	else if (*p)
		return false;
	*at = p;
	*range = r;
	return true;
}

uint32_t cpu_list_count(const char *list)
{
	struct range r = {0};
	uint32_t count = 0, least = 0;

	for (const char *at = list; *at; least = r.to + 1) {
		if (!take_range(&at, least, &r))
			return 0;
		count += r.to - r.from + 1;
	}
	return count;
}

uint32_t cpu_list_next(const char *list, uint32_t from)
{
	struct range r = {0};
	uint32_t least = 0;

	if (!cpu_list_count(list))
		return CPU_LIST_END;
	for (const char *at = list; *at && take_range(&at, least, &r); least = r.to + 1) {
		if (from <= r.to)
			return from > r.from ? from : r.from;
	}
	return CPU_LIST_END;
}

bool cpu_list_has(const char *list, uint32_t cpu)
{
	return cpu < CPU_LIST_END && cpu_list_next(list, cpu) == cpu;
}

bool cpu_list_is_plain(const char *list)
{
	uint32_t count = cpu_list_count(list);

	return count && cpu_list_has(list, count - 1) && cpu_list_next(list, count) == CPU_LIST_END;
}

int cpu_list_online(char list[CPU_LIST_BYTES])
{
	char text[CPU_LIST_BYTES];
	int fd = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	int err = n < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	if (err)
		return err;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (!cpu_list_count(text))
		return -EBADMSG;
	strcpy(list, text);
	return 0;
}
