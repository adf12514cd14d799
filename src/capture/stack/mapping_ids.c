/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/stack/mapping_ids.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/host_clock.h"
#include "base/map.h"
#include "base/thread.h"
#include "base/vec.h"
#include "capture/kernel/kernel.h"
#include "elf/identity.h"
#include "proc/mapped_file.h"

#define WAITING_MAX 4096
#define MAPPING_BYTES ((sizeof(struct record_mapping) + 63) / 64 * 64)
#define KNOWN_MAX 8192 /* files; when there are more, all are forgotten */
#define STUCK_NS 1000000000ull

/* Identifies a file on this host, and a version of it. */
struct file_key {
	u64 device, inode, size;
	s64 changed_s, changed_ns;
};

struct file_id {
	char text[FILE_IDENTITY_TEXT]; /* "": it could not be read */
};

_Static_assert(RECORD_MAPPING_PATH + 1 + FILE_IDENTITY_TEXT <=
		       sizeof(((struct record_mapping *)0)->path),
	       "an identity fits behind every path that the kernel's part writes");

struct mapping_ids {
	pthread_t thread;
	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t wake, done;
	bool stop, drop;
	bool busy;	/* the first waiting record is being looked at */
	u64 busy_round; /* `round` when that began */
	u64 round;	/* how often waiting records were handed out without an identity */
	VEC(struct record_mapping *) waiting;  /* owned; the thread has a copy of the first */
	VEC(struct record_mapping *) complete; /* owned; has room for all that wait */
	size_t taken;			       /* how many of `complete` were taken */
	u64 missed; /* records without an identity, since the last call */

	bool is_vacant; /* there is no thread; for the supervisor */
	struct foreign_looks *looks;
	/* for the thread, until its work is taken away */
	struct bytes_map known; /* struct file_key -> struct file_id, owned */
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
	foreign_looks_free(ids->looks);
	free(ids);
}

/* ---- the file ---- */

static bool is_that_file(const struct record_mapping *r, const struct stat *info)
{
	return S_ISREG(info->st_mode) && info->st_ino == r->file.key &&
	       major(info->st_dev) == r->file.dev >> 20 &&
	       minor(info->st_dev) == (r->file.dev & 0xfffff);
}

/*
 * Finds the mapped file: through the mapping, in the root of its process, or in our own root.
 * Returns a descriptor, with fstat() in *info, and changes *file if our root was used; or a
 * negative errno.
 */
static int mapping_find(struct foreign_looks *looks, struct foreign_file *file,
			const struct record_mapping *r, struct stat *info)
{
	int fd = foreign_file_find(looks, file, info);

	if (fd >= 0 && S_ISREG(info->st_mode))
		return fd;
	if (fd == -EBUSY || fd == -ECANCELED)
		return fd;
	if (fd >= 0)
		close(fd);
	file->pid = 0;
	fd = foreign_file_find(looks, file, info);
	if (fd < 0 || is_that_file(r, info))
		return fd;
	close(fd);
	return -ESTALE;
}

static struct file_key file_key_of(const struct stat *info)
{
	return (struct file_key){.device = info->st_dev,
				 .inode = info->st_ino,
				 .size = (u64)info->st_size,
				 .changed_s = info->st_ctim.tv_sec,
				 .changed_ns = info->st_ctim.tv_nsec};
}

/* For the thread that looks, alone. */
struct id_read {
	struct stat info;
	struct file_id id;
};

static int id_read(void *arg, int fd)
{
	struct id_read *read = arg;

	(void)file_identity_read(fd, &read->info, read->id.text);
	return 0;
}

