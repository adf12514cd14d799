/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of each process in order of time. They are first placed by process, then those of one
 * process are sorted by the digits of their times, which takes linear time. Of events at the same
 * instant the kinds decide, then what the exchange is, but never its place in the input.
 */
#include "base/order.h"
#include "request/link_internal.h"

#define DIGIT_BITS 11
#define DIGIT_VALUES (1u << DIGIT_BITS)
#define THREADS_MAX ((1u << 29) - 1)
#define FEW_EVENTS 128
/* A connect takes longer. What was told as late as this was told at the first use. */
#define CONNECT_LEAST_NS 2000

const struct exchange_detail *link_detail(const struct link *l, const struct exchange_end *end)
{
	static const struct exchange_detail none;

	return end->detail && end->detail < l->in->detail_count ? &l->in->details[end->detail]
								: &none;
}

/* Places events: first only counts them by process, then writes them. */
struct placing {
	struct link *l;
	bool writes;
	int err;
};

static u32 thread_number(struct placing *to, u32 process, u32 tid)
{
	struct link *l = to->l;
	u64 key = (u64)process << 32 | tid;
	uintptr_t number = (uintptr_t)map_get(&l->thread_numbers, key);
	struct link_thread t = {.request = NOBODY, .section = {.first = NOBODY}};

	if (number || to->err)
		return number ? (u32)number - 1 : 0;
	if (l->threads.count >= THREADS_MAX)
		to->err = -ENOMEM;
	if (!to->err)
		to->err = vec_push(&l->threads, t);
	if (!to->err)
		to->err = map_put(&l->thread_numbers, key, (void *)(uintptr_t)l->threads.count);
	return to->err ? 0 : (u32)l->threads.count - 1;
}

static bool is_process(const struct link *l, u32 process)
{
	return process && process < l->in->process_count;
}

static void event_place(struct placing *to, u32 process, u32 tid, struct link_event e)
{
	struct link_process *p = &to->l->processes[process];

	if (to->writes) {
		e.thread = thread_number(to, process, tid);
		to->l->events[p->end] = e;
	}
	p->end++;
}

static void place_call(struct placing *to, u32 number)
{
	const struct exchange_end *end = &link_exchange(to->l, number)->caller;
	struct link_event e = {end->first_ns, number, .kind = LINK_CALL};

	event_place(to, end->process, end->first_tid, e);
	if (!end->last_ns)
		return;
	e.kind = LINK_DONE;
	e.time_ns = end->last_ns > end->first_ns ? end->last_ns : end->first_ns;
	event_place(to, end->process, end->last_tid ? end->last_tid : end->first_tid, e);
}

static void place_request(struct placing *to, u32 number)
{
	const struct exchange_end *end = &link_exchange(to->l, number)->server;
	struct link_item *item = &to->l->items[number];
	struct link_event e = {end->first_ns, number, .kind = LINK_REQUEST};

	event_place(to, end->process, end->first_tid, e);
	if (to->writes)
		item->reader = thread_number(to, end->process, end->first_tid);
	if (item->closed_ns == UINT64_MAX)
		return;
	e.kind = LINK_ANSWER;
	e.time_ns = item->closed_ns;
	event_place(to, end->process, end->last_tid ? end->last_tid : end->first_tid, e);
}

/* The first call on each connection, which belongs to who connected it. */
static void place_connects(struct placing *to, const u32 *first_calls)
{
	const struct link_input *in = to->l->in;

	for (size_t i = 0; i < in->connection_count; i++) {
		const struct exchange_connection *c = &in->connections[i];
		const struct exchange_end *end;
		struct link_event e = {c->connected_ns, first_calls[i], .kind = LINK_CONNECT};

		if (first_calls[i] == NOBODY || !c->connected_ns)
			continue;
		end = &link_exchange(to->l, first_calls[i])->caller;
		if (c->connected_ns < end->first_ns &&
		    end->first_ns - c->connected_ns > CONNECT_LEAST_NS)
			event_place(to, end->process,
				    c->connected_tid ? c->connected_tid : end->first_tid, e);
	}
}

static void place_all(struct placing *to, const u32 *first_calls)
{
	const struct link_input *in = to->l->in;

	for (u32 i = 0; i < in->exchange_count; i++) {
		if (to->l->items[i].is_call)
			place_call(to, i);
		if (to->l->items[i].is_request)
			place_request(to, i);
	}
	place_connects(to, first_calls);
	for (u32 i = 0; i < in->hand_off_count; i++) {
		const struct hand_off *h = &in->hand_offs[i];
		struct link_event e = {h->time_ns, i, .kind = LINK_WAKE};

		if (is_process(to->l, h->process) && h->waker != h->woken) {
			event_place(to, h->process, h->woken, e);
			if (to->writes)
				thread_number(to, h->process, h->waker);
		}
	}
	for (u32 i = 0; i < in->fork_count; i++) {
		const struct request_fork *f = &in->forks[i];
		struct link_event e = {f->time_ns, i, .kind = LINK_FORK};

		if (is_process(to->l, f->parent) && is_process(to->l, f->child))
			event_place(to, f->parent, f->tid, e);
	}
}

