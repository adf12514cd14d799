/* SPDX-License-Identifier: Apache-2.0 */
#include "map/kernel/call_details.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "map/fact/path.h"
#include "map/fact/peer.h"
#include "map/kernel/call_sums.h"
#include "map/partial.h"
#include "record/syscalls.h"

/* ---- the list of a thread ---- */

static struct call_details *details_of(struct details *d, u32 tid)
{
	struct call_details *c = map_get(&d->index, tid);

	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->tid = tid;
	if (vec_push(&d->list, c)) {
		free(c);
		return NULL;
	}
	return map_put(&d->index, tid, c) ? NULL : c;
}

/* The first ones stay, since a life may tell its first call late; later ones make way. */
static int call_details_put(struct details *d, u32 tid, const struct call_detail *detail)
{
	struct call_details *c = details_of(d, tid);
	int at = 0;

	if (!c)
		return -ENOMEM;
	while (at < DETAILS_KEPT && c->waiting[at].call_ns &&
	       !(detail->ended.kind && c->waiting[at].call_ns == detail->call_ns))
		at++; /* of several waits in a call the last one counts */
	if (at == DETAILS_KEPT) {
		memmove(&c->waiting[DETAILS_FIRST], &c->waiting[DETAILS_FIRST + 1],
			(DETAILS_LAST - 1) * sizeof(c->waiting[0]));
		at--;
	}
	c->waiting[at] = *detail;
	return 0;
}

bool call_details_take(struct partial *p, u32 tid, u64 call_ns, struct call_detail *detail)
{
	struct call_details *c = map_get(&p->details.index, tid);

	p->details.taken_ns = call_ns;
	p->details.taken_tid = tid;
	for (int i = 0; c && i < 2 * DETAILS_KEPT; i++) {
		if (c->waiting[i].call_ns != call_ns)
			continue;
		*detail = c->waiting[i];
		c->waiting[i].call_ns = 0;
		return true;
	}
	return false;
}

/* To a slot in which it stays. */
static void detail_keep(struct call_details *c, int at)
{
	for (int i = 0; i < DETAILS_FIRST && at >= DETAILS_FIRST; i++)
		if (!c->waiting[i].call_ns) {
			c->waiting[i] = c->waiting[at];
			c->waiting[at].call_ns = 0;
			return;
		}
}

void call_details_late(struct details *d, u32 tid, u64 call_ns)
{
	bool taken = d->taken_tid == tid && d->taken_ns == call_ns;
	struct call_details *c = taken ? NULL : map_get(&d->index, tid);
	int at = 0;

	for (int i = 0; c && i < DETAILS_KEPT; i++) {
		struct call_detail *w = &c->waiting[i];

		if (w->call_ns == call_ns)
			w->late = true;
		if (w->call_ns == call_ns)
			at = i;
		else if (w->call_ns < call_ns && !w->late)
			w->call_ns = 0;
	}
	if (c)
		detail_keep(c, at);
}

/* ---- records ---- */

/* Whether the call counts for the path. Some calls take a text first that is no path. */
static bool path_counts(const struct record_path *path)
{
	if (path->flags & (PATH_FROM_FD | PATH_BEGINS_CUT))
		return false;
	switch (path->nr) {
	case SYSCALL_NR_symlink:
	case SYSCALL_NR_symlinkat:
	case SYSCALL_NR_mount:
		return path->flags & PATH_SECOND;
	case SYSCALL_NR_mq_unlink:
		return false;
	default:
		return !(path->flags & PATH_SECOND);
	}
}

int call_details_add(struct partial *p, const struct record_head *r)
{
	const struct record_path *path = (const void *)r;
	struct call_detail detail = {0};

	if (r->kind == RECORD_peer) {
		detail.peer = peer_of_record((const void *)r, &p->facts.texts);
		detail.call_ns = detail.peer.call_ns;
	} else {
		if (!path_counts(path))
			return 0;
		detail.call_ns = path->call_ns;
		detail.path = path_text(&p->facts.texts, path, &detail.mounts);
		if (!detail.path)
			return -ENOMEM;
	}
	return detail.call_ns ? call_details_put(&p->details, r->tid, &detail) : 0;
}

