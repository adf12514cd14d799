/* SPDX-License-Identifier: Apache-2.0 */
/* Threads in a checkpoint. */
#include "map/checkpoint/internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "map/partial.h"

static void archive_time_split(struct archive *a, struct split *split)
{
	u64 left = RECORD_TIME_END_NS; /* it is of one thread */

	for (int i = 0; i < SPLIT_PARTS_COUNT; i++) {
		archive_s64(a, &split->ns[i]);
		if (split->ns[i] < 0 || (u64)split->ns[i] > left) {
			archive_fail(a, -EBADMSG);
			*split = (struct split){0};
			return;
		}
		left -= (u64)split->ns[i];
	}
}

/* Of one visit. */
static void archive_visit_idle(struct archive *a, struct work_split *idle)
{
	u64 left = RECORD_TIME_END_NS;

	archive_work(a, idle);
	for (int i = 0; i < WORK_PARTS_COUNT; i++) {
		if (idle->ns[i] < 0 || (u64)idle->ns[i] > left) {
			archive_fail(a, -EBADMSG);
			*idle = (struct work_split){0};
			return;
		}
		left -= (u64)idle->ns[i];
	}
}

static void archive_wake(struct archive *a, struct life_wake *wake)
{
	archive_bool(a, &wake->has);
	if (!wake->has)
		return;
	archive_bool(a, &wake->queued);
	archive_bool(a, &wake->own);
	archive_u32(a, &wake->fd);
	archive_time(a, &wake->time_ns);
	archive_u32(a, &wake->waker_tid);
	archive_u8(a, &wake->context);
	archive_u8(a, &wake->vector);
	archive_u16(a, &wake->irq);
	archive_file(a, &wake->file);
	archive_u64(a, &wake->block);
}

static void archive_leave(struct archive *a, struct life_leave *leave)
{
	archive_time(a, &leave->time_ns);
	archive_time(a, &leave->visit_ns);
	archive_u64(a, &leave->arg0);
	archive_u16(a, &leave->nr);
	archive_u8(a, &leave->mode);
	archive_u8(a, &leave->state);
	archive_bool(a, &leave->fresh);
	archive_file(a, &leave->file);
	archive_context(a, &leave->ctx);
}

static void archive_stay(struct archive *a, struct life_stay *stay)
{
	archive_time(a, &stay->end_ns);
	if (!stay->end_ns)
		return;
	archive_time(a, &stay->begin_ns);
	archive_time(a, &stay->doubt_ns);
	archive_time(a, &stay->woken_ns);
	archive_time(a, &stay->known_ns);
	archive_u32(a, &stay->had_cpu);
	archive_wake(a, &stay->wake);
	if (stay->begin_ns > stay->woken_ns || stay->woken_ns > stay->known_ns ||
	    stay->known_ns > stay->end_ns ||
	    (stay->doubt_ns &&
	     (stay->doubt_ns < stay->begin_ns || stay->doubt_ns > stay->woken_ns)))
		archive_fail(a, -EBADMSG);
}

/*
 * Clears rests of earlier state that no code reads any more, and that may depend on how halves were
 * joined. The way a thread left its CPU is needed while it is off the CPU, while it is in that
 * visit, and until its stay is reported.
 */
static void state_clear(struct life_state *s)
{
	bool in_visit = s->place == LIFE_ON_CPU && s->leave.visit_ns;

	if ((s->place == LIFE_ON_CPU || s->place == LIFE_GONE) && !in_visit && !s->held.end_ns)
		s->leave = (struct life_leave){0};
	if (!s->wake.has)
		s->slept_from_ns = 0;
	if (s->place != LIFE_ON_CPU)
		s->cpu = 0;
}

static void archive_state(struct archive *a, struct life_state *s)
{
	u8 place = (u8)s->place;

	if (!archive_reads(a))
		state_clear(s);
	archive_u8(a, &place);
	if (place > LIFE_GONE)
		archive_fail(a, -EBADMSG);
	s->place = place;
	archive_time(a, &s->last_ns);
	archive_leave(a, &s->leave);
	archive_wake(a, &s->wake);
	archive_time(a, &s->visit_ns);
	archive_time(a, &s->visit_guess_ns);
	archive_time_split(a, &s->visit_had);
	archive_visit_idle(a, &s->visit_idle);
	archive_u8(a, &s->visit_work);
	if (s->visit_work >= WORK_VALUES_COUNT)
		archive_fail(a, -EBADMSG);
	archive_time(a, &s->nested.from_ns);
	archive_time(a, &s->nested.doubt_ns);
	archive_time_split(a, &s->nested.had);
	archive_time(a, &s->doubt_from_ns);
	archive_time(a, &s->doubt_to_ns);
	archive_time(a, &s->slept_from_ns);
	archive_stay(a, &s->held);
	for (size_t i = 0; i < TURNS_MAX && s->held.end_ns; i++) {
		archive_u32(a, &s->held_turns.list[i].tid);
		archive_u32(a, &s->held_turns.list[i].ago_ns);
	}
	archive_time(a, &s->exec_ns);
	archive_u32(a, &s->exec_tid);
	archive_u16(a, &s->cpu);
	archive_bool(a, &s->missed);
	archive_u8(a, &s->calls);
	if (s->calls > LIFE_CALLS_UNTOLD)
		archive_fail(a, -EBADMSG);
	if (a->whole)
		archive_bool(a, &s->out);
}

