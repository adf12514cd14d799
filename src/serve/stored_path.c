/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/stored_path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define DEPTH_MAX 200	   /* of spans; below, the time is that of the last one */
#define KERNEL_DEPTH_MAX 4 /* of waits in calls and faults */
#define LOOKS_MAX 4000000  /* at spans, of which wakers lead to some again and again */

struct span_time {
	uint64_t begin_ns, end_ns;
	uint32_t at, call; /* call: of a wait */
};

typedef VEC(struct span_time) time_list;

/* A span of a thread that is known. */
struct thread_span {
	int64_t tid;
	uint64_t host; /* hash; 0: not known */
	struct span_time time;
};

struct path_walk {
	const struct gathered *g;
	struct stored_path *out;
	VEC(struct thread_span) threads; /* by thread, the last end first */
	bool *is_open;			 /* of each span: the path is in it */
	unsigned int depth;
	uint64_t looks;
	int err;
};

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The last end first, of these the one that began last. */
static int time_compare(const void *a, const void *b)
{
	const struct span_time *x = a, *y = b;

	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns > y->begin_ns ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static struct span_time time_of(const struct gathered *g, uint32_t at, uint32_t call)
{
	const struct received_span *span = &g->batch.data[at];

	return (struct span_time){span->begin_ns, span->begin_ns + received_duration_ns(span), at,
				  call};
}

/* ---- threads ---- */

static int64_t number_of(const struct received_span *span, const char *key)
{
	const struct attribute *a = gather_attribute(span, key);

	return a && a->type == VALUE_INTEGER ? a->integer : -1;
}

static uint64_t host_of(const struct received_span *span)
{
	const char *host = gather_host(span);

	return host ? hash_bytes(host, strlen(host)) : 0;
}

static int thread_compare(const void *a, const void *b)
{
	const struct thread_span *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return time_compare(&x->time, &y->time);
}

static int threads_collect(struct path_walk *w)
{
	int err = 0;

	for (uint32_t i = 0; i < w->g->batch.count && !err; i++) {
		const struct received_span *span = &w->g->batch.data[i];
		int64_t tid = gather_kernel_kind(span) ? -1 : gather_thread(span);

		if (tid > 0)
			err = vec_push(&w->threads,
				       ((struct thread_span){tid, host_of(span),
							     time_of(w->g, i, GATHER_NONE)}));
	}
	if (w->threads.count)
		qsort(w->threads.data, w->threads.count, sizeof(*w->threads.data), thread_compare);
	return err;
}

/* The first span of a thread; that of the next one if it has none. */
static size_t thread_find(const struct path_walk *w, int64_t tid)
{
	size_t low = 0, high = w->threads.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (w->threads.data[middle].tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- steps, from the last one on ---- */

static void step_add(struct path_walk *w, struct path_step step)
{
	if (step.end_ns <= step.begin_ns || w->err || w->out->is_cut)
		return;
	if (w->out->list.count < STORED_PATH_STEPS_MAX)
		w->err = vec_push(&w->out->list, step);
	else
		w->out->is_cut = true;
}

/* Whether there is no more room, or time, to look further. */
static bool is_over(struct path_walk *w)
{
	if (++w->looks > LOOKS_MAX || w->out->list.count >= STORED_PATH_STEPS_MAX)
		w->out->is_cut = true;
	return w->err || w->out->is_cut;
}

static void span_walk(struct path_walk *w, uint32_t at, uint64_t from_ns, uint64_t to_ns);

/* ---- a wait ---- */

/*
 * Goes on in the thread that ended a wait, where it has spans then; `rest` is the step of the
 * other time, which it gets.
 */
static void waker_walk(struct path_walk *w, struct path_step rest)
{
	const struct received_span *wait = &w->g->batch.data[rest.wait];
	int64_t tid = number_of(wait, "waker.tid");
	uint64_t host = host_of(wait), from_ns = rest.begin_ns;

	for (size_t i = thread_find(w, tid);
	     tid > 0 && i < w->threads.count && w->threads.data[i].tid == tid && !is_over(w); i++) {
		const struct thread_span *span = &w->threads.data[i];
		uint64_t end_ns = earlier(span->time.end_ns, rest.end_ns);

		if (span->time.end_ns <= from_ns)
			break;
		if (span->time.begin_ns >= end_ns || w->is_open[span->time.at] ||
		    (span->host && host && span->host != host))
			continue;
		rest.begin_ns = end_ns;
		step_add(w, rest);
		w->out->has_wakers = true;
		rest.end_ns = later(span->time.begin_ns, from_ns);
		span_walk(w, span->time.at, rest.end_ns, end_ns);
	}
	rest.begin_ns = from_ns;
	step_add(w, rest);
}

static void wait_walk(struct path_walk *w, uint32_t at, const struct span_time *time,
		      uint64_t from_ns, uint64_t to_ns)
{
	const struct received_span *wait = &w->g->batch.data[time->at];
	struct path_step step = {.at = at, .wait = time->at, .call = time->call};
	uint64_t ready_ns = time->end_ns;
	struct split split;

	step.part = gather_part(wait->name);
	step.state = PATH_WAITING;
	if (step.part == SPLIT_runnable || step.part == SPLIT_throttled)
		step.state = PATH_RUNNABLE;
	else if (gather_split(wait, &split) && split.ns[SPLIT_runnable] > 0)
		ready_ns -= earlier((uint64_t)split.ns[SPLIT_runnable],
				    time->end_ns - time->begin_ns);
	ready_ns = later(from_ns, earlier(ready_ns, to_ns));
	step_add(w, (struct path_step){.begin_ns = ready_ns,
				       .end_ns = to_ns,
				       .at = at,
				       .wait = time->at,
				       .call = time->call,
				       .state = PATH_RUNNABLE,
				       .part = SPLIT_runnable});
	step.begin_ns = from_ns;
	step.end_ns = ready_ns;
	if (step.state == PATH_WAITING)
		waker_walk(w, step);
	else
		step_add(w, step);
}

/* ---- a span ---- */

static void waits_collect(struct path_walk *w, uint32_t above, unsigned int depth, int64_t tid,
			  time_list *out)
{
	const struct received_span *spans = w->g->batch.data;
	const char *above_kind = gather_kernel_kind(&spans[above]);
	bool in_call = above_kind && strcmp(above_kind, "syscall") == 0;

	for (uint32_t at = w->g->first[above]; at != GATHER_NONE && !w->err; at = w->g->next[at]) {
		const char *kind = gather_kernel_kind(&spans[at]);

		w->looks++;
		if (!kind || at == above)
			continue;
		if (strcmp(kind, "wait") != 0 && depth)
			waits_collect(w, at, depth - 1, tid, out);
		else if (strcmp(kind, "wait") == 0 && (tid < 0 || gather_thread(&spans[at]) == tid))
			w->err = vec_push(out, time_of(w->g, at, in_call ? above : GATHER_NONE));
	}
}

/* Whether all waits of the thread of a span are stored, so that it ran in the rest of the time. */
static bool is_detailed(const struct received_span *span)
{
	return gather_attribute(span, "fathom.kernel") &&
	       !gather_attribute(span, "fathom.kernel.more_count") &&
	       !gather_attribute(span, "fathom.threads");
}

/* Time of the span in which it neither waited nor had a child. */
static void rest_add(struct path_walk *w, uint32_t at, bool has_waits, uint64_t from_ns,
		     uint64_t to_ns)
{
	const struct received_span *span = &w->g->batch.data[at];
	struct path_step step = {from_ns, to_ns, at, GATHER_NONE, GATHER_NONE, PATH_SPLIT, -1};
	struct split split;

	if (!gather_split(span, &split)) {
		step.state = PATH_UNKNOWN;
	} else if (has_waits && is_detailed(span) && !split.ns[SPLIT_off_thread]) {
		step.state = PATH_RUNNING;
		step.part = SPLIT_user;
		if (split.ns[SPLIT_cpu] > split.ns[step.part])
			step.part = SPLIT_cpu;
		if (split.ns[SPLIT_kernel] > split.ns[step.part])
			step.part = SPLIT_kernel;
	}
	step_add(w, step);
}

/* A span on the path with its waits, the last one first. */
struct walked {
	uint32_t at;
	time_list waits;
	size_t next; /* of the waits */
};

/* Time of the span in which no child had it. */
static void own_walk(struct path_walk *w, struct walked *s, uint64_t from_ns, uint64_t to_ns)
{
	bool has_waits = s->waits.count != 0;

	while (s->next < s->waits.count && to_ns > from_ns && !is_over(w)) {
		const struct span_time *wait = &s->waits.data[s->next];

		if (wait->end_ns <= from_ns)
			break;
		if (wait->begin_ns < to_ns) {
			uint64_t end_ns = earlier(wait->end_ns, to_ns);
			uint64_t begin_ns = later(wait->begin_ns, from_ns);

			w->out->has_waits = true;
			rest_add(w, s->at, has_waits, end_ns, to_ns);
			wait_walk(w, s->at, wait, begin_ns, end_ns);
			to_ns = begin_ns;
			if (wait->begin_ns < from_ns)
				break; /* the rest of it comes later */
		}
		s->next++;
	}
	rest_add(w, s->at, has_waits, from_ns, to_ns);
}

/*
 * Whether a span waited for a child that ends after the time at which it went on: a server ends
 * a little after its client has the answer, and so do children of that server. Others ran beside
 * it.
 */
static bool is_waited_for(const struct path_walk *w, uint32_t at, const struct span_time *child,
			  bool is_last)
{
	const struct received_span *span = &w->g->batch.data[at];
	const struct received_span *below = &w->g->batch.data[child->at];
	int64_t tid = gather_thread(span);

	if (tid > 0 && tid == gather_thread(below) && gather_same_process(span, below))
		return true;
	return is_last && (span->kind == RECEIVED_CLIENT || below->kind == RECEIVED_SERVER ||
			   strcmp(span->resource->service, below->resource->service) != 0 ||
			   child->end_ns <= span->begin_ns + received_duration_ns(span));
}

static void children_collect(struct path_walk *w, uint32_t at, time_list *out)
{
	for (uint32_t c = w->g->first[at]; c != GATHER_NONE && !w->err; c = w->g->next[c]) {
		w->looks++;
		if (c != at && !gather_kernel_kind(&w->g->batch.data[c]))
			w->err = vec_push(out, time_of(w->g, c, GATHER_NONE));
	}
	if (out->count)
		qsort(out->data, out->count, sizeof(*out->data), time_compare);
}

static void children_walk(struct path_walk *w, struct walked *s, uint64_t from_ns, uint64_t to_ns)
{
	time_list children = {0};
	uint64_t until_ns = to_ns;

	children_collect(w, s->at, &children);
	for (size_t i = 0; i < children.count && until_ns > from_ns && !is_over(w); i++) {
		const struct span_time *child = &children.data[i];
		uint64_t end_ns = earlier(child->end_ns, until_ns);
		uint64_t begin_ns = later(child->begin_ns, from_ns);

		if (begin_ns >= end_ns || w->is_open[child->at] ||
		    (child->end_ns > until_ns &&
		     !is_waited_for(w, s->at, child, until_ns == to_ns)))
			continue;
		own_walk(w, s, end_ns, until_ns);
		span_walk(w, child->at, begin_ns, end_ns);
		until_ns = begin_ns;
	}
	own_walk(w, s, from_ns, until_ns);
	vec_free(&children);
}

/* Tells a time of the span, from its end on. */
static void span_walk(struct path_walk *w, uint32_t at, uint64_t from_ns, uint64_t to_ns)
{
	struct walked s = {.at = at};

	if (is_over(w))
		return;
	if (w->depth == DEPTH_MAX) {
		rest_add(w, at, false, from_ns, to_ns);
		return;
	}
	w->depth++;
	w->is_open[at] = true;
	waits_collect(w, at, KERNEL_DEPTH_MAX, gather_thread(&w->g->batch.data[at]), &s.waits);
	if (s.waits.count)
		qsort(s.waits.data, s.waits.count, sizeof(*s.waits.data), time_compare);
	children_walk(w, &s, from_ns, to_ns);
	vec_free(&s.waits);
	w->is_open[at] = false;
	w->depth--;
}

/* ---- the path ---- */

static bool is_same(const struct path_step *a, const struct path_step *b)
{
	return a->at == b->at && a->wait == b->wait && a->state == b->state && a->part == b->part &&
	       a->end_ns == b->begin_ns;
}

/* Turns the steps round, and makes one of those that are the same. */
static void steps_order(struct stored_path *path)
{
	struct path_step *steps = path->list.data;
	size_t count = path->list.count, left = 0;

	for (size_t i = 0; i < count / 2; i++) {
		struct path_step step = steps[i];

		steps[i] = steps[count - 1 - i];
		steps[count - 1 - i] = step;
	}
	for (size_t i = 0; i < count; i++) {
		if (left && is_same(&steps[left - 1], &steps[i]))
			steps[left - 1].end_ns = steps[i].end_ns;
		else
			steps[left++] = steps[i];
	}
	path->list.count = left;
}

int stored_path_find(const struct gathered *g, uint32_t at, struct stored_path *out)
{
	const struct span_time time = time_of(g, at, GATHER_NONE);
	struct path_walk w = {.g = g, .out = out};

	w.is_open = calloc(g->batch.count + 1, sizeof(*w.is_open));
	w.err = w.is_open ? threads_collect(&w) : -ENOMEM;
	if (!w.err)
		span_walk(&w, at, time.begin_ns, time.end_ns);
	if (!w.err)
		steps_order(out);
	free(w.is_open);
	vec_free(&w.threads);
	return w.err;
}

const char *stored_path_known_by(const struct stored_path *path)
{
	return path->has_wakers ? "wakers" : path->has_waits ? "waits" : "spans";
}

void stored_path_free(struct stored_path *path)
{
	vec_free(&path->list);
}
