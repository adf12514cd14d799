/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path of requests: who had them when, and what they waited for. */
#include "request/critical.h"

#include <stdlib.h>

#include "check.h"
#include "request/nodes.h"
#include "request/traces.h"

#define FRONT 7 /* the threads, each of a process of its own */
#define BACK 8
#define HOG 9
#define HELPER 10
#define NEAR 0 /* the hosts */
#define FAR 1

/* Two hosts, and what their threads did. */
struct world {
	struct partial *partials[2];
	struct request_host hosts[2];
	struct requests r;
	struct critical_path path;
};

static void world_begin(struct world *w)
{
	*w = (struct world){0};
	for (int i = 0; i < 2; i++) {
		w->partials[i] = partial_new(&(struct partial_options){.spans = true});
		CHECK(w->partials[i] != NULL);
		partial_cover(w->partials[i], 1, 1000000);
		w->hosts[i].p = w->partials[i];
	}
	w->r.hosts = w->r.processes.hosts = w->hosts;
	w->r.hosts_count = w->r.processes.hosts_count = 2;
	CHECK_EQ(vec_push(&w->r.processes.list, (struct request_process){0}), 0);
	CHECK_EQ(vec_push(&w->r.connections.list, (struct connection){.id = 1}), 0);
}

/* The number of a new process. */
static u32 world_process(struct world *w, u32 host, u32 pid)
{
	CHECK_EQ(vec_push(&w->r.processes.list,
			  ((struct request_process){.host = host, .pid = pid})),
		 0);
	return (u32)w->r.processes.list.count - 1;
}

/* A thread slept up to woken_ns, and was ready to run up to end_ns. */
struct slept {
	u32 host, tid;
	u64 begin_ns, woken_ns, end_ns;
	u32 waker, had_cpu;
	u8 part;
};

static void world_sleep(struct world *w, const struct slept *s)
{
	struct kspan k = {.kind = KSPAN_WAIT,
			  .begin_ns = s->begin_ns,
			  .end_ns = s->end_ns,
			  .tid = s->tid,
			  .pid = s->tid,
			  .part = s->part,
			  .result = s->had_cpu ? LIFE_HAD_CPU(s->had_cpu) : 0,
			  .wake = {.has = true,
				   .time_ns = s->woken_ns,
				   .waker_tid = s->waker,
				   .context = s->waker ? WAKE_task : WAKE_softirq}};

	k.split.ns[s->part] += (s64)(s->woken_ns - s->begin_ns);
	k.split.ns[SPLIT_runnable] += (s64)(s->end_ns - s->woken_ns);
	CHECK_EQ(kspans_add(&w->partials[s->host]->kspans, &k), 0);
}

static struct exchange_end end_of(u32 process, u32 tid, u64 from_ns, u64 to_ns)
{
	return (struct exchange_end){.process = process,
				     .first_ns = from_ns,
				     .last_ns = to_ns,
				     .first_tid = tid,
				     .last_tid = tid};
}

static const struct exchange_end nobody;

/* Adds an exchange that belongs to the request `parent`. */
static void world_exchange(struct world *w, u32 parent, struct exchange_end caller,
			   struct exchange_end server)
{
	size_t count = w->r.exchanges.count;
	struct exchange x = {.caller = caller,
			     .server = server,
			     .from = 10 * count,
			     .to = 10 * count + 10,
			     .answer_to = 10};

	CHECK_EQ(vec_push(&w->r.exchanges, x), 0);
	w->r.parents = realloc(w->r.parents, (count + 1) * sizeof(u32));
	CHECK(w->r.parents != NULL);
	w->r.parents[count] = parent;
}

