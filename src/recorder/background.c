/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/background.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/owner.h"
#include "recorder/privileges.h"

struct background {
	struct recorder_options options;
	char *dir; /* owned; NULL: it could not be made */
	pthread_t thread;
	bool running;
	atomic_bool stop;
	sem_t begun;   /* posted by the thread, after it has set: */
	int begin_err; /* the reason if it cannot record */
	pid_t tid;
	struct error error; /* set by the thread, read after it has ended */
};

/* The whole recorder runs on one thread, since its priority is a property of the thread. */
static void *background_run(void *arg)
{
	struct background *b = arg;
	struct recorder *recorder = NULL;
	int err = recorder_open(&recorder, &b->options, &b->error);

	b->begin_err = err;
	b->tid = (pid_t)syscall(SYS_gettid);
	sem_post(&b->begun);
	while (!err && !atomic_load(&b->stop)) {
		err = recorder_step(recorder, &b->error);
		if (!err)
			recorder_wait(recorder, ~0ull);
	}
	if (!err)
		recorder_finish(recorder, &b->error);
	recorder_close(recorder); /* a client that waits for an answer gets none */
	return NULL;
}

static int directory_make(struct background *b, struct error *e)
{
	const char *place = getenv("TMPDIR");

	if (asprintf(&b->dir, "%s/fathom-top-XXXXXX", place && *place ? place : "/tmp") < 0) {
		b->dir = NULL;
		return error_set(e, ENOMEM, "cannot record");
	}
	if (!mkdtemp(b->dir)) {
		int err = error_set(e, errno, "cannot make the directory %s", b->dir);

		free(b->dir);
		b->dir = NULL;
		return err;
	}
	return 0;
}

/* Waits until it records. This thread needs no more capabilities than the recorder kept. */
static int begin_await(struct background *b, struct error *e)
{
	while (sem_wait(&b->begun) && errno == EINTR)
		;
	if (!b->begin_err)
		return privileges_follow(b->tid, e);
	background_end(b, e);
	return b->begin_err;
}

int background_open(struct background **out, const struct recorder_options *options,
		    struct error *e)
{
	struct background *b = calloc(1, sizeof(*b));
	int err;

	*out = b;
	if (!b)
		return error_set(e, ENOMEM, "cannot record");
	sem_init(&b->begun, 0, 0);
	err = directory_make(b, e);
	if (err)
		return err;
	b->options = *options;
	b->options.dir = b->dir;
	err = -pthread_create(&b->thread, NULL, background_run, b);
	if (err)
		return error_set(e, err, "cannot start the recorder's thread");
	b->running = true;
	return begin_await(b, e);
}

const char *background_dir(const struct background *b)
{
	return b->dir;
}

int background_end(struct background *b, struct error *e)
{
	if (b->running) {
		atomic_store(&b->stop, true);
		pthread_join(b->thread, NULL);
		b->running = false;
	}
	if (!error_is_set(&b->error))
		return 0;
	*e = b->error;
	return -e->err;
}

void background_close(struct background *b)
{
	struct error ignored = {0};

	if (!b)
		return;
	background_end(b, &ignored);
	if (b->dir)
		recording_remove(b->dir, owner_find(), NULL);
	sem_destroy(&b->begun);
	free(b->dir);
	free(b);
}
