/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/retention.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/host_clock.h"
#include "base/thread.h"
#include "base/units.h"
#include "chunk/checkpoint.h"
#include "chunk/chunk.h"
#include "map/checkpoint/checkpoint.h"
#include "map/chunk_map.h"
#include "recorder/owner.h"
#include "recorder/privileges.h"

#define ROUND_NS 1000000000ull
#define ROOM_S 10	 /* how long somebody waits for room on the disk at most */
#define BEHIND_CHUNKS 10 /* so many chunks to delete, larger than --keep: print that it is slow */

struct retainer {
	char dir[4096];
	const struct recording_hold *hold;
	u64 capabilities;
	struct recording_retainer *chunks;
	pthread_t thread;
	pthread_mutex_t lock; /* guards the fields up to `error` */
	pthread_cond_t wake, done;
	bool ending;
	bool wanted; /* begin a round now */
	bool ended;  /* the thread runs no more rounds */
	u64 rounds_begun, rounds_done;
	u64 deleted;	    /* chunks so far */
	struct error error; /* of the last round */

	struct recording_checkpoint
		checkpoint; /* used by the thread only: the state of the deleted chunks */
	bool used;	    /* this round has mapped a chunk, which takes memory */
	u64 keep_bytes;
	bool behind_reported;

	/* of the recorder's thread */
	struct error printed; /* the last one that was printed */
	u64 sealed;	      /* chunks, when the thread was last woken */
};

/* ---- the checkpoint ---- */

static void checkpoint_forgotten(const char *why)
{
	fprintf(stderr,
		"fathom: %s: names of files and processes seen only in chunks that --keep deleted "
		"will be missing\n",
		why);
}

/* Loads the checkpoint of an earlier recorder. A damaged or too large one is replaced. */
static int checkpoint_load(struct retainer *r, struct error *e)
{
	int err = recording_checkpoint_read(r->dir, r->hold, &r->checkpoint, e);

	if (err == -EBADMSG || err == -EFBIG)
		checkpoint_forgotten(e->text);
	else if (err != -ENOENT)
		return err;
	error_clear(e);
	return 0;
}

/* Discards a checkpoint that cannot be read. Runs on the thread with few privileges. */
static void checkpoint_check(struct retainer *r)
{
	const struct partial_options options = {.state_only = true};
	struct partial *state = NULL;
	struct error e = {0};
	int err = r->checkpoint.data ? checkpoint_read(&state, r->checkpoint.data,
						       r->checkpoint.bytes, &options)
				     : 0;

	partial_free(state);
	if (err != -EBADMSG && err != -EPROTO)
		return;
	error_say(&e, err, "the checkpoint of %s %s", r->dir,
		  err == -EPROTO ? "was written by another version of fathom" : "is damaged");
	checkpoint_forgotten(e.text);
	recording_checkpoint_free(&r->checkpoint);
}

/* Before chunks are deleted: writes the checkpoint, on a full disk into the reserved space. */
static int checkpoint_store(struct retainer *r, struct error *e)
{
	int err = recording_checkpoint_write(r->dir, r->hold, owner_find(), &r->checkpoint, e);

	if (!err) /* at once, in the space of the old checkpoint, before others use it */
		recording_checkpoint_reserve(r->hold, &r->checkpoint);
	return err;
}

/* Before a chunk is deleted: merges the state that later chunks need into the checkpoint. */
static int chunk_goes(void *arg, struct chunk_reader *reader, struct error *e)
{
	struct retainer *r = arg;
	int err = chunk_absorb(&r->checkpoint, chunk_reader_info(reader), reader, e);

	r->used = true;
	return err;
}

/* Writes the checkpoint once for several chunks: the disk may take longer than reading a chunk. */
static int chunks_go(void *arg, struct error *e)
{
	struct retainer *r = arg;

	return r->checkpoint.data ? checkpoint_store(r, e) : 0;
}

/* ---- the thread ---- */