/* "tid state from-to " for each segment of the path of the first exchange. */
static const char *world_path(struct world *w)
{
	static const char letters[] = "rbqwn?";
	static char text[1024];
	struct stints_input in;
	u64 at_ns;
	size_t at = 0;

	w->r.edges = calloc(w->r.exchanges.count + 1, sizeof(struct edge));
	w->r.times = calloc(3, sizeof(struct thread_times));
	CHECK(w->r.edges != NULL && w->r.times != NULL);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(partial_finish(w->partials[i]), 0);
		CHECK_EQ(thread_times_make(&w->r.times[i], w->partials[i]), 0);
	}
	in = (struct stints_input){w->r.exchanges.data, w->r.exchanges.count, w->r.parents,
				   &w->r.processes, w->r.times};
	CHECK_EQ(stints_make(&w->r.stints, &in), 0);
	CHECK_EQ(request_traces_make(&w->r), 0);
	CHECK_EQ(w->r.traces.count, 1);
	CHECK_EQ(critical_find(&w->path, &w->r, &w->r.traces.data[0], &w->r.spans.data[0]), 0);
	at_ns = request_bounds_of(&w->r, &w->r.spans.data[0]).begin_ns;
	text[0] = '\0';
	for (size_t i = 0; i < w->path.list.count; i++) {
		const struct critical_segment *s = &w->path.list.data[i];

		CHECK_EQ(s->begin_ns, at_ns);
		at_ns = s->end_ns;
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%u%c%llu-%llu ", s->tid,
				       letters[s->state], (unsigned long long)s->begin_ns,
				       (unsigned long long)s->end_ns);
	}
	CHECK_EQ(at_ns, request_bounds_of(&w->r, &w->r.spans.data[0]).end_ns);
	return text;
}

static void world_end(struct world *w)
{
	critical_free(&w->path);
	requests_free(&w->r);
	partial_free(w->partials[0]);
	partial_free(w->partials[1]);
}

/* FRONT asks BACK, which gets no CPU for long. */
TEST(waits_for_a_cpu)
{
	struct world w;
	u32 front, back;

	world_begin(&w);
	front = world_process(&w, NEAR, FRONT);
	back = world_process(&w, NEAR, BACK);
	world_sleep(&w, &(struct slept){NEAR, BACK, 500, 2100, 4900, FRONT, HOG, SPLIT_network});
	world_sleep(&w, &(struct slept){NEAR, FRONT, 2050, 8100, 8500, BACK, 0, SPLIT_network});
	world_exchange(&w, EDGE_ROOT, nobody, end_of(front, FRONT, 1000, 10000));
	world_exchange(&w, 0, end_of(front, FRONT, 2000, 9000), end_of(back, BACK, 5000, 8000));
	CHECK_STR(world_path(&w), "7r1000-2000 8n2000-2100 8q2100-4900 8r4900-5000 8r5000-8000 "
				  "7n8000-8100 7q8100-8500 7r8500-9000 7r9000-10000 ");
	CHECK_EQ(w.path.list.data[2].had_cpu, LIFE_HAD_CPU(HOG));
	CHECK_EQ(w.path.list.data[2].node, node_of_exchange(1, false));
	CHECK_EQ(w.path.list.data[4].node, node_of_exchange(1, true));
	world_end(&w);
}

/* The server did not sleep since the request was sent: it did something else. */
TEST(is_busy)
{
	struct world w;
	u32 front, back;

	world_begin(&w);
	front = world_process(&w, NEAR, FRONT);
	back = world_process(&w, NEAR, BACK);
	world_sleep(&w, &(struct slept){NEAR, BACK, 500, 900, 1000, 0, 0, SPLIT_network});
	world_sleep(&w, &(struct slept){NEAR, BACK, 3000, 3000, 3500, 0, HOG, SPLIT_runnable});
	world_sleep(&w, &(struct slept){NEAR, FRONT, 2050, 8000, 8000, BACK, 0, SPLIT_network});
	world_exchange(&w, EDGE_ROOT, nobody, end_of(front, FRONT, 1000, 10000));
	world_exchange(&w, 0, end_of(front, FRONT, 2000, 8000), end_of(back, BACK, 5000, 8000));
	CHECK_STR(world_path(&w), "7r1000-2000 8b2000-3000 8q3000-3500 8b3500-5000 8r5000-8000 "
				  "7r8000-10000 ");
	world_end(&w);
}

/* The thread waits for a lock, whose owner waits for a disk. */
TEST(goes_on_to_the_waker)
{
	struct world w;
	u32 front;

	world_begin(&w);
	front = world_process(&w, NEAR, FRONT);
	world_sleep(&w, &(struct slept){NEAR, FRONT, 2000, 6000, 6100, HELPER, 0, SPLIT_lock});
	world_sleep(&w, &(struct slept){NEAR, HELPER, 1500, 5000, 5500, 0, HOG, SPLIT_disk});
	world_exchange(&w, EDGE_ROOT, nobody, end_of(front, FRONT, 1000, 10000));
	CHECK_STR(world_path(&w), "7r1000-2000 10w2000-5000 10q5000-5500 10r5500-6000 "
				  "7q6000-6100 7r6100-10000 ");
	CHECK_EQ(w.path.list.data[1].part, SPLIT_disk);
	world_end(&w);
}

