/* SPDX-License-Identifier: Apache-2.0 */
/* Each rule in a small scene that only it can decide. Times are in microseconds. */
#include "check.h"
#include "request/link.h"

#define SCENE_MOST 64
#define SERVICE 1 /* the process that the scenes look at */
#define PEER 2

struct scene {
	struct exchange exchanges[SCENE_MOST];
	struct exchange_connection connections[SCENE_MOST];
	struct hand_off hand_offs[SCENE_MOST];
	struct exchange_detail details[SCENE_MOST];
	struct request_fork forks[SCENE_MOST];
	struct link_input in;
	struct edge edges[SCENE_MOST];
};

static struct scene scene_new(void)
{
	return (struct scene){.in = {.detail_count = 1, .process_count = 5}};
}

/* A request on a connection of its own, answered by the thread that read it. */
static u32 request(struct scene *s, u32 tid, u64 from_us, u64 until_us)
{
	u32 number = (u32)s->in.exchange_count++;

	s->connections[number].peer = 10;
	s->in.connection_count = number + 1;
	s->exchanges[number] = (struct exchange){
		.connection = number,
		.to = 1,
		.answer_to = until_us ? 1 : 0,
		.server = {from_us * 1000, until_us * 1000, SERVICE, tid, tid, 0},
	};
	return number;
}

/* A call of the service to its only peer, answered 5 us later. */
static u32 call(struct scene *s, u32 tid, u64 at_us)
{
	u32 number = (u32)s->in.exchange_count++;

	s->connections[number].peer = 20;
	s->in.connection_count = number + 1;
	s->exchanges[number] = (struct exchange){
		.connection = number,
		.to = 1,
		.answer_to = 1,
		.caller = {at_us * 1000, at_us * 1000 + 5000, SERVICE, tid, tid, 0},
		.server = {at_us * 1000 + 1000, at_us * 1000 + 4000, PEER, 900, 900, 0},
	};
	return number;
}

static void wakes(struct scene *s, u32 waker, u32 woken, u64 at_us, u32 word)
{
	s->hand_offs[s->in.hand_off_count++] =
		(struct hand_off){at_us * 1000, waker, woken, word, SERVICE, HAND_OFF_FUTEX};
}

/* The same without a sleep: by a byte over a socket of the process. */
static void tells(struct scene *s, u32 waker, u32 woken, u64 at_us)
{
	s->hand_offs[s->in.hand_off_count++] =
		(struct hand_off){at_us * 1000, waker, woken, 0x33, SERVICE, HAND_OFF_SENT};
}

static u32 light(struct scene *s, u64 id, u64 maker)
{
	s->details[s->in.detail_count] = (struct exchange_detail){.light = id,
								  .light_maker = maker};
	return (u32)s->in.detail_count++;
}

static u32 context(struct scene *s, u8 trace, u8 root)
{
	s->details[s->in.detail_count] = (struct exchange_detail){.trace = {trace}, .root = {root}};
	return (u32)s->in.detail_count++;
}

static void scene_link(struct scene *s)
{
	s->in.exchanges = s->exchanges;
	s->in.connections = s->connections;
	s->in.hand_offs = s->hand_offs;
	s->in.details = s->details;
	s->in.forks = s->forks;
	CHECK_EQ(request_link(&s->in, s->edges), 0);
}

static bool is_unlikely(const struct edge *e)
{
	return e->parent == EDGE_ROOT || e->probability_ppm < 500000;
}

#define CHECK_EDGE(scene, number, request, how)                                                    \
	do {                                                                                       \
		CHECK_EQ((scene)->edges[number].parent, (request));                                \
		CHECK_STR(edge_evidence_name((enum edge_evidence)(scene)->edges[number].evidence), \
			  how);                                                                    \
		CHECK((scene)->edges[number].probability_ppm >= 900000);                           \
	} while (0)

