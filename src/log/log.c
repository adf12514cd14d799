/* SPDX-License-Identifier: Apache-2.0 */
#include "log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "log/segment.h"

#define RETRY_NS 1000000000u
#define ENDED_MAX 8 /* with more that are not synced, a segment grows on */

struct log {
	pthread_mutex_t lock;
	pthread_cond_t synced_more;
	int dir; /* holds the lock of the directory */
	uint64_t segment_bytes;
	struct segment_list segments; /* the last one is written */
	struct segment last;
	bool last_is_new;     /* its name is not durable */
	int ended[ENDED_MAX]; /* segments before `last` that are not synced to their end */
	size_t ended_count;
	uint64_t end, synced, syncs, cut_bytes;
	bool syncing;	   /* a thread syncs without the lock: what it syncs must stay open */
	int failed;	   /* the error of a sync, until there is a new segment */
	uint64_t retry_ns; /* when a new segment may be tried */
	/* entries between these positions may be lost: nobody is told that they are durable */
	uint64_t lost_begin, lost_end;
};

/* The position behind the last whole entry of a segment. */
static int whole_end(const struct segment *s, uint64_t *end, uint64_t *cut)
{
	struct segment_buffer buffer = {0};
	uint64_t position = s->begin, limit, whole = s->begin;
	int err = segment_end(s, &limit);

	while (!err && position < limit) {
		size_t bytes;

		err = entry_read(s, position, limit, &buffer, &bytes);
		if (err == -EBADMSG) {
			err = entry_find(s, position, limit, &buffer, &position);
		} else if (!err) {
			position += ENTRY_HEAD_BYTES + bytes;
			whole = position;
		}
	}
	free(buffer.data);
	if (err)
		return err;
	*end = whole;
	*cut = limit - whole;
	return 0;
}

/* Closes what it leaves: nobody is told that more of it is durable. */
static void segments_leave(struct log *l)
{
	for (size_t i = 0; i < l->ended_count; i++)
		close(l->ended[i]);
	l->ended_count = 0;
	if (l->last.fd >= 0)
		close(l->last.fd);
	l->last.fd = -1;
}

/* The next segment, to which entries may be appended. It is durable after the next sync. */
static int segment_add(struct log *l, uint64_t begin, struct segment *out, struct error *e)
{
	int err = vec_reserve(&l->segments, 1);

	if (err)
		return error_set(e, err, "cannot go on with the log");
	err = segment_create(l->dir, begin, out, e);
	if (err)
		return err;
	if (!l->segments.count || l->segments.data[l->segments.count - 1] != begin)
		l->segments.data[l->segments.count++] = begin;
	return 0;
}

/* Begins a segment that is durable, and leaves those before it. */
static int segment_begin(struct log *l, uint64_t begin, struct error *e)
{
	struct segment segment;
	int err = segment_add(l, begin, &segment, e);

	if (err)
		return err;
	err = segment_create_sync(l->dir, &segment);
	if (err) {
		close(segment.fd);
		return error_set(e, err, "cannot go on with the log");
	}
	segments_leave(l);
	l->last = segment;
	l->last_is_new = false;
	l->end = l->synced = begin;
	return 0;
}

/* Cuts the last segment behind its last whole entry, and opens it for appends. */
static int last_recover(struct log *l, struct error *e)
{
	uint64_t begin = l->segments.data[l->segments.count - 1];
	int err = segment_open(l->dir, begin, O_RDWR, &l->last, e);

	if (err)
		return err;
	err = whole_end(&l->last, &l->end, &l->cut_bytes);
	if (!err && l->end == begin)
		return segment_begin(l, begin, e); /* its header may be missing, too */
	if (!err && ftruncate(l->last.fd, (off_t)(l->end - begin + SEGMENT_HEAD_BYTES)))
		err = -errno;
	if (!err && fsync(l->last.fd))
		err = -errno;
	l->synced = l->end;
	return err ? error_set(e, err, "cannot recover the log") : 0;
}

