/* SPDX-License-Identifier: Apache-2.0 */
#include "request/hand_offs.h"

#include <sys/socket.h>

#include "base/map.h"
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

/* ---- told by bytes ---- */

#define SEVERAL ((void *)UINTPTR_MAX) /* threads that received */

struct telling {
	struct hand_off_list *out;
	struct processes *processes;
	u32 host;
	struct map peers;   /* Unix sockets of which the other end is known -> its key */
	struct map readers; /* of these: key -> the thread that received, or SEVERAL */
};

static const struct partial *partial_of(const struct telling *t)
{
	return t->processes->hosts[t->host].p;
}

static int peers_find(struct telling *t)
{
	const struct facts *facts = &partial_of(t)->facts;
	int err = 0;

	for (size_t i = 0; i < facts->sockets.count && !err; i++) {
		const struct record_socket *r = &facts->sockets.data[i].socket;

		if (r->family != AF_UNIX || !r->peer || !r->file.key)
			continue;
		err = map_put(&t->peers, r->file.key, (void *)(uintptr_t)r->peer);
		if (!err && !map_get(&t->peers, r->peer))
			err = map_put(&t->peers, r->peer, (void *)(uintptr_t)r->file.key);
	}
	return err;
}

static int readers_find(struct telling *t)
{
	const struct thread_facts *all = &partial_of(t)->facts.bytes;
	struct thread_place place = {0};
	const struct fact_bytes *b;
	int err = 0;

	while (!err && (b = thread_facts_next(all, sizeof(*b), &place))) {
		void *tid = (void *)(uintptr_t)b->tid, *was;

		if (b->direction != BYTES_RECEIVED || !b->length || !b->tid ||
		    !map_get(&t->peers, b->key))
			continue;
		was = map_get(&t->readers, b->key);
		if (was != tid)
			err = map_put(&t->readers, b->key, was ? SEVERAL : tid);
	}
	return err;
}

/* What was sent, by a thread of the process to whom it was sent. All zero: that is not so. */
static struct hand_off hand_off_of(const struct telling *t, const struct fact_bytes *b)
{
	void *peer = b->direction == BYTES_SENT && b->length ? map_get(&t->peers, b->key) : NULL;
	void *reader = peer ? map_get(&t->readers, (uintptr_t)peer) : NULL;
	u32 tid = (u32)(uintptr_t)reader, process;

	if (!reader || reader == SEVERAL || tid == b->tid || map_get(&t->readers, b->key))
		return (struct hand_off){0};
	process = process_of_thread(t->processes, t->host, b->tid, b->time_ns, false);
	if (!process || process > HAND_OFF_PROCESS_MOST ||
	    process != process_of_thread(t->processes, t->host, tid, b->time_ns, false))
		return (struct hand_off){0};
	return (struct hand_off){.time_ns = b->time_ns,
				 .waker = b->tid,
				 .woken = tid,
				 .word = (u32)(uintptr_t)peer,
				 .process = process & HAND_OFF_PROCESS_MOST,
				 .kind = HAND_OFF_SENT};
}

static int sent_give(const struct telling *t)
{
	const struct thread_facts *all = &partial_of(t)->facts.bytes;
	struct thread_place place = {0};
	const struct fact_bytes *b;
	int err = 0;

	while (!err && (b = thread_facts_next(all, sizeof(*b), &place))) {
		struct hand_off h = hand_off_of(t, b);

		if (h.process)
			err = vec_push(t->out, h);
	}
	return err;
}

int hand_offs_sent(struct hand_off_list *out, struct processes *processes, u32 host)
{
	struct telling t = {.out = out, .processes = processes, .host = host};
	int err = peers_find(&t);

	if (!err && t.peers.count)
		err = readers_find(&t);
	if (!err && t.readers.count)
		err = sent_give(&t);
	map_free(&t.peers);
	map_free(&t.readers);
	return err;
}
