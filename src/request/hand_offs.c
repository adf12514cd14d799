/* SPDX-License-Identifier: Apache-2.0 */
#include "request/hand_offs.h"

#include "base/vec.h"

#define HAND_OFF_PROCESS_MOST 0xfffffffu /* the bits of hand_off.process */

static u8 kind_of_file(u16 kind)
{
	switch (kind) {
	case FILE_KIND_eventfd:
		return HAND_OFF_EVENTFD;
	case FILE_KIND_pipe:
	case FILE_KIND_fifo:
		return HAND_OFF_PIPE;
	case FILE_KIND_unix:
		return HAND_OFF_UNIX;
	default:
		return HAND_OFF_OTHER;
	}
}

/* The word of the futex on which a thread slept, as the waking or its call tells it; 0: none. */
static u64 futex_word(const struct kspan *k)
{
	const struct life_wait wait = {.nr = k->nr,
				       .mode = k->mode,
				       .state = k->state,
				       .arg0 = k->args[0],
				       .wake = k->wake};

	return life_wait_word(&wait);
}

/*
 * On what the thread slept. With several files, as in an epoll, it is the one that the waker made
 * ready.
 */
static void word_find(const struct kspan *k, struct hand_off *h)
{
	u64 word = futex_word(k);

	if (word) {
		h->kind = HAND_OFF_FUTEX;
		h->word = (u32)word;
		return;
	}
	h->kind = kind_of_file(k->wake.file.kind);
	h->word = (u32)k->wake.file.key;
	if (h->kind != HAND_OFF_OTHER)
		return;
	h->kind = kind_of_file(k->file.kind);
	h->word = h->kind == HAND_OFF_OTHER ? 0 : (u32)k->file.key;
}

/* Whether another thread ended the sleep, perhaps one of the same process. */
static bool is_wake(const struct kspan *k)
{
	return k->kind == KSPAN_WAIT && k->wake.has && k->wake.context == WAKE_task &&
	       k->wake.waker_tid && k->wake.waker_tid != k->tid;
}

int hand_offs_find(struct hand_off_list *out, struct processes *processes, u32 host)
{
	const struct partial *p = processes->hosts[host].p;
	size_t count = kspans_count(&p->kspans);
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		struct hand_off h;
		struct kspan k;
		u32 process;

		kspans_get(&p->kspans, i, &k);
		if (!is_wake(&k))
			continue;
		process = process_of_thread(processes, host, k.tid, k.begin_ns, false);
		if (!process || process > HAND_OFF_PROCESS_MOST ||
		    process != process_of_thread(processes, host, k.wake.waker_tid, k.wake.time_ns,
						 false))
			continue;
		h = (struct hand_off){.time_ns = k.wake.time_ns,
				      .waker = k.wake.waker_tid,
				      .woken = k.tid,
				      .process = process & HAND_OFF_PROCESS_MOST};
		word_find(&k, &h);
		err = vec_push(out, h);
	}
	return err;
}
