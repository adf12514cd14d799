/* SPDX-License-Identifier: Apache-2.0 */
#include "map/idle.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/order.h"
#include "map/partial.h"

/* ---- what is in doubt ---- */

/* A span that records of a process tell; end_ns: of this one and those before it. */
struct told_span {
	u32 pid;
	u64 begin_ns, end_ns;
};

struct told_spans { /* by process, then begin */
	VEC(struct told_span) list;
};

static int told_compare(const void *a, const void *b)
{
	const struct told_span *x = a, *y = b;

	COMPARE(x->pid, y->pid);
	COMPARE(x->begin_ns, y->begin_ns);
	COMPARE(x->end_ns, y->end_ns);
	return 0;
}

static int told_find(const struct partial *p, struct told_spans *told)
{
	struct told_span *list;
	int err = 0;

	for (size_t i = 0; i < p->spans.count && !err; i++) {
		const struct app_span *span = p->spans.data[i];

		if (span->begun && span->ended)
			err = vec_push(&told->list,
				       (struct told_span){span->pid, span->begin_ns, span->end_ns});
	}
	list = told->list.data;
	if (told->list.count)
		qsort(list, told->list.count, sizeof(*list), told_compare);
	for (size_t i = 1; i < told->list.count; i++)
		if (list[i].pid == list[i - 1].pid && list[i].end_ns < list[i - 1].end_ns)
			list[i].end_ns = list[i - 1].end_ns;
	return err;
}

/* Whether a span of the process began before begin_ns and was still open at from_ns. */
static bool told_at(const struct told_spans *told, u32 pid, u64 begin_ns, u64 from_ns)
{
	size_t n = COUNT_BEFORE(&told->list, span,
				span->pid < pid || (span->pid == pid && span->begin_ns < begin_ns));

	return n && told->list.data[n - 1].pid == pid && told->list.data[n - 1].end_ns > from_ns;
}

/*
 * Which span a thread had before its first record of spans is not told, if its process had one when
 * the thread was first seen. Nor is it known if the process lost records. A span of which no end
 * was seen is no reason for doubt: it is in force as long as it is seen published.
 */
int idle_doubt(struct partial *p)
{
	struct told_spans told = {0};
	struct map lost = {0};
	int err = told_find(p, &told);

	for (size_t i = 0; i < p->span_losses.count && !err; i++)
		err = map_put(&lost, p->span_losses.data[i].owner, PRESENT);
	for (size_t i = 0; i < p->lives.count && !err; i++) {
		struct life *l = p->lives.data[i];
		u64 from_ns = l->origin_ns;

		if (from_ns < p->options.from_ns)
			from_ns = p->options.from_ns;
		if (!told_at(&told, l->pid, l->origin_ns, from_ns))
			work_add(&l->idle.known, &l->idle.head);
		if (map_get(&lost, l->pid))
			l->idle.known = (struct work_split){0};
	}
	vec_free(&told.list);
	map_free(&lost);
	return err;
}

/* ---- idle time ---- */

#define TIMER (SPLIT_timer - WORK_FIRST_PART)

/* What the futexes of a thread, or of a call, change. */
struct change {
	struct work_split less; /* it was taken as idle, but waits for a lock */
	struct work_split more; /* it is idle after all */
	s64 locked_ns;		/* time-outs of waits for a lock, which are its time */
};

static void change_add(struct change *c, const struct sum *sum, const struct futex_use *use)
{
	struct futex_wait_kind kind = futex_sum_kind(sum);
	s64 ns = sum->split.ns[kind.part];
	int at = (int)kind.part - WORK_FIRST_PART;

	if (kind.under || !work_is_part(kind.part))
		return;
	if (futex_is_lock(kind.work, use) && kind.part == SPLIT_timer)
		c->locked_ns = split_sum(c->locked_ns, ns);
	if (work_is_assumed(kind.work) && !futex_is_idle(kind.work, use))
		c->less.ns[at] = split_sum(c->less.ns[at], ns);
	else if (!work_is_assumed(kind.work) && futex_is_idle(kind.work, use))
		c->more.ns[at] = split_sum(c->more.ns[at], ns);
}

