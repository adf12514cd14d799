/* SPDX-License-Identifier: Apache-2.0 */
/* The level and the sampling of the process, as the program sets them. */
#include <unistd.h>

#include "lib/process.h"
#include "lib/ring_file.h"
#include "lib/thread.h"

void fathom_level_set(int level)
{
	u64 ready = (u64)getpid() << 2 | PROCESS_READY;

	if (level < FATHOM_EMERGENCY || level > FATHOM_DEBUG)
		return;
	fathom_process_begin(); /* first take the setting of the environment */
	__atomic_store_n(&fathom_process.level, (u32)level, __ATOMIC_RELAXED);
	__atomic_fetch_add(&fathom_process.threads, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&fathom_process.disabled, __ATOMIC_SEQ_CST) &&
	    __atomic_load_n(&fathom_process.own->state, __ATOMIC_ACQUIRE) == ready &&
	    fathom_ring_is_shared())
		__atomic_store_n(&fathom_process.ring->level, (u32)level, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&fathom_process.threads, 1, __ATOMIC_SEQ_CST);
}

int fathom_level_get(void)
{
	if (unlikely(__atomic_load_n(&fathom_process.begun, __ATOMIC_ACQUIRE) != PROCESS_BEGUN))
		fathom_process_begin();
	return (int)__atomic_load_n(&fathom_process.level, __ATOMIC_RELAXED);
}

int fathom_sampling_set(const char *policy)
{
	fathom_process_begin(); /* first take the setting of the environment */
	return fathom_sampling_apply(policy);
}
