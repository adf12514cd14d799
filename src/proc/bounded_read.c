// SPDX-License-Identifier: Apache-2.0
#include "proc/bounded_read.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"

#define WAIT_NS 100000000u

/* Shared by the caller and the thread; freed by the one that leaves it last. */
struct bounded_thread {
	pthread_mutex_t mutex; /* guards all */
	pthread_cond_t turn;
	bool wanted; /* a read is wanted, or under way */
	bool left;   /* by the caller, who asks no more */
	char path[64];
	size_t room, bytes;
	char text[BOUNDED_BYTES_MAX + 1];
};

static void thread_free(struct bounded_thread *t)
{
	pthread_cond_destroy(&t->turn);
	pthread_mutex_destroy(&t->mutex);
	free(t);
}

static size_t file_read_once(const char *path, char *to, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, to, room);
	close(fd);
	return n > 0 ? (size_t)n : 0;
}

static void *thread_run(void *arg)
{
	struct bounded_thread *t = arg;

	pthread_mutex_lock(&t->mutex);
	while (!t->left) {
		if (!t->wanted) {
			pthread_cond_wait(&t->turn, &t->mutex);
			continue;
		}
		pthread_mutex_unlock(&t->mutex);
		/* the thread owns the text while `wanted` is set */
		t->bytes = file_read_once(t->path, t->text, t->room);
		pthread_mutex_lock(&t->mutex);
		t->wanted = false;
		pthread_cond_broadcast(&t->turn);
	}
	pthread_mutex_unlock(&t->mutex);
	thread_free(t);
	return NULL;
}

static struct bounded_thread *thread_new(void)
{
	struct bounded_thread *t = calloc(1, sizeof(*t));
	pthread_t thread = 0;
	int err;

	if (!t)
		return NULL;
	pthread_mutex_init(&t->mutex, NULL);
	condition_init(&t->turn);
	err = thread_start(&thread, thread_run, t);
	if (err) {
		thread_free(t);
		return NULL;
	}
	pthread_detach(thread);
	return t;
}

void bounded_reader_end(struct bounded_reader *reader)
{
	struct bounded_thread *t = reader->thread;

	if (!t)
		return;
	reader->thread = NULL;
	pthread_mutex_lock(&t->mutex);
	t->left = true;
	pthread_cond_broadcast(&t->turn);
	pthread_mutex_unlock(&t->mutex);
}

/* Waits for the thread. True if it has read in time. With the mutex. */
static bool thread_await(struct bounded_thread *t)
{
	uint64_t until_ns = clock_now_ns() + WAIT_NS;

	while (t->wanted && condition_wait(&t->turn, &t->mutex, until_ns))
		;
	return !t->wanted;
}

size_t bounded_read(struct bounded_reader *reader, const char *path, char *to, size_t room,
		    bool *cut)
{
	struct bounded_thread *t;
	size_t bytes = 0;
	bool there;

	*cut = true;
	if (reader->stuck >= BOUNDED_STUCK_MAX || strlen(path) >= sizeof(t->path))
		return 0;
	if (!reader->thread)
		reader->thread = thread_new();
	t = reader->thread;
	if (!t)
		return 0;
	pthread_mutex_lock(&t->mutex);
	snprintf(t->path, sizeof(t->path), "%s", path);
	/* one byte more tells whether the file is longer */
	t->room = (room < BOUNDED_BYTES_MAX ? room : BOUNDED_BYTES_MAX) + 1;
	t->wanted = true;
	pthread_cond_broadcast(&t->turn);
	there = thread_await(t);
	if (there) {
		*cut = t->bytes == t->room;
		bytes = *cut ? t->room - 1 : t->bytes;
		memcpy(to, t->text, bytes);
	}
	pthread_mutex_unlock(&t->mutex);
	if (!there) {
		reader->stuck++;
		bounded_reader_end(reader);
	}
	return bytes;
}
