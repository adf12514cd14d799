/* SPDX-License-Identifier: Apache-2.0 */
/* The last chunks behind a state are the partial of their time. */
#include "up/recent.h"

#include <errno.h>

#include "map/checkpoint/checkpoint.h"
#include "map/file/whole.h"
#include "request/requests.h"
#include "tests/unit/request/chain.h"

#define CHUNK_NS 100000ull

/* The records of one chunk. */
static struct partial *chunk_map_of(const struct chain *c, u64 seq)
{
	struct partial *p = partial_new(&(struct partial_options){.spans = true});
	u64 from_ns = seq * CHUNK_NS, to_ns = from_ns + CHUNK_NS;

	CHECK(p != NULL);
	partial_cover(p, from_ns ? from_ns : 1, to_ns);
	for (size_t i = 0; i < c->t.records.count; i++) {
		const union talk_record *r = &c->t.records.data[i];

		if (r->head.time_ns >= from_ns && r->head.time_ns < to_ns)
			apply(p, r);
	}
	return p;
}

static struct recent_chunk *recent_of(const struct chain *c, u64 seq)
{
	const struct chunk_info info = {
		.seq = seq, .begin_ns = seq * CHUNK_NS, .end_ns = (seq + 1) * CHUNK_NS};
	struct partial *p = chunk_map_of(c, seq);
	struct talkers talkers = {0};
	struct recent_chunk *chunk = recent_chunk_new(&info, p, &talkers);

	CHECK(chunk != NULL);
	talkers_free(&talkers);
	partial_free(p);
	return chunk;
}

/* The state behind the chunk 0. */
static struct recording_checkpoint state_of(const struct chain *c)
{
	struct recording_checkpoint state = {.end_ns = CHUNK_NS};
	struct partial *p = chunk_map_of(c, 0);
	struct bytes bytes = {0};

	CHECK_EQ(checkpoint_write(p, &bytes), 0);
	state.data = bytes.data;
	state.bytes = bytes.count;
	partial_free(p);
	return state;
}

/* How many requests a finished partial has, and the id of the root of one; frees the partial. */
static size_t requests_in(struct partial *p, size_t at, u64 *id)
{
	struct request_host host = {.p = p, .name = "host", .boot = 7};
	struct requests r;
	size_t count;

	CHECK_EQ(requests_make(&r, &host, 1, REQUEST_PROBABILITY_PPM), 0);
	count = r.traces.count;
	*id = at < count ? request_span_id(&r, &r.spans.data[r.traces.data[at].first]) : 0;
	requests_free(&r);
	partial_free(p);
	return count;
}

TEST(chunks_behind_a_state_are_the_whole)
{
	struct recent w = {0};
	struct recording_checkpoint state;
	struct partial *p;
	struct chain c;
	u64 id, again;

	chain_begin(&c);
	chain_ask(&c, 1);
	c.t.now_ns = CHUNK_NS + 50000;
	side_tell(&c, &c.client); /* as each chunk does */
	side_tell(&c, &c.front);
	side_tell(&c, &c.front_out);
	side_tell(&c, &c.back);
	for (int i = 0; i < 10; i++) /* some lie across the cuts */
		chain_ask(&c, 2);
	for (u64 seq = 0; seq < 4; seq++)
		CHECK_EQ(recent_add(&w, recent_of(&c, seq)), 0);
	state = state_of(&c);
	CHECK(!recent_begin(&w, &state, 9));
	CHECK_EQ(w.chunks.count, 4);
	CHECK(recent_begin(&w, &state, 1));
	CHECK_EQ(w.chunks.count, 3);
	CHECK_EQ(recent_last(&w)->seq, 3);
	CHECK_EQ(recent_partial(&w, &p), 0);
	CHECK_EQ(requests_in(p, 9, &id), 10);
	CHECK_EQ(recent_partial(&w, &p), 0); /* it is as it was */
	CHECK_EQ(requests_in(p, 9, &again), 10);
	CHECK(id && id == again);
	/* ids are those of the whole, though the connections began before the window */
	p = talk_map(&c.t, 0, c.t.records.count);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(requests_in(p, 10, &again), 11);
	CHECK(id == again);
	recent_free(&w);
	CHECK(recent_last(&w) == NULL);
	vec_free(&c.t.records);
}

