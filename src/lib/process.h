/* SPDX-License-Identifier: Apache-2.0 */
/* How the process, its threads and forks are set up. Internal to src/lib. */
#ifndef LIB_PROCESS_H
#define LIB_PROCESS_H

#include <stdbool.h>

/*
 * What is done once, before anything else: by the constructor, unless a constructor of the
 * program, which may run before, has called us. False: another call is at it, and it is not
 * known yet what the environment asks for.
 */
bool fathom_process_begin(void);

/* Makes the ring of this process if it has none. False: it has none now. */
bool fathom_process_enter(void);

/* Sets the sampling as fathom_sampling_set() does, in the middle of fathom_process_begin(). */
int fathom_sampling_apply(const char *policy);

/* In a forked child: its thread has no active span, and starts anew. */
void fathom_thread_forked(void);

/* The calling thread has nothing of ours any more. */
void fathom_thread_leave(void);

/* The key whose destructor ends a thread. */
void fathom_thread_key_create(void);
void fathom_thread_key_delete(void);

#endif