static int exchange_compare(const struct link *l, u32 a, u32 b)
{
	const struct exchange *x = link_exchange(l, a), *y = link_exchange(l, b);

	COMPARE(x->caller.first_ns, y->caller.first_ns);
	COMPARE(x->server.first_ns, y->server.first_ns);
	COMPARE(x->from, y->from);
	COMPARE(x->to, y->to);
	COMPARE(x->caller.first_tid, y->caller.first_tid);
	COMPARE(x->server.first_tid, y->server.first_tid);
	COMPARE(x->caller.last_ns, y->caller.last_ns);
	COMPARE(x->server.last_ns, y->server.last_ns);
	COMPARE(x->answer_from, y->answer_from);
	COMPARE(x->answer_to, y->answer_to);
	COMPARE(link_peer(l, a), link_peer(l, b));
	return 0;
}

static int hand_off_compare(const struct hand_off *x, const struct hand_off *y)
{
	COMPARE(x->waker, y->waker);
	COMPARE(x->woken, y->woken);
	COMPARE(x->word, y->word);
	COMPARE(x->kind, y->kind);
	return 0;
}

static int event_compare(const void *a, const void *b, void *context)
{
	const struct link_event *x = a, *y = b;
	const struct link *l = context;

	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->kind, y->kind);
	if (x->kind == LINK_WAKE)
		return hand_off_compare(&l->in->hand_offs[x->number], &l->in->hand_offs[y->number]);
	if (x->kind == LINK_FORK) {
		COMPARE(l->in->forks[x->number].tid, l->in->forks[y->number].tid);
		COMPARE(l->in->forks[x->number].child, l->in->forks[y->number].child);
		return 0;
	}
	return exchange_compare(l, x->number, y->number);
}

/* One step of a sort by digits, from the lowest one on. */
static void digit_sort(const struct link_event *from, struct link_event *to, size_t count,
		       unsigned int shift)
{
	size_t at[DIGIT_VALUES] = {0}, sum = 0;

	for (size_t i = 0; i < count; i++)
		at[from[i].time_ns >> shift & (DIGIT_VALUES - 1)]++;
	for (size_t i = 0; i < DIGIT_VALUES; i++) {
		size_t here = at[i];

		at[i] = sum;
		sum += here;
	}
	for (size_t i = 0; i < count; i++)
		to[at[from[i].time_ns >> shift & (DIGIT_VALUES - 1)]++] = from[i];
}

/* Sorts by time. `spare` has room for as many. Digits that all times share take no step. */
static void times_sort(struct link_event *events, struct link_event *spare, size_t count)
{
	struct link_event *from = events, *to = spare, *swap;
	u64 differs = 0;

	for (size_t i = 1; i < count; i++)
		differs |= events[i].time_ns ^ events[0].time_ns;
	for (unsigned int shift = 0; shift < 64; shift += DIGIT_BITS) {
		if (!(differs >> shift & (DIGIT_VALUES - 1)))
			continue;
		digit_sort(from, to, count, shift);
		swap = from;
		from = to;
		to = swap;
	}
	if (from != events)
		memcpy(events, from, count * sizeof(*events));
}

static void process_sort(struct link *l, struct link_process *p, struct link_event *spare)
{
	struct link_event *events = l->events + p->begin;
	size_t count = p->end - p->begin;

	if (count < FEW_EVENTS) {
		if (count)
			qsort_r(events, count, sizeof(*events), event_compare, l);
		return;
	}
	times_sort(events, spare, count);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && events[next].time_ns == events[i].time_ns;)
			next++;
		if (next - i > 1)
			qsort_r(events + i, next - i, sizeof(*events), event_compare, l);
	}
}

/* Turns the counts of events by process into their places. Returns the largest one. */
static size_t places_make(struct link *l)
{
	size_t sum = 0, most = 0;

	for (size_t i = 0; i < l->in->process_count; i++) {
		size_t count = l->processes[i].end;

		most = count > most ? count : most;
		l->processes[i].begin = l->processes[i].end = sum;
		sum += count;
	}
	l->event_count = sum;
	return most;
}

/* Notes what came behind what on a connection, and which requests never get an answer. */
static void connection_follows(struct link *l, u32 before, u32 number, u64 time_ns)
{
	struct link_item *was = &l->items[before], *item = &l->items[number];

	if (was->closed_ns <= time_ns ||
	    link_exchange(l, before)->server.process != link_exchange(l, number)->server.process)
		return;
	if (was->is_answered) {
		item->behind = before;
		was->then = number;
	} else {
		item->supersedes = before;
		was->closed_ns = time_ns;
	}
}