TEST(a_thread_works_at_what_it_read)
{
	struct scene s = scene_new();
	u32 a = request(&s, 1, 10, 100), b = request(&s, 2, 11, 101);
	u32 of_b = call(&s, 2, 20), of_a = call(&s, 1, 21);

	scene_link(&s);
	CHECK_EDGE(&s, of_a, a, "thread");
	CHECK_EDGE(&s, of_b, b, "thread");
	CHECK_EQ(s.edges[of_a].candidates, 2);
	CHECK_EQ(s.edges[a].parent, EDGE_ROOT);
	CHECK_EQ(s.edges[a].probability_ppm, 0);
}

TEST(an_answered_request_has_no_later_calls)
{
	struct scene s = scene_new();
	u32 late;

	request(&s, 1, 10, 100);
	late = call(&s, 1, 150);
	scene_link(&s);
	CHECK_EQ(s.edges[late].parent, EDGE_ROOT);
	CHECK_EQ(s.edges[late].candidates, 0);
}

/* It was woken at a lock, of which too few wake-ups were seen to know it as one. */
TEST(a_thread_that_receives_its_work_gets_none_by_a_wake_up)
{
	struct scene s = scene_new();
	u32 a = request(&s, 1, 10, 100), b = request(&s, 2, 11, 40);
	u32 of_b = call(&s, 2, 20), late, of_a;

	wakes(&s, 1, 2, 45, 0x700);
	late = call(&s, 2, 50);
	of_a = call(&s, 1, 60);
	scene_link(&s);
	CHECK_EDGE(&s, of_a, a, "thread");
	CHECK_EDGE(&s, of_b, b, "thread");
	CHECK_EQ(s.edges[late].parent, EDGE_ROOT);
}

TEST(a_wake_up_hands_work_over)
{
	struct scene s = scene_new();
	u32 a = request(&s, 1, 10, 100), b, of_a, of_b;

	wakes(&s, 1, 7, 12, 0x500);
	b = request(&s, 1, 14, 101); /* the loop reads on */
	wakes(&s, 1, 8, 16, 0x500);
	of_b = call(&s, 8, 30);
	of_a = call(&s, 7, 31);
	scene_link(&s);
	CHECK_EDGE(&s, of_a, a, "wake");
	CHECK_EDGE(&s, of_b, b, "wake");
}

TEST(an_answer_tells_whose_the_section_was)
{
	struct scene s = scene_new();
	u32 a = request(&s, 1, 10, 100), b = request(&s, 2, 11, 101);
	u32 of_a = call(&s, 7, 20), of_b = call(&s, 8, 21);

	/* readers take requests out of the hands of others, and no wake-up was seen */
	s.exchanges[a].server.last_tid = 7;
	s.exchanges[b].server.last_tid = 8;
	scene_link(&s);
	CHECK_EDGE(&s, of_a, a, "thread");
	CHECK_EDGE(&s, of_b, b, "thread");
}

TEST(a_worker_ends_the_wait_of_whose_call_it_made)
{
	struct scene s = scene_new();
	u32 a = request(&s, 1, 10, 100), b = request(&s, 2, 11, 101);
	u32 of_b = call(&s, 7, 20), of_a = call(&s, 8, 21);

	wakes(&s, 7, 2, 40, 0x700);
	wakes(&s, 8, 1, 41, 0x800);
	scene_link(&s);
	CHECK_EDGE(&s, of_a, a, "wake");
	CHECK_EDGE(&s, of_b, b, "wake");
}

TEST(a_lock_hands_nothing_over)
{
	struct scene s = scene_new();
	u32 a = request(&s, 1, 100, 500), b = request(&s, 2, 101, 501), of_b, of_a;

	for (u32 i = 0; i < 8; i++) /* each wakes the other at the lock */
		wakes(&s, 1 + i % 2, 2 - i % 2, 10 + i, 0x900 + 4 * (i % 3));
	wakes(&s, 1, 2, 110, 0x904);
	of_b = call(&s, 2, 120);
	of_a = call(&s, 1, 121);
	scene_link(&s);
	CHECK_EDGE(&s, of_a, a, "thread");
	CHECK_EDGE(&s, of_b, b, "thread");
}