/* Takes up to *ns, and says how much it took. */
static s64 take(s64 *ns, s64 most)
{
	s64 taken = *ns < most ? *ns : most;

	if (taken <= 0)
		return 0;
	*ns -= taken;
	return taken;
}

/* Changes what of a split waits for work; what was changed is taken out of the change. */
static void change_apply(struct change *c, struct split *split, struct work_split *idle, bool adds)
{
	s64 *timer = &split->ns[SPLIT_timer], *lock = &split->ns[SPLIT_lock], locked;

	for (int i = 0; i < WORK_PARTS_COUNT; i++) {
		s64 rest = split->ns[WORK_FIRST_PART + i] - idle->ns[i];

		idle->ns[i] -= take(&c->less.ns[i], idle->ns[i]);
		if (adds)
			idle->ns[i] += take(&c->more.ns[i], rest);
	}
	locked = take(&c->locked_ns, *timer - idle->ns[TIMER]);
	*timer -= locked;
	*lock = split_sum(*lock, locked);
}

struct changes {
	struct map numbers; /* a key of the caller -> number in the list + 1 */
	VEC(struct change) list;
};

static struct change *change_get(struct changes *c, u64 key)
{
	size_t n = (size_t)(uintptr_t)map_get(&c->numbers, key);

	if (n)
		return &c->list.data[n - 1];
	if (vec_push(&c->list, (struct change){0}) ||
	    map_put(&c->numbers, key, (void *)(uintptr_t)c->list.count))
		return NULL;
	return &c->list.data[c->list.count - 1];
}

static struct change *change_find(const struct changes *c, u64 key)
{
	size_t n = (size_t)(uintptr_t)map_get(&c->numbers, key);

	return n ? &c->list.data[n - 1] : NULL;
}

static void changes_free(struct changes *c)
{
	map_free(&c->numbers);
	vec_free(&c->list);
}

static void lives_idle(struct partial *p, const struct changes *by_thread)
{
	for (size_t i = 0; i < p->lives.count; i++) {
		struct life *l = p->lives.data[i];
		struct change *c = change_find(by_thread, l->tid);

		/* a thread that had spans may have had one in waits that only the futex tells */
		if (c)
			change_apply(c, &l->total, &l->idle.known,
				     context_is_none(&l->active.first));
		work_to_idle(&l->total, &l->idle.known);
	}
}

static u64 change_key(u64 call, u32 pid)
{
	return (u64)pid << 32 | (call & SUM_CALL_MASK);
}

static void calls_idle(struct partial *p, const struct changes *by_call)
{
	for (size_t i = 0; i < p->calls.list.count; i++) {
		struct sum *sum = &p->calls.list.data[i];
		struct change *c = change_find(by_call, change_key(sum->key, sum->pid));

		if (c)
			change_apply(c, &sum->split, &sum->idle, true);
		work_to_idle(&sum->split, &sum->idle);
	}
}

/* Adds a sum of waits, all of whose time is that part from now on. */
static int wait_give(struct partial *p, struct sum_of of, const struct sum *sum,
		     enum split_part part)
{
	struct sum all = *sum;

	of.key = (of.key & ~SUM_WAIT_PART_MASK) | part;
	all.split = (struct split){0};
	all.split.ns[part] = split_total(&sum->split);
	return sums_give(&p->waits, &of, &all);
}

static int waits_idle(struct partial *p)
{
	struct sums all = p->waits;
	int err = sums_settle(&all);

	p->waits = (struct sums){0};
	for (size_t i = 0; i < all.list.count && !err; i++) {
		const struct sum *sum = &all.list.data[i];
		struct sum_of of = sum_names(sum);

		if (sum->key & SUM_WAIT_IDLE)
			err = wait_give(p, of, sum, SPLIT_idle);
		else
			err = sums_give(&p->waits, &of, sum);
	}
	sums_free(&all);
	return err;
}

