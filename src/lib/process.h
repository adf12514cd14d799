/* SPDX-License-Identifier: Apache-2.0 */
/* How the process, its threads and forks are set up. Internal to src/lib. */
#ifndef LIB_PROCESS_H
#define LIB_PROCESS_H

#include <stdbool.h>

/* Makes the ring of this process if it has none. False: it has none now. */
bool fathom_process_enter(void);

/* In a forked child: its thread has no active span, and starts anew. */
void fathom_thread_forked(void);

/* The calling thread has nothing of ours any more. */
void fathom_thread_leave(void);

/* The key whose destructor ends a thread. */
void fathom_thread_key_create(void);
void fathom_thread_key_delete(void);

#endif
