/* SPDX-License-Identifier: Apache-2.0 */
/* Sections that a thread must not leave in the middle. Internal to src/lib. */
#ifndef LIB_QUIET_H
#define LIB_QUIET_H

#include <signal.h>

struct quiet {
	sigset_t signals;
	int cancel;
};

/*
 * Between the two calls no signal handler of the program runs on this thread, since it might call
 * us or leave with longjmp(), and the thread is not cancelled. Otherwise other threads would wait
 * for it for ever. Signals that the thread raises itself (SIGSEGV, SIGTRAP) come as before. This
 * takes a few system calls, so it is for work that is done once.
 */
void fathom_quiet_begin(struct quiet *q);
void fathom_quiet_end(const struct quiet *q);

/*
 * Waits a little for another thread, which is done after a few system calls. `tries`: how often the
 * caller waited before. The other thread may need our CPU, on a busy host for more than one turn.
 * After QUIET_TRIES, which is some tenths of a second, or seconds on a busy host, waiting is in
 * vain: the section may belong to our own thread, below a signal handler.
 */
#define QUIET_TRIES 1000
void fathom_quiet_wait(int tries);

#endif
