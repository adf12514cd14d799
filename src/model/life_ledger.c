/* SPDX-License-Identifier: Apache-2.0 */
/* The two ledgers of a life: time by its owner. */
#include "model/life_internal.h"

static void guess_add(struct life_guess *guess, const struct life_guess *more)
{
	if (context_is_none(&more->ctx))
		return;
	if (context_is_none(&guess->ctx))
		*guess = *more;
	else if (more->several || !context_equal(&guess->ctx, &more->ctx))
		guess->several = true;
}

/* The context own->ctx, or none, was seen published. */
void life_sight(struct life *l, const struct life_share *own, const struct life_sink *sink)
{
	struct life_ledger *b = &l->seen;
	struct life_share share = *own;

	share.tid = l->tid;
	if (!l->active.known)
		guess_add(&l->active.guess, &(struct life_guess){.ctx = own->ctx});
	/* the ledger has no time before its limits; a share that ends after them is in no answer */
	if (own->begin_ns < l->clip_from_ns)
		share.split = b->open;
	if (!b->known) {
		b->known = true;
		b->first = own->ctx;
		b->first_ns = own->begin_ns;
		b->first_tid = l->tid;
		b->head = b->open;
		split_subtract(&b->head, &share.split);
	} else if (context_equal(&b->owner, &own->ctx)) {
		share.split = b->open;
		if (b->since_ns < share.begin_ns)
			share.begin_ns = b->since_ns;
	}
	if (!context_is_none(&own->ctx))
		sink->sighted(sink->arg, l, &share);
	b->owner = own->ctx;
	b->since_ns = own->end_ns;
	b->open = (struct split){0};
}

/* The owner from here on is another one: ends the time of waits for work since the last one. */
static void idle_name(struct life *l)
{
	const struct life_ledger *b = &l->active;

	if (!b->known)
		work_add(&l->idle.head, &l->idle.open);
	else if (context_is_none(&b->owner))
		work_add(&l->idle.known, &l->idle.open);
	l->idle.open = (struct work_split){0};
}

/* Joins the times of a right half; both ledgers are those before their join. */
static void idle_join(struct life *left, const struct life *right)
{
	struct life_idle *a = &left->idle;
	const struct life_idle *b = &right->idle;

	if (!right->active.known) {
		work_add(&a->open, &b->open);
		return;
	}
	work_add(&a->open, &b->head);
	idle_name(left);
	work_add(&a->known, &b->known);
	a->open = b->open;
}

/* Another span, or none, becomes active on the thread, whose tid is then `tid`. */
static void active_name(struct life *l, const struct context *ctx, u64 now, u32 tid,
			const struct life_sink *sink)
{
	struct life_ledger *b = &l->active;

	idle_name(l);
	if (b->known) {
		struct life_share share = {.ctx = b->owner,
					   .tid = tid,
					   .begin_ns = b->since_ns,
					   .end_ns = now,
					   .split = b->open};
		sink->owned(sink->arg, l, &share);
	} else {
		b->known = true;
		b->first = *ctx;
		b->first_ns = now;
		b->first_tid = tid;
		b->head = b->open;
	}
	b->owner = *ctx;
	b->since_ns = now;
	b->open = (struct split){0};
}

void life_active(struct life *l, const struct context *ctx, const struct life_sink *sink)
{
	active_name(l, ctx, l->state.last_ns, l->tid, sink);
}

void life_exec_ended(struct life *l, const struct life_sink *sink)
{
	static const struct context nobody;
	struct life_state *s = &l->state;

	if (s->last_ns < s->exec_ns)
		return;
	active_name(l, &nobody, s->exec_ns, s->exec_tid, sink);
	s->exec_ns = s->exec_tid = 0;
}

void life_active_join(struct life *left, const struct life *right, const struct life_sink *sink)
{
	idle_join(left, right);
	life_ledger_join(left, &left->active, &right->active, sink->owned, sink);
}

void life_ledger_join(struct life *left, struct life_ledger *a, const struct life_ledger *b,
		      void (*tell)(void *, const struct life *, const struct life_share *),
		      const struct life_sink *sink)
{
	bool active = a == &left->active;
	struct split between = a->open;

	if (!a->known)
		guess_add(&a->guess, &b->guess);
	if (!b->known) {
		split_add(&a->open, &b->open);
		return;
	}
	split_add(&between, &b->head);
	if (a->known) {
		struct life_share share = {.ctx = a->owner,
					   .tid = b->first_tid,
					   .begin_ns = a->since_ns,
					   .end_ns = b->first_ns,
					   .split = between};

		if (active || (!context_is_none(&a->owner) && context_equal(&a->owner, &b->first)))
			tell(sink->arg, left, &share);
	} else {
		a->first = b->first;
		a->first_ns = b->first_ns;
		a->first_tid = b->first_tid;
		a->head = between;
	}
	a->known = true;
	a->owner = b->owner;
	a->since_ns = b->since_ns;
	a->open = b->open;
}

void life_unnamed_tell(struct life *l, const struct life_sink *sink)
{
	struct life_ledger *b = &l->active;
	struct life_share share = {.tid = l->tid,
				   .begin_ns = l->origin_ns,
				   .end_ns = l->state.last_ns,
				   .split = b->open};

	if (b->known) {
		share.tid = b->first_tid;
		share.end_ns = b->first_ns;
		share.split = b->head;
	}
	/* a span that becomes active was published shortly before its record */
	if (!b->guess.several && !(b->known && context_equal(&b->guess.ctx, &b->first)))
		share.ctx = b->guess.ctx;
	if (sink->unnamed && share.begin_ns < share.end_ns)
		sink->unnamed(sink->arg, l, &share);
	if (!b->known) {
		b->open = (struct split){0};
		idle_name(l);
	}
	if (!context_is_none(&share.ctx))
		l->idle.head = (struct work_split){0};
}
