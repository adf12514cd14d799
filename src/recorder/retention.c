/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/retention.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/units.h"
#include "chunk/checkpoint.h"
#include "recorder/privileges.h"
#include "recorder/retention_round.h"

#define ROUND_NS 1000000000ull
#define ROOM_NS 10000000000ull /* how long somebody waits for room on the disk at most */
#define HELPER_S 60	       /* how long a round of another process may take */
#define MAX_ERRNO 4096
#define BEHIND_CHUNKS 10 /* so many chunks to delete, larger than --keep: print that it is slow */

struct retainer {
	char dir[4096];
	const struct recording_hold *hold;
	u64 capabilities;
	int helper; /* a socket to who runs the rounds; < 0: `rounds` does */
	struct retention *rounds;
	pthread_t thread;
	pthread_mutex_t lock; /* guards the fields up to `error` */
	pthread_cond_t wake, done;
	bool ending;
	bool wanted; /* begin a round now */
	bool ended;  /* the thread runs no more rounds */
	u64 rounds_begun, rounds_done;
	u64 deleted;	    /* chunks so far */
	struct error error; /* of the last round */

	u64 keep_bytes;
	bool behind_reported;

	/* of the recorder's thread */
	struct error printed; /* the last one that was printed */
	u64 sealed;	      /* chunks, when the thread was last woken */
};

/* ---- the thread ---- */

static void behind_report(struct retainer *r, const struct recording_excess *x)
{
	char bytes[32];

	if (r->behind_reported || x->chunks < BEHIND_CHUNKS || x->bytes <= r->keep_bytes)
		return;
	r->behind_reported = true;
	fprintf(stderr,
		"fathom: %s: --keep cannot delete fast enough; %s are still to be deleted\n",
		r->dir, units_format_bytes(x->bytes, bytes));
}

/* Whoever ran the rounds is gone. From now on chunks are deleted by their names and sizes. */
static void helper_leave(struct retainer *r)
{
	fprintf(stderr, "fathom: the process that deletes old chunks ended: names of files and "
			"processes seen "
			"only in chunks that --keep deletes will be missing\n");
	close(r->helper);
	r->helper = -1;
}

/* False: it did not answer. What it says is not trusted. */
static bool helper_ask(struct retainer *r, struct retention_result *result)
{
	if (send(r->helper, "", 1, MSG_NOSIGNAL) != 1 ||
	    recv(r->helper, result, sizeof(*result), 0) != sizeof(*result))
		return false;
	result->text[sizeof(result->text) - 1] = '\0';
	result->err = result->err < 0 && result->err > -MAX_ERRNO ? result->err : 0;
	return true;
}

/* Chunks that existed before the first round do not mean that deleting is too slow. */
static void round_run(struct retainer *r, bool first)
{
	struct retention_result result;

	pthread_mutex_lock(&r->lock);
	r->rounds_begun++;
	pthread_mutex_unlock(&r->lock);
	if (r->helper >= 0 && !helper_ask(r, &result))
		helper_leave(r);
	if (r->helper < 0)
		retention_round(r->rounds, &result);
	if (!result.err && !first)
		behind_report(r, &result.excess);
	pthread_mutex_lock(&r->lock);
	r->error = (struct error){.err = -result.err};
	memcpy(r->error.text, result.text, sizeof(r->error.text));
	r->rounds_done = r->rounds_begun;
	r->deleted += result.deleted;
	pthread_cond_broadcast(&r->done);
	pthread_mutex_unlock(&r->lock);
}

/* Waits for the next round. False: end the thread. */
static bool round_wait(struct retainer *r)
{
	u64 until_ns = clock_now_ns() + ROUND_NS;
	bool go_on;

	pthread_mutex_lock(&r->lock);
	while (!r->ending && !r->wanted && condition_wait(&r->wake, &r->lock, until_ns))
		;
	go_on = !r->ending;
	r->wanted = false;
	pthread_mutex_unlock(&r->lock);
	return go_on;
}