/* Two threads that wake each other within one instant end, and the sum stays exact. */
TEST(wakers_in_a_circle)
{
	struct world w;
	u32 front;

	world_begin(&w);
	front = world_process(&w, NEAR, FRONT);
	world_sleep(&w, &(struct slept){NEAR, FRONT, 2000, 6000, 6000, HELPER, 0, SPLIT_lock});
	world_sleep(&w, &(struct slept){NEAR, HELPER, 2000, 6000, 6000, FRONT, 0, SPLIT_lock});
	world_exchange(&w, EDGE_ROOT, nobody, end_of(front, FRONT, 1000, 10000));
	CHECK_STR(world_path(&w), "7r1000-2000 7w2000-6000 7r6000-10000 ");
	world_end(&w);
}

/* Of two calls at once, the one whose answer came last counts. */
TEST(the_last_answer_counts)
{
	struct world w;
	u32 front, back;

	world_begin(&w);
	front = world_process(&w, NEAR, FRONT);
	back = world_process(&w, NEAR, BACK);
	world_sleep(&w, &(struct slept){NEAR, FRONT, 100, 200, 200, 0, 0, SPLIT_timer});
	world_sleep(&w, &(struct slept){NEAR, BACK, 100, 200, 200, 0, 0, SPLIT_timer});
	world_exchange(&w, EDGE_ROOT, nobody, end_of(front, FRONT, 1000, 10000));
	world_exchange(&w, 0, end_of(front, FRONT, 2000, 7000), end_of(back, BACK, 2000, 7000));
	world_exchange(&w, 0, end_of(front, FRONT, 3000, 9000), end_of(back, BACK, 3000, 9000));
	world_path(&w);
	for (size_t i = 0; i < w.path.list.count; i++)
		CHECK(w.path.list.data[i].node != node_of_exchange(1, true));
	CHECK_EQ(w.path.list.data[1].node, node_of_exchange(2, true));
	CHECK_EQ(w.path.list.data[1].begin_ns, 3000);
	CHECK_EQ(w.path.list.data[1].end_ns, 9000);
	world_end(&w);
}

/* The clock of the other host is far off: its time lies in the middle of the call. */
TEST(another_host)
{
	struct world w;
	u32 front, back;

	world_begin(&w);
	front = world_process(&w, NEAR, FRONT);
	back = world_process(&w, FAR, BACK);
	world_sleep(&w, &(struct slept){NEAR, FRONT, 2000, 8900, 9000, 0, HOG, SPLIT_network});
	world_sleep(&w, &(struct slept){FAR, BACK, 100, 699900, 700000, 0, HOG, SPLIT_network});
	world_exchange(&w, EDGE_ROOT, nobody, end_of(front, FRONT, 1000, 10000));
	world_exchange(&w, 0, end_of(front, FRONT, 2000, 9000), end_of(back, BACK, 700000, 705000));
	CHECK_STR(world_path(&w), "7r1000-2000 8n2000-2900 8q2900-3000 8r3000-8000 "
				  "7n8000-8900 7q8900-9000 7r9000-10000 ");
	CHECK_EQ(w.path.list.data[3].host, FAR);
	CHECK_EQ(w.path.list.data[3].local_ns, 700000);
	CHECK_EQ(w.path.list.data[1].least_ns, 0); /* anywhere within the call */
	CHECK_EQ(w.path.list.data[1].most_ns, 1900);
	world_end(&w);
}

/*
 * Messages tell how far the clock of the other host is ahead: 697.3 to 697.7 us. The middle of that
 * moves its times, and the time on the network has an interval.
 */
