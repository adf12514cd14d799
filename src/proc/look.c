// SPDX-License-Identifier: Apache-2.0
#include "proc/look.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/map.h"

#define DEPTH_MAX 2
#define ANSWERED_MAX 4096 /* devices; when there are more, all are forgotten */

struct foreign_looks {
	pthread_mutex_t mutex; /* guards what follows */
	unsigned int users;    /* the owner and each stuck thread: the last one frees it */
	u64 ticket;	       /* number of the thread that has the work */
	u64 what[DEPTH_MAX];   /* objects of its nested looks */
	unsigned int depth;
	u64 since_ns; /* begin of the outermost look, 0: there is none; read without the mutex */
	u64 returned; /* read without the mutex */
	unsigned int stuck;
	struct {
		u64 ticket, what;
	} at[FOREIGN_STUCK_MAX]; /* where threads are stuck */
	struct map answered;	 /* devices that have answered a look -> any pointer */
};

static __thread struct {
	u64 ticket;
	bool is_taken;
} own;

struct foreign_looks *foreign_looks_new(void)
{
	struct foreign_looks *looks = calloc(1, sizeof(*looks));

	if (!looks)
		return NULL;
	pthread_mutex_init(&looks->mutex, NULL);
	looks->users = 1;
	return looks;
}

/* Ends one use, and frees all after the last. With the mutex, which it releases. */
static void user_leave(struct foreign_looks *looks)
{
	bool last = --looks->users == 0;

	pthread_mutex_unlock(&looks->mutex);
	if (!last)
		return;
	pthread_mutex_destroy(&looks->mutex);
	map_free(&looks->answered);
	free(looks);
}

void foreign_looks_free(struct foreign_looks *looks)
{
	if (!looks)
		return;
	pthread_mutex_lock(&looks->mutex);
	user_leave(looks);
}

void foreign_looks_join(struct foreign_looks *looks)
{
	pthread_mutex_lock(&looks->mutex);
	own.ticket = looks->ticket;
	own.is_taken = false;
	pthread_mutex_unlock(&looks->mutex);
}

bool foreign_work_is_taken(void)
{
	return own.is_taken;
}

/* A stuck thread has returned. With the mutex, which it releases. */
static int taken_leave(struct foreign_looks *looks)
{
	for (unsigned int i = 0; i < looks->stuck; i++) {
		if (looks->at[i].ticket != own.ticket)
			continue;
		looks->at[i] = looks->at[--looks->stuck];
		break;
	}
	__atomic_store_n(&looks->returned, looks->returned + 1, __ATOMIC_RELEASE);
	own.is_taken = true;
	user_leave(looks);
	return -ECANCELED;
}

static bool is_device(u64 what)
{
	return !(what >> 63);
}

static bool is_skipped(const struct foreign_looks *looks, u64 what)
{
	if (looks->stuck == FOREIGN_STUCK_MAX)
		return true;
	for (unsigned int i = 0; i < looks->stuck; i++) {
		if (looks->at[i].what == what)
			return true;
	}
	return looks->stuck >= FOREIGN_STUCK_SOME && is_device(what) &&
	       !map_get(&looks->answered, what);
}

static void since_set(struct foreign_looks *looks, u64 ns)
{
	__atomic_store_n(&looks->since_ns, ns, __ATOMIC_RELEASE);
}

/*
 * Takes the mutex if the calling thread has the work: 1. 0 if nobody supervises; -ECANCELED if the
 * work was taken away.
 */
static int own_lock(struct foreign_looks *looks)
{
	if (own.is_taken)
		return -ECANCELED;
	if (!looks)
		return 0;
	pthread_mutex_lock(&looks->mutex);
	return looks->ticket == own.ticket ? 1 : taken_leave(looks);
}

int foreign_look_begin(struct foreign_looks *looks, u64 what)
{
	int err = own_lock(looks);

	if (err != 1)
		return err;
	err = 0;
	if (looks->depth == DEPTH_MAX || is_skipped(looks, what)) {
		err = -EBUSY;
	} else {
		looks->what[looks->depth++] = what;
		since_set(looks, clock_now_ns());
	}
	pthread_mutex_unlock(&looks->mutex);
	return err;
}

static void answer_note(struct foreign_looks *looks, u64 what)
{
	if (!is_device(what) || map_get(&looks->answered, what))
		return;
	if (looks->answered.count >= ANSWERED_MAX)
		map_free(&looks->answered);
	(void)map_put(&looks->answered, what, looks); /* a failure is made up for later */
}

int foreign_look_end(struct foreign_looks *looks)
{
	int err = own_lock(looks);

	if (err != 1)
		return err;
	answer_note(looks, looks->what[--looks->depth]);
	since_set(looks, looks->depth ? clock_now_ns() : 0);
	pthread_mutex_unlock(&looks->mutex);
	return 0;
}

bool foreign_looks_take(struct foreign_looks *looks)
{
	u64 since_ns = __atomic_load_n(&looks->since_ns, __ATOMIC_ACQUIRE);
	bool taken = false;

	if (!since_ns || clock_now_ns() < since_ns + FOREIGN_DEADLINE_NS)
		return false;
	pthread_mutex_lock(&looks->mutex);
	if (looks->since_ns == since_ns && looks->stuck < FOREIGN_STUCK_MAX) {
		looks->at[looks->stuck].ticket = looks->ticket++;
		looks->at[looks->stuck++].what = looks->what[looks->depth - 1];
		looks->users++;
		looks->depth = 0;
		since_set(looks, 0);
		taken = true;
	}
	pthread_mutex_unlock(&looks->mutex);
	return taken;
}

u64 foreign_looks_returned(struct foreign_looks *looks)
{
	return __atomic_load_n(&looks->returned, __ATOMIC_ACQUIRE);
}
