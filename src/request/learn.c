/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What services do for a request, observed of requests whose calls are known. Seen backward, time
 * runs from the answer of a request to its begin: a call begins when its answer came, and ends when
 * it was sent.
 */
#include "request/learn.h"

#include "base/order.h"

#define LESSON_PEERS 32 /* of one request; calls to further ones are not observed */
#define LAG_LEAST_NS 1024

struct lesson_call {
	u64 begin_ns, end_ns; /* UINT64_MAX: it did not end */
	u64 peer;
};

/* A request and its calls in order of their begin. */
struct lesson {
	u64 service;
	u64 begin_ns;
	struct lesson_call *calls;
	size_t count;
};

/* Where a lesson has come. */
struct lesson_state {
	const struct lessons *s;
	const struct lesson *lesson;
	u64 peers[LESSON_PEERS];
	u32 begun[LESSON_PEERS], done[LESSON_PEERS];
	u32 peer_count;
	u32 under_way; /* calls */
	u64 last_ns;   /* the last input */
	int err;
};

u32 log2_fixed(u64 value)
{
	unsigned int whole;

	if (value < 2)
		return 0;
	whole = 63 - (unsigned int)__builtin_clzll(value);
	return whole * 256 + (u32)(value << (63 - whole) >> 55 & 255);
}

static void emit(struct lesson_state *at, struct learned_key key, u64 count)
{
	key.service = at->lesson->service;
	key.backward = at->s->backward;
	if (!at->err)
		at->err = at->s->take(at->s->to, &key, count);
}

/* The number of a peer within the lesson; LESSON_PEERS: there are too many. */
static u32 peer_number(struct lesson_state *at, u64 peer)
{
	u32 i = 0;

	while (i < at->peer_count && at->peers[i] != peer)
		i++;
	if (i == at->peer_count && i < LESSON_PEERS)
		at->peers[at->peer_count++] = peer;
	return i;
}

static u16 at_most(u32 value, u32 most)
{
	return (u16)(value < most ? value : most);
}

static void call_observe(struct lesson_state *at, const struct lesson_call *call, u32 peer)
{
	u64 lag = log2_fixed(call->begin_ns - at->last_ns + LAG_LEAST_NS);
	struct learned_key key = {.peer = call->peer,
				  .nth = at_most(at->begun[peer], LEARNED_NTH_MOST)};

	key.kind = LEARNED_UNDER_WAY;
	key.value = at_most(at->under_way, LEARNED_DONE_MOST);
	emit(at, key, 1);
	for (u32 i = 0; i < at->peer_count; i++) {
		key.kind = LEARNED_DONE;
		key.other = at->peers[i];
		key.value = at_most(at->done[i], LEARNED_DONE_MOST);
		if (i != peer && at->done[i])
			emit(at, key, 1);
		key.kind = LEARNED_BEGUN;
		key.value = at_most(at->begun[i], LEARNED_DONE_MOST);
		if (i != peer && at->begun[i])
			emit(at, key, 1);
	}
	key.other = key.value = 0;
	key.kind = LEARNED_LAG_COUNT;
	emit(at, key, 1);
	key.kind = LEARNED_LAG_SUM;
	emit(at, key, lag);
	key.kind = LEARNED_LAG_SQUARES;
	emit(at, key, lag * lag);
}

static int end_compare(const void *a, const void *b)
{
	const struct lesson_call *x = a, *y = b;

	COMPARE(x->end_ns, y->end_ns);
	COMPARE(x->peer, y->peer);
	return 0;
}

/* Takes over all calls that ended until then. Returns how many have ended. */
static size_t ends_take(struct lesson_state *at, const struct lesson_call *ends, size_t ended,
			u64 until_ns)
{
	for (; ended < at->lesson->count && ends[ended].end_ns <= until_ns; ended++) {
		u32 peer = peer_number(at, ends[ended].peer);

		if (peer < LESSON_PEERS)
			at->done[peer]++;
		if (ends[ended].end_ns > at->last_ns)
			at->last_ns = ends[ended].end_ns;
	}
	return ended;
}

/* `ends` has room for the calls. */
static int lesson_observe(const struct lessons *s, const struct lesson *lesson,
			  struct lesson_call *ends)
{
	struct lesson_state at = {.s = s, .lesson = lesson, .last_ns = lesson->begin_ns};
	size_t ended = 0;