TEST(a_chunk_that_does_not_follow_begins_anew)
{
	struct recent w = {0};
	struct recording_checkpoint state;
	struct chain c;

	chain_begin(&c);
	chain_ask(&c, 1);
	state = state_of(&c);
	CHECK_EQ(recent_add(&w, recent_of(&c, 1)), 0);
	CHECK_EQ(recent_add(&w, recent_of(&c, 2)), 0);
	CHECK(recent_begin(&w, &state, 1));
	CHECK_EQ(recent_add(&w, recent_of(&c, 4)), 2);
	CHECK_EQ(w.chunks.count, 1);
	CHECK(w.state.data == NULL);
	recent_free(&w);
	vec_free(&c.t.records);
}

static void filter_apply(struct partial *p, u64 time_ns, u32 flags)
{
	struct record_filter filter = {.head = {.kind = RECORD_filter, .time_ns = time_ns},
				       .flags = FILTER_DETAIL | FILTER_BYTES_TURNS | flags};

	CHECK_EQ(partial_apply(p, &filter.head), 0);
}

/*
 * A chunk in which FRONT and another process call, and FRONT moves bytes if it talks: of how many
 * of the two its kernel spans are. Blind: without byte ranges. Opening: with them from then on.
 */
enum eyes { SEES, BLIND, OPENING };

static size_t processes_kept(u64 seq, bool talks, enum eyes eyes, struct talkers *talkers)
{
	const struct chunk_info info = {.seq = seq};
	const struct partial_options options = {.spans = true};
	struct partial *p = partial_new(&options), *kept;
	struct recent_chunk *chunk;
	size_t count;

	CHECK(p != NULL);
	partial_cover(p, 1, CHUNK_NS);
	if (eyes != SEES)
		filter_apply(p, 1, FILTER_BYTES);
	if (eyes == OPENING)
		filter_apply(p, 5000, 0);
	for (u32 tid = FRONT; tid <= FRONT + 1; tid++) {
		union talk_record r = {
			.syscall = {.head = {.kind = RECORD_syscall, .tid = tid, .pid = tid},
				    .duration_ns = 1000}};

		for (r.head.time_ns = 3000; r.head.time_ns <= 9000; r.head.time_ns += 2000)
			apply(p, &r); /* the first ones settle the thread */
	}
	if (talks)
		apply(p, &(union talk_record){.bytes = {.head = {.kind = RECORD_bytes,
								 .time_ns = 9500,
								 .tid = FRONT,
								 .pid = FRONT},
							.length = 1,
							.file = {.kind = FILE_KIND_tcp}}});
	chunk = recent_chunk_new(&info, p, talkers);
	CHECK(chunk != NULL);
	CHECK(chunk->is_blind == (eyes == BLIND));
	CHECK_EQ(partial_read(&kept, chunk->bytes.data, chunk->bytes.count, &options), 0);
	CHECK(kspans_count(&p->kspans) >= 2);
	count = kspans_count(&kept->kspans) * 2 / kspans_count(&p->kspans);
	recent_chunk_free(chunk);
	partial_free(kept);
	partial_free(p);
	return count;
}

TEST(kernel_spans_are_those_of_processes_that_moved_bytes_lately)
{
	struct talkers talkers = {0};

	CHECK_EQ(processes_kept(1, false, SEES, &talkers), 0);
	CHECK_EQ(processes_kept(2, true, SEES, &talkers), 1);
	CHECK_EQ(processes_kept(3, false, SEES, &talkers), 1);
	CHECK_EQ(processes_kept(4, false, BLIND, &talkers), 0);
	CHECK_EQ(processes_kept(5, false, OPENING, &talkers), 1);
	CHECK_EQ(processes_kept(2 + RECENT_CHUNKS_MAX, false, SEES, &talkers), 1);
	CHECK_EQ(processes_kept(3 + RECENT_CHUNKS_MAX, false, SEES, &talkers), 0);
	talkers_free(&talkers);
}

