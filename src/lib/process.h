/* SPDX-License-Identifier: Apache-2.0 */
/* How the process, its threads and forks are set up. Internal to src/lib. */
#ifndef LIB_PROCESS_H
#define LIB_PROCESS_H

#include <stdbool.h>

#include "lib/thread.h"

/* The target of fathom_process.own if the kernel has no pages that are wiped at a fork. */
extern struct process_own fathom_own_kept;

/*
 * Sets the process up once, before anything else: called by the library's constructor, or by an
 * earlier call from a constructor of the program. False: another thread is at it, and the settings
 * of the environment are not known yet.
 */
bool fathom_process_begin(void);

/* Makes the ring of this process if it has none. False: it has none now. */
bool fathom_process_enter(void);

/* Does the work of fathom_sampling_set(), which cannot be called within fathom_process_begin(). */
int fathom_sampling_apply(const char *policy);

/*
 * Sets up the state of the calling thread, or sets it up again after a fork wiped it. The process
 * has a ring. False if there is no memory, or if a handler of a signal that the thread raised
 * itself has set it up meanwhile.
 */
bool fathom_thread_start(void);

/* In a forked child: its thread has no active span, and starts anew. */
void fathom_thread_forked(void);

/* Frees the state of the calling thread. */
void fathom_thread_leave(void);

/* Creates and deletes the key whose destructor runs at the end of each thread. */
void fathom_thread_key_create(void);
void fathom_thread_key_delete(void);

#endif
