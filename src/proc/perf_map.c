/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/perf_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES 65536 /* a line that is longer is passed over */

/* Reads a number in hex, with or without 0x. Returns the text behind it, NULL if there is none. */
static const char *hex_parse(const char *text, const char *end, uint64_t *value)
{
	const char *begin;

	*value = 0;
	if (end - text > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		text += 2;
	for (begin = text; text < end; text++) {
		unsigned int digit = (unsigned char)*text;

		if (digit >= '0' && digit <= '9')
			digit -= '0';
		else if ((digit | 32) >= 'a' && (digit | 32) <= 'f')
			digit = (digit | 32) - 'a' + 10;
		else
			break;
		if (*value >> 60)
			return NULL;
		*value = *value << 4 | digit;
	}
	return text > begin ? text : NULL;
}

static const char *blanks_skip(const char *text, const char *end)
{
	while (text < end && (*text == ' ' || *text == '\t'))
		text++;
	return text;
}

/* The length of a name that is at most so long, without half a character of UTF-8 at its end. */
static size_t name_cut(const char *name, size_t bytes)
{
	if (bytes <= PERF_MAP_NAME_MAX)
		return bytes;
	bytes = PERF_MAP_NAME_MAX;
	while (bytes && ((unsigned char)name[bytes] & 0xc0) == 0x80)
		bytes--;
	return bytes;
}

int perf_map_parse(const char *text, size_t bytes, struct perf_map_line *line)
{
	const char *end = text + bytes, *at;
	uint64_t begin, size;

	if (bytes && end[-1] == '\r')
		end--;
	at = hex_parse(blanks_skip(text, end), end, &begin);
	if (!at || at == end || *at != ' ')
		return -EINVAL;
	at = hex_parse(blanks_skip(at, end), end, &size);
	if (!at || at == end || *at != ' ')
		return -EINVAL;
	at = blanks_skip(at, end);
	if (at == end || !size || begin + size < begin || memchr(at, '\0', (size_t)(end - at)))
		return -EINVAL;
	*line = (struct perf_map_line){begin, begin + size, at, name_cut(at, (size_t)(end - at))};
	return 0;
}

/* The first address that is not below a limit. */
static size_t address_from(const struct perf_map_search *search, uint64_t limit)
{
	size_t low = 0, high = search->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (search->addresses[middle] < limit)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int perf_map_lines(const char *text, size_t bytes, const struct perf_map_search *search,
		   size_t *matches, size_t *used)
{
	const char *at = text, *end = text + bytes, *newline;
	struct perf_map_line line;

	for (; (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
		if (perf_map_parse(at, (size_t)(newline - at), &line))
			continue;
		for (size_t i = address_from(search, line.begin);
		     i < search->count && search->addresses[i] < line.end; i++) {
			if (++*matches > PERF_MAP_MATCHES_MAX)
				return -E2BIG;
			search->found(search->arg, i, &line);
		}
	}
	*used = (size_t)(at - text);
	return 0;
}

/* Reads on behind `filled` bytes. The number of bytes, 0 at the end, or a negative errno. */
static ssize_t block_fill(int fd, char *block, size_t filled, off_t at)
{
	ssize_t n;

	do
		n = pread(fd, block + filled, BLOCK_BYTES - filled, at);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

int perf_map_read(int fd, const struct perf_map_search *search)
{
	char *block = malloc(BLOCK_BYTES);
	size_t filled = 0, matches = 0, used;
	off_t at = 0;
	int err = block ? 0 : -ENOMEM;

	while (!err) {
		ssize_t n = block_fill(fd, block, filled, at);

		if (n <= 0) {
			err = (int)n;
			break;
		}
		at += n;
		filled += (size_t)n;
		err = perf_map_lines(block, filled, search, &matches, &used);
		if (!err && !used && filled == BLOCK_BYTES)
			used = filled; /* the rest of a line that is too long makes no sense */
		if (!err && (size_t)at > PERF_MAP_BYTES_MAX)
			err = -E2BIG;
		if (err)
			break;
		filled -= used;
		memmove(block, block + used, filled);
	}
	free(block);
	return err;
}
