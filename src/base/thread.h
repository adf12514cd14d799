/* SPDX-License-Identifier: Apache-2.0 */
/* Threads beside the caller's. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/*
 * Starts a thread that takes no signals: these are for those of the caller. 0 or a negative errno,
 * *thread untouched. The caller joins or detaches it. Any thread may call it.
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
