/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/retainer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "chunk/base.h"
#include "chunk/chunk.h"
#include "cli/owner.h"
#include "map/base.h"
#include "map/chunk_map.h"

#define ROUND_NS 1000000000ull
#define NICE 10 /* whoever is traced goes first */

struct retainer {
	char dir[4096];
	struct recording_retainer *chunks;
	pthread_t thread;
	pthread_mutex_t lock; /* guards `ending` and `error` */
	pthread_cond_t wake;
	bool ending;
	struct error error; /* of the last round */

	/* the thread's: what stands for the chunks that are gone */
	struct partial *base; /* NULL: nothing does yet */
	char boot_id[CHUNK_BOOT_BYTES];
	u64 end_ns;
	bool unsaved; /* it is not on the disk, which is full: chunks go first */
};

static const struct partial_options state_only = {.state_only = true};

/* ---- the base ---- */

/* Goes on with what an earlier recorder left; a base that cannot be read is begun anew. */
static int base_load(struct retainer *r, struct error *e)
{
	struct recording_base file = {0};
	int err = recording_base_read(r->dir, &file, e);

	if (err == -ENOENT || err == -EBADMSG) {
		error_clear(e);
		return 0;
	}
	if (err)
		return err;
	err = base_read(&r->base, file.data, file.bytes, &state_only);
	if (!err) {
		memcpy(r->boot_id, file.boot_id, sizeof(r->boot_id));
		r->end_ns = file.end_ns;
	}
	recording_base_free(&file);
	return err == -ENOMEM ? error_set(e, err, "cannot read the base of %s", r->dir) : 0;
}

/* Leaves what still holds, in memory and on the disk. */
static int base_store(struct retainer *r, struct error *e)
{
	struct recording_base file = {.end_ns = r->end_ns};
	struct bytes bytes = {0};
	int err = base_write(r->base, &bytes);

	partial_free(r->base);
	r->base = NULL;
	if (!err)
		err = base_read(&r->base, bytes.data, bytes.count, &state_only);
	if (err) {
		bytes_free(&bytes);
		return error_set(e, err, "cannot keep what %s needs of its oldest chunk", r->dir);
	}
	memcpy(file.boot_id, r->boot_id, sizeof(file.boot_id));
	file.data = bytes.data;
	file.bytes = bytes.count;
	err = recording_base_write(r->dir, owner_find(), &file, e);
	bytes_free(&bytes);
	r->unsaved = err == -ENOSPC || err == -EDQUOT;
	if (!r->unsaved)
		return err;
	error_clear(e);
	return 0;
}

/* Before a chunk goes: what later ones need of it is merged into the base. */
static int chunk_absorb(void *arg, const struct chunk_info *info, struct error *e)
{
	struct retainer *r = arg;
	struct chunk_task task = {.info = info, .options = state_only};
	struct error unreadable = {0};
	struct partial *p;
	int err;

	if (r->base && strcmp(r->boot_id, info->boot_id) != 0) { /* nothing is joined over a boot */
		partial_free(r->base);
		r->base = NULL;
	}
	if (r->base && info->end_ns <= r->end_ns)
		return 0; /* a crash came between its merging and its deletion */
	if (!r->base)
		r->base = partial_new(&state_only);
	else
		task.covered_ns = r->end_ns;
	err = r->base ? chunk_map(&p, &task, NULL, &unreadable) : -ENOMEM;
	if (err && err != -ENOMEM)
		return 0; /* it has nothing to tell; the time it covered becomes a gap */
	err = err ? err : partial_merge(r->base, p);
	if (err) {
		partial_free(r->base);
		r->base = NULL;
		return error_set(e, err, "cannot map %s", info->path);
	}
	memcpy(r->boot_id, info->boot_id, sizeof(r->boot_id));
	r->end_ns = info->end_ns;
	return base_store(r, e);
}

/* ---- the thread ---- */

static void round_run(struct retainer *r)
{
	struct error e = {0};

	recording_retain(r->chunks, clock_read_ns(CLOCK_REALTIME), &e);
	if (r->unsaved && r->base)
		base_store(r, error_is_set(&e) ? NULL : &e);
	pthread_mutex_lock(&r->lock);
	r->error = e;
	pthread_mutex_unlock(&r->lock);
}

/* False when it is to end. */
static bool round_wait(struct retainer *r)
{
	struct timespec until;
	bool go_on;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ROUND_NS / 1000000000u;
	pthread_mutex_lock(&r->lock);
	while (!r->ending)
		if (pthread_cond_timedwait(&r->wake, &r->lock, &until) == ETIMEDOUT)
			break;
	go_on = !r->ending;
	pthread_mutex_unlock(&r->lock);
	return go_on;
}

static void *retainer_run(void *arg)
{
	struct retainer *r = arg;

	/* on Linux this is the niceness of the thread alone */
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
	do
		round_run(r);
	while (round_wait(r));
	round_run(r);
	return NULL;
}

/* Signals are for the caller's threads. */
static int thread_start(struct retainer *r)
{
	pthread_condattr_t clock;
	sigset_t all, old;
	int err;

	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&r->wake, &clock);
	pthread_condattr_destroy(&clock);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	err = pthread_create(&r->thread, NULL, retainer_run, r);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

static void retainer_free(struct retainer *r)
{
	recording_retainer_close(r->chunks);
	partial_free(r->base);
	free(r);
}

int retainer_open(struct retainer **retainer, const char *dir, const struct option_limits *keep,
		  struct error *e)
{
	struct retainer *r = calloc(1, sizeof(*r));
	struct recording_keep limits = {
		.age_ns = keep->time_ns, .bytes = keep->bytes, .before = chunk_absorb, .arg = r};
	int err;

	if (!r)
		return error_set(e, ENOMEM, "cannot look after %s", dir);
	strncpy(r->dir, dir, sizeof(r->dir) - 1);
	err = recording_retainer_open(&r->chunks, dir, &limits, e);
	if (!err)
		err = base_load(r, e);
	if (!err && (err = thread_start(r)))
		error_set(e, err, "cannot start the thread that deletes old chunks");
	if (err) {
		retainer_free(r);
		return err;
	}
	*retainer = r;
	return 0;
}

int retainer_check(struct retainer *r, struct error *e)
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
	pthread_mutex_destroy(&r->lock);
	retainer_free(r);
}
