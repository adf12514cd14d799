/* SPDX-License-Identifier: Apache-2.0 */
#include "request/critical.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "request/nodes.h"
#include "request/shifts.h"

/* From a thread to the one that woke it, to the one that woke that, ... */
#define WAKERS_MOST 8
/* Calls within calls. */
#define CALLS_MOST 200
/* Stints before an instant among which the one that lasts longest is looked for. */
#define STINTS_LOOKED_AT 256

/* A call that a request made. */
struct made_call {
	u32 owner; /* the exchange of the request */
	u32 exchange;
	u64 end_ns; /* by the caller's clock */
};

/* A path is found backward: the last segment is put first. */
struct walk {
	const struct requests *r;
	struct critical_path *out;
	VEC(struct made_call) calls; /* by owner, then the latest end first */
	int err;
};

/*
 * The begin of a stretch is told by the clock of another host than the thread's: so much is to be
 * added to the length of its first segment, at least and at most.
 */
struct crossing {
	u64 begin_ns; /* by the clock of the path */
	struct clock_interval more;
};

/* A thread within the walk of a span. */
struct place {
	u32 host;
	u32 tid;
	u32 node;
	s64 shift_ns;		    /* what the clock of the host lacks to the one of the path */
	u8 running;		    /* enum critical_state of the time in which the thread ran */
	int depth;		    /* of wakers */
	const struct stint *stints; /* of the request; only while its server is walked */
	size_t stints_count;
	u32 sender; /* on its host, of the bytes that it reads; 0: not there, or not known */
	struct crossing crossing;
};

struct stretch {
	u64 from_ns, to_ns; /* by the clock of the path */
};

static u64 later(u64 a, u64 b)
{
	return a > b ? a : b;
}