/* The time before the first named owner, which a checkpoint does not keep. */
static void archive_ledger_past(struct archive *a, struct life_ledger *ledger)
{
	archive_context(a, &ledger->first);
	archive_time(a, &ledger->first_ns);
	archive_u32(a, &ledger->first_tid);
	archive_split(a, &ledger->head);
	archive_split(a, &ledger->open);
}

/* The owner of the time from here on. */
static void archive_ledger(struct archive *a, struct life_ledger *ledger)
{
	archive_bool(a, &ledger->known);
	archive_time(a, &ledger->since_ns);
	archive_context(a, &ledger->owner);
	archive_context(a, &ledger->guess.ctx);
	archive_bool(a, &ledger->guess.several);
	if (a->whole) {
		archive_ledger_past(a, ledger);
	} else if (archive_reads(a)) {
		ledger->first = ledger->owner;
		ledger->first_ns = ledger->since_ns;
	}
}

/* Time and counts, and what the partial knows of the life, which a checkpoint has for all alike. */
static void archive_life_past(struct archive *a, struct life *l)
{
	archive_bool(a, &l->entered);
	archive_u32(a, &l->losses_before);
	archive_u32(a, &l->losses_seen);
	archive_u32(a, &l->told);
	archive_split(a, &l->total);
	archive_work(a, &l->idle.known);
	archive_work(a, &l->idle.head);
	archive_work(a, &l->idle.open);
	archive_s64(a, &l->doubtful_ns);
}

static void archive_life(struct archive *a, struct life *l)
{
	char *head = (char *)l->head;
	u32 head_bytes;

	if (a->whole && !archive_reads(a) && life_head_order(l))
		archive_fail(a, -ENOMEM);
	head_bytes = (u32)l->head_bytes;

	archive_u32(a, &l->tid);
	archive_u32(a, &l->left_tid);
	archive_u32(a, &l->pid);
	archive_bool(a, &l->settled);
	if (l->settled) /* of no account from there on */
		l->doubted = false;
	archive_bool(a, &l->doubted);
	archive_bool(a, &l->born);
	archive_bool(a, &l->severed);
	archive_time(a, &l->origin_ns);
	archive_u64(a, &l->start_ns);
	archive_time(a, &l->renamed_ns);
	archive_time(a, &l->first_ns);
	archive_time(a, &l->last_ns);
	archive_time(a, &l->exit_ns);
	archive_s32(a, &l->exit_code);
	archive_text(a, &head, &head_bytes);
	if (archive_reads(a)) {
		l->head = (u8 *)head;
		l->head_bytes = l->head_space = head ? head_bytes : 0;
		if (!a->err && !life_head_valid(l))
			archive_fail(a, -EBADMSG);
	}
	archive_state(a, &l->state);
	archive_ledger(a, &l->active);
	archive_ledger(a, &l->seen);
	if (a->whole)
		archive_life_past(a, l);
}

/* In a checkpoint every life continues; in a whole partial, those that are marked. */
static void archive_current(struct archive *a, struct partial *p, struct life *l)
{
	bool current = !a->whole || map_get(&p->current, l->tid) == l;

	if (a->whole)
		archive_bool(a, &current);
	if (a->err || !archive_reads(a) || !current)
		return;
	if (a->whole && map_get(&p->current, l->tid)) /* two bear one number */
		archive_fail(a, -EBADMSG);
	else if (map_put(&p->current, l->tid, l))
		archive_fail(a, -ENOMEM);
}

void checkpoint_lives_read(struct archive *a, struct partial *p)
{
	size_t count = archive_count(a, 0);

	for (size_t i = 0; i < count && !a->err; i++) {
		struct life *l = calloc(1, sizeof(*l));

		if (!l || vec_push(&p->lives, l)) {
			free(l);
			archive_fail(a, -ENOMEM);
			return;
		}
		l->clip_from_ns = p->options.from_ns;
		l->clip_to_ns = p->options.to_ns;
		archive_life(a, l);
		archive_current(a, p, l);
	}
}

/* In time, as a merge takes them: who had a number first comes before who has it next. */
static int life_compare(const void *a, const void *b)
{
	const struct life *x = *(struct life *const *)a, *y = *(struct life *const *)b;

	COMPARE(x->first_ns, y->first_ns);
	COMPARE(x->left_tid, y->left_tid);
	COMPARE(x->tid, y->tid);
	COMPARE(x->last_ns, y->last_ns);
	return 0;
}

void checkpoint_lives_write(struct archive *a, struct partial *p)
{
	if (a->whole && p->lives.count)
		qsort(p->lives.data, p->lives.count, sizeof(*p->lives.data), life_compare);
	archive_count(a, p->lives.count);
	for (size_t i = 0; i < p->lives.count; i++) {
		archive_life(a, p->lives.data[i]);
		archive_current(a, p, p->lives.data[i]);
	}
}