TEST(contexts_that_are_published_are_believed_first)
{
	struct scene s = scene_new();
	u32 a = request(&s, 1, 10, 100), b = request(&s, 1, 11, 101);
	u32 of_a = call(&s, 1, 20), of_b = call(&s, 1, 21), of_trace = call(&s, 1, 22);

	s.exchanges[a].server.detail = context(&s, 1, 1);
	s.exchanges[b].server.detail = context(&s, 2, 2);
	s.exchanges[of_a].caller.detail = context(&s, 1, 1);
	s.exchanges[of_b].caller.detail = context(&s, 2, 2);
	s.exchanges[of_trace].caller.detail = context(&s, 1,
						      9); /* only one request has the trace */
	scene_link(&s);
	CHECK_EDGE(&s, of_a, a, "given");
	CHECK_EDGE(&s, of_b, b, "given");
	CHECK_EDGE(&s, of_trace, a, "given");
}

TEST(goroutines_are_followed)
{
	struct scene s = scene_new();
	u32 a = request(&s, 1, 10, 100), b = request(&s, 1, 11, 101);
	u32 own = call(&s, 2, 20), made = call(&s, 1, 21), again = call(&s, 1, 22);

	s.exchanges[a].server.detail = light(&s, 70, 1);
	s.exchanges[b].server.detail = light(&s, 80, 1);
	s.exchanges[own].caller.detail = light(&s, 80, 1);
	s.exchanges[made].caller.detail = light(&s, 71, 70);
	s.exchanges[again].caller.detail = light(&s, 71, 70); /* on another connection */
	scene_link(&s);
	CHECK_EDGE(&s, own, b, "goroutine");
	CHECK_EDGE(&s, made, a, "goroutine");
	CHECK_EDGE(&s, again, a, "goroutine");
}

TEST(a_goroutine_that_writes_for_others_is_no_evidence)
{
	struct scene s = scene_new();
	u32 a = request(&s, 1, 10, 50), b, first, later;

	first = call(&s, 1, 21);
	b = request(&s, 1, 60, 100);
	later = call(&s, 1, 71);
	s.exchanges[a].server.detail = light(&s, 70, 1);
	s.exchanges[b].server.detail = light(&s, 80, 1);
	s.exchanges[first].caller.detail = light(&s, 71, 70);
	s.exchanges[later].caller.detail = light(&s, 71, 70);
	s.exchanges[later].connection = s.exchanges[first].connection;
	s.exchanges[later].from = 1;
	scene_link(&s);
	CHECK_EDGE(&s, first, a, "goroutine");
	CHECK_EQ(s.edges[later].parent, b);
	CHECK_STR(edge_evidence_name((enum edge_evidence)s.edges[later].evidence), "sequence");
}

TEST(a_process_made_for_a_request_belongs_to_it)
{
	struct scene s = scene_new();
	u32 a = request(&s, 1, 10, 100), b = request(&s, 2, 11, 101);
	u32 of_child = call(&s, 50, 40), of_grandchild = call(&s, 60, 41), late = call(&s, 50, 150);

	s.forks[0] = (struct request_fork){20000, SERVICE, 3, 2, 0};
	s.forks[1] = (struct request_fork){21000, 3, 4, 50, 0};
	s.in.fork_count = 2;
	s.exchanges[of_child].caller.process = s.exchanges[late].caller.process = 3;
	s.exchanges[of_grandchild].caller.process = 4;
	scene_link(&s);
	CHECK(a != b);
	CHECK_EDGE(&s, of_child, b, "thread");
	CHECK_EDGE(&s, of_grandchild, b, "thread");
	CHECK_EQ(s.edges[late].parent, EDGE_ROOT);
}

TEST(a_process_made_before_any_request_belongs_to_none)
{
	struct scene s = scene_new();
	u32 of_child;

	request(&s, 1, 10, 100);
	of_child = call(&s, 50, 40);
	s.forks[0] = (struct request_fork){5000, SERVICE, 3, 1, 0};
	s.in.fork_count = 1;
	s.exchanges[of_child].caller.process = 3;
	scene_link(&s);
	CHECK_EQ(s.edges[of_child].parent, EDGE_ROOT);
}