/* Numbers the requests of a process. last: of each connection. */
static void requests_follow(struct link *l, struct link_process *p, u32 *last)
{
	for (size_t i = p->begin; i < p->end; i++) {
		const struct link_event *e = &l->events[i];
		u32 *before;

		if (e->kind != LINK_REQUEST)
			continue;
		before = &last[link_exchange(l, e->number)->connection];
		if (*before != NOBODY)
			connection_follows(l, *before, e->number, e->time_ns);
		*before = e->number;
		l->items[e->number].place = p->requests++;
		if (p->first_request_ns > e->time_ns)
			p->first_request_ns = e->time_ns;
	}
}

static void item_begin(struct link *l, u32 number)
{
	const struct exchange *x = link_exchange(l, number);
	struct link_item *item = &l->items[number];
	u64 last = x->server.last_ns;
	bool known = x->connection < l->in->connection_count && !(x->flags & EXCHANGE_STREAM);
	/* what a process says to itself one way is a wake-up, not a request */
	bool inside = x->flags & EXCHANGE_ONE_WAY && x->caller.process == x->server.process;

	*item = (struct link_item){.behind = NOBODY,
				   .then = NOBODY,
				   .supersedes = NOBODY,
				   .request = NOBODY,
				   .next = NOBODY,
				   .closed_ns = UINT64_MAX};
	item->is_call = known && is_process(l, x->caller.process);
	item->is_request = known && !inside && is_process(l, x->server.process);
	item->is_answered = x->answer_from != x->answer_to && last;
	if (last && item->is_request)
		item->closed_ns = last > x->server.first_ns ? last : x->server.first_ns;
}

/* Finds the first call of each connection. NULL if there is no memory. */
static u32 *first_calls_find(struct link *l)
{
	const struct link_input *in = l->in;
	u32 *first = malloc((in->connection_count + 1) * sizeof(*first));

	if (!first)
		return NULL;
	memset(first, 0xff, (in->connection_count + 1) * sizeof(*first));
	for (u32 i = 0; i < in->exchange_count; i++) {
		u32 *slot = &first[l->items[i].is_call ? link_exchange(l, i)->connection : 0];

		if (l->items[i].is_call && (*slot == NOBODY || exchange_compare(l, i, *slot) < 0))
			*slot = i;
	}
	return first;
}

static int events_fill(struct link *l, u32 *scratch)
{
	struct placing to = {.l = l};
	struct link_event *spare;
	size_t most;

	place_all(&to, scratch);
	most = places_make(l);
	l->events = malloc((l->event_count + 1) * sizeof(*l->events));
	spare = malloc((most + 1) * sizeof(*spare));
	to.writes = true;
	if (!l->events || !spare)
		to.err = -ENOMEM;
	else
		place_all(&to, scratch);
	memset(scratch, 0xff, (l->in->connection_count + 1) * sizeof(*scratch));
	for (size_t i = 0; i < l->in->process_count && !to.err; i++) {
		process_sort(l, &l->processes[i], spare);
		requests_follow(l, &l->processes[i], scratch);
	}
	free(spare);
	return to.err;
}

static void processes_describe(struct link *l)
{
	for (u32 i = 0; i < l->in->exchange_count; i++) {
		const struct exchange *x = link_exchange(l, i);
		const struct exchange_detail *called = link_detail(l, &x->caller);

		if (l->items[i].is_call && called->light)
			l->processes[x->caller.process].has_lights = true;
		if (l->items[i].is_call && detail_has_context(called))
			l->processes[x->caller.process].has_contexts = true;
		if (l->items[i].is_request && link_detail(l, &x->server)->light)
			l->processes[x->server.process].has_lights = true;
	}
}

int link_events(struct link *l)
{
	const struct link_input *in = l->in;
	u32 *first;
	int err;

	if (in->exchange_count >= NOBODY || in->hand_off_count >= NOBODY ||
	    in->fork_count >= NOBODY)
		return -ENOMEM;
	l->processes = calloc(in->process_count + 1, sizeof(*l->processes));
	l->items = malloc((in->exchange_count + 1) * sizeof(*l->items));
	if (!l->processes || !l->items)
		return -ENOMEM;
	for (size_t i = 0; i < in->process_count; i++) {
		l->processes[i].inherited = NOBODY;
		l->processes[i].first_request_ns = UINT64_MAX;
	}
	for (u32 i = 0; i < in->exchange_count; i++)
		item_begin(l, i);
	first = first_calls_find(l);
	err = first ? events_fill(l, first) : -ENOMEM;
	free(first);
	processes_describe(l);
	return err;
}

void link_free(struct link *l)
{
	free(l->events);
	free(l->processes);
	free(l->items);
	vec_free(&l->threads);
	map_free(&l->thread_numbers);
	map_free(&l->symmetric);
	map_free(&l->sleepers);
}
