/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The law of hand-offs: of a recording that is cut anywhere, mapped in pieces and merged, they are
 * the same to the byte as of the whole, with gaps and losses.
 */
#include "request/hand_offs.h"

#include <sys/socket.h>

#include "check.h"
#include "map/pieces.h"
#include "map/simulate_internal.h"
#include "seeds.h"
#include "talk.h"

#define THREADS 8
#define SEEDS 30
#define CUTS_TRIED 4

/* On what threads slept, where the waking tells it. */
static const struct file_ref woken_on[] = {
	{.key = 31, .kind = FILE_KIND_eventfd},
	{.key = 32, .kind = FILE_KIND_pipe},
	{.key = 33, .kind = FILE_KIND_unix},
	{.key = 34, .kind = FILE_KIND_tcp}, /* hands nothing over */
};

/* Threads of the simulation wake each other, and now and then others wake them. */
static void wakers_choose(struct simulation *s)
{
	for (size_t i = 0; i < s->records.count; i++) {
		struct record_waking *w = (void *)(s->bytes.data + s->records.data[i].at);

		if (w->head.kind != RECORD_waking || simulation_random(s, 8) == 0)
			continue;
		w->waker_tid = FIRST_TID + (u32)simulation_random(s, THREADS);
		if (simulation_random(s, 2) == 0)
			w->file = woken_on[simulation_random(s, 4)];
	}
}

/* Those of a partial, which it frees. Processes have the same numbers each time. */
static struct hand_off_list hand_offs_of(const struct simulation *s, struct partial *p)
{
	struct request_host host = {.p = p, .name = "host", .boot = 7};
	struct processes processes = {.hosts = &host, .hosts_count = 1};
	struct hand_off_list list = {0};

	partial_cover(p, s->from_ns, s->to_ns);
	CHECK_EQ(partial_finish(p), 0);
	for (size_t i = 0; i < s->threads.count; i++)
		process_of_thread(&processes, 0, s->threads.data[i].tid,
				  s->threads.data[i].begin_ns, true);
	CHECK_EQ(hand_offs_find(&list, &processes, 0), 0);
	processes_free(&processes);
	partial_free(p);
	return list;
}

/* Compares those of the whole with those of it cut and merged at random; returns how many. */
static size_t check_hand_offs(struct simulation *s, u64 seed)
{
	struct hand_off_list whole = hand_offs_of(s, map_range(s, 0, s->records.count));
	size_t count = whole.count;

	for (int i = 0; i < CUTS_TRIED; i++) {
		int cuts = 1 + (int)simulation_random(s, 15);
		struct hand_off_list cut = hand_offs_of(s, i % 2 ? map_cut_streams(s, cuts)
								 : map_cut(s, cuts));

		if (cut.count != whole.count ||
		    (count && memcmp(cut.data, whole.data, count * sizeof(*cut.data)) != 0))
			CHECK_FAIL("seed %llu, %d: %zu hand-offs, of the whole %zu",
				   (unsigned long long)seed, i, cut.count, whole.count);
		vec_free(&cut);
	}
	vec_free(&whole);
	return count;
}

/* Something happens to a simulation before it is cut. */
typedef void spoil_fn(struct simulation *s, u64 seed);

static void check_law(spoil_fn *spoil)
{
	size_t count = 0;

	for (u64 seed = 1; seed <= seeds_of(SEEDS); seed++) {
		struct simulation s;

		simulate(&s, seed, THREADS, 40);
		wakers_choose(&s);
		spoil(&s, seed);
		count += check_hand_offs(&s, seed);
		simulation_free(&s);
	}
	CHECK(count > 10 * seeds_of(SEEDS));
}

static void spoil_nothing(struct simulation *s, u64 seed)
{
	(void)s;
	(void)seed;
}

static void spoil_by_gaps(struct simulation *s, u64 seed)
{
	for (u64 i = 0; i <= seed % 3; i++) {
		u64 begin = s->from_ns + simulation_random(s, s->to_ns - s->from_ns);

		simulation_gap(s, begin, begin + simulation_random(s, 9000) + 1);
	}
}

static void spoil_by_losses(struct simulation *s, u64 seed)
{
	u64 begin = s->from_ns + simulation_random(s, s->to_ns - s->from_ns);
	enum record_loss why = seed % 2 ? LOST_buffer : LOST_damaged;

	simulation_lose(s, 4);
	simulation_damage(s, why, begin, begin + 1 + simulation_random(s, 20000),
			  (struct simulated_cpus){(u16)simulation_random(s, 3), 2});
}

TEST(cut_anywhere_they_are_the_same)
{
	check_law(spoil_nothing);
}

TEST(with_gaps_they_are_the_same)
{
	check_law(spoil_by_gaps);
}

TEST(with_losses_they_are_the_same)
{
	check_law(spoil_by_losses);
}

/* The talk of two threads over a pair of Unix sockets, in one process unless it is `apart`. */
static void talk_within(struct talk *t, const char *events, bool apart)
{
	talk_begin(t);
	talk_say(t, events);
	for (size_t i = 0; i < t->records.count; i++) {
		union talk_record *r = &t->records.data[i];

		r->head.pid = apart ? r->head.tid : CALLER;
		if (r->head.kind == RECORD_socket) {
			r->socket.peer = CALLER_KEY + SERVER_KEY - r->socket.file.key;
			r->socket.family = AF_UNIX;
			r->socket.file.kind = FILE_KIND_unix;
			r->socket.file.flags = 0;
		} else if (r->head.kind == RECORD_bytes) {
			r->bytes.file.kind = FILE_KIND_unix;
			r->bytes.flags = BYTES_UNSURE; /* several threads send */
		}
	}
}

static struct hand_off_list sent_of(const char *events, bool apart)
{
	struct talk t = {0};
	struct hand_off_list list = {0};
	struct heard h;

	talk_within(&t, events, apart);
	heard_make(&h, talk_map(&t, 0, t.records.count));
	process_of_pid(&h.processes, 0, CALLER, t.now_ns, true);
	process_of_pid(&h.processes, 0, SERVER, t.now_ns, true);
	CHECK_EQ(hand_offs_sent(&list, &h.processes, 0), 0);
	heard_free(&h);
	vec_free(&t.records);
	return list;
}

TEST(bytes_within_a_process_tell_who_hands_to_whom)
{
	struct hand_off_list list = sent_of("CsCCs", false);

	CHECK_EQ(list.count, 3);
	for (size_t i = 0; i < list.count; i++) {
		CHECK_EQ(list.data[i].waker, CALLER);
		CHECK_EQ(list.data[i].woken, SERVER);
		CHECK_EQ(list.data[i].kind, HAND_OFF_SENT);
		CHECK_EQ(list.data[i].word, SERVER_KEY);
	}
	CHECK_EQ(list.data[0].time_ns, 2000);
	CHECK_EQ(list.data[2].time_ns, 5000);
	vec_free(&list);
}

TEST(bytes_that_are_answered_or_of_another_process_hand_nothing_over)
{
	CHECK_EQ(sent_of("CsSc", false).count, 0);
	CHECK_EQ(sent_of("CsCs", true).count, 0);
}

TEST_MAIN()