TEST(a_request_without_an_answer_ends_with_the_next_one)
{
	struct scene s = scene_new();
	u32 a = request(&s, 1, 10, 0), b = request(&s, 1, 50, 100), of_b = call(&s, 1, 60);

	s.exchanges[b].connection = a;
	s.exchanges[b].from = 1;
	scene_link(&s);
	CHECK_EQ(s.edges[of_b].parent, b);
	CHECK_EQ(s.edges[of_b].candidates, 1);
}

TEST(a_stream_is_no_request_and_no_call)
{
	struct scene s = scene_new();
	u32 stream = request(&s, 1, 10, 100), of_it = call(&s, 1, 20);

	s.exchanges[stream].flags = EXCHANGE_STREAM;
	scene_link(&s);
	CHECK_EQ(s.edges[of_it].parent, EDGE_ROOT);
	CHECK_EQ(s.edges[of_it].candidates, 0);
}

/* It answers a request, calls once more, and meanwhile another thread has a request. */
TEST(a_thread_that_reads_its_requests_does_nothing_for_others)
{
	struct scene s = scene_new();
	u32 late;

	for (u32 i = 0; i < 10; i++) {
		request(&s, 1, 100 * i + 10, 100 * i + 90);
		call(&s, 1, 100 * i + 20);
	}
	request(&s, 2, 2000, 2010);
	request(&s, 1, 2005, 2100);
	late = call(&s, 2, 2020);
	call(&s, 1, 2050);
	scene_link(&s);
	CHECK_EQ(s.edges[late].parent, EDGE_ROOT);
}

TEST(a_task_ends_with_the_answer_of_the_loop_that_it_woke)
{
	struct scene s = scene_new();
	u32 a, b, of_a, of_b;

	a = request(&s, 1, 10, 100);
	b = request(&s, 1, 11, 110);
	wakes(&s, 1, 7, 13, 0x500);
	wakes(&s, 1, 8, 14, 0x500);
	of_b = call(&s, 7, 20);
	of_a = call(&s, 8, 21);
	wakes(&s, 8, 1, 95, 0x600);
	wakes(&s, 7, 1, 105, 0x600);
	scene_link(&s);
	CHECK_EDGE(&s, of_a, a, "wake");
	CHECK_EDGE(&s, of_b, b, "wake");
}

/* The loop was awake, and answers later. The thread did not sleep before it took the next task. */
TEST(a_thread_that_told_a_loop_is_at_its_next_task)
{
	struct scene s = scene_new();
	u32 a = request(&s, 1, 10, 100), b, of_a, of_b;

	wakes(&s, 1, 7, 12, 0x500);
	b = request(&s, 1, 14, 200);
	of_a = call(&s, 7, 20);
	tells(&s, 7, 1, 90);
	of_b = call(&s, 7, 92);
	tells(&s, 7, 1, 190);
	scene_link(&s);
	CHECK_EDGE(&s, of_a, a, "wake");
	CHECK_EDGE(&s, of_b, b, "wake");
}

TEST(of_two_threads_that_told_a_loop_none_is_first)
{
	struct scene s = scene_new();
	u32 a = request(&s, 1, 10, 100), b, of_a, of_b;

	wakes(&s, 1, 7, 12, 0x500);
	b = request(&s, 1, 14, 110);
	wakes(&s, 1, 8, 16, 0x500);
	of_a = call(&s, 7, 20);
	of_b = call(&s, 8, 21);
	tells(&s, 8, 1, 90);
	tells(&s, 7, 1, 92);
	scene_link(&s);
	CHECK_EDGE(&s, of_a, a, "wake");
	CHECK_EDGE(&s, of_b, b, "wake");
}

/* A thread of a timer calls the same peer as threads that serve. */
TEST(a_thread_apart_makes_roots)
{
	struct scene s = scene_new();
	u32 timer = 0;

	for (u32 i = 0; i < 10; i++) {
		request(&s, 1, 100 * i + 10, 100 * i + 90);
		call(&s, 1, 100 * i + 20);
		if (i == 5)
			timer = call(&s, 9, 100 * i + 30);
	}
	call(&s, 9, 2000); /* when no request is there */
	scene_link(&s);
	CHECK(is_unlikely(&s.edges[timer]));
}

TEST_MAIN()
