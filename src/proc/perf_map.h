/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file in which a program names code that it made as it ran, /tmp/perf-PID.map. Each line has
 * the begin and the size of a function, in hex, and its name. A program that reuses memory appends:
 * the last line holds. Anybody may have written the file, so each line and all work is bounded.
 */
#ifndef PROC_PERF_MAP_H
#define PROC_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

#define PERF_MAP_NAME_MAX 960
#define PERF_MAP_BYTES_MAX (64ul << 20)	 /* what is behind is not read */
#define PERF_MAP_MATCHES_MAX (4ul << 20) /* of addresses and lines */

struct perf_map_line {
	uint64_t begin, end;
	const char *name; /* in the text; not ended by NUL */
	size_t name_bytes;
};

/* Parses a line without its end. A name that is too long is cut. 0 or -EINVAL. */
int perf_map_parse(const char *text, size_t bytes, struct perf_map_line *line);

struct perf_map_search {
	const uint64_t *addresses; /* that are looked for, ascending */
	size_t count;
	/* The line contains the address with that index; a later call replaces an earlier one. */
	void (*found)(void *arg, size_t index, const struct perf_map_line *line);
	void *arg;
};

/*
 * Reads a file from its begin. Lines that make no sense are passed over. 0; -E2BIG if a limit ended
 * it, with what was found before; or another negative errno.
 */
int perf_map_read(int fd, const struct perf_map_search *search);

/* Likewise for lines in memory: the whole ones of `bytes`. *used: how many bytes they take. */
int perf_map_lines(const char *text, size_t bytes, const struct perf_map_search *search,
		   size_t *matches, size_t *used);

#endif
