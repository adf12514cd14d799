/* SPDX-License-Identifier: Apache-2.0 */
/* Starting threads. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

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

#endif
