/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/quiet.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

void fathom_quiet_begin(struct quiet *q)
{
	static const int raised[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
	sigset_t all;

	sigfillset(&all);
	for (size_t i = 0; i < sizeof(raised) / sizeof(raised[0]); i++)
		sigdelset(&all, raised[i]);
	pthread_sigmask(SIG_BLOCK, &all, &q->signals);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &q->cancel);
}

void fathom_quiet_end(const struct quiet *q)
{
	pthread_setcancelstate(q->cancel, NULL);
	pthread_sigmask(SIG_SETMASK, &q->signals, NULL);
}

void fathom_quiet_wait(int tries)
{
	static const struct timespec pause = {0, 100000};

	if (tries < 16)
		sched_yield();
	else
		nanosleep(&pause, NULL);
}