static u64 earlier(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* A time of a host by the clock of the path, which may begin later than that of the host. */
static u64 shifted(u64 local_ns, s64 shift_ns)
{
	return shift_ns < 0 && local_ns < (u64)-shift_ns ? 0 : local_ns + (u64)shift_ns;
}

/* ---- segments ---- */

static bool is_alike(const struct critical_segment *a, const struct critical_segment *b)
{
	return a->host == b->host && a->tid == b->tid && a->node == b->node &&
	       a->state == b->state && a->part == b->part && a->had_cpu == b->had_cpu &&
	       a->wake.context == b->wake.context && a->wake.block == b->wake.block &&
	       a->file.kind == b->file.kind && a->file.key == b->file.key;
}

static u64 lengthened(u64 ns, s64 more_ns)
{
	return more_ns < 0 && ns < -(u64)more_ns ? 0 : ns + (u64)more_ns;
}

static void lengths_fill(struct critical_segment *s, const struct crossing *crossing)
{
	s->least_ns = s->most_ns = s->end_ns - s->begin_ns;
	if (crossing->begin_ns != s->begin_ns)
		return;
	s->least_ns = lengthened(s->least_ns, crossing->more.min_ns);
	s->most_ns = lengthened(s->most_ns, crossing->more.max_ns);
}

/* Puts a segment before those that are there. */
static void segment_put(struct walk *w, const struct place *at, const struct stretch *time,
			const struct critical_segment *kind)
{
	size_t count = w->out->list.count;
	struct critical_segment s = *kind;

	if (w->err || time->from_ns >= time->to_ns)
		return;
	s.begin_ns = time->from_ns;
	s.end_ns = time->to_ns;
	s.local_ns = shifted(time->from_ns, -at->shift_ns);
	s.host = at->host;
	s.tid = at->tid;
	s.node = at->node;
	lengths_fill(&s, &at->crossing);
	if (count >= CRITICAL_SEGMENTS_MOST)
		s.state = CRITICAL_UNKNOWN;
	if (count &&
	    (count >= CRITICAL_SEGMENTS_MOST || is_alike(&w->out->list.data[count - 1], &s))) {
		w->out->list.data[count - 1].begin_ns = s.begin_ns;
		w->out->list.data[count - 1].local_ns = s.local_ns;
		w->out->list.data[count - 1].least_ns += s.least_ns;
		w->out->list.data[count - 1].most_ns += s.most_ns;
		return;
	}
	w->err = vec_push(&w->out->list, s);
}

static void state_put(struct walk *w, const struct place *at, const struct stretch *time, u8 state)
{
	segment_put(w, at, time, &(struct critical_segment){.state = state});
}

/* ---- what a thread did ---- */

static void thread_walk(struct walk *w, const struct place *at, struct stretch time);

/* Up to when a wait was blocked: the thread was ready to run from then on. */
static u64 woken_at(const struct kspan *k)
{
	s64 ready = k->split.ns[SPLIT_runnable] + k->split.ns[SPLIT_throttled];

	if (ready <= 0)
		return k->end_ns;
	return (u64)ready < k->end_ns - k->begin_ns ? k->end_ns - (u64)ready : k->begin_ns;
}

/* The thread was blocked: goes on to the thread that ended it. */
static void blocked_walk(struct walk *w, const struct place *at, const struct kspan *k,
			 const struct stretch *time)
{
	struct place waker = *at;
	bool by_thread = k->wake.has && k->wake.context == WAKE_task && k->wake.waker_tid &&
			 k->wake.waker_tid != at->tid && !k->wake.block;

	if (by_thread && at->depth < WAKERS_MOST &&
	    thread_times_known(&w->r->times[at->host], k->wake.waker_tid)) {
		waker.tid = k->wake.waker_tid;
		waker.running = CRITICAL_RUNNING;
		waker.depth++;
		thread_walk(w, &waker, *time);
		return;
	}
	segment_put(w, at, time,
		    &(struct critical_segment){.state = k->part == SPLIT_unknown ? CRITICAL_UNKNOWN
										 : CRITICAL_WAITING,
					       .part = k->part,
					       .file = k->file,
					       .wake = k->wake});
}

/*
 * The wait of the thread that began last before the end of a stretch, by the path's clock. False:
 * none lasts into the stretch.
 */
static bool wait_in(const struct walk *w, const struct place *at, const struct stretch *time,
		    struct kspan *k)
{
	if (time->from_ns >= time->to_ns ||
	    !thread_times_wait(&w->r->times[at->host], at->tid,
			       shifted(time->from_ns, -at->shift_ns),
			       shifted(time->to_ns, -at->shift_ns), k))
		return false;
	k->begin_ns = shifted(k->begin_ns, at->shift_ns);
	k->end_ns = shifted(k->end_ns, at->shift_ns);
	return k->end_ns > time->from_ns;
}

static void ready_put(struct walk *w, const struct place *at, const struct kspan *k,
		      const struct stretch *time)
{
	segment_put(w, at, time,
		    &(struct critical_segment){.state = CRITICAL_RUNNABLE,
					       .part = k->split.ns[SPLIT_throttled] > 0
							       ? SPLIT_throttled
							       : SPLIT_runnable,
					       .had_cpu = (u32)k->result});
}

/* The last time in a stretch at which the thread was made, and by whom. False: in none. */
static bool born_in(const struct walk *w, const struct place *at, const struct stretch *time,
		    u64 *born_ns, u32 *maker)
{
	const struct facts *f = &w->r->hosts[at->host].p->facts;
	u64 to_ns = shifted(time->to_ns, -at->shift_ns);
	size_t n = COUNT_BEFORE(&f->forks, e,
				e->tid < at->tid || (e->tid == at->tid && e->time_ns < to_ns));
	const struct fact_fork *fork = n ? &f->forks.data[n - 1] : NULL;

	if (!fork || fork->tid != at->tid || shifted(fork->time_ns, at->shift_ns) <= time->from_ns)
		return false;
	*born_ns = shifted(fork->time_ns, at->shift_ns);
	*maker = fork->parent_tid;
	return true;
}

/* What a thread did in a time, from its end back to its begin, or to when it was made. */
static void thread_walk(struct walk *w, const struct place *at, struct stretch time)
{
	struct place maker = *at;
	struct kspan k;
	u64 born_ns;

	if (at->depth < WAKERS_MOST && born_in(w, at, &time, &born_ns, &maker.tid)) {
		thread_walk(w, at, (struct stretch){born_ns, time.to_ns});
		maker.depth++;
		thread_walk(w, &maker, (struct stretch){time.from_ns, born_ns});
		return;
	}
	if (!at->tid || !thread_times_known(&w->r->times[at->host], at->tid)) {
		state_put(w, at, &time, CRITICAL_UNKNOWN);
		return;
	}
	while (!w->err && wait_in(w, at, &time, &k)) {
		u64 end_ns = earlier(k.end_ns, time.to_ns);
		u64 ready_ns = later(earlier(woken_at(&k), end_ns), time.from_ns);
		u64 begin_ns = later(k.begin_ns, time.from_ns);

		state_put(w, at, &(struct stretch){end_ns, time.to_ns}, at->running);
		ready_put(w, at, &k, &(struct stretch){ready_ns, end_ns});
		blocked_walk(w, at, &k, &(struct stretch){begin_ns, ready_ns});
		time.to_ns = begin_ns;
	}
	state_put(w, at, &time, at->running);
}

/* A thread slept while bytes had been sent to it: they were on their way, or another one woke it.
 */
static void under_way_walk(struct walk *w, const struct place *at, const struct kspan *k,
			   const struct stretch *time)
{
	bool by_other = k->wake.has && k->wake.context == WAKE_task && at->sender &&
			k->wake.waker_tid != at->sender;

	if (by_other)
		blocked_walk(w, at, k, time);
	else
		segment_put(w, at, time,
			    &(struct critical_segment){
				    .state = CRITICAL_NETWORK, .part = k->part, .wake = k->wake});
}

/*
 * Bytes were sent at the begin, and a thread had read them at the end. It slept until they came, or
 * did something else.
 */
static void arrival_walk(struct walk *w, const struct place *at, struct stretch time)
{
	struct place busy = *at;
	struct kspan k;
	u64 to_ns = time.to_ns;

	if (at->depth < WAKERS_MOST && born_in(w, at, &time, &to_ns, &busy.tid)) {
		thread_walk(w, at, (struct stretch){to_ns, time.to_ns});
		busy.depth++;
		arrival_walk(w, &busy, (struct stretch){time.from_ns, to_ns});
		return;
	}
	if (!at->depth) /* else it made the thread that read them */
		busy.running = CRITICAL_BUSY;
	while (!w->err && wait_in(w, at, &(struct stretch){time.from_ns, to_ns}, &k)) {
		u64 ready_ns = later(earlier(woken_at(&k), to_ns), time.from_ns);

		if (ready_ns > k.begin_ns) { /* it slept */
			thread_walk(w, at, (struct stretch){ready_ns, time.to_ns});
			time.to_ns = ready_ns;
			under_way_walk(w, at, &k, &time);
			return;
		}
		to_ns = k.begin_ns;
	}
	thread_walk(w, &busy, time);
}

/* ---- what a request did ---- */

static u32 host_of(const struct walk *w, u32 process)
{
	return w->r->processes.list.data[process].host;
}

/*
 * The stint of the request that lasts longest up to an instant of its host; of those, one of the
 * thread, if there is one. NULL: none begins before it.
 */
static const struct stint *stint_before(const struct place *at, u64 local_ns)
{
	const struct stint *best = NULL;
	size_t low = 0, high = at->stints_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (at->stints[middle].from_ns < local_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i > 0 && low - i < STINTS_LOOKED_AT; i--) {
		const struct stint *s = &at->stints[i - 1];
		u64 to_ns = earlier(s->to_ns, local_ns);
		u64 best_ns = best ? earlier(best->to_ns, local_ns) : 0;

		if (!best || to_ns > best_ns ||
		    (to_ns == best_ns && s->tid == at->tid && best->tid != at->tid))
			best = s;
	}
	return best;
}

/* What the server did for a request itself. at->tid is the thread that had it at the end. */
static void own_walk(struct walk *w, struct place *at, struct stretch time)
{
	while (!w->err && time.from_ns < time.to_ns) {
		const struct stint *s = stint_before(at, shifted(time.to_ns, -at->shift_ns));
		u64 ended_ns = s ? earlier(shifted(s->to_ns, at->shift_ns), time.to_ns) : 0;

		ended_ns = later(ended_ns, time.from_ns);
		if (ended_ns < time.to_ns) { /* nobody had it, until this thread took it up */
			at->running = CRITICAL_BUSY;
			thread_walk(w, at, (struct stretch){ended_ns, time.to_ns});
			time.to_ns = ended_ns;
			continue;
		}
		at->tid = s->tid;
		at->running = CRITICAL_RUNNING;
		ended_ns = later(shifted(s->from_ns, at->shift_ns), time.from_ns);
		thread_walk(w, at, (struct stretch){ended_ns, time.to_ns});
		time.to_ns = ended_ns;
	}
}

static void client_walk(struct walk *w, u32 exchange, s64 shift_ns, struct stretch time, int depth);

/* From the end of a request back to its begin, through the calls whose answers it had last. */
static void server_walk(struct walk *w, u32 exchange, s64 shift_ns, struct stretch time, int depth)
{
	const struct exchange_end *server = &w->r->exchanges.data[exchange].server;
	size_t i = COUNT_BEFORE(&w->calls, c, c->owner < exchange);
	struct place at = {.host = host_of(w, server->process),
			   .tid = server->last_tid ? server->last_tid : server->first_tid,
			   .node = node_of_exchange(exchange, true),
			   .shift_ns = shift_ns};

	at.stints_count = stints_of(&w->r->stints, exchange, &at.stints);
	for (; i < w->calls.count && w->calls.data[i].owner == exchange; i++) {
		const struct made_call *c = &w->calls.data[i];
		const struct exchange_end *caller = &w->r->exchanges.data[c->exchange].caller;
		u64 begin_ns = later(shifted(caller->first_ns, shift_ns), time.from_ns);
		u64 end_ns = shifted(c->end_ns, shift_ns);

		if (end_ns > time.to_ns || end_ns <= begin_ns || depth >= CALLS_MOST)
			continue;
		own_walk(w, &at, (struct stretch){end_ns, time.to_ns});
		client_walk(w, c->exchange, shift_ns, (struct stretch){begin_ns, end_ns},
			    depth + 1);
		time.to_ns = begin_ns;
		at.tid = caller->first_tid;
	}
	own_walk(w, &at, time);
}

/* A call whose server was not recorded: its thread waits, or is elsewhere. */
static void unserved_walk(struct walk *w, const struct place *at, u32 exchange,
			  const struct stretch *time)
{
	if (w->r->stints.waited[exchange])
		thread_walk(w, at, *time);
	else
		arrival_walk(w, at, *time);
}

/* From one difference of clocks to another one, which may wrap. */
static s64 apart(s64 from_ns, s64 to_ns)
{
	return (s64)((u64)to_ns - (u64)from_ns);
}

/* From the answer of a call back to its request, through its server. */
static void client_walk(struct walk *w, u32 exchange, s64 shift_ns, struct stretch time, int depth)
{
	const struct exchange *x = &w->r->exchanges.data[exchange];
	struct place client = {.host = host_of(w, x->caller.process),
			       .tid = x->caller.last_tid ? x->caller.last_tid : x->caller.first_tid,
			       .node = node_of_exchange(exchange, false),
			       .shift_ns = shift_ns,
			       .running = CRITICAL_RUNNING};
	struct place server = client;
	struct clock_interval clocks;
	struct request_bounds b;
	u64 begin_ns, end_ns;
	s64 middle_ns;

	if (!x->server.process) {
		unserved_walk(w, &client, exchange, &time);
		return;
	}
	b = request_span_bounds(w->r, exchange, true);
	clocks = shift_of_exchange(w->r, exchange);
	middle_ns = clock_interval_middle(&clocks);
	shift_ns = (s64)((u64)shift_ns + (u64)middle_ns); /* times may be hostile */
	end_ns = earlier(later(shifted(b.end_ns, shift_ns), time.from_ns), time.to_ns);
	begin_ns = later(earlier(shifted(b.begin_ns, shift_ns), end_ns), time.from_ns);
	if (host_of(w, x->server.process) == client.host)
		client.sender = x->server.last_tid;
	client.crossing = (struct crossing){
		end_ns, {apart(clocks.max_ns, middle_ns), apart(clocks.min_ns, middle_ns)}};
	arrival_walk(w, &client, (struct stretch){end_ns, time.to_ns});
	server_walk(w, exchange, shift_ns, (struct stretch){begin_ns, end_ns}, depth);
	server.host = host_of(w, x->server.process);
	server.tid = x->server.first_tid;
	server.shift_ns = shift_ns;
	server.sender = server.host == client.host ? x->caller.first_tid : 0;
	server.crossing = (struct crossing){
		time.from_ns, {apart(middle_ns, clocks.min_ns), apart(middle_ns, clocks.max_ns)}};
	arrival_walk(w, &server, (struct stretch){time.from_ns, begin_ns});
}

/* ---- all together ---- */

/* The request that made a call, above spans of the application; EDGE_ROOT: none. */
static u32 owner_of(const struct requests *r, u32 exchange)
{
	u32 node = r->node_parents[node_of_exchange(exchange, false)];

	for (int i = 0; i < CALLS_MOST && node != NO_NODE; i++) {
		const struct request_span s = node_span(r, node);

		if (s.kind != REQUEST_APP)
			return s.kind == REQUEST_SERVER ? s.of : EDGE_ROOT;
		node = r->node_parents[node];
	}
	return EDGE_ROOT;
}

static int call_compare(const void *a, const void *b)
{
	const struct made_call *x = a, *y = b;

	COMPARE(x->owner, y->owner);
	COMPARE(y->end_ns, x->end_ns);
	COMPARE(x->exchange, y->exchange);
	return 0;
}

static int calls_find(struct walk *w, const struct request_trace *trace)
{
	int err = 0;

	for (size_t i = trace->first; i < trace->end && !err; i++) {
		const struct request_span *s = &w->r->spans.data[i];
		struct made_call call = {.exchange = s->of};

		if (s->kind != REQUEST_CLIENT)
			continue;
		call.owner = owner_of(w->r, s->of);
		call.end_ns = request_span_bounds(w->r, s->of, false).end_ns;
		if (call.owner != EDGE_ROOT)
			err = vec_push(&w->calls, call);
	}
	if (w->calls.count)
		qsort(w->calls.data, w->calls.count, sizeof(struct made_call), call_compare);
	return err;
}

static void path_reverse(struct critical_path *path)
{
	for (size_t i = 0, j = path->list.count; i + 1 < j; i++) {
		struct critical_segment kept = path->list.data[i];

		path->list.data[i] = path->list.data[--j];
		path->list.data[j] = kept;
	}
}

int critical_find(struct critical_path *out, const struct requests *r,
		  const struct request_trace *trace, const struct request_span *of)
{
	struct walk w = {.r = r, .out = out};
	const struct request_bounds b = request_bounds_of(r, of);
	const struct stretch time = {b.begin_ns, b.end_ns};

	w.err = calls_find(&w, trace);
	if (!w.err && of->kind == REQUEST_SERVER)
		server_walk(&w, of->of, 0, time, 0);
	else if (!w.err)
		client_walk(&w, of->of, 0, time, 0);
	path_reverse(out);
	vec_free(&w.calls);
	return w.err;
}

void critical_free(struct critical_path *path)
{
	vec_free(&path->list);
}
