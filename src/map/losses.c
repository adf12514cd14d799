/* SPDX-License-Identifier: Apache-2.0 */
/* Lost records, and the lives whose state they leave in doubt. */
#include "map/losses.h"

#include <errno.h>
#include <string.h>

#include "map/fact/gaps.h"

/* ---- telling a life ---- */

static int loss_tell(struct partial *p, struct life *l, struct record_lost lost, u64 to_ns)
{

	if (lost.head.time_ns > to_ns)
		lost.head.time_ns = to_ns;
	return lost.begin_ns < lost.head.time_ns ? life_feed(l, LIFE_LOST, &lost.head, &p->sink)
						 : 0;
}

/* A loss on an unknown CPU. */
static struct record_lost loss_of(u64 begin_ns, u64 end_ns)
{
	return (struct record_lost){
		.head = {.kind = RECORD_lost, .cpu = LIFE_CPU_UNKNOWN, .time_ns = end_ns},
		.begin_ns = begin_ns};
}

/* Indexes the first `count` losses: lives were told of them, so that they change no more. */
static int index_extend(struct partial *p, size_t count)
{
	int err = 0;

	while (p->loss_index.count < count && !err)
		err = loss_index_add(&p->loss_index, &p->losses.data[p->loss_index.count]);
	return err;
}

/* The joint stretch of the losses that concern a CPU; of all losses if it is unknown. */
static struct loss_stretch losses_join(const struct partial *p, u16 cpu,
				       const struct loss_range *range)
{
	struct loss_stretch stretch = {0};
	const struct loss_list *lists[] = {&p->loss_index.any, NULL};

	if (cpu != LIFE_CPU_UNKNOWN) {
		lists[0] = loss_index_of(&p->loss_index, cpu);
		lists[1] = loss_index_of(&p->loss_index, LIFE_CPU_UNKNOWN);
	}
	for (int i = 0; i < 2; i++)
		if (lists[i] && range->after_ns < range->until_ns)
			loss_list_join(lists[i], range, &stretch);
	return stretch;
}

/* Tells a settled life one stretch for all losses that concern it. */
static int tell_settled(struct partial *p, struct life *l, struct loss_range range)
{
	const struct life_state *s = &l->state;
	u16 cpu = s->place == LIFE_ON_CPU ? s->cpu : LIFE_CPU_UNKNOWN;
	struct loss_stretch joined;

	range.after_ns = life_doubt_since(s);
	joined = losses_join(p, cpu, &range);
	return loss_tell(p, l, loss_of(joined.begin_ns, joined.end_ns), UINT64_MAX);
}

/*
 * Unsettled lives keep at most so many losses, one for each CPU; beyond that, if there are many
 * CPUs, each keeps one loss of an unknown CPU.
 */
#define LOSSES_KEPT_MAX ((u64)1 << 20)
#define CPUS_APART_MAX 64

static bool too_many_kept(const struct partial *p)
{
	return p->losses_kept >= LOSSES_KEPT_MAX && p->loss_index.lists.count > CPUS_APART_MAX;
}

static int tell_kept(struct partial *p, struct life *l, struct record_lost lost, u64 to_ns)
{
	if (!l->settled)
		p->losses_kept++;
	return loss_tell(p, l, lost, to_ns);
}

/*
 * On which CPU the life was is unknown until its left half is known. But nothing there is later
 * than its last record: the losses behind that make one stretch for each CPU.
 */
static int tell_unsettled(struct partial *p, struct life *l, struct loss_range range)
{
	bool earlier = false;
	int err = 0;

	if (too_many_kept(p)) {
		struct loss_stretch all = losses_join(p, LIFE_CPU_UNKNOWN, &range);

		return loss_tell(p, l, loss_of(all.begin_ns, all.end_ns), UINT64_MAX);
	}
	range.after_ns = l->last_ns;
	for (size_t i = 0; i < p->loss_index.lists.count && !err; i++) {
		const struct loss_list *list = &p->loss_index.lists.data[i];
		struct loss_stretch joined = {0};
		struct record_lost lost;

		loss_list_join(list, &range, &joined);
		earlier |= joined.earlier;
		if (!joined.end_ns)
			continue;
		lost = loss_of(joined.begin_ns, joined.end_ns);
		lost.head.cpu = list->cpu;
		err = tell_kept(p, l, lost, UINT64_MAX);
	}
	for (size_t i = range.from; i < range.to && earlier && !err; i++)
		if (p->losses.data[i].head.time_ns <= range.after_ns)
			err = tell_kept(p, l, p->losses.data[i], range.until_ns);
	return err;
}