	if (lesson->count) {
		memcpy(ends, lesson->calls, lesson->count * sizeof(*ends));
		qsort(ends, lesson->count, sizeof(*ends), end_compare);
	}
	for (size_t i = 0; i < lesson->count; i++) {
		const struct lesson_call *call = &lesson->calls[i];
		u32 peer;

		ended = ends_take(&at, ends, ended, call->begin_ns);
		at.under_way = (u32)(i > ended ? i - ended : 0);
		peer = peer_number(&at, call->peer);
		if (peer < LESSON_PEERS && call->begin_ns >= at.last_ns) {
			call_observe(&at, call, peer);
			at.begun[peer]++;
		}
	}
	for (u32 i = 0; i < at.peer_count; i++)
		emit(&at,
		     (struct learned_key){.kind = LEARNED_CALLS,
					  .peer = at.peers[i],
					  .value = at_most(at.begun[i], LEARNED_CALLS_MOST)},
		     1);
	emit(&at, (struct learned_key){.kind = LEARNED_REQUESTS}, 1);
	return at.err;
}

/* The calls of a process, put together by their requests. */
struct call_groups {
	size_t *begins;		   /* by number of the request in the process, and the end */
	struct lesson_call *calls; /* and room for as many again */
};

static bool is_wanted(const struct lessons *s, u32 owner, const bool *wanted)
{
	const struct link *l = s->l;
	const struct link_process *p = s->p;

	return owner != NOBODY && &l->processes[link_exchange(l, owner)->server.process] == p &&
	       l->items[owner].is_request && wanted[l->items[owner].place];
}

/* The call in the direction of the lessons. */
static struct lesson_call call_seen(const struct lessons *s, u32 number)
{
	const struct exchange_end *end = &link_exchange(s->l, number)->caller;
	u64 begin = end->first_ns, done = end->last_ns > begin ? end->last_ns : begin;
	struct lesson_call call = {begin, end->last_ns ? done : UINT64_MAX,
				   link_peer(s->l, number)};

	if (s->backward) {
		call.begin_ns = ~done;
		call.end_ns = ~begin;
	}
	return call;
}

/* Goes through the calls in the direction of the lessons: counts them, then places them. */
static void groups_pass(const struct lessons *s, const bool *wanted, struct call_groups *g,
			bool places)
{
	u32 kind = s->backward ? LINK_DONE : LINK_CALL;
	size_t count = s->p->end - s->p->begin;

	for (size_t i = 0; i < count; i++) {
		const struct link_event *e =
			&s->l->events[s->backward ? s->p->end - 1 - i : s->p->begin + i];
		u32 owner;

		if (e->kind != kind)
			continue;
		owner = s->owners[e->number];
		if (!is_wanted(s, owner, wanted))
			continue;
		if (places)
			g->calls[g->begins[s->l->items[owner].place]] = call_seen(s, e->number);
		g->begins[s->l->items[owner].place]++;
	}
}

static int groups_make(const struct lessons *s, const bool *wanted, struct call_groups *g)
{
	size_t sum = 0;

	*g = (struct call_groups){calloc(s->p->requests + 1, sizeof(*g->begins)), NULL};
	if (!g->begins)
		return -ENOMEM;
	groups_pass(s, wanted, g, false);
	for (u32 i = 0; i <= s->p->requests; i++) {
		size_t count = g->begins[i];

		g->begins[i] = sum;
		sum += count;
	}
	g->calls = malloc((2 * sum + 1) * sizeof(*g->calls));
	if (!g->calls)
		return -ENOMEM;
	groups_pass(s, wanted, g, true);
	/* each begin has become the end of its group, which is the begin of the next one */
	memmove(g->begins + 1, g->begins, s->p->requests * sizeof(*g->begins));
	g->begins[0] = 0;
	return 0;
}

static int groups_observe(const struct lessons *s, const bool *wanted, const struct call_groups *g)
{
	struct lesson_call *ends = g->calls + g->begins[s->p->requests];
	int err = 0;

	for (size_t i = s->p->begin; i < s->p->end && !err; i++) {
		const struct link_event *e = &s->l->events[i];
		const struct link_item *item;
		struct lesson lesson;

		if (e->kind != LINK_REQUEST)
			continue;
		item = &s->l->items[e->number];
		lesson = (struct lesson){
			.service = link_peer(s->l, e->number),
			.begin_ns = s->backward ? ~item->closed_ns : e->time_ns,
			.calls = g->calls + g->begins[item->place],
			.count = g->begins[item->place + 1] - g->begins[item->place],
		};
		if (wanted[item->place])
			err = lesson_observe(s, &lesson, ends);
	}
	return err;
}