/* Reads the identity of the file that was found. `info`: its fstat(). NULL with *err on failure. */
static const struct file_id *id_learn(struct mapping_ids *ids, const struct foreign_file *file,
				      int found, const struct stat *info, int *err)
{
	const struct file_key known = file_key_of(info), *key = &known;
	struct file_id *id = bytes_map_get(&ids->known, key, sizeof(*key));
	struct id_read read = {.info = *info};

	if (id)
		return id;
	*err = foreign_file_read(ids->looks, file, found, id_read, &read);
	if (*err)
		return NULL;
	if (ids->known.count >= KNOWN_MAX)
		known_forget(ids);
	id = malloc(sizeof(*id));
	if (!id)
		return NULL;
	*id = read.id;
	if (!bytes_map_put(&ids->known, key, sizeof(*key), id))
		return id;
	free(id);
	return NULL;
}

/*
 * Whether the file was changed since its mapping was seen. Then it may be another file, since the
 * inode of a deleted file is soon used again. A change in the future says nothing.
 */
static bool is_changed(const struct record_mapping *r, const struct stat *info)
{
	u64 ago = host_clock_now_ns() - r->since_ns, now = host_clock_read_ns(CLOCK_REALTIME);
	u64 changed = (u64)info->st_ctim.tv_sec * 1000000000u + (u64)info->st_ctim.tv_nsec;

	return changed > now - ago && changed <= now;
}

/* Appends NUL and the identity to the path of the record. */
static void id_put(struct record_mapping *r, const struct file_id *id)
{
	size_t bytes = strlen(id->text);

	if (!bytes || r->path_len > RECORD_MAPPING_PATH)
		return;
	r->path[r->path_len] = '\0';
	memcpy(r->path + r->path_len + 1, id->text, bytes);
	r->path_len = (u16)(r->path_len + 1 + bytes);
	r->head.slots =
		(offsetof(struct record_mapping, path) + r->path_len + RECORD_SLOT_BYTES - 1) /
		RECORD_SLOT_BYTES;
}

/*
 * Adds the identity to `r`, if its file can be read. 0 or a negative errno. After -ECANCELED the
 * calling thread must touch nothing but `r`.
 */
