/* SPDX-License-Identifier: Apache-2.0 */
/* The first call of a thread: sets up the process, if that was not done, and then the thread. */
#include <errno.h>

#include "lib/process.h"
#include "lib/quiet.h"
#include "lib/thread.h"

struct fathom_thread *fathom_thread_enter(void)
{
	int err = errno;
	struct quiet quiet;

	if (process_is_leaving())
		return NULL;
	fathom_quiet_begin(&quiet);
	/*
	 * The thread counts itself before it asks whether the library is being unloaded: see
	 * process_unload().
	 */
	__atomic_fetch_add(&fathom_process.threads, 1, __ATOMIC_SEQ_CST);
	if (!fathom_process_enter() || !fathom_thread_start())
		__atomic_fetch_sub(&fathom_process.threads, 1, __ATOMIC_SEQ_CST);
	fathom_quiet_end(&quiet);
	errno = err;
	return thread_is_set_up() ? fathom_self : NULL;
}
