/* SPDX-License-Identifier: Apache-2.0 */
#include "log/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "log/log.h"

#define MAGIC "fthmlog"
#define VERSION '1'
#define WINDOW_BYTES 65536u

static void put_u32(unsigned char *to, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		to[i] = (unsigned char)(value >> (8 * i));
}

static void put_u64(unsigned char *to, uint64_t value)
{
	put_u32(to, (uint32_t)value);
	put_u32(to + 4, (uint32_t)(value >> 32));
}

static uint32_t get_u32(const unsigned char *from)
{
	return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
	       (uint32_t)from[3] << 24;
}

void segment_name(char name[SEGMENT_NAME_BYTES], uint64_t begin)
{
	snprintf(name, SEGMENT_NAME_BYTES, "%016" PRIx64 ".log", begin);
}

static bool name_parse(const char *name, uint64_t *begin)
{
	char again[SEGMENT_NAME_BYTES];

	*begin = strtoull(name, NULL, 16);
	segment_name(again, *begin);
	return strcmp(name, again) == 0;
}

static int position_compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int segment_list_read(int dir, struct segment_list *list, struct error *e)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	uint64_t begin;

	list->count = 0;
	if (!stream) {
		err = error_set(e, errno, "cannot list the log");
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (entry = readdir(stream))) {
		if (name_parse(entry->d_name, &begin))
			err = vec_push(list, begin);
	}
	closedir(stream);
	if (err)
		return error_set(e, err, "cannot list the log");
	if (list->count)
		qsort(list->data, list->count, sizeof(*list->data), position_compare);
	return 0;
}

static void head_encode(unsigned char head[SEGMENT_HEAD_BYTES], uint64_t begin)
{
	memset(head, 0, SEGMENT_HEAD_BYTES);
	memcpy(head, MAGIC, 7);
	head[7] = VERSION;
	put_u64(head + 8, begin);
	put_u32(head + 16, crc32c(0, head, 16));
}

int segment_create(int dir, uint64_t begin, struct segment *out, struct error *e)
{
	unsigned char head[SEGMENT_HEAD_BYTES];
	char name[SEGMENT_NAME_BYTES];
	int fd, err = 0;

	segment_name(name, begin);
	head_encode(head, begin);
	fd = openat(dir, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_set(e, errno, "cannot create %s", name);
	errno = EIO; /* for a short write */
	if (pwrite(fd, head, sizeof(head), 0) != (ssize_t)sizeof(head))
		err = error_set(e, errno, "cannot write %s", name);
	if (err) {
		close(fd);
		unlinkat(dir, name, 0);
		return err;
	}
	*out = (struct segment){fd, begin};
	return 0;
}

int segment_create_sync(int dir, const struct segment *s)
{
	return fsync(s->fd) || fsync(dir) ? -errno : 0;
}

int segment_open(int dir, uint64_t begin, int flags, struct segment *out, struct error *e)
{
	unsigned char head[SEGMENT_HEAD_BYTES];
	char name[SEGMENT_NAME_BYTES];
	int fd;

	segment_name(name, begin);
	fd = openat(dir, name, flags | O_CLOEXEC);
	if (fd < 0)
		return error_set(e, errno, "cannot open %s", name);
	if (pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	    memcmp(head, MAGIC, 7) == 0 && head[7] > VERSION &&
	    get_u32(head + 16) == crc32c(0, head, 16)) {
		close(fd);
		return error_say(e, EPROTONOSUPPORT, "%s was written by a newer fathom", name);
	}
	*out = (struct segment){fd, begin};
	return 0;
}

int segment_end(const struct segment *s, uint64_t *end)
{
	struct stat st;

	if (fstat(s->fd, &st))
		return -errno;
	*end = s->begin +
	       (st.st_size < SEGMENT_HEAD_BYTES ? 0 : (uint64_t)st.st_size - SEGMENT_HEAD_BYTES);
	return 0;
}

static uint32_t head_crc(uint64_t position, const unsigned char head[ENTRY_HEAD_BYTES])
{
	unsigned char bytes[8];

	put_u64(bytes, position);
	return crc32c(crc32c(0, bytes, sizeof(bytes)), head, 8);
}

void entry_head_encode(unsigned char head[ENTRY_HEAD_BYTES], uint64_t position, size_t bytes,
		       uint32_t contents_crc)
{
	put_u32(head, (uint32_t)bytes);
	put_u32(head + 4, contents_crc);
	put_u32(head + 8, head_crc(position, head));
}

/* Reads exactly `bytes` at a position: -EBADMSG if the file ends before. */
static int bytes_read(const struct segment *s, uint64_t position, void *to, size_t bytes)
{
	unsigned char *at = to;
	off_t offset = (off_t)(position - s->begin + SEGMENT_HEAD_BYTES);

	while (bytes) {
		ssize_t n = pread(s->fd, at, bytes, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EBADMSG;
		at += n;
		offset += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int buffer_reserve(struct segment_buffer *buffer, size_t bytes)
{
	unsigned char *data;

	if (bytes <= buffer->capacity)
		return 0;
	data = realloc(buffer->data, bytes);
	if (!data)
		return -ENOMEM;
	buffer->data = data;
	buffer->capacity = bytes;
	return 0;
}

int entry_read(const struct segment *s, uint64_t position, uint64_t limit,
	       struct segment_buffer *buffer, size_t *bytes)
{
	unsigned char head[ENTRY_HEAD_BYTES];
	size_t n;
	int err;

	if (limit < position || limit - position < ENTRY_HEAD_BYTES)
		return -EBADMSG;
	err = bytes_read(s, position, head, sizeof(head));
	if (err)
		return err;
	n = get_u32(head);
	if (get_u32(head + 8) != head_crc(position, head) || n > LOG_ENTRY_BYTES_MAX ||
	    n > limit - position - ENTRY_HEAD_BYTES)
		return -EBADMSG;
	err = buffer_reserve(buffer, n ? n : 1);
	err = err ? err : bytes_read(s, position + ENTRY_HEAD_BYTES, buffer->data, n);
	if (err)
		return err;
	if (crc32c(0, buffer->data, n) != get_u32(head + 4))
		return -EBADMSG;
	*bytes = n;
	return 0;
}

/* Looks at each offset of a window: the head of an entry there costs a checksum of 16 bytes. */
static int window_find(const struct segment *s, uint64_t position, size_t heads,
		       const unsigned char *window, uint64_t *found)
{
	for (size_t i = 0; i < heads; i++) {
		if (get_u32(window + i + 8) == head_crc(position + i, window + i)) {
			*found = position + i;
			return 1;
		}
	}
	return 0;
}

int entry_find(const struct segment *s, uint64_t position, uint64_t limit,
	       struct segment_buffer *buffer, uint64_t *found)
{
	unsigned char *window = malloc(WINDOW_BYTES);
	size_t bytes;
	int err = window ? 0 : -ENOMEM;

	while (!err && limit > position && limit - position >= ENTRY_HEAD_BYTES) {
		uint64_t left = limit - position;
		size_t n = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
		uint64_t at;

		err = bytes_read(s, position, window, n);
		if (err)
			break;
		if (!window_find(s, position, n - ENTRY_HEAD_BYTES + 1, window, &at)) {
			position += n - ENTRY_HEAD_BYTES + 1;
			continue;
		}
		err = entry_read(s, at, limit, buffer, &bytes);
		if (!err) {
			*found = at;
			free(window);
			return 0;
		}
		err = err == -EBADMSG ? 0 : err;
		position = at + 1;
	}
	free(window);
	*found = limit;
	return err;
}
