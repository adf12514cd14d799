/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a futex is used decides whether its waits are for a lock. Who releases a lock has taken it
 * before, and sleeps on it at other times; who gives work to a pool does not take work from it. So
 * it is a lock if, of at least USES_LEAST wake-ups, more than LOCK_PERCENT have their reverse: each
 * wake-up that a thread gives pairs with one that it gets. It is a pool if POOL_PERCENT or fewer
 * have one.
 *
 * Some programs give each thread a futex of its own, on which it sleeps for whatever reason: the
 * monitors of Java, and semaphores of PostgreSQL's processes. A lock goes round among its threads,
 * in whatever order: each is woken as often as it wakes. So of a futex on which only one thread
 * sleeps, a wake-up counts as one with a reverse as far as it is part of such a circle
 * (circles_find()). That does not hold for the idle threads of Go and parked ones of Rust, which
 * hand work to each other.
 *
 * A wait in the middle of a request is for that request, if the thread alone sleeps on the futex,
 * or if REQUESTS_PERCENT of the waits for it are in one. Else threads wait there for work, too.
 *
 * All of this are counts of pairs (waker, sleeper), which add up over chunks.
 */
#include "map/futex.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "map/partial.h"

#define USES_LEAST 8
#define LOCK_PERCENT 60
#define POOL_PERCENT 20
#define REQUESTS_PERCENT 90

/* ---- waits by futex ---- */

#define WAKER_SHIFT 32

u32 futex_sum_waker(const struct sum *sum)
{
	return (u32)(sum->file.key >> WAKER_SHIFT);
}

u32 futex_sum_sleeper(const struct sum *sum)
{
	return (u32)sum->file.key;
}

/* The kind as a number, which is file.dev of a sum of partial.futexes. */
static u32 kind_number(const struct futex_wait_kind *kind)
{
	return kind->call | (u32)kind->part << 17 | (u32)kind->work << 22 | (u32)kind->under << 25 |
	       (u32)kind->several << 26 | (kind->woken ? (kind->context + 1u) << 27 : 0);
}

struct futex_wait_kind futex_sum_kind(const struct sum *sum)
{
	u32 number = sum->file.dev, context = number >> 27 & 15, part = number >> 17 & 31;

	return (struct futex_wait_kind){.call = number & 0x1ffff,
					.part = part < SPLIT_PARTS_COUNT ? (u8)part : SPLIT_unknown,
					.work = number >> 22 & 7,
					.under = number >> 25 & 1,
					.several = number >> 26 & 1,
					.woken = context != 0,
					.context = (u8)(context ? context - 1 : 0)};
}

#define FUTEX_OPERATION 127u
#define FUTEX_WAIT 0

int futex_wait_add(struct partial *p, const struct life *l, const struct life_wait *w)
{
	bool thread = w->wake.context == WAKE_task || w->wake.context == WAKE_kernel_thread;
	u32 waker = w->wake.has && thread ? w->wake.waker_tid : 0;
	u32 operation = (u32)(w->file.key >> 32) & FUTEX_OPERATION, value = (u32)w->file.key;
	struct futex_wait_kind kind = {.call = (u32)call_key(w->nr, w->mode & MODE_COMPAT),
				       .part = w->part,
				       .work = w->work,
				       .under = !context_is_none(&w->ctx),
				       .several = operation != FUTEX_WAIT && value != UINT32_MAX,
				       .woken = w->wake.has,
				       .context = w->wake.context & 7};
	struct sum_of of = {
		.key = FUTEX_ADDRESS(w->arg0),
		.pid = l->pid,
		.file = {.key = (u64)waker << WAKER_SHIFT | l->tid, .dev = kind_number(&kind)}};

	struct sum_one one = {.duration_ns = (u64)w->split.ns[w->part]};

	return sums_add_part(&p->futexes, &of, w->part, &one);
}

/* ---- what a futex is ---- */

static u64 pair_key(u32 waker, u32 sleeper)
{
	return (u64)waker << WAKER_SHIFT | sleeper;
}

/* The wake-ups that one thread gave another, on any futex. */
struct wake_ups {
	u32 waker, sleeper; /* indexes into the flows of judging */
	u64 count;	    /* as far as they are part of a circle */
};

/* Of a thread: how often it is woken, and wakes. */
struct flow {
	u64 in, out;
};

struct judging {
	struct map pairs;	/* pair_key() -> count, of all futexes; then those in circles */
	struct map woken, woke; /* tid -> count, of the futex in hand */
	u64 count;		/* its wake-ups */
	u64 waits, in_request;	/* all waits for it, and those in the middle of a request */
	bool several;		/* of all its waits */
};

