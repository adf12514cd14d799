/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/mapping_ids.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "capture/elf_build_id.h"
#include "capture/internal.h"

#define WAITING_MAX 4096
#define MAPPING_BYTES ((sizeof(struct record_mapping) + 63) / 64 * 64)
#define KNOWN_MAX 8192 /* files; when there are more, all are forgotten */
#define STUCK_NS 1000000000ull

/* What a file is known by: another build of it has another one. */
struct file_key {
	u64 device, inode, size;
	s64 changed_s, changed_ns;
};

struct file_id {
	u8 bytes[ELF_BUILD_ID_MAX];
	int count; /* 0: it has none */
};

struct mapping_ids {
	pthread_t thread;
	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t wake, done;
	bool stop, drop;
	u64 round; /* those waiting were handed out as they are so often */
	VEC(struct record_mapping *) waiting; /* owned; a copy of the first is with the thread */
	VEC(struct record_mapping *) complete;
	size_t taken; /* of complete */

	struct bytes_map known; /* of the thread: struct file_key -> struct file_id, owned */
};

static void known_forget(struct mapping_ids *ids)
{
	struct bytes_map_entry entry;
	size_t at = 0;

	while (bytes_map_next(&ids->known, &at, &entry))
		free(entry.value);
	bytes_map_free(&ids->known);
}

static void ids_free(struct mapping_ids *ids)
{
	for (size_t i = 0; i < ids->waiting.count; i++)
		free(ids->waiting.data[i]);
	for (size_t i = ids->taken; i < ids->complete.count; i++)
		free(ids->complete.data[i]);
	vec_free(&ids->waiting);
	vec_free(&ids->complete);
	known_forget(ids);
	free(ids);
}

/* ---- the file ---- */

/* Opens it if it is a regular one; with `file`, only if it is that one. */
static int path_open(const char *path, const struct file_ref *file, struct stat *info)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	bool same;

	if (fd < 0)
		return -errno;
	same = !fstat(fd, info) && S_ISREG(info->st_mode) &&
	       (!file || (info->st_ino == file->key && major(info->st_dev) == file->dev >> 20 &&
			  minor(info->st_dev) == (file->dev & 0xfffff)));
	if (same)
		return fd;
	close(fd);
	return -ESTALE;
}

/* The mapped file: through the mapping, through its process's root, or where it was. */
static int mapping_open(const struct record_mapping *r, struct stat *info)
{
	char name[PATH_MAX], path[PATH_MAX + 64];
	int fd;

	memcpy(name, r->path, r->path_len);
	name[r->path_len] = '\0';
	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", r->head.pid,
		 (unsigned long long)r->begin, (unsigned long long)r->end);
	fd = path_open(path, NULL, info);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%u/root%s", r->head.pid, name);
	fd = path_open(path, &r->file, info);
	return fd >= 0 || name[0] != '/' ? fd : path_open(name, &r->file, info);
}

static struct file_id *id_learn(struct mapping_ids *ids, int fd, const struct stat *info)
{
	struct file_key key = {.device = info->st_dev,
			       .inode = info->st_ino,
			       .size = (u64)info->st_size,
			       .changed_s = info->st_ctim.tv_sec,
			       .changed_ns = info->st_ctim.tv_nsec};
	struct file_id *id = bytes_map_get(&ids->known, &key, sizeof(key));
	struct elf_source source = elf_source_file(fd, key.size);

	if (id)
		return id;
	if (ids->known.count >= KNOWN_MAX)
		known_forget(ids);
	id = calloc(1, sizeof(*id));
	if (!id)
		return NULL;
	id->count = elf_build_id_read(&source, id->bytes);
	if (!bytes_map_put(&ids->known, &key, sizeof(key), id))
		return id;
	free(id);
	return NULL;
}

/* The path, NUL, the build id in hex: there is room, the kernel's part cut the path. */
static void id_put(struct record_mapping *r, const struct file_id *id)
{
	char *at = r->path + r->path_len;

	if (r->path_len + 1 + 2 * ELF_BUILD_ID_MAX >= (int)sizeof(r->path))
		return;
	*at++ = '\0';
	for (int i = 0; i < id->count; i++)
		at += sprintf(at, "%02x", id->bytes[i]);
	r->path_len = (u16)(at - r->path);
	r->head.slots =
		(offsetof(struct record_mapping, path) + r->path_len + RECORD_SLOT_BYTES - 1) /
		RECORD_SLOT_BYTES;
}

static void mapping_complete(struct mapping_ids *ids, struct record_mapping *r)
{
	struct stat info = {0};
	const struct file_id *id;
	int fd = mapping_open(r, &info);

	if (fd < 0)
		return;
	id = id_learn(ids, fd, &info);
	close(fd);
	if (id && id->count > 0)
		id_put(r, id);
}