static int log_recover(struct log *l, uint64_t begin, struct error *e)
{
	int err = segment_list_read(l->dir, &l->segments, e);

	if (err)
		return err;
	if (l->segments.count)
		err = last_recover(l, e);
	/* A reader was further than the log reaches: entries that it never saw go behind it. */
	if (!err && (!l->segments.count || begin > l->end))
		err = segment_begin(l, begin, e);
	return err;
}

int log_open(int dir, const struct log_options *options, struct log **out, struct error *e)
{
	struct log *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return error_set(e, ENOMEM, "cannot open the log");
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->synced_more, NULL);
	l->segment_bytes = options->segment_bytes ? options->segment_bytes : LOG_SEGMENT_BYTES;
	l->last.fd = -1;
	l->dir = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l->dir < 0)
		err = error_set(e, errno, "cannot open the log");
	else if (flock(l->dir, LOCK_EX | LOCK_NB))
		err = error_say(e, errno == EWOULDBLOCK ? EBUSY : errno,
				"another process has the log open");
	else
		err = log_recover(l, options->begin, e);
	if (err) {
		log_close(l);
		return err;
	}
	*out = l;
	return 0;
}

static int bytes_write(int fd, const void *data, size_t bytes, off_t *offset)
{
	const unsigned char *at = data;

	while (bytes) {
		ssize_t n = pwrite(fd, at, bytes, *offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		at += n;
		*offset += n;
		bytes -= (size_t)n;
	}
	return 0;
}

/* With the lock held. What the kernel has of the segment is not known from here on. */
static void failed_set(struct log *l, int err)
{
	l->failed = err;
	l->retry_ns = clock_now_ns() + RETRY_NS;
}

/*
 * With the lock held: leaves the segment that could not be synced or cut, once a second has passed,
 * and begins a new one behind it. 0, or why the log cannot be written yet.
 */
static int failed_leave(struct log *l)
{
	uint64_t synced;

	while (l->syncing)
		pthread_cond_wait(&l->synced_more, &l->lock);
	if (!l->failed)
		return 0; /* another thread did it meanwhile */
	if (clock_now_ns() < l->retry_ns)
		return l->failed;
	l->retry_ns = clock_now_ns() + RETRY_NS;
	synced = l->synced;
	if (segment_begin(l, l->end, NULL))
		return l->failed;
	if (!l->lost_end)
		l->lost_begin = synced;
	l->lost_end = l->end;
	l->failed = 0;
	return 0;
}

/*
 * With the lock held: begins the next segment. The one before it is synced together with the new
 * one, by who syncs next, so that nobody waits here for the disk.
 */
static int rotate(struct log *l)
{
	struct segment next;
	int err = segment_add(l, l->end, &next, NULL);

	if (err)
		return err;
	l->ended[l->ended_count++] = l->last.fd;
	l->last = next;
	l->last_is_new = true;
	return 0;
}

static int entry_write(struct log *l, const struct log_part *parts, size_t count, size_t bytes)
{
	unsigned char head[ENTRY_HEAD_BYTES];
	off_t begin = (off_t)(l->end - l->last.begin + SEGMENT_HEAD_BYTES), at = begin;
	uint32_t crc = 0;
	int err;

	for (size_t i = 0; i < count; i++)
		crc = crc32c(crc, parts[i].data, parts[i].bytes);
	entry_head_encode(head, l->end, bytes, crc);
	err = bytes_write(l->last.fd, head, sizeof(head), &at);
	for (size_t i = 0; i < count && !err; i++)
		err = bytes_write(l->last.fd, parts[i].data, parts[i].bytes, &at);
	if (err && ftruncate(l->last.fd, begin))
		failed_set(l, err); /* nothing may follow a part of an entry that stays */
	return err;
}

int log_append(struct log *l, const struct log_part *parts, size_t count, uint64_t *end)
{
	size_t bytes = 0;
	int err = 0;

	for (size_t i = 0; i < count; i++) {
		if (parts[i].bytes > LOG_ENTRY_BYTES_MAX - bytes)
			return -EMSGSIZE;
		bytes += parts[i].bytes;
	}
	pthread_mutex_lock(&l->lock);
	if (l->failed)
		err = failed_leave(l);
	if (!err && l->end - l->last.begin >= l->segment_bytes && l->ended_count < ENDED_MAX)
		err = rotate(l);
	err = l->failed ? l->failed : err;
	err = err ? err : entry_write(l, parts, count, bytes);
	if (!err) {
		l->end += ENTRY_HEAD_BYTES + bytes;
		*end = l->end;
	}
	pthread_mutex_unlock(&l->lock);
	return err;
}

/* Syncs segments in their order, the last one with its name. */
static int segments_sync(const int *ended, size_t count, int dir, const struct segment *last,
			 bool last_is_new)
{
	for (size_t i = 0; i < count; i++) {
		if (fdatasync(ended[i]))
			return -errno;
	}
	if (last_is_new)
		return segment_create_sync(dir, last);
	return fdatasync(last->fd) ? -errno : 0;
}

/* With the lock held: closes those of `ended` that were synced, the first ones. */
static void ended_close(struct log *l, size_t count)
{
	for (size_t i = 0; i < count; i++)
		close(l->ended[i]);
	l->ended_count -= count;
	memmove(l->ended, l->ended + count, l->ended_count * sizeof(*l->ended));
}

/* With the lock held, which it gives up meanwhile. One thread syncs for all that wait. */
static void sync_for_all(struct log *l)
{
	uint64_t end = l->end;
	struct segment last = l->last;
	bool last_is_new = l->last_is_new;
	size_t count = l->ended_count;
	int ended[ENDED_MAX], err;

	/* a rotation meanwhile may add to them */
	memcpy(ended, l->ended, count * sizeof(*ended));
	l->syncing = true;
	pthread_mutex_unlock(&l->lock);
	err = segments_sync(ended, count, l->dir, &last, last_is_new);
	pthread_mutex_lock(&l->lock);
	l->syncing = false;
	l->syncs++;
	if (err) {
		failed_set(l, err);
	} else {
		l->synced = end;
		ended_close(l, count);
		if (l->last.fd == last.fd)
			l->last_is_new = false;
	}
	pthread_cond_broadcast(&l->synced_more);
}

int log_sync(struct log *l, uint64_t end)
{
	int err;

	pthread_mutex_lock(&l->lock);
	while (l->synced < end && !l->failed) {
		if (l->syncing)
			pthread_cond_wait(&l->synced_more, &l->lock);
		else
			sync_for_all(l);
	}
	err = l->synced < end ? l->failed : 0;
	if (!err && end > l->lost_begin && end <= l->lost_end)
		err = -EIO;
	pthread_mutex_unlock(&l->lock);
	return err;
}

int log_trim(struct log *l, uint64_t position, struct error *e)
{
	size_t gone = 0;
	int err = 0;

	pthread_mutex_lock(&l->lock);
	while (!err && gone + 1 < l->segments.count && l->segments.data[gone + 1] <= position) {
		char name[SEGMENT_NAME_BYTES];

		segment_name(name, l->segments.data[gone]);
		if (unlinkat(l->dir, name, 0) && errno != ENOENT)
			err = error_set(e, errno, "cannot remove %s", name);
		else
			gone++;
	}
	l->segments.count -= gone;
	memmove(l->segments.data, l->segments.data + gone,
		l->segments.count * sizeof(*l->segments.data));
	pthread_mutex_unlock(&l->lock);
	return err;
}

struct log_status log_status(struct log *l)
{
	struct log_status status;

	pthread_mutex_lock(&l->lock);
	status = (struct log_status){.begin = l->segments.data[0],
				     .end = l->end,
				     .synced = l->synced,
				     .syncs = l->syncs,
				     .cut_bytes = l->cut_bytes,
				     .failed = l->failed};
	pthread_mutex_unlock(&l->lock);
	return status;
}

int log_close(struct log *l)
{
	int err = 0;

	if (!l)
		return 0;
	if (l->last.fd >= 0)
		err = log_sync(l, l->end);
	segments_leave(l);
	if (l->dir >= 0)
		close(l->dir);
	vec_free(&l->segments);
	pthread_cond_destroy(&l->synced_more);
	pthread_mutex_destroy(&l->lock);
	free(l);
	return err;
}
