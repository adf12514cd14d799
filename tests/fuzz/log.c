/* SPDX-License-Identifier: Apache-2.0 */
/* Segments of a log with any bytes: they are read, recovered and continued. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SEGMENT "0000000000000000.log"

static size_t entries_read(int dir, uint64_t from)
{
	struct log_reader *r;
	struct log_entry entry;
	uint64_t last = 0;
	size_t count = 0;

	if (log_reader_open(dir, from, &r, NULL))
		abort();
	while (log_reader_next(r, UINT64_MAX, &entry, NULL) > 0) {
		if (entry.end <= entry.begin || entry.begin < last)
			abort();
		last = entry.end;
		count++;
	}
	log_reader_close(r);
	return count;
}

/* What was readable before recovery is readable after it, and an append comes behind it. */
static void recover(int dir, size_t readable)
{
	struct log *l;
	uint64_t end;

	if (log_open(dir, &(struct log_options){0}, &l, NULL))
		return;
	if (log_append(l, &(struct log_part){"entry", 5}, 1, &end) || log_sync(l, end))
		abort();
	log_close(l);
	if (entries_read(dir, 0) != readable + 1)
		abort();
}

static char name[] = "/tmp/fuzz-log-XXXXXX";

static void folder_remove(void)
{
	rmdir(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int dir = -1;
	size_t readable;
	int fd;

	if (dir < 0) {
		if (!mkdtemp(name))
			abort();
		dir = open(name, O_RDONLY | O_DIRECTORY);
		atexit(folder_remove);
	}
	fd = openat(dir, SEGMENT, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
	readable = entries_read(dir, 0);
	entries_read(dir, size / 2);
	recover(dir, readable);
	unlinkat(dir, SEGMENT, 0);
	return 0;
}