int call_details_wait(struct partial *p, u32 tid, const struct life_wait *w)
{
	struct call_detail detail = {.call_ns = w->visit_ns, .ended_ns = w->wake.time_ns};

	if (!w->visit_ns || !wait_ended_by(w, &detail.ended))
		return 0;
	return call_details_put(&p->details, tid, &detail);
}

/* ---- merge ---- */

int call_details_merge(struct details *left, struct details *right)
{
	for (size_t i = 0; i < right->list.count; i++) {
		const struct call_details *from = right->list.data[i];
		struct call_details *to = details_of(left, from->tid);

		if (!to)
			return -ENOMEM;
		memcpy(to->waiting + DETAILS_KEPT, from->waiting,
		       DETAILS_KEPT * sizeof(from->waiting[0]));
	}
	return 0;
}

static int detail_compare(const void *a, const void *b)
{
	const struct call_detail *x = a, *y = b;

	COMPARE(x->call_ns, y->call_ns);
	COMPARE(!x->path, !y->path);
	return 0;
}

static void details_settle(struct call_details *c)
{
	const int all = 2 * DETAILS_KEPT;
	struct call_detail kept[2 * DETAILS_KEPT] = {0};
	int count = 0;

	for (int i = 0; i < all; i++)
		if (c->waiting[i].call_ns)
			kept[count++] = c->waiting[i];
	memset(c->waiting, 0, sizeof(c->waiting));
	if (!count)
		return;
	qsort(kept, (size_t)count, sizeof(kept[0]), detail_compare);
	for (int i = 0; i < count; i++)
		if (count <= DETAILS_KEPT || i < DETAILS_FIRST)
			c->waiting[i] = kept[i];
		else if (i >= count - DETAILS_LAST)
			c->waiting[DETAILS_KEPT - (count - i)] = kept[i];
}

void call_details_settle(struct details *d)
{
	for (size_t i = 0; i < d->list.count; i++)
		details_settle(d->list.data[i]);
}

/* ---- lists ---- */

static int waiting_compare(const void *a, const void *b)
{
	const struct waiting_detail *x = a, *y = b;

	COMPARE(x->tid, y->tid);
	return detail_compare(&x->detail, &y->detail);
}

int waiting_details_of(const struct details *d, struct waiting_details *all)
{
	for (size_t i = 0; i < d->list.count; i++)
		for (int k = 0; k < DETAILS_KEPT; k++) {
			const struct call_details *c = d->list.data[i];
			struct waiting_detail w = {c->tid, c->waiting[k]};

			if (w.detail.call_ns && vec_push(all, w))
				return -ENOMEM;
		}
	if (all->count)
		qsort(all->data, all->count, sizeof(*all->data), waiting_compare);
	return 0;
}

int waiting_details_put(struct details *d, const struct waiting_details *all)
{
	int err = 0;

	for (size_t i = 0; i < all->count && !err; i++)
		err = call_details_put(d, all->data[i].tid, &all->data[i].detail);
	return err;
}

static void details_of_last_call(struct call_details *c)
{
	u64 last_ns = 0;

	for (int i = 0; i < DETAILS_KEPT; i++)
		if (c->waiting[i].call_ns > last_ns)
			last_ns = c->waiting[i].call_ns;
	for (int i = 0; i < DETAILS_KEPT; i++)
		if (c->waiting[i].call_ns != last_ns)
			c->waiting[i].call_ns = 0;
}

void call_details_prune(struct details *d, const struct map *tids)
{
	for (size_t i = 0; i < d->list.count; i++) {
		struct call_details *c = d->list.data[i];

		if (map_get(tids, c->tid))
			details_of_last_call(c);
		else
			memset(c->waiting, 0, sizeof(c->waiting));
	}
}

void call_details_free(struct details *d)
{
	for (size_t i = 0; i < d->list.count; i++)
		free(d->list.data[i]);
	vec_free(&d->list);
	map_free(&d->index);
}
