/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top_feed.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "chunk/checkpoint.h"
#include "chunk/chunk.h"
#include "cli/command.h"
#include "map/chunk_map.h"
#include "recorder/control.h"
#include "recorder/owner.h"
#include "recorder/privileges.h"
#include "recorder/recorder.h"

#define PATH_BYTES 4200

struct top_feed {
	char *dir;	      /* owned: directory of the recorder */
	bool own;	      /* its own recorder, on a thread, with a directory to remove */
	char *newest;	      /* owned: path of the last chunk that was shown; NULL: none yet */
	struct notice notice; /* of damage */
	struct recording_checkpoint checkpoint; /* the state of all chunks that were shown */

	/* only with `own`: */
	struct recorder_options options; /* borrows from those of top */
	pid_t *pids;
	pthread_t thread;
	bool running;
	sem_t begun;   /* posted by the thread: */
	int begin_err; /* the reason if it cannot record */
	pid_t tid;
	atomic_bool stop;
	struct error error; /* set by the thread, read after it has ended */
};

/* ---- a recorder of its own ---- */

static void *recorder_run(void *arg)
{
	struct top_feed *f = arg;
	struct recorder *recorder = NULL;
	int err = recorder_open(&recorder, &f->options, &f->error);

	f->begin_err = err;
	f->tid = (pid_t)syscall(SYS_gettid);
	sem_post(&f->begun);
	while (!err && !atomic_load(&f->stop)) {
		err = recorder_step(recorder, &f->error);
		if (!err)
			recorder_wait(recorder, ~0ull);
	}
	if (!err)
		recorder_finish(recorder, &f->error);
	recorder_close(recorder); /* a client that waits for an answer gets none */
	return NULL;
}

static void recorder_end(struct top_feed *f)
{
	if (!f->running)
		return;
	atomic_store(&f->stop, true);
	pthread_join(f->thread, NULL);
	f->running = false;
}

static int directory_make(struct top_feed *f, struct error *e)
{
	const char *place = getenv("TMPDIR");

	if (asprintf(&f->dir, "%s/fathom-top-XXXXXX", place && *place ? place : "/tmp") < 0)
		return error_set(e, ENOMEM, "cannot record");
	if (!mkdtemp(f->dir)) {
		int err = error_set(e, errno, "cannot make the directory %s", f->dir);

		free(f->dir);
		f->dir = NULL;
		return err;
	}
	f->own = true;
	return 0;
}

/* Waits until it records. This process needs no more privileges than the recorder kept. */
static int recorder_await(struct top_feed *f, struct error *e)
{
	while (sem_wait(&f->begun) && errno == EINTR)
		;
	if (!f->begin_err)
		return privileges_follow(f->tid, e);
	recorder_end(f);
	*e = f->error;
	return f->begin_err;
}

/* Runs the whole recorder on one thread: its priority is a property of the thread. */
static int recorder_begin(struct top_feed *f, const struct top_options *o, struct error *e)
{
	int err;

	f->options = (struct recorder_options){.dir = f->dir,
					       .host = !o->pids.count && !o->cgroups.count,
					       .pid_count = o->pids.count,
					       .cgroups = (const char *const *)o->cgroups.data,
					       .cgroup_count = o->cgroups.count};
	f->pids = calloc(o->pids.count + 1, sizeof(*f->pids));
	if (!f->pids)
		return error_set(e, ENOMEM, "cannot record");
	for (size_t i = 0; i < o->pids.count; i++)
		f->pids[i] = (pid_t)o->pids.data[i];
	f->options.pids = f->pids;
	err = -pthread_create(&f->thread, NULL, recorder_run, f);
	if (err)
		return error_set(e, err, "cannot start the recorder's thread");
	f->running = true;
	return recorder_await(f, e);
}

static int newest_set(struct top_feed *f, const char *path, struct error *e)
{
	char *copy = strdup(path);

	if (!copy)
		return error_set(e, ENOMEM, "cannot follow %s", f->dir);
	free(f->newest);
	f->newest = copy;
	return 0;
}