#define COUNT_MOST ((u64)1 << 48) /* of a hostile partial */

static u64 smaller(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* Counts are kept + 1, so that a count of 0 can be kept. */
static u64 entry_count(const void *value)
{
	return value ? (u64)(uintptr_t)value - 1 : 0;
}

static u64 count_of(const struct map *counts, u64 key)
{
	return entry_count(map_get(counts, key));
}

static int count_add(struct map *counts, u64 key, u64 more)
{
	u64 count = smaller(count_of(counts, key) + smaller(more, COUNT_MOST), COUNT_MOST);

	return map_put(counts, key, (void *)(uintptr_t)(count + 1));
}

static int pairs_count(struct judging *j, const struct partial *p)
{
	int err = 0;

	for (size_t i = 0; i < p->futexes.list.count && !err; i++) {
		const struct sum *sum = &p->futexes.list.data[i];

		if (futex_sum_waker(sum))
			err = count_add(&j->pairs, sum->file.key, sum->count);
	}
	return err;
}

/* ---- circles ---- */

struct circles {
	VEC(struct wake_ups) list;
	VEC(struct flow) flows;
	struct map indexes; /* tid -> index of its flow + 1 */
};

static int flow_index(struct circles *c, u32 tid, u32 *index)
{
	void *known = map_get(&c->indexes, tid);
	int err = 0;

	if (!known) {
		err = vec_push(&c->flows, (struct flow){0});
		known = (void *)(uintptr_t)c->flows.count;
		err = err ? err : map_put(&c->indexes, tid, known);
	}
	*index = (u32)(uintptr_t)known - 1;
	return err;
}

/* In the order of the map's entries. */
static int circles_begin(struct circles *c, const struct map *pairs)
{
	struct map_entry entry;
	size_t at = 0;
	int err = 0;

	while (!err && map_next(pairs, &at, &entry)) {
		struct wake_ups w = {.count = entry_count(entry.value)};

		err = flow_index(c, (u32)(entry.key >> WAKER_SHIFT), &w.waker);
		err = err ? err : flow_index(c, (u32)entry.key, &w.sleeper);
		err = err ? err : vec_push(&c->list, w);
	}
	return err;
}

static double share(u64 part, u64 whole)
{
	return part < whole ? (double)part / (double)whole : 1;
}

/* A thread gives no more than it gets, and gets no more than it gives. */
static void circles_narrow(struct circles *c)
{
	if (c->flows.count)
		memset(c->flows.data, 0, c->flows.count * sizeof(*c->flows.data));
	for (size_t i = 0; i < c->list.count; i++) {
		const struct wake_ups *w = &c->list.data[i];

		c->flows.data[w->waker].out += w->count;
		c->flows.data[w->sleeper].in += w->count;
	}
	for (size_t i = 0; i < c->list.count; i++) {
		struct wake_ups *w = &c->list.data[i];
		const struct flow *from = &c->flows.data[w->waker];
		const struct flow *to = &c->flows.data[w->sleeper];
		double gives = share(from->in, from->out), passes_on = share(to->out, to->in);

		w->count = (u64)((double)w->count * (gives < passes_on ? gives : passes_on));
	}
}

#define CIRCLE_ROUNDS 32 /* what a chain of so many threads passes on has no way back */

/*
 * Leaves of the counts of pairs what goes round: in the end each thread of a circle is woken as
 * often as it wakes. The threads of a pool pass nothing back to who gives them work.
 */
static int circles_find(struct judging *j)
{
	struct circles c = {0};
	struct map_entry entry;
	size_t at = 0;
	int err = circles_begin(&c, &j->pairs);

	for (int i = 0; i < CIRCLE_ROUNDS && !err; i++)
		circles_narrow(&c);
	for (size_t i = 0; i < c.list.count && !err && map_next(&j->pairs, &at, &entry); i++)
		err = map_put(&j->pairs, entry.key, (void *)(uintptr_t)(c.list.data[i].count + 1));
	vec_free(&c.list);
	vec_free(&c.flows);
	map_free(&c.indexes);
	return err;
}

/* ---- one futex ---- */

static int futex_count(struct judging *j, const struct sum *sums, size_t count)
{
	int err = 0;

	map_free(&j->woken);
	map_free(&j->woke);
	j->count = j->waits = j->in_request = 0;
	j->several = true;
	for (size_t i = 0; i < count && !err; i++) {
		const struct sum *sum = &sums[i];
		struct futex_wait_kind kind = futex_sum_kind(sum);
		u32 waker = futex_sum_waker(sum);

		j->several &= kind.several;
		j->waits = smaller(j->waits + smaller(sum->count, COUNT_MOST), COUNT_MOST);
		if (kind.work == WORK_IN_REQUEST)
			j->in_request += smaller(sum->count, COUNT_MOST - j->in_request);
		err = count_add(&j->woken, futex_sum_sleeper(sum), waker ? sum->count : 0);
		if (err || !waker)
			continue;
		j->count = smaller(j->count + smaller(sum->count, COUNT_MOST), COUNT_MOST);
		err = count_add(&j->woke, waker, sum->count);
	}
	return err;
}

/* Wake-ups that have their reverse on the same futex. */
static u64 reverses_here(const struct judging *j)
{
	struct map_entry entry;
	size_t at = 0;
	u64 count = 0;

	while (map_next(&j->woke, &at, &entry))
		count += smaller(entry_count(entry.value), count_of(&j->woken, entry.key));
	return count;
}

/* Of a futex with one sleeper: wake-ups that are part of a circle. */
static u64 in_circles(const struct judging *j, u32 sleeper)
{
	struct map_entry entry;
	size_t at = 0;
	u64 count = 0;

	while (map_next(&j->woke, &at, &entry))
		count += smaller(entry_count(entry.value),
				 count_of(&j->pairs, pair_key((u32)entry.key, sleeper)));
	return count;
}

/* `sums`: all of one futex. */
static int futex_judge(struct judging *j, const struct sum *sums, size_t count,
		       struct futex_use *use)
{
	bool alone;
	u64 reverses;
	int err = futex_count(j, sums, count);

	if (err)
		return err;
	alone = j->woken.count == 1 && j->several;
	reverses = alone ? in_circles(j, futex_sum_sleeper(sums)) : reverses_here(j);
	*use = (struct futex_use){.address = sums->key, .pid = sums->pid};
	use->lock = j->count >= USES_LEAST && reverses * 100 > j->count * LOCK_PERCENT;
	use->pool = j->count >= USES_LEAST && reverses * 100 <= j->count * POOL_PERCENT;
	use->woken = j->count;
	use->of_requests = j->several && (j->woken.count == 1 ||
					  j->in_request * 100 >= j->waits * REQUESTS_PERCENT);
	return 0;
}

static int use_compare(const void *a, const void *b)
{
	const struct futex_use *x = a, *y = b;

	COMPARE(x->pid, y->pid);
	COMPARE(x->address, y->address);
	return 0;
}

int futexes_judge(struct partial *p)
{
	const struct sum *list;
	size_t count = p->futexes.list.count, next;
	struct judging j = {0};
	int err = sums_sort(&p->futexes); /* those of one futex follow each other */

	list = p->futexes.list.data;
	err = err ? err : pairs_count(&j, p);
	err = err ? err : circles_find(&j);
	for (size_t i = 0; i < count && !err; i = next) {
		struct futex_use use;

		for (next = i + 1; next < count && list[next].key == list[i].key &&
				   list[next].pid == list[i].pid;)
			next++;
		err = futex_judge(&j, &list[i], next - i, &use);
		err = err ? err : vec_push(&p->futex_uses, use);
	}
	map_free(&j.pairs);
	map_free(&j.woken);
	map_free(&j.woke);
	if (!err && p->futex_uses.count)
		qsort(p->futex_uses.data, p->futex_uses.count, sizeof(*p->futex_uses.data),
		      use_compare);
	return err;
}

struct futex_use futex_use_of(const struct partial *p, u32 pid, u64 address)
{
	struct futex_use ask = {.pid = pid, .address = FUTEX_ADDRESS(address)};
	size_t n = COUNT_BEFORE(&p->futex_uses, use, use_compare(use, &ask) < 0);

	if (n < p->futex_uses.count && use_compare(&p->futex_uses.data[n], &ask) == 0)
		return p->futex_uses.data[n];
	return ask;
}

bool futex_is_idle(enum work work, const struct futex_use *use)
{
	if (work == WORK_BY_WORD)
		return use->pool;
	return !use->lock && !(work == WORK_IN_REQUEST && use->of_requests);
}

bool futex_is_lock(enum work work, const struct futex_use *use)
{
	return use->lock || (work == WORK_IN_REQUEST && use->of_requests && use->woken);
}