static void *retainer_run(void *arg)
{
	struct retainer *r = arg;
	struct error e = {0};
	bool first = true;

	if (privileges_limit(r->capabilities, &e)) {
		pthread_mutex_lock(&r->lock);
		r->error = e;
		r->ended = true;
		pthread_cond_broadcast(&r->done);
		pthread_mutex_unlock(&r->lock);
		return NULL;
	}
	/*
	 * At normal priority: the thread does nothing while the limits are met, and beyond them
	 * the disk fills up while it waits for a CPU.
	 */
	if (r->helper < 0)
		retention_check(r->rounds);
	do {
		round_run(r, first);
		first = false;
	} while (round_wait(r));
	round_run(r, false);
	if (r->helper < 0)
		recording_checkpoint_release(r->hold);
	return NULL;
}

static int retainer_start(struct retainer *r)
{
	pthread_mutex_init(&r->lock, NULL);
	condition_init(&r->wake);
	condition_init(&r->done);
	return thread_start(&r->thread, retainer_run, r);
}

static void retainer_free(struct retainer *r)
{
	if (r->helper >= 0)
		close(r->helper);
	retention_close(r->rounds);
	free(r);
}

/* The descriptor of the helper is the caller's. */
static int helper_take(struct retainer *r, int fd, struct error *e)
{
	const struct timeval patience = {.tv_sec = HELPER_S};

	r->helper = dup(fd);
	if (r->helper < 0)
		return error_set(e, errno, "cannot apply --keep to %s", r->dir);
	setsockopt(r->helper, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return 0;
}

int retainer_open(struct retainer **retainer, const struct retainer_options *o, struct error *e)
{
	struct retainer *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return error_set(e, ENOMEM, "cannot apply --keep to %s", o->dir);
	strncpy(r->dir, o->dir, sizeof(r->dir) - 1);
	r->hold = o->hold;
	r->capabilities = o->capabilities;
	r->keep_bytes = o->keep.bytes;
	r->helper = -1;
	err = o->helper > 0 ? helper_take(r, o->helper, e) : 0;
	err = err ? err : retention_open(&r->rounds, o, r->helper >= 0, e);
	if (!err && (err = retainer_start(r)))
		error_set(e, err, "cannot start the thread that deletes old chunks");
	if (err) {
		retainer_free(r);
		return err;
	}
	*retainer = r;
	return 0;
}

/* 0, or the error of the last round. Never waits. */
static int retainer_check(struct retainer *r, struct error *e)
{
	int err;

	if (pthread_mutex_trylock(&r->lock))
		return 0;
	err = -r->error.err;
	if (err)
		*e = r->error;
	pthread_mutex_unlock(&r->lock);
	return err;
}

static bool retainer_wake(struct retainer *r)
{
	if (pthread_mutex_trylock(&r->lock))
		return false;
	r->wanted = true;
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
	return true;
}

void retainer_follow(struct retainer *r, u64 sealed)
{
	if (sealed != r->sealed && retainer_wake(r))
		r->sealed = sealed;
}

void retainer_report(struct retainer *r)
{
	struct error e = {0};

	if (!retainer_check(r, &e))
		return;
	if (strcmp(e.text, r->printed.text) != 0)
		fprintf(stderr, "fathom: --keep cannot delete old chunks: %s\n", e.text);
	r->printed = e;
}

bool retainer_make_room(struct retainer *r)
{
	u64 until_ns = clock_now_ns() + ROOM_NS, before, round;

	pthread_mutex_lock(&r->lock);
	before = r->deleted;
	round = r->rounds_begun + 1; /* one that is under way may have looked before */
	r->wanted = true;
	pthread_cond_signal(&r->wake);
	while (r->rounds_done < round && !r->ended && condition_wait(&r->done, &r->lock, until_ns))
		;
	before = r->deleted - before;
	pthread_mutex_unlock(&r->lock);
	return before > 0;
}

void retainer_close(struct retainer *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->ending = true;
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	pthread_cond_destroy(&r->wake);
	pthread_cond_destroy(&r->done);
	pthread_mutex_destroy(&r->lock);
	retainer_free(r);
}