/* Puts all sealed chunks into the checkpoint: those that were shown, or are older than top. */
static int shown_absorb(struct top_feed *f, struct error *e)
{
	const struct recording_options later = {.after = f->newest};
	const char *const dirs[] = {f->dir};
	const struct recording_info *info;
	struct recording *recording;
	int err = recording_open(&recording, dirs, 1, &later, e);

	if (err)
		return err;
	info = recording_info(recording);
	for (size_t i = 0; i < info->chunk_count && !err; i++) {
		err = chunk_absorb(&f->checkpoint, &info->chunks[i], NULL, e);
		if (!err && f->own)
			chunk_remove(info->chunks[i].path, NULL);
	}
	if (!err)
		err = newest_set(f, info->chunks[info->chunk_count - 1].path, e);
	recording_close(recording);
	return err;
}

/* Absorbs the chunks that are older than top, so that what continues has names. */
static int past_absorb(struct top_feed *f, struct error *e)
{
	int err = recording_checkpoint_read(f->dir, NULL, &f->checkpoint, NULL);

	if (err && err != -ENOENT && err != -EBADMSG)
		return error_set(e, err, "cannot follow %s", f->dir);
	err = shown_absorb(f, e);
	if (err != -ENOENT) /* no chunk is sealed yet */
		return err;
	error_clear(e);
	return 0;
}

int top_feed_open(struct top_feed **feed, const struct top_options *o, struct error *e)
{
	struct top_feed *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return error_set(e, ENOMEM, "cannot record");
	*feed = f;
	f->notice = notice_stderr;
	sem_init(&f->begun, 0, 0);
	if (o->dir) {
		f->dir = strdup(o->dir);
		return f->dir ? past_absorb(f, e)
			      : error_set(e, ENOMEM, "cannot follow %s", o->dir);
	}
	err = directory_make(f, e);
	return err ? err : recorder_begin(f, o, e);
}

/* ---- chunks ---- */

/* Makes the recorder end its chunk. */
static int chunk_ask(struct top_feed *f, struct error *e)
{
	const struct control_request request = {.line = "rotate\n"};
	char answer[PATH_BYTES];

	return control_ask(f->dir, &request, answer, sizeof(answer), e);
}

/* The reason why there is no chunk: a failure of its own recorder comes first. */
static int feed_fail(struct top_feed *f, int err, struct error *e)
{
	recorder_end(f);
	if (!error_is_set(&f->error))
		return err;
	*e = f->error;
	return -e->err;
}

int top_feed_next(struct top_feed *f, struct source *out, struct error *e)
{
	const char *dirs[] = {f->dir};
	struct source_options from = {
		.dirs = dirs, .dirs_count = 1, .more = true, .notice = f->notice};
	int err;

	*out = (struct source){0};
	err = chunk_ask(f, e);
	if (!err) {
		from.after = f->newest;
		from.checkpoint = f->checkpoint.data ? &f->checkpoint : NULL;
		from.from.kind = from.checkpoint ? TIME_POINT_MONOTONIC : TIME_POINT_NONE;
		from.from.ns = f->checkpoint.end_ns;
		err = source_load(&from, out, e);
	}
	if (!err)
		err = shown_absorb(f, e);
	if (!err && out->view.clocks_count > 1) { /* one line, printed once */
		out->view.clocks += out->view.clocks_count - 1;
		out->view.clocks_count = 1;
	}
	return err ? feed_fail(f, err, e) : 0;
}

void top_feed_close(struct top_feed *f)
{
	if (!f)
		return;
	recorder_end(f);
	if (f->own)
		recording_remove(f->dir, owner_find(), NULL);
	recording_checkpoint_free(&f->checkpoint);
	sem_destroy(&f->begun);
	free(f->pids);
	free(f->newest);
	free(f->dir);
	free(f);
}