/* Mapping some chunks, as those of a crash, takes much memory. It is returned after the round. */
static void memory_give_back(struct retainer *r)
{
	if (r->used)
		malloc_trim(0);
	r->used = false;
}

static void behind_report(struct retainer *r)
{
	struct recording_excess x = recording_retainer_excess(r->chunks);
	char bytes[32];

	if (r->behind_reported || x.chunks < BEHIND_CHUNKS || x.bytes <= r->keep_bytes)
		return;
	r->behind_reported = true;
	fprintf(stderr,
		"fathom: %s: --keep cannot delete fast enough; %s are still to be deleted\n",
		r->dir, units_format_bytes(x.bytes, bytes));
}

/* Chunks that existed before the first round do not mean that deleting is too slow. */
static void round_run(struct retainer *r, bool first)
{
	struct error e = {0};
	int err;

	pthread_mutex_lock(&r->lock);
	r->rounds_begun++;
	pthread_mutex_unlock(&r->lock);
	recording_checkpoint_reserve(r->hold, &r->checkpoint);
	err = recording_retain(r->chunks, clock_read_ns(CLOCK_REALTIME), host_clock_now_ns(), &e);
	memory_give_back(r);
	if (err >= 0 && !first)
		behind_report(r);
	pthread_mutex_lock(&r->lock);
	r->error = e;
	r->rounds_done = r->rounds_begun;
	r->deleted += recording_retainer_gone(r->chunks); /* whatever failed behind it */
	pthread_cond_broadcast(&r->done);
	pthread_mutex_unlock(&r->lock);
}

/* Waits for the next round. False: end the thread. */
static bool round_wait(struct retainer *r)
{
	struct timespec until;
	bool go_on;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ROUND_NS / 1000000000u;
	pthread_mutex_lock(&r->lock);
	while (!r->ending && !r->wanted)
		if (pthread_cond_timedwait(&r->wake, &r->lock, &until) == ETIMEDOUT)
			break;
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
	checkpoint_check(r);
	do {
		round_run(r, first);
		first = false;
	} while (round_wait(r));
	round_run(r, false);
	recording_checkpoint_release(r->hold);
	return NULL;
}

static int retainer_start(struct retainer *r)
{
	pthread_condattr_t clock;

	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&r->wake, &clock);
	pthread_cond_init(&r->done, &clock);
	pthread_condattr_destroy(&clock);
	return thread_start(&r->thread, retainer_run, r);
}

static void retainer_free(struct retainer *r)
{
	recording_retainer_close(r->chunks);
	recording_checkpoint_free(&r->checkpoint);
	free(r);
}

int retainer_open(struct retainer **retainer, const struct retainer_options *o, struct error *e)
{
	struct retainer *r = calloc(1, sizeof(*r));
	struct recording_keep limits = {.age_ns = o->keep.time_ns,
					.bytes = o->keep.bytes,
					.before = chunk_goes,
					.together = chunks_go,
					.arg = r,
					.hold = o->hold,
					.host = o->host};
	int err;

	if (!r)
		return error_set(e, ENOMEM, "cannot apply --keep to %s", o->dir);
	strncpy(r->dir, o->dir, sizeof(r->dir) - 1);
	r->hold = o->hold;
	r->capabilities = o->capabilities;
	r->keep_bytes = o->keep.bytes;
	err = recording_retainer_open(&r->chunks, o->dir, &limits, e);
	if (!err)
		err = checkpoint_load(r, e);
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
	struct timespec until;
	u64 before, round;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ROOM_S;
	pthread_mutex_lock(&r->lock);
	before = r->deleted;
	round = r->rounds_begun + 1; /* one that is under way may have looked before */
	r->wanted = true;
	pthread_cond_signal(&r->wake);
	while (r->rounds_done < round && !r->ended)
		if (pthread_cond_timedwait(&r->done, &r->lock, &until) == ETIMEDOUT)
			break;
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
