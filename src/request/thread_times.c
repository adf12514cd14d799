/* SPDX-License-Identifier: Apache-2.0 */
#include "request/thread_times.h"

#include <errno.h>

#include "base/group_sort.h"
#include "base/order.h"
#include "map/span/filters.h"

/* So many spans before an instant are looked at for one that lasts beyond it. */
#define LOOK_BACK 256

/* ---- by thread ---- */

struct of_thread {
	u32 tid, number;
};

static struct group_key of_thread_key(const void *element)
{
	return (struct group_key){((const struct of_thread *)element)->tid, 0};
}

static int of_thread_compare(const void *a, const void *b)
{
	const struct of_thread *x = a, *y = b;

	COMPARE(x->tid, y->tid);
	COMPARE(x->number, y->number);
	return 0;
}

static const struct group_order of_thread_order = {sizeof(struct of_thread), of_thread_key,
						   of_thread_compare};

/* Requests to disks and rings belong to no time of a thread. */
static bool is_of_thread(const struct kspan *k)
{
	return k->kind == KSPAN_SYSCALL || k->kind == KSPAN_WAIT || k->kind == KSPAN_FAULT;
}

static int thread_begin(struct thread_times *t, u32 tid, size_t at)
{
	int err = vec_push(&t->threads, ((struct thread_numbers){(u32)at, (u32)at}));

	return err ? err : map_put(&t->by_tid, tid, (void *)(uintptr_t)t->threads.count);
}

int thread_times_make(struct thread_times *t, const struct partial *p)
{
	VEC(struct of_thread) list = {0};
	size_t count = kspans_count(&p->kspans);
	int err = vec_reserve(&list, count);

	t->p = p;
	for (size_t i = 0; i < count && !err; i++) {
		struct kspan k;

		kspans_get(&p->kspans, i, &k);
		t->faults += k.kind == KSPAN_FAULT;
		if (is_of_thread(&k))
			err = vec_push(&list, ((struct of_thread){k.tid, (u32)i}));
	}
	err = err ? err : vec_group_sort(&list, &of_thread_order);
	err = err ? err : vec_reserve(&t->order, list.count);
	for (size_t i = 0; i < list.count && !err; i++) {
		if (!i || list.data[i].tid != list.data[i - 1].tid)
			err = thread_begin(t, list.data[i].tid, i);
		t->order.data[t->order.count++] = list.data[i].number;
		if (!err)
			t->threads.data[t->threads.count - 1].end = (u32)i + 1;
	}
	vec_free(&list);
	return err;
}

void thread_times_free(struct thread_times *t)
{
	vec_free(&t->order);
	vec_free(&t->threads);
	map_free(&t->by_tid);
}

/* ---- asking ---- */

static struct thread_numbers numbers_of(const struct thread_times *t, u32 tid)
{
	size_t known = (uintptr_t)map_get(&t->by_tid, tid);

	return known ? t->threads.data[known - 1] : (struct thread_numbers){0, 0};
}

static void kspan_at(const struct thread_times *t, size_t at, struct kspan *k)
{
	kspans_get(&t->p->kspans, t->order.data[at], k);
}

