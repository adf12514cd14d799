/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goes over a head, and normalizes the losses in it.
 *
 * The caller may feed losses to an unsettled life one by one, or all losses of a CPU as one; the
 * result is the same. Here the losses that reach beyond the record before them become one for each
 * CPU. Other losses, which were fed late, stay unchanged.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "model/life_internal.h"

struct head_loss {
	u64 begin_ns, end_ns;
	u16 cpu;
	bool late; /* it ends before the record that it follows */
};

struct head_losses { /* a VEC */
	struct head_loss *data;
	size_t count, capacity;
};

#define ENTRY_BYTES (sizeof(struct head_entry) + sizeof(struct record_lost))

_Static_assert(ENTRY_BYTES % 8 == 0, "entries follow one another");

static int loss_compare(const void *a, const void *b)
{
	const struct head_loss *x = a, *y = b;

	if (x->late != y->late)
		return x->late ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

/* Joins sorted losses: one is left for each CPU. */
static void losses_join(struct head_losses *losses)
{
	size_t kept = 0;

	for (size_t i = 1; i < losses->count; i++) {
		struct head_loss *last = &losses->data[kept], *loss = &losses->data[i];

		if (last->late || last->cpu != loss->cpu)
			losses->data[++kept] = *loss;
		else if (loss->end_ns > last->end_ns)
			last->end_ns = loss->end_ns;
	}
	losses->count = losses->count ? kept + 1 : 0;
}

/* Writes the losses back at `at`, in no more room. Returns their end. */
static size_t losses_put(struct life *l, size_t at, struct head_losses *losses)
{
	if (losses->count)
		qsort(losses->data, losses->count, sizeof(*losses->data), loss_compare);
	losses_join(losses);
	for (size_t i = 0; i < losses->count; i++) {
		const struct head_loss *loss = &losses->data[i];
		struct head_entry entry = {.bytes = ENTRY_BYTES, .event = LIFE_LOST};
		struct record_lost lost;

		memset(&lost, 0, sizeof(lost));
		lost.head.kind = RECORD_lost;
		lost.head.cpu = loss->cpu;
		lost.head.time_ns = loss->end_ns;
		lost.begin_ns = loss->begin_ns;
		memcpy(l->head + at, &entry, sizeof(entry));
		memcpy(l->head + at + sizeof(entry), &lost, sizeof(lost));
		at += ENTRY_BYTES;
	}
	losses->count = 0;
	return at;
}

int life_head_order(struct life *l)
{
	struct head_losses losses = {0};
	size_t to = 0;
	u64 last_ns = 0;
	int err = 0;

	for (size_t at = 0; at < l->head_bytes && !err;) {
		struct head_entry entry;
		struct record_lost lost;
		struct record_head r;

		memcpy(&entry, l->head + at, sizeof(entry));
		memcpy(&r, l->head + at + sizeof(entry), sizeof(r));
		if (entry.event == LIFE_LOST) {
			memcpy(&lost, l->head + at + sizeof(entry), sizeof(lost));
			err = vec_push(&losses, ((struct head_loss){lost.begin_ns, r.time_ns, r.cpu,
								    r.time_ns <= last_ns}));
		} else {
			to = losses_put(l, to, &losses);
			memmove(l->head + to, l->head + at, entry.bytes);
			to += entry.bytes;
			last_ns = r.time_ns;
		}
		at += entry.bytes;
	}
	if (!err)
		l->head_bytes = losses_put(l, to, &losses);
	vec_free(&losses);
	return err;
}

bool life_head_next(const struct life *l, struct life_head_record *at)
{
	struct head_entry entry;

	if (at->next >= l->head_bytes)
		return false;
	memcpy(&entry, l->head + at->next, sizeof(entry));
	at->event = entry.event;
	at->record = l->head + at->next + sizeof(entry);
	at->next += entry.bytes;
	return true;
}