TEST(clocks_of_hosts_are_known)
{
	const struct critical_segment *s;
	struct world w;
	u32 front, back;

	world_begin(&w);
	front = world_process(&w, NEAR, FRONT);
	back = world_process(&w, FAR, BACK);
	CHECK_EQ(vec_push(&w.r.offsets.pairs, ((struct clock_pair){NEAR, FAR, 0, 1})), 0);
	CHECK_EQ(vec_push(&w.r.offsets.list,
			  ((struct clock_offset){.at_ns = 2500, .interval = {697300, 697700}})),
		 0);
	world_sleep(&w, &(struct slept){NEAR, FRONT, 2000, 8900, 9000, 0, HOG, SPLIT_network});
	world_sleep(&w, &(struct slept){FAR, BACK, 100, 699900, 700000, 0, HOG, SPLIT_network});
	world_exchange(&w, EDGE_ROOT, nobody, end_of(front, FRONT, 1000, 10000));
	world_exchange(&w, 0, end_of(front, FRONT, 2000, 9000), end_of(back, BACK, 700000, 705000));
	CHECK_STR(world_path(&w), "7r1000-2000 8n2000-2400 8q2400-2500 8r2500-7500 "
				  "7n7500-8900 7q8900-9000 7r9000-10000 ");
	s = &w.path.list.data[1]; /* there: 0.4 us, and the clocks drift by 1 ns */
	CHECK_EQ(s->least_ns, 199);
	CHECK_EQ(s->most_ns, 601);
	s = &w.path.list.data[4]; /* and back */
	CHECK_EQ(s->least_ns, 1199);
	CHECK_EQ(s->most_ns, 1601);
	for (size_t i = 0; i < w.path.list.count; i++) {
		s = &w.path.list.data[i];
		if (i != 1 && i != 4)
			CHECK(s->least_ns == s->most_ns && s->most_ns == s->end_ns - s->begin_ns);
	}
	world_end(&w);
}

/* The acceptor makes a thread for the connection, which reads the request. */
TEST(a_thread_is_made_for_it)
{
	struct world w;
	u32 front, back;

	world_begin(&w);
	front = world_process(&w, NEAR, FRONT);
	back = world_process(&w, NEAR, BACK);
	CHECK_EQ(vec_push(&w.partials[NEAR]->facts.forks, ((struct fact_fork){.time_ns = 4000,
									      .tid = HELPER,
									      .pid = BACK,
									      .parent_tid = BACK,
									      .parent_pid = BACK})),
		 0);
	world_sleep(&w, &(struct slept){NEAR, BACK, 500, 2200, 2400, FRONT, HOG, SPLIT_network});
	world_sleep(&w, &(struct slept){NEAR, HELPER, 4000, 4000, 4100, 0, HOG, SPLIT_runnable});
	world_sleep(&w, &(struct slept){NEAR, FRONT, 2050, 8100, 8500, HELPER, 0, SPLIT_network});
	world_exchange(&w, EDGE_ROOT, end_of(front, FRONT, 2000, 9000),
		       end_of(back, HELPER, 5000, 8000));
	CHECK_STR(world_path(&w), "8n2000-2200 8q2200-2400 8r2400-4000 10q4000-4100 10r4100-5000 "
				  "10r5000-8000 7n8000-8100 7q8100-8500 7r8500-9000 ");
	world_end(&w);
}

/* While bytes waited for a thread, another one than their sender woke it. */
TEST(woken_by_another_one)
{
	struct world w;
	u32 front, back;

	world_begin(&w);
	front = world_process(&w, NEAR, FRONT);
	back = world_process(&w, NEAR, BACK);
	world_sleep(&w, &(struct slept){NEAR, BACK, 500, 4500, 4900, HELPER, HOG, SPLIT_lock});
	world_sleep(&w, &(struct slept){NEAR, HELPER, 400, 4000, 4000, 0, 0, SPLIT_disk});
	world_sleep(&w, &(struct slept){NEAR, FRONT, 2050, 8100, 8500, BACK, 0, SPLIT_network});
	world_exchange(&w, EDGE_ROOT, end_of(front, FRONT, 2000, 9000),
		       end_of(back, BACK, 5000, 8000));
	CHECK_STR(world_path(&w), "10w2000-4000 10r4000-4500 8q4500-4900 8r4900-5000 8r5000-8000 "
				  "7n8000-8100 7q8100-8500 7r8500-9000 ");
	world_end(&w);
}

/* A thread of which the recording has nothing. */
TEST(nothing_is_known)
{
	struct world w;
	u32 front;

	world_begin(&w);
	front = world_process(&w, NEAR, FRONT);
	world_exchange(&w, EDGE_ROOT, nobody, end_of(front, FRONT, 1000, 10000));
	CHECK_STR(world_path(&w), "7?1000-10000 ");
	world_end(&w);
}

TEST_MAIN()