/* ---- the thread ---- */

static struct record_mapping *mapping_copy(const struct record_mapping *r)
{
	struct record_mapping *copy = calloc(1, MAPPING_BYTES);
	size_t bytes = (size_t)r->head.slots * RECORD_SLOT_BYTES;

	if (copy)
		memcpy(copy, r, bytes < MAPPING_BYTES ? bytes : MAPPING_BYTES);
	return copy;
}

/* The first of those waiting goes to those complete; with the mutex held. */
static void first_done(struct mapping_ids *ids, struct record_mapping *r)
{
	if (vec_push(&ids->complete, r))
		free(r);
	ids->waiting.count--;
	memmove(ids->waiting.data, ids->waiting.data + 1,
		ids->waiting.count * sizeof(*ids->waiting.data));
	pthread_cond_signal(&ids->done);
}

static void *ids_run(void *arg)
{
	struct mapping_ids *ids = arg;

	if (ids->drop)
		capture_capabilities_drop(0);
	pthread_mutex_lock(&ids->mutex);
	while (!ids->stop) {
		struct record_mapping *r;
		u64 round = ids->round;

		if (!ids->waiting.count) {
			pthread_cond_wait(&ids->wake, &ids->mutex);
			continue;
		}
		r = mapping_copy(ids->waiting.data[0]);
		pthread_mutex_unlock(&ids->mutex);
		if (r)
			mapping_complete(ids, r);
		pthread_mutex_lock(&ids->mutex);
		if (ids->round != round) { /* nobody waits for it any more */
			free(r);
			continue;
		}
		if (r)
			free(ids->waiting.data[0]);
		first_done(ids, r ? r : ids->waiting.data[0]);
	}
	pthread_mutex_unlock(&ids->mutex);
	return NULL;
}

int mapping_ids_open(struct mapping_ids **out, bool drop, struct error *e)
{
	struct mapping_ids *ids = calloc(1, sizeof(*ids));
	pthread_condattr_t attr;
	sigset_t all, before;
	int err;

	if (!ids)
		return error_set(e, ENOMEM, "cannot look at mapped files");
	ids->drop = drop;
	pthread_mutex_init(&ids->mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&ids->wake, &attr);
	pthread_cond_init(&ids->done, &attr);
	sigfillset(&all); /* signals are the caller's */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&ids->thread, NULL, ids_run, ids);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		ids_free(ids);
		return error_set(e, err, "cannot look at mapped files");
	}
	*out = ids;
	return 0;
}

static struct timespec timespec_of(u64 ns)
{
	return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

void mapping_ids_close(struct mapping_ids *ids)
{
	struct timespec until = timespec_of(clock_now_ns() + STUCK_NS);

	if (!ids)
		return;
	pthread_mutex_lock(&ids->mutex);
	ids->stop = true;
	pthread_cond_signal(&ids->wake);
	pthread_mutex_unlock(&ids->mutex);
	if (pthread_clockjoin_np(ids->thread, NULL, CLOCK_MONOTONIC, &until))
		pthread_detach(ids->thread);
	else
		ids_free(ids);
}

/* ---- in and out ---- */

bool mapping_ids_put(struct mapping_ids *ids, const struct record_mapping *r)
{
	struct record_mapping *copy = mapping_copy(r);
	bool done = false;

	if (!copy)
		return false;
	pthread_mutex_lock(&ids->mutex);
	if (ids->waiting.count < WAITING_MAX)
		done = vec_push(&ids->waiting, copy) == 0;
	pthread_cond_signal(&ids->wake);
	pthread_mutex_unlock(&ids->mutex);
	if (!done)
		free(copy);
	return done;
}

struct record_mapping *mapping_ids_take(struct mapping_ids *ids)
{
	struct record_mapping *r = NULL;

	pthread_mutex_lock(&ids->mutex);
	if (ids->taken < ids->complete.count)
		r = ids->complete.data[ids->taken++];
	if (ids->taken == ids->complete.count)
		ids->taken = ids->complete.count = 0;
	pthread_mutex_unlock(&ids->mutex);
	return r;
}

void mapping_ids_wait(struct mapping_ids *ids, u64 until_ns)
{
	struct timespec until = timespec_of(until_ns);
	int err = 0;

	pthread_mutex_lock(&ids->mutex);
	while (ids->waiting.count && !err)
		err = pthread_cond_timedwait(&ids->done, &ids->mutex, &until);
	for (size_t i = 0; i < ids->waiting.count; i++)
		if (vec_push(&ids->complete, ids->waiting.data[i]))
			free(ids->waiting.data[i]);
	ids->round += ids->waiting.count > 0;
	ids->waiting.count = 0;
	pthread_mutex_unlock(&ids->mutex);
}