/* The first of the numbers whose span does not begin before an instant. */
static size_t place_of(const struct thread_times *t, const struct thread_numbers *of, u64 time_ns)
{
	size_t low = of->first, high = of->end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->p->kspans.places.data[t->order.data[middle]].begin_ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Where to look on before a wait that ended before an instant: at the call or fault that it lies
 * in, since nothing else can last longer. of->first: it lies in none that is there.
 */
static size_t place_of_visit(const struct thread_times *t, const struct thread_numbers *of,
			     const struct kspan *wait)
{
	size_t at = wait->visit_ns ? place_of(t, of, wait->visit_ns) : of->first;

	if (!wait->visit_ns || at == of->end ||
	    t->p->kspans.places.data[t->order.data[at]].begin_ns != wait->visit_ns)
		return of->first;
	return at + 1;
}

/* The same, or one before it that lasts beyond the instant. */
static size_t place_around(const struct thread_times *t, const struct thread_numbers *of,
			   u64 time_ns)
{
	size_t at = place_of(t, of, time_ns), first = at;

	for (int looked = 0; at > of->first && looked < LOOK_BACK; looked++) {
		struct kspan k;

		kspan_at(t, --at, &k);
		if (k.end_ns > time_ns)
			first = at;
		else if (k.kind == KSPAN_SYSCALL)
			break; /* what began before it ended before it */
		else if (k.kind == KSPAN_WAIT) {
			size_t visit = place_of_visit(t, of, &k);

			at = visit < at ? visit : at;
		}
	}
	return first;
}

static bool is_sleep(const struct kspan *k)
{
	return k->kind == KSPAN_WAIT && k->part != SPLIT_runnable && k->part != SPLIT_throttled;
}

static u64 overlap(const struct kspan *k, u64 from_ns, u64 to_ns)
{
	u64 begin = k->begin_ns > from_ns ? k->begin_ns : from_ns;
	u64 end = k->end_ns < to_ns ? k->end_ns : to_ns;

	return begin < end ? end - begin : 0;
}

/* Adds what a span says of the time: of a wait its parts, of the others the time in the kernel. */
static void span_add(struct split *sum, const struct kspan *k, u64 from_ns, u64 to_ns)
{
	u64 within = overlap(k, from_ns, to_ns);
	struct split split = k->split;

	if (k->kind == KSPAN_WAIT) {
		if (k->begin_ns < from_ns)
			split_cut(&split, from_ns - k->begin_ns, false);
		if (k->end_ns > to_ns)
			split_cut(&split, k->end_ns - to_ns, true);
		if (within)
			split_add(sum, &split);
		return;
	}
	if (k->kind == KSPAN_FAULT && !(k->args[2] & FAULT_USER))
		return; /* within a call, which has its time */
	if (split.ns[SPLIT_kernel] > 0)
		sum->ns[SPLIT_kernel] += (u64)split.ns[SPLIT_kernel] < within
						 ? split.ns[SPLIT_kernel]
						 : (s64)within;
}

struct split thread_times_split(const struct thread_times *t, u32 tid, u64 from_ns, u64 to_ns)
{
	const struct thread_numbers of = numbers_of(t, tid);
	struct split sum = {0};
	s64 rest;

	if (to_ns <= from_ns)
		return sum;
	for (size_t at = place_around(t, &of, from_ns); at < of.end; at++) {
		struct kspan k;

		kspan_at(t, at, &k);
		if (k.begin_ns >= to_ns)
			break;
		span_add(&sum, &k, from_ns, to_ns);
	}
	rest = split_rest(&sum, to_ns - from_ns);
	if (rest < 0)
		split_cut(&sum, (u64)-rest, false);
	else
		sum.ns[SPLIT_user] += rest;
	if (filters_at(t->p, from_ns) & FILTER_CALLS) { /* the two are not told apart */
		sum.ns[SPLIT_cpu] += sum.ns[SPLIT_user] + sum.ns[SPLIT_kernel];
		sum.ns[SPLIT_user] = sum.ns[SPLIT_kernel] = 0;
	}
	return sum;
}

struct thread_sleep thread_times_slept(const struct thread_times *t, u32 tid, u64 from_ns,
				       u64 to_ns)
{
	const struct thread_numbers of = numbers_of(t, tid);
	struct thread_sleep none = {0, 0};
	size_t at = place_of(t, &of, to_ns);

	while (at > of.first) {
		struct kspan k;

		kspan_at(t, --at, &k);
		if (is_sleep(&k) && overlap(&k, from_ns, to_ns))
			return (struct thread_sleep){k.begin_ns > from_ns ? k.begin_ns : from_ns,
						     k.end_ns < to_ns ? k.end_ns : to_ns};
		if (k.begin_ns < from_ns)
			break;
	}
	return none;
}

bool thread_times_wait(const struct thread_times *t, u32 tid, u64 from_ns, u64 to_ns,
		       struct kspan *wait)
{
	const struct thread_numbers of = numbers_of(t, tid);
	size_t at = place_of(t, &of, to_ns);

	while (at > of.first) {
		kspan_at(t, --at, wait);
		if (wait->kind == KSPAN_WAIT)
			return wait->end_ns > from_ns;
		if (wait->kind == KSPAN_SYSCALL && wait->end_ns <= from_ns)
			break; /* so did all waits before it */
	}
	return false;
}

struct thread_numbers thread_times_within(const struct thread_times *t, u32 tid, u64 from_ns,
					  u64 to_ns)
{
	const struct thread_numbers of = numbers_of(t, tid);

	return (struct thread_numbers){(u32)place_of(t, &of, from_ns),
				       (u32)place_of(t, &of, to_ns)};
}

bool thread_times_known(const struct thread_times *t, u32 tid)
{
	const struct thread_numbers of = numbers_of(t, tid);

	return of.end > of.first;
}

u64 thread_times_sleeps(const struct thread_times *t, u32 tid, u64 from_ns)
{
	const struct thread_numbers of = numbers_of(t, tid);

	for (size_t at = place_of(t, &of, from_ns); at < of.end; at++) {
		struct kspan k;

		kspan_at(t, at, &k);
		if (is_sleep(&k))
			return k.begin_ns;
	}
	return UINT64_MAX;
}

u64 thread_times_sending(const struct thread_times *t, u32 tid, u64 time_ns)
{
	const struct thread_numbers of = numbers_of(t, tid);
	size_t at = place_of(t, &of, time_ns);

	for (int looked = 0; at > of.first && looked < LOOK_BACK; looked++) {
		struct kspan k;

		kspan_at(t, --at, &k);
		if (k.kind == KSPAN_SYSCALL)
			return k.end_ns >= time_ns ? k.begin_ns : k.end_ns;
		if (k.kind != KSPAN_WAIT || k.end_ns > time_ns)
			continue;
		if (k.work != WORK_NOT) /* in another call: none that sends waits for work */
			return k.end_ns;
		if (k.visit_ns)
			return k.visit_ns;
	}
	return 0;
}