static int lessons_observe(const struct lessons *s, const bool *wanted)
{
	struct call_groups groups;
	int err = groups_make(s, wanted, &groups);

	if (!err)
		err = groups_observe(s, wanted, &groups);
	free(groups.begins);
	free(groups.calls);
	return err;
}

/* True if the whole request was seen. */
static bool request_is_whole(const struct link *l, u32 request)
{
	return l->items[request].is_answered &&
	       !(link_exchange(l, request)->flags &
		 (EXCHANGE_SOFT_BEGIN | EXCHANGE_SOFT_END | EXCHANGE_CUT | EXCHANGE_ONE_WAY));
}

/* Whether the request is one of those that are observed. */
static bool request_is_taught(const struct lessons *s, u32 request)
{
	u64 came_ns = link_exchange(s->l, request)->server.first_ns;

	return !s->until_ns || (came_ns >= s->from_ns && came_ns < s->until_ns);
}

/* Finds requests that had the process to themselves, and what happens between requests. */
struct alone_pass {
	const struct lessons *s;
	bool *alone; /* by number of the request in the process */
	u32 open, open_xor;
	u32 before; /* the request that ended last, nothing having been open since */
	u64 idle_since;
	int err;
};

static void alone_emit(struct alone_pass *a, u32 request, struct learned_key key, u64 count)
{
	key.service = link_peer(a->s->l, request);
	key.backward = a->s->backward;
	if (!a->err && request_is_taught(a->s, request))
		a->err = a->s->take(a->s->to, &key, count);
}

static void alone_came(struct alone_pass *a, const struct link_event *e)
{
	const struct link *l = a->s->l;
	const struct link_item *item = &l->items[e->number];

	if (item->supersedes != NOBODY) {
		a->open--;
		a->open_xor ^= item->supersedes;
	}
	if (a->open == 0 && a->before != NOBODY)
		alone_emit(a, a->before, (struct learned_key){.kind = LEARNED_IDLE_NS},
			   e->time_ns - a->idle_since);
	if (a->open == 1)
		a->alone[l->items[a->open_xor].place] = false;
	a->alone[item->place] = a->open == 0 && request_is_whole(l, e->number) &&
				request_is_taught(a->s, e->number);
	a->open++;
	a->open_xor ^= e->number;
	a->before = NOBODY;
}

static void alone_ended(struct alone_pass *a, const struct link_event *e)
{
	const struct link_item *item = &a->s->l->items[e->number];
	u64 duration = e->time_ns - link_exchange(a->s->l, e->number)->server.first_ns;

	if (item->closed_ns != e->time_ns)
		return;
	a->open--;
	a->open_xor ^= e->number;
	if (a->alone[item->place])
		alone_emit(a, e->number, (struct learned_key){.kind = LEARNED_ALONE_NS}, duration);
	if (a->open == 0) {
		a->before = e->number;
		a->idle_since = e->time_ns;
	}
}

static void alone_called(struct alone_pass *a, const struct link_event *e)
{
	struct learned_key key = {.kind = LEARNED_IDLE_CALLS,
				  .peer = link_peer(a->s->l, e->number)};

	a->s->owners[e->number] = a->open == 1 ? a->open_xor : NOBODY;
	if (a->open == 0 && a->before != NOBODY)
		alone_emit(a, a->before, key, 1);
}

int lessons_alone(const struct lessons *s)
{
	struct alone_pass a = {.s = s, .before = NOBODY};
	int err;

	a.alone = calloc(s->p->requests + 1, sizeof(*a.alone));
	if (!a.alone)
		return -ENOMEM;
	for (size_t i = s->p->begin; i < s->p->end; i++) {
		const struct link_event *e = &s->l->events[i];

		if (e->kind == LINK_REQUEST)
			alone_came(&a, e);
		else if (e->kind == LINK_ANSWER)
			alone_ended(&a, e);
		else if (e->kind == LINK_CALL)
			alone_called(&a, e);
	}
	err = a.err ? a.err : lessons_observe(s, a.alone);
	free(a.alone);
	return err;
}

int lessons_owned(const struct lessons *s)
{
	bool *wanted = calloc(s->p->requests + 1, sizeof(*wanted));
	int err;

	if (!wanted)
		return -ENOMEM;
	for (size_t i = s->p->begin; i < s->p->end; i++) {
		const struct link_event *e = &s->l->events[i];

		if (e->kind == LINK_REQUEST)
			wanted[s->l->items[e->number].place] = request_is_whole(s->l, e->number);
	}
	err = lessons_observe(s, wanted);
	free(wanted);
	return err;
}