/* A chunk of a second, blind or not. */
static void chunk_add(struct recent *w, u64 seq, bool is_blind)
{
	struct recent_chunk *chunk = calloc(1, sizeof(*chunk));

	CHECK(chunk != NULL);
	chunk->info =
		(struct chunk_info){.seq = seq, .begin_ns = seq * 1000, .end_ns = (seq + 1) * 1000};
	chunk->is_blind = is_blind;
	CHECK_EQ(recent_add(w, chunk), 0);
}

TEST(a_turn_waits_until_its_requests_can_be_decided)
{
	struct recent w = {0};

	chunk_add(&w, 0, true);
	CHECK(!recent_turn_waits(&w, 3000));
	chunk_add(&w, 1, false); /* it may go on */
	CHECK(!recent_turn_waits(&w, 3000));
	for (u64 seq = 2; seq < 8; seq++) {
		chunk_add(&w, seq, true);
		CHECK(recent_turn_waits(&w, 3000) == (seq < 4));
	}
	recent_free(&w);
}

TEST(what_came_is_known_though_it_went)
{
	struct recent_came came = {0};
	struct recent w = {0};

	for (u64 seq = 0; seq < 8; seq++) {
		chunk_add(&w, seq, seq == 2);
		CHECK_EQ(recent_came_add(&came, w.chunks.data[w.chunks.count - 1]), 0);
	}
	CHECK_EQ(recent_seen_ns(&w, 1000, 5000), 3000);
	recent_free(&w);
	chunk_add(&w, 4, false);
	CHECK_EQ(recent_seen_ns(&w, 1000, 5000), 1000);
	CHECK_EQ(recent_came_take(&came, 1000, 5000), 3000);
	CHECK_EQ(recent_came_take(&came, 1000, 5000), 0);
	CHECK_EQ(recent_came_take(&came, 5000, 9000), 3000);
	recent_free(&w);
	vec_free(&came.list);
}

/* One of a process that opened a file. */
static struct fact_fd opened(u32 pid, u64 time_ns, const char *path)
{
	return (struct fact_fd){.pid = pid,
				.tid = pid,
				.time_ns = time_ns,
				.file = {.key = 9, .dev = 8, .kind = FILE_KIND_regular},
				.path = path};
}

TEST(the_last_path_of_a_file_is_kept_of_processes_that_moved_bytes)
{
	const struct chunk_info info = {.seq = 2};
	const struct partial_options options = {.spans = true};
	struct partial *p = partial_new(&options), *kept;
	struct talkers talkers = {0};
	struct recent_chunk *chunk;

	CHECK(p != NULL);
	partial_cover(p, 1, CHUNK_NS);
	CHECK_EQ(map_put(&talkers.last, FRONT, (void *)(uintptr_t)2), 0);
	CHECK_EQ(vec_push(&p->facts.fds, opened(FRONT, 3000, "/new")), 0);
	CHECK_EQ(vec_push(&p->facts.fds, opened(FRONT, 2000, "/old")), 0);
	CHECK_EQ(vec_push(&p->facts.fds, opened(FRONT + 1, 4000, "/other")), 0);
	CHECK_EQ(vec_push(&p->facts.fds, opened(FRONT, 5000, NULL)), 0);
	chunk = recent_chunk_new(&info, p, &talkers);
	CHECK(chunk != NULL);
	CHECK_EQ(p->facts.fds.count, 4); /* it is as it was */
	CHECK_EQ(partial_read(&kept, chunk->bytes.data, chunk->bytes.count, &options), 0);
	CHECK_EQ(kept->facts.fds.count, 1);
	CHECK_STR(kept->facts.fds.data[0].path, "/new");
	recent_chunk_free(chunk);
	talkers_free(&talkers);
	partial_free(kept);
	partial_free(p);
}

TEST(it_is_bounded)
{
	struct recent w = {0};
	struct chain c;
	u64 seq = 0;

	chain_begin(&c);
	while (!recent_is_full(&w) && seq < 1000)
		CHECK_EQ(recent_add(&w, recent_of(&c, seq++)), 0);
	CHECK_EQ(seq, RECENT_CHUNKS_MAX + 1);
	recent_free(&w);
	w.bytes = RECENT_BYTES_MAX + 1;
	CHECK(recent_is_full(&w));
	vec_free(&c.t.records);
}

TEST_MAIN()
