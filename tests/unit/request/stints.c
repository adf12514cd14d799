/* SPDX-License-Identifier: Apache-2.0 */
/* Which thread worked when for which request, and what it did then. */
#include "request/stints.h"

#include "check.h"
#include "map/partial.h"
#include "request/link.h"

#define HOST 0
#define TID 7

/* A host with one thread, whose sleeps and calls are given. */
struct world {
	struct partial *p;
	struct request_host host;
	struct processes processes;
	struct thread_times times;
	struct exchange exchanges[8];
	u32 parents[8];
	size_t count;
	struct stints stints;
};

static void world_begin(struct world *w)
{
	*w = (struct world){.p = partial_new(&(struct partial_options){.spans = true})};
	CHECK(w->p != NULL);
	w->host = (struct request_host){.p = w->p};
	w->processes.hosts = &w->host;
	w->processes.hosts_count = 1;
	CHECK_EQ(vec_push(&w->processes.list, (struct request_process){0}), 0);
	CHECK_EQ(vec_push(&w->processes.list, ((struct request_process){.host = HOST, .pid = TID})),
		 0);
}

static void world_span(struct world *w, enum kspan_kind kind, u64 begin_ns, u64 end_ns)
{
	bool wait = kind == KSPAN_WAIT;
	struct kspan k = {.kind = (u8)kind,
			  .begin_ns = begin_ns,
			  .end_ns = end_ns,
			  .tid = TID,
			  .pid = TID,
			  .part = wait ? SPLIT_network : 0};

	k.split.ns[wait ? SPLIT_network : SPLIT_kernel] = (s64)(end_ns - begin_ns);
	CHECK_EQ(kspans_add(&w->p->kspans, &k), 0);
}

/* A request that the thread serves, or a call of it for the request `parent`. */
static void world_exchange(struct world *w, u64 from_ns, u64 to_ns, u32 parent)
{
	struct exchange_end end = {.process = 1,
				   .first_ns = from_ns,
				   .last_ns = to_ns,
				   .first_tid = TID,
				   .last_tid = TID};

	if (parent == EDGE_ROOT)
		w->exchanges[w->count].server = end;
	else
		w->exchanges[w->count].caller = end;
	w->parents[w->count++] = parent;
}

static void world_make(struct world *w)
{
	const struct stints_input in = {.exchanges = w->exchanges,
					.count = w->count,
					.parents = w->parents,
					.processes = &w->processes,
					.times = &w->times};

	CHECK_EQ(partial_finish(w->p), 0);
	CHECK_EQ(thread_times_make(&w->times, w->p), 0);
	CHECK_EQ(stints_make(&w->stints, &in), 0);
}

static void world_end(struct world *w)
{
	stints_free(&w->stints);
	thread_times_free(&w->times);
	processes_free(&w->processes);
	partial_free(w->p);
}

/* "from-to " for each stint of an exchange. */
static const char *told(const struct world *w, u32 exchange)
{
	static char text[256];
	const struct stint *first;
	size_t at = 0, count = stints_of(&w->stints, exchange, &first);

	text[0] = '\0';
	for (size_t i = 0; i < count; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%llu-%llu ",
				       (unsigned long long)first[i].from_ns,
				       (unsigned long long)first[i].to_ns);
	return text;
}

/* The thread reads a request, calls, waits for the answer, and answers. */
TEST(one_thing_at_a_time)
{
	struct world w;
	struct split split;

	world_begin(&w);
	world_span(&w, KSPAN_SYSCALL, 1000, 2000);
	world_span(&w, KSPAN_WAIT, 3100, 3900);
	world_exchange(&w, 2000, 5000, EDGE_ROOT);
	world_exchange(&w, 3000, 4000, 0);
	world_make(&w);
	CHECK_STR(told(&w, 0), "2000-3000 3000-4000 4000-5000 ");
	CHECK_STR(told(&w, 1), "");
	CHECK_EQ(w.stints.waited[1], 1);
	split = thread_times_split(&w.times, TID, 2000, 5000);
	CHECK_EQ(split.ns[SPLIT_network], 800);
	CHECK_EQ(split.ns[SPLIT_user], 2200);
	CHECK_EQ(split_total(&split), 3000);
	world_end(&w);
}

/* A loop reads two requests, and goes on with the first one after it slept. */
TEST(a_loop)
{
	struct world w;

	world_begin(&w);
	world_span(&w, KSPAN_WAIT, 3000, 6000);
	world_exchange(&w, 1000, 8000, EDGE_ROOT);
	world_exchange(&w, 2000, 9000, EDGE_ROOT);
	world_exchange(&w, 1500, 6500, 0);
	world_make(&w);
	/* reads 0, calls for it, reads 1, sleeps, gets the answer for 0, answers 0, then 1 */
	CHECK_STR(told(&w, 0), "1000-1500 1500-2000 6000-6500 6500-8000 ");
	CHECK_STR(told(&w, 1), "2000-3000 8000-9000 ");
	CHECK_EQ(w.stints.waited[2], 0);
	world_end(&w);
}

/* Time of a span that lies across the limits counts as far as it is within. */
TEST(limits)
{
	struct world w;
	struct split split;

	world_begin(&w);
	world_span(&w, KSPAN_SYSCALL, 1000, 2000);
	world_span(&w, KSPAN_WAIT, 3000, 4000);
	world_make(&w);
	split = thread_times_split(&w.times, TID, 1500, 3500);
	CHECK_EQ(split.ns[SPLIT_kernel], 500);
	CHECK_EQ(split.ns[SPLIT_network], 500);
	CHECK_EQ(split.ns[SPLIT_user], 1000);
	split = thread_times_split(&w.times, TID + 1, 1500, 3500); /* nothing tells */
	CHECK_EQ(split_total(&split), 2000);
	split = thread_times_split(&w.times, TID, 3500, 3500);
	CHECK_EQ(split_total(&split), 0);
	CHECK_EQ(thread_times_sleeps(&w.times, TID, 2000), 3000);
	CHECK_EQ(thread_times_sleeps(&w.times, TID, 3001), UINT64_MAX);
	world_end(&w);
}

TEST_MAIN()
