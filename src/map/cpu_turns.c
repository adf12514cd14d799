/* SPDX-License-Identifier: Apache-2.0 */
#include "map/cpu_turns.h"

#include <errno.h>

#include "map/checkpoint/archive.h"
#include "map/kernel/call_sums.h"
#include "map/partial.h"

bool cpu_turns_wanted(const struct partial *p)
{
	return p->options.spans || sums_tell(p, SUM_BY_HAD_CPU);
}

/* The turns of a CPU, made if there are none; NULL: no memory. */
static struct cpu_turns *turns_of(struct all_turns *all, u16 cpu)
{
	while (all->cpus.count <= cpu)
		if (vec_push(&all->cpus, (struct cpu_turns){0}))
			return NULL;
	return &all->cpus.data[cpu];
}

/* Adds a turn behind the others; of more than TURNS_MAX the first one goes. */
static void turn_add(struct cpu_turns *c, struct cpu_turn turn)
{
	if (c->count < TURNS_MAX)
		c->count++;
	memmove(&c->list[1], &c->list[0], (c->count - 1) * sizeof(c->list[0]));
	c->list[0] = turn;
}

static struct turns turns_at(const struct cpu_turns *c, u64 now_ns)
{
	struct turns turns = {0};

	for (u32 i = 0; i < c->count; i++)
		turns.list[i] = (struct turn){c->list[i].tid,
					      turn_ago(now_ns, c->list[i].since_ns)};
	return turns;
}

int cpu_turns_switch(struct partial *p, const struct record_switch *sw,
		     struct record_switch *enters)
{
	struct cpu_turns *c;
	struct turns turns;

	*enters = *sw;
	if (!cpu_turns_wanted(p))
		return 0;
	c = turns_of(&p->turns, sw->head.cpu);
	if (!c)
		return -ENOMEM;
	turn_add(c, (struct cpu_turn){c->switch_ns, sw->head.tid});
	c->switch_ns = sw->head.time_ns;
	turns = turns_at(c, sw->head.time_ns);
	turns_put(enters, &turns);
	return 0;
}

void cpu_turns_part(struct all_turns *turns)
{
	turns->cpus.count = 0;
	turns->parted = true;
}

/* ---- merge ---- */

/* Closes the turn that began before all that was seen, and adds those before it. */
static void turns_go_on(struct turns *turns, u64 now_ns, const struct cpu_turns *before)
{
	u32 at = 0;

	while (at < TURNS_MAX && turns->list[at].ago_ns && turns->list[at].ago_ns != TURN_OPEN)
		at++;
	if (at == TURNS_MAX || !turns->list[at].ago_ns || !before->switch_ns)
		return;
	turns->list[at++].ago_ns = turn_ago(now_ns, before->switch_ns);
	for (u32 i = 0; i < before->count && at < TURNS_MAX; i++, at++)
		turns->list[at] = (struct turn){before->list[i].tid,
						turn_ago(now_ns, before->list[i].since_ns)};
}

/* Up to a time: what lies behind a gap does not go on from before it. */
static void head_extend(const struct all_turns *left, struct life *l, u64 to_ns)
{
	struct life_head_record at = {0};
	struct turns turns;

	while (life_head_next(l, &at)) {
		struct record_switch *enters = at.record;

		if (at.event != LIFE_ENTERS || enters->head.time_ns > to_ns ||
		    enters->head.cpu >= left->cpus.count || !turns_get(enters, &turns))
			continue;
		turns_go_on(&turns, enters->head.time_ns, &left->cpus.data[enters->head.cpu]);
		turns_put(enters, &turns);
	}
}

void cpu_turns_extend(const struct all_turns *left, struct partial *right)
{
	u64 to_ns = right->gaps.count ? right->gaps.data[0].begin_ns : UINT64_MAX;

	for (size_t i = 0; i < right->lives.count && left->cpus.count; i++)
		head_extend(left, right->lives.data[i], to_ns);
}

/* Adds to the turns of a right half those before it. */
static void cpu_go_on(struct cpu_turns *c, const struct cpu_turns *before)
{
	if (!c->switch_ns) {
		*c = *before;
		return;
	}
	if (!before->switch_ns || c->list[c->count - 1].since_ns)
		return;
	c->list[c->count - 1].since_ns = before->switch_ns;
	for (u32 i = 0; i < before->count && c->count < TURNS_MAX; i++)
		c->list[c->count++] = before->list[i];
}

int cpu_turns_merge(struct all_turns *left, struct all_turns *right)
{
	struct all_turns none = {0}, before = *left;

	if (!right->parted && before.cpus.count && !turns_of(right, (u16)(before.cpus.count - 1)))
		return -ENOMEM;
	for (size_t i = 0; i < before.cpus.count && !right->parted; i++)
		cpu_go_on(&right->cpus.data[i], &before.cpus.data[i]);
	*left = *right;
	left->parted |= before.parted;
	*right = none;
	cpu_turns_free(&before);
	return 0;
}

void cpu_turns_free(struct all_turns *turns)
{
	vec_free(&turns->cpus);
}

/* ---- files ---- */

static void archive_turn(struct archive *a, struct cpu_turn *turn)
{
	archive_time(a, &turn->since_ns);
	archive_u32(a, &turn->tid);
}

static void archive_cpu(struct archive *a, struct cpu_turns *c)
{
	archive_time(a, &c->switch_ns);
	archive_u32(a, &c->count);
	if (c->count > TURNS_MAX || (c->count && !c->switch_ns))
		archive_fail(a, -EBADMSG);
	for (u32 i = 0; i < c->count && !a->err; i++)
		archive_turn(a, &c->list[i]);
}

void cpu_turns_archive(struct archive *a, struct all_turns *turns)
{
	archive_list(a, &turns->cpus, archive_cpu);
	archive_bool(a, &turns->parted);
}