static int mapping_complete(struct mapping_ids *ids, struct record_mapping *r)
{
	char name[PATH_MAX];
	struct foreign_file file = {.pid = (pid_t)r->head.pid,
				    .start = r->begin,
				    .end = r->end,
				    .inode = r->file.key,
				    .major = (u32)(r->file.dev >> 20),
				    .minor = (u32)(r->file.dev & 0xfffff),
				    .name = name};
	struct stat info = {0};
	const struct file_id *id;
	int fd, err = 0;

	memcpy(name, r->path, r->path_len);
	name[r->path_len] = '\0';
	fd = mapping_find(ids->looks, &file, r, &info);
	if (fd < 0)
		return fd;
	id = id_learn(ids, &file, fd, &info, &err);
	close(fd);
	if (id && !is_changed(r, &info))
		id_put(r, id);
	return err;
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

/* Removes the first waiting record, and makes `r` complete, its copy or itself. With the mutex. */
static void first_done(struct mapping_ids *ids, struct record_mapping *r)
{
	ids->complete.data[ids->complete.count++] = r; /* there is room for all that wait */
	ids->waiting.count--;
	memmove(ids->waiting.data, ids->waiting.data + 1,
		ids->waiting.count * sizeof(*ids->waiting.data));
	pthread_cond_signal(&ids->done);
}

/*
 * Completes the first waiting record. With the mutex. False if the work was taken from the thread,
 * which then does not have the mutex.
 */
static bool first_complete(struct mapping_ids *ids)
{
	struct record_mapping *r = mapping_copy(ids->waiting.data[0]);
	u64 round = ids->round;
	int err = 0;

	ids->busy = true;
	ids->busy_round = round;
	pthread_mutex_unlock(&ids->mutex);
	if (r)
		err = mapping_complete(ids, r);
	if (err == -ECANCELED) {
		free(r);
		return false;
	}
	pthread_mutex_lock(&ids->mutex);
	ids->busy = false;
	if (ids->round != round) { /* it was handed out meanwhile */
		free(r);
		return true;
	}
	if (r)
		free(ids->waiting.data[0]);
	ids->missed += !r || err == -EBUSY;
	first_done(ids, r ? r : ids->waiting.data[0]);
	return true;
}

static void *ids_run(void *arg)
{
	struct mapping_ids *ids = arg;

	foreign_looks_join(ids->looks);
	if (ids->drop)
		capture_capabilities_drop(0);
	pthread_mutex_lock(&ids->mutex);
	while (!ids->stop) {
		if (!ids->waiting.count)
			pthread_cond_wait(&ids->wake, &ids->mutex);
		else if (!first_complete(ids))
			return NULL;
	}
	pthread_mutex_unlock(&ids->mutex);
	return NULL;
}

static int ids_start(struct mapping_ids *ids)
{
	int err = thread_start(&ids->thread, ids_run, ids);

	ids->is_vacant = err != 0;
	return err;
}

/*
 * Leaves a thread behind whose look hangs. The record that it looked at is handed out without an
 * identity, and another thread goes on with the rest.
 */
static void thread_supervise(struct mapping_ids *ids)
{
	if (foreign_looks_take(ids->looks)) {
		pthread_mutex_lock(&ids->mutex);
		if (ids->busy && ids->waiting.count && ids->busy_round == ids->round) {
			first_done(ids, ids->waiting.data[0]);
			ids->missed++;
		}
		ids->busy = false;
		pthread_mutex_unlock(&ids->mutex);
		pthread_detach(ids->thread);
		ids->is_vacant = true;
	}
	if (ids->is_vacant)
		(void)ids_start(ids); /* a failure is tried again the next time */
}

int mapping_ids_open(struct mapping_ids **out, bool drop, struct error *e)
{
	struct mapping_ids *ids = calloc(1, sizeof(*ids));
	int err = ENOMEM;

	if (!ids)
		return error_set(e, ENOMEM, "cannot read mapped files");
	ids->drop = drop;
	pthread_mutex_init(&ids->mutex, NULL);
	condition_init(&ids->wake);
	condition_init(&ids->done);
	ids->looks = foreign_looks_new();
	if (ids->looks)
		err = ids_start(ids);
	if (err) {
		ids_free(ids);
		return error_set(e, err, "cannot read mapped files");
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
	if (ids->is_vacant || !pthread_clockjoin_np(ids->thread, NULL, CLOCK_MONOTONIC, &until)) {
		ids_free(ids);
		return;
	}
	pthread_detach(ids->thread);
	if (foreign_looks_take(ids->looks))
		ids_free(ids);
}

/* ---- in and out ---- */

bool mapping_ids_put(struct mapping_ids *ids, const struct record_mapping *r)
{
	struct record_mapping *copy = mapping_copy(r);
	bool done = false;

	pthread_mutex_lock(&ids->mutex);
	if (copy && ids->waiting.count < WAITING_MAX &&
	    !vec_reserve(&ids->complete, ids->waiting.count + 1))
		done = vec_push(&ids->waiting, copy) == 0;
	ids->missed += !done;
	pthread_cond_signal(&ids->wake);
	pthread_mutex_unlock(&ids->mutex);
	if (!done)
		free(copy);
	return done;
}

struct record_mapping *mapping_ids_take(struct mapping_ids *ids)
{
	struct record_mapping *r = NULL;

	thread_supervise(ids);
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

	thread_supervise(ids);
	pthread_mutex_lock(&ids->mutex);
	while (ids->waiting.count && !err)
		err = pthread_cond_timedwait(&ids->done, &ids->mutex, &until);
	ids->round += ids->waiting.count > 0;
	ids->missed += ids->waiting.count;
	(void)vec_move(&ids->complete, &ids->waiting);
	pthread_mutex_unlock(&ids->mutex);
}

u64 mapping_ids_missed(struct mapping_ids *ids)
{
	u64 missed;

	pthread_mutex_lock(&ids->mutex);
	missed = ids->missed;
	ids->missed = 0;
	pthread_mutex_unlock(&ids->mutex);
	return missed;
}
