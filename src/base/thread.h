/* SPDX-License-Identifier: Apache-2.0 */
/* Starting threads, and waiting for them. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * Starts a thread in which all signals are blocked, so that the caller's threads receive them. 0,
 * or a negative errno with *thread unchanged. The caller joins or detaches the thread. Thread-safe.
 */
static inline int thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	pthread_t started;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&started, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		*thread = started;
	return -err;
}

/* Makes a condition for condition_wait(). */
static inline void condition_init(pthread_cond_t *condition)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

/*
 * Waits with the lock until the condition is signalled, or for no reason, but not beyond a time of
 * CLOCK_MONOTONIC. False: that is over.
 */
static inline bool condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock,
				  uint64_t until_ns)
{
	const struct timespec until = {(time_t)(until_ns / 1000000000u),
				       (long)(until_ns % 1000000000u)};

	return pthread_cond_timedwait(condition, lock, &until) == 0;
}

#endif