static enum split_part futex_part(const struct futex_wait_kind *kind, const struct futex_use *use)
{
	if (futex_is_idle(kind->work, use))
		return SPLIT_idle;
	return futex_is_lock(kind->work, use) ? SPLIT_lock : kind->part;
}

/* Waits of one kind for one futex: changes the time of its thread and its call. */
static int futex_apply(struct partial *p, const struct sum *sum, struct changes *by_thread,
		       struct changes *by_call)
{
	struct futex_wait_kind kind = futex_sum_kind(sum);
	struct futex_use use = futex_use_of(p, sum->pid, sum->key);
	struct life_wake wake = {
		.has = kind.woken, .context = kind.context, .waker_tid = futex_sum_waker(sum)};
	u32 tid = futex_sum_sleeper(sum);
	struct sum_of of = call_sum_of_futex(p, kind.call, sum->pid);
	struct change *change = change_get(by_thread, tid);

	if (!change)
		return -ENOMEM;
	change_add(change, sum, &use);
	if (!sums_choose(p, sum->pid, tid))
		return 0;
	change = change_get(by_call, change_key(of.key, of.pid));
	if (!change)
		return -ENOMEM;
	change_add(change, sum, &use);
	of = wait_sum_of_futex(p, kind.call, sum->pid, &wake);
	of.file.key = sums_tell(p, SUM_BY_FILE) ? sum->key : 0; /* the lock */
	return wait_give(p, of, sum, futex_part(&kind, &use));
}

int idle_apply(struct partial *p)
{
	struct changes by_thread = {0}, by_call = {0};
	int err = futexes_judge(p);

	err = err ? err : waits_idle(p);
	for (size_t i = 0; i < p->futexes.list.count && !err; i++)
		if (!futex_sum_kind(&p->futexes.list.data[i]).under)
			err = futex_apply(p, &p->futexes.list.data[i], &by_thread, &by_call);
	if (!err) {
		lives_idle(p, &by_thread);
		calls_idle(p, &by_call);
	}
	changes_free(&by_thread);
	changes_free(&by_call);
	return err;
}

/* ---- kernel spans ---- */

static struct futex_use use_of_span(const struct partial *p, const struct kspan *k)
{
	if (k->work <= WORK_WAITS)
		return (struct futex_use){0};
	return futex_use_of(p, k->pid, k->args[0]);
}

bool idle_is_wait(const struct partial *p, const struct kspan *k)
{
	struct futex_use use = use_of_span(p, k);

	return k->kind == KSPAN_WAIT && k->work && context_is_none(&k->ctx) &&
	       futex_is_idle(k->work, &use);
}

struct split idle_split(const struct partial *p, const struct kspan *k)
{
	struct work_split idle = k->kind == KSPAN_WAIT ? idle_of_wait(k->part, &k->split) : k->idle;
	struct futex_use use = use_of_span(p, k);
	struct split split = k->split;
	struct change c = {.locked_ns = idle.ns[TIMER]};

	/* a call has the work of those of its waits that were under no context, whatever it had */
	if (!k->work || (k->kind == KSPAN_WAIT && !context_is_none(&k->ctx)))
		return split;
	if (futex_is_idle(k->work, &use)) {
		work_to_idle(&split, &idle);
	} else if (futex_is_lock(k->work, &use)) {
		idle = (struct work_split){0};
		change_apply(&c, &split, &idle, false);
	}
	return split;
}

const char *idle_reason(const struct kspan *k)
{
	const struct cause_query q = {
		.mode = k->mode & MODE_MASK,
		.nr = k->nr,
		.abi_flags = k->mode & MODE_COMPAT ? SYSCALL_COMPAT : 0,
		.leave_state = k->state,
		.file = k->file,
		.arg0 = k->args[0],
		.has_waker = k->wake.has,
		.waker_context = k->wake.context,
		.waker_vector = k->wake.vector,
		.waker_irq = k->wake.irq,
		.waker_file = k->wake.file,
		.waker_block = k->wake.block != 0,
		.waker_own = k->wake.own,
	};
	const char *reason;

	work_find(&q, &reason);
	return reason;
}