int partial_tell_losses(struct partial *p, struct life *l, size_t count, u64 to_ns)
{
	struct loss_range range = {.from = l->losses_seen, .to = count, .until_ns = to_ns};
	size_t cpus = l->settled || too_many_kept(p) ? 0 : p->loss_index.lists.count;
	bool few = range.from + cpus + 1 >= count; /* no more than there would be stretches */
	int err = 0;

	if (range.from >= count)
		return 0;
	l->losses_seen = (u32)count;
	if (p->losses_told < count)
		p->losses_told = (u32)count;
	for (size_t i = range.from; few && i < count && !err; i++)
		err = tell_kept(p, l, p->losses.data[i], to_ns);
	if (few || l->state.place == LIFE_GONE || !to_ns)
		return err;
	err = index_extend(p, count);
	if (err)
		return err;
	return l->settled ? tell_settled(p, l, range) : tell_unsettled(p, l, range);
}

/*
 * Whether lost records may have told that a thread was made, ended, changed the scope or entered a
 * call.
 */
static bool loss_matters(const struct record_lost *lost)
{
	switch (lost->lost_kind) {
	case 0:
	case RECORD_fork:
	case RECORD_exec:
	case RECORD_exit:
	case RECORD_thread:
	case RECORD_cgroup_attach:
	case RECORD_switch:
	case RECORD_waking:
	case RECORD_syscall:
	case RECORD_fault:
		/* the stream of an application does not tell where its threads were */
		return lost->why != LOST_application && !lost->head.pid;
	default:
		return false;
	}
}

/* ---- holes: losses that are told from their begin on ---- */

/* More holes than these at once count as one of all CPUs. */
#define HOLES_APART_MAX 64
/* Beyond this number, holes become one that lasts to the end: missing files can be many. */
#define HOLES_MAX 1024

static bool holes_are_many(const struct partial *p)
{
	return p->holes.count > HOLES_APART_MAX;
}

static bool is_same_hole(const struct record_lost *a, const struct record_lost *b)
{
	return a->begin_ns == b->begin_ns && a->head.cpu == b->head.cpu && a->why == b->why &&
	       a->lost_kind == b->lost_kind;
}

/* When the first hole began that concerns the CPU; UINT64_MAX: there is none. */
static u64 holes_since(const struct partial *p, u16 cpu)
{
	u64 since_ns = UINT64_MAX;

	for (size_t i = 0; i < p->holes.count; i++) {
		const struct record_lost *hole = &p->holes.data[i];
		bool here = cpu == LIFE_CPU_UNKNOWN || hole->head.cpu == LIFE_CPU_UNKNOWN ||
			    hole->head.cpu == cpu;

		if (here && hole->begin_ns < since_ns)
			since_ns = hole->begin_ns;
	}
	return since_ns;
}

/* Ends the hole that the loss describes. A later hole of the same stream begins later. */
static void hole_end(struct partial *p, const struct record_lost *lost)
{
	for (size_t i = 0; i < p->holes.count; i++) {
		if (!is_same_hole(&p->holes.data[i], lost))
			continue;
		memmove(&p->holes.data[i], &p->holes.data[i + 1],
			(p->holes.count - i - 1) * sizeof(*lost));
		p->holes.count--;
		p->holes_since_ns = holes_since(p, LIFE_CPU_UNKNOWN);
		return;
	}
}

static int hole_begin(struct partial *p, const struct record_lost *lost)
{
	int err;

	if (p->holes.count ==
	    HOLES_MAX) { /* all become one of an unknown CPU, which no record ends */
		p->holes.data[0] = loss_of(p->holes_since_ns, 0);
		p->holes.data[0].lost_kind = RECORD_lost;
		p->holes.count = 1;
	}
	err = vec_push(&p->holes, *lost);
	if (!err && (p->holes.count == 1 || lost->begin_ns < p->holes_since_ns))
		p->holes_since_ns = lost->begin_ns;
	return err;
}

int holes_follow(struct partial *p, const struct record_lost *lost)
{
	if (lost->count == LOST_BEGINS)
		return loss_matters(lost) ? hole_begin(p, lost) : 0;
	hole_end(p, lost);
	return 0;
}

/* Tells a settled life one stretch for all holes, up to now. */
static int holes_tell_joined(struct partial *p, struct life *l, u64 to_ns)
{
	bool on_cpu = l->settled && l->state.place == LIFE_ON_CPU && !holes_are_many(p);
	u16 cpu = on_cpu ? l->state.cpu : LIFE_CPU_UNKNOWN;
	u64 since_ns = cpu == LIFE_CPU_UNKNOWN ? p->holes_since_ns : holes_since(p, cpu);

	return loss_tell(p, l, loss_of(since_ns, to_ns), UINT64_MAX);
}

int partial_tell_holes(struct partial *p, struct life *l, u64 to_ns)
{
	int err = 0;

	if (l->settled || holes_are_many(p))
		return holes_tell_joined(p, l, to_ns);
	for (size_t i = 0; i < p->holes.count && !err; i++) {
		struct record_lost lost = p->holes.data[i];

		lost.head.time_ns = to_ns;
		err = loss_tell(p, l, lost, UINT64_MAX);
	}
	return err;
}

