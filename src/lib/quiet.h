/* SPDX-License-Identifier: Apache-2.0 */
/* What must not be left half done by the thread that is at it. Internal to src/lib. */
#ifndef LIB_QUIET_H
#define LIB_QUIET_H

#include <signal.h>

struct quiet {
	sigset_t signals;
	int cancel;
};

/*
 * Until the end no handler of the program runs on this thread, which might call us or leave with
 * longjmp(), and it is not cancelled in one of our syscalls: others would wait for it for ever.
 * Signals that the thread itself raises (SIGSEGV, SIGTRAP) come as before. A few syscalls: for
 * what is done once.
 */
void fathom_quiet_begin(struct quiet *q);
void fathom_quiet_end(const struct quiet *q);

/*
 * For another thread, which is done after a few syscalls: `tries` is how often we waited before. It
 * may need our CPU, and on a busy host more than a turn of it. After QUIET_TRIES, some tenths
 * of a second or, on a busy host, seconds, it will not be done, and may be our own thread, below a
 * handler.
 */
#define QUIET_TRIES 1000
void fathom_quiet_wait(int tries);

#endif
