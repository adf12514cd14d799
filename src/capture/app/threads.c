// SPDX-License-Identifier: Apache-2.0
#include "capture/app/threads.h"

void app_threads_note(struct app_threads *threads, const struct app_thread *thread)
{
	threads->last[threads->next++ % APP_THREADS_LAST] = *thread;
}

void app_threads_tell(const struct app_threads *threads, u64 since_ns, struct app_process *process)
{
	for (u32 i = 0; i < APP_THREADS_LAST; i++) {
		const struct app_thread *thread =
			&threads->last[(threads->next + i) % APP_THREADS_LAST];

		/* an older one may belong to an earlier process of that pid */
		if (thread->pid == (u32)process->pid && thread->made_ns >= since_ns)
			app_process_learn(process, thread->inner, thread->tid, thread->made_ns);
	}
}