int holes_end(struct partial *p, u64 to_ns)
{
	int err = 0;

	for (size_t i = 0; i < p->holes.count && !err; i++) {
		struct record_lost lost = p->holes.data[i];

		lost.head.time_ns = to_ns;
		lost.count = 0;
		if (lost.begin_ns < to_ns)
			err = vec_push(&p->losses, lost);
	}
	p->holes.count = 0;
	return err;
}

/* ---- all of them ---- */

/* Whether it continues the latest loss, which is widened: nobody was told of that yet. */
static bool loss_goes_on(struct partial *p, const struct record_lost *lost)
{
	struct record_lost *last;

	if (p->losses_told >= p->losses.count)
		return false;
	last = &p->losses.data[p->losses.count - 1];
	if (last->head.cpu != lost->head.cpu || lost->begin_ns > last->head.time_ns ||
	    lost->begin_ns < last->begin_ns)
		return false;
	last->head.time_ns = lost->head.time_ns;
	return true;
}

int losses_add(struct partial *p, const struct record_head *r)
{
	const struct record_lost *lost = (const void *)r;

	if (holes_follow(p, lost))
		return -ENOMEM;
	if (lost->count == LOST_BEGINS)
		return 0;
	if (span_loss_add(p, lost))
		return -ENOMEM;
	if (lost->why < sizeof(p->lost) / sizeof(p->lost[0]))
		p->lost[lost->why] += lost->count;
	if (!loss_matters(lost) || lost->begin_ns >= r->time_ns || loss_goes_on(p, lost))
		return 0;
	return vec_push(&p->losses, *lost);
}

/* The losses of the right follow those of the left: its lives count from there. */
int losses_merge(struct partial *left, struct partial *right)
{
	u32 before = (u32)left->losses.count;
	int err = vec_move(&left->holes, &right->holes);

	left->holes_since_ns = holes_since(left, LIFE_CPU_UNKNOWN);
	for (size_t i = 0; i < right->losses.count && !err; i++)
		err = vec_push(&left->losses, right->losses.data[i]);
	for (size_t i = 0; i < right->lives.count; i++) {
		right->lives.data[i]->losses_before += before;
		right->lives.data[i]->losses_seen += before;
	}
	left->losses_told = (u32)left->losses.count;
	return err;
}

void losses_shorten(struct partial *p)
{
	struct record_lost *list = p->losses.data;
	u64 from_ns, to_ns;

	if (p->losses.count > 1) {
		from_ns = list[0].begin_ns;
		to_ns = list[0].head.time_ns;
		for (size_t i = 1; i < p->losses.count; i++) {
			if (list[i].begin_ns < from_ns)
				from_ns = list[i].begin_ns;
			if (list[i].head.time_ns > to_ns)
				to_ns = list[i].head.time_ns;
		}
		list[0] = loss_of(from_ns, to_ns);
		p->losses.count = 1;
		loss_index_free(&p->loss_index);
	}
	for (size_t i = 0; i < p->lives.count; i++) {
		struct life *l = p->lives.data[i];

		l->losses_before = l->losses_seen = (u32)p->losses.count;
	}
	p->losses_told = (u32)p->losses.count;
}

u64 partial_life_from(const struct partial *p, const struct life *l)
{
	u64 gap_end_ns = gaps_end_before(p, l->first_ns);
	u64 gap_begin_ns = gap_around(p, l->first_ns);

	if (l->origin_ns) /* a life of a checkpoint: that has no gaps */
		return l->origin_ns;
	if (gap_begin_ns > gap_end_ns) /* in what a crash left: older lives were told before */
		return gap_begin_ns;
	return gap_end_ns ? gap_end_ns : p->from_ns;
}

int partial_life_begin(struct partial *p, struct life *l)
{
	/* nothing is known of the life up to its first record: each loss concerns it */
	struct loss_range range = {.to = l->losses_before,
				   .after_ns = partial_life_from(p, l),
				   .until_ns = UINT64_MAX};
	struct loss_stretch joined;
	struct life whole;
	int err;

	if (l->born || l->origin_ns || !l->losses_before)
		return 0;
	life_init_left_of(&whole, l);
	whole.losses_before = 0;
	err = index_extend(p, l->losses_before);
	if (!err) {
		joined = losses_join(p, LIFE_CPU_UNKNOWN, &range);
		err = loss_tell(p, &whole, loss_of(joined.begin_ns, joined.end_ns), UINT64_MAX);
	}
	err = err ? err : life_join(&whole, l, &p->sink);
	if (err) {
		life_free(&whole);
		return err;
	}
	*l = whole;
	return 0;
}
