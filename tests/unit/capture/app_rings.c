/* SPDX-License-Identifier: Apache-2.0 */
/* Rings of real programs with libfathom, and of programs that lie. */
#include "capture/app_rings.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "capture/app_rings_internal.h"
#include "capture/mark.h"
#include "lib/app_ring.h"
#include "tests/unit/capture/app_writer.h"

/* ---- who takes the records ---- */

struct taken {
	u64 kinds[RECORD_KIND_MAX + 1];
	u64 lost, missed;
	u64 last_ns; /* the latest time */
	u64 late;    /* later than until_ns */
	u64 until_ns;
	u32 pid; /* not 0: all must be of this process */
	u64 strange;
	u32 tids[64];
	u32 tid_count;
	s64 next; /* value that the next attribute must have */
	u64 out_of_order;
	int fail_once;
};

static struct taken taken;

static void tid_note(u32 tid)
{
	for (u32 i = 0; i < taken.tid_count; i++) {
		if (taken.tids[i] == tid)
			return;
	}
	if (taken.tid_count < 64)
		taken.tids[taken.tid_count++] = tid;
}

static int on_record(void *arg, const struct capture_stream *s, const struct record_head *r)
{
	int fail = taken.fail_once;

	taken.kinds[r->kind]++;
	taken.strange += s->kind != CAPTURE_STREAM_APP || s->id != r->pid || r->cpu != 0xffff ||
			 (taken.pid && r->pid != taken.pid);
	taken.last_ns = r->time_ns > taken.last_ns ? r->time_ns : taken.last_ns;
	taken.late += taken.until_ns && r->time_ns > taken.until_ns;
	tid_note(r->tid);
	if (r->kind == RECORD_span_attribute)
		taken.out_of_order += (s64)((const struct record_span_attribute *)r)->value !=
				      taken.next++;
	taken.fail_once = 0;
	return fail;
}

static int on_lost(void *arg, const struct capture_stream *s, const struct record_lost *lost)
{
	if (lost->lost_kind == RECORD_service)
		taken.missed += lost->count;
	else if (lost->why == LOST_application)
		taken.lost += lost->count;
	taken.strange += s->kind != CAPTURE_STREAM_APP || (taken.pid && s->id != taken.pid);
	return 0;
}

static const struct capture_sink sink = {NULL, on_record, on_lost};

/* The ring was seen to be made at made_ns; 0: it was not. */
static struct app_rings *rings_start_since(pid_t pid, u64 made_ns)
{
	struct app_rings *rings = app_rings_new();
	struct app_ring_reached *reached = NULL;
	struct error e = {0};

	memset(&taken, 0, sizeof(taken));
	CHECK(rings != NULL);
	taken.pid = (u32)pid;
	if (app_ring_reach(pid, made_ns, NULL, &reached, &e) != 1)
		CHECK_STR(e.text, "reached");
	CHECK_EQ(app_rings_add(rings, reached), 0);
	return rings;
}

static struct app_rings *rings_start(pid_t pid)
{
	return rings_start_since(pid, 0);
}

static u64 rings_damaged(const struct app_rings *rings)
{
	struct app_rings_counts counts;

	app_rings_counts(rings, &counts);
	return counts.damaged;
}

/* What was lost until now; a recorder tells it at each cut. */
static int losses_tell(struct app_rings *rings)
{
	u64 now = now_ns();
	int err = app_rings_tell_missed(rings, &sink, now);

	for (size_t i = 0; i < rings->sources.count && !err; i++)
		err = app_source_tell(rings, &rings->sources.data[i],
				      app_ring_lost(rings->sources.data[i].r->ring), &sink, now);
	return err;
}

static u64 rings_left(const struct app_rings *rings)
{
	struct app_rings_counts counts;

	app_rings_counts(rings, &counts);
	return counts.rings;
}

/* Polls until the ring of a process that ended was let go. */
static void rings_settle(struct app_rings *rings)
{
	u64 until = now_ns() + 30000000000ull;

	while (rings_left(rings) && now_ns() < until) {
		CHECK_EQ(app_rings_poll(rings, &sink), 0);
		usleep(1000);
	}
	CHECK_EQ(rings_left(rings), 0);
}

/* ---- programs that mean well ---- */

TEST(spans_arrive)
{
	struct writer w = writer_start();
	struct app_rings *rings;

	CHECK_STR(writer_ask(&w, "spans 100"), "done"); /* nobody listens */
	rings = rings_start(w.pid);
	CHECK_STR(writer_ask(&w, "listening"), "1");
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(taken.kinds[RECORD_span_begin], 0);
	CHECK_STR(writer_ask(&w, "spans 200"), "done");
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(taken.kinds[RECORD_service], 1);
	CHECK_EQ(taken.kinds[RECORD_span_begin], 200);
	CHECK_EQ(taken.kinds[RECORD_span_attribute], 200);
	CHECK_EQ(taken.kinds[RECORD_span_end], 200);
	CHECK_EQ(taken.out_of_order, 0);
	CHECK_EQ(taken.strange, 0);
	CHECK_EQ(taken.tid_count, 1);
	CHECK_EQ(taken.tids[0], w.pid);
	app_rings_free(rings);
	CHECK_STR(writer_ask(&w, "listening"), "0");
	writer_reap(&w);
}

TEST(what_does_not_fit_is_counted)
{
	struct writer w = writer_start();
	struct app_rings *rings = rings_start(w.pid);
	struct app_rings_counts counts;

	CHECK_STR(writer_ask(&w, "spans 5000"), "done");
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(losses_tell(rings), 0);
	app_rings_counts(rings, &counts);
	CHECK(taken.lost > 0);
	CHECK_EQ(taken.lost, counts.lost);
	CHECK_EQ(taken.kinds[RECORD_service] + taken.kinds[RECORD_span_begin] +
			 taken.kinds[RECORD_span_attribute] + taken.kinds[RECORD_span_end] +
			 taken.lost,
		 15001);
	CHECK_EQ(rings_damaged(rings), 0);
	app_rings_free(rings);
	writer_reap(&w);
}

TEST(threads_come_and_go)
{
	struct writer w = writer_start();
	struct app_rings *rings = rings_start(w.pid);

	CHECK_STR(writer_ask(&w, "threads 20"), "done");
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(taken.kinds[RECORD_span_begin], 20);
	CHECK_EQ(taken.tid_count, 20);
	CHECK_EQ(rings_damaged(rings), 0);
	app_rings_free(rings);
	writer_reap(&w);
}

TEST(a_crash_loses_nothing_that_was_finished)
{
	struct writer w = writer_start();
	struct app_rings *rings = rings_start(w.pid);

	writer_send(&w, "die 300");
	CHECK_EQ(waitpid(w.pid, NULL, 0), w.pid);
	rings_settle(rings);
	CHECK_EQ(taken.kinds[RECORD_span_begin], 300);
	CHECK_EQ(taken.kinds[RECORD_span_end], 300);
	CHECK_EQ(taken.out_of_order, 0);
	CHECK_EQ(taken.lost, 0);
	app_rings_free(rings);
	fclose(w.to);
	fclose(w.from);
}

TEST(a_forked_child_has_its_own)
{
	struct writer w = writer_start();
	struct app_rings *rings = rings_start(w.pid);
	struct app_ring_reached *reached = NULL;
	pid_t child = atoi(writer_ask(&w, "fork"));
	int result = 0;

	CHECK(child > 0);
	for (int i = 0; i < 10000 && result != 1; i++) {
		result = app_ring_reach(child, 0, NULL, &reached, NULL);
		usleep(1000);
	}
	CHECK_EQ(result, 1);
	CHECK_EQ(app_rings_add(rings, reached), 0);
	CHECK_EQ(rings_left(rings), 2);
	taken.pid = (u32)child;
	for (int i = 0; i < 10000 && !taken.kinds[RECORD_span_end]; i++) {
		CHECK_EQ(app_rings_poll(rings, &sink), 0);
		usleep(1000);
	}
	CHECK_EQ(taken.kinds[RECORD_span_begin], 1);
	CHECK_EQ(taken.strange, 0);
	CHECK_EQ(taken.tids[0], child);
	kill(child, SIGKILL);
	app_rings_free(rings);
	writer_reap(&w);
}

TEST(a_cut_is_an_instant)
{
	struct writer w = writer_start();
	struct app_rings *rings = rings_start(w.pid);
	u64 cut, before;

	CHECK_STR(writer_ask(&w, "spans 50"), "done");
	cut = now_ns();
	CHECK_STR(writer_ask(&w, "spans 50"), "done");
	CHECK_EQ(app_rings_cut_begin(rings, cut), 0);
	taken.until_ns = cut;
	CHECK_EQ(app_rings_cut_pass(rings, &sink), 1);
	CHECK_EQ(taken.kinds[RECORD_span_begin], 50);
	CHECK_EQ(taken.kinds[RECORD_span_end], 50);
	CHECK_EQ(taken.late, 0);
	before = taken.last_ns;
	taken.until_ns = 0;
	taken.next = 0;
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(taken.kinds[RECORD_span_begin], 100);
	CHECK_EQ(taken.kinds[RECORD_span_end], 100);
	CHECK_EQ(taken.out_of_order, 0);
	CHECK(before <= cut);
	app_rings_free(rings);
	writer_reap(&w);
}

TEST(a_sink_that_fails_loses_nothing)
{
	struct writer w = writer_start();
	struct app_rings *rings = rings_start(w.pid);

	CHECK_STR(writer_ask(&w, "spans 50"), "done");
	taken.fail_once = -ENOSPC;
	CHECK_EQ(app_rings_poll(rings, &sink), -ENOSPC);
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(taken.kinds[RECORD_span_end], 50);
	CHECK_EQ(taken.out_of_order, 0);
	app_rings_free(rings);
	writer_reap(&w);
}

/* A capture that dies with its lock held, in a process of its own. */
TEST(one_capture_at_a_time_and_the_next_after_a_crash)
{
	struct writer w = writer_start();
	struct app_ring_reached *reached = NULL;
	struct app_rings *rings;
	int ready[2], status;
	char byte;
	pid_t other;

	CHECK_EQ(pipe(ready), 0);
	other = fork();
	CHECK(other >= 0);
	if (other == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		rings = app_rings_new();
		if (app_ring_reach(w.pid, 0, NULL, &reached, NULL) == 1 &&
		    app_rings_add(rings, reached) == 0 && write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	CHECK_EQ(app_ring_reach(w.pid, 0, NULL, &reached, NULL), -EBUSY);
	CHECK_STR(writer_ask(&w, "spans 10"), "done"); /* for the other, which never drains */
	kill(other, SIGKILL);
	CHECK_EQ(waitpid(other, &status, 0), other);
	rings = rings_start(w.pid);
	CHECK_STR(writer_ask(&w, "spans 20"), "done");
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(taken.kinds[RECORD_service], 1);
	CHECK_EQ(taken.kinds[RECORD_span_begin], 20);
	app_rings_free(rings);
	writer_reap(&w);
	close(ready[0]);
}

TEST(a_process_that_was_not_reached_is_told)
{
	struct app_rings *rings = app_rings_new();

	memset(&taken, 0, sizeof(taken));
	app_rings_missed(rings, 4711);
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(taken.missed, 1);
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(taken.missed, 1);
	app_rings_free(rings);
}

/* ---- the grace of a ring: what a program does before it is reached ---- */

/* One that has written 100 spans, nobody listening, and since then was not told that it is over. */
static struct writer writer_in_grace(u64 *made_ns)
{
	for (int i = 0; i < 100; i++) {
		struct writer w;
		bool in_grace;

		*made_ns = now_ns();
		w = writer_start();
		CHECK_STR(writer_ask(&w, "spans 100"), "done");
		in_grace = strcmp(writer_ask(&w, "listening"), "1") == 0;
		if (in_grace)
			return w;
		writer_reap(&w); /* a slow machine */
	}
	CHECK_FAIL("each of 100 programs took more than its grace for 100 spans");
}

TEST(first_spans_are_there)
{
	u64 made;
	struct writer w = writer_in_grace(&made);
	struct app_rings *rings;

	usleep(150000); /* nobody asks meanwhile */
	rings = rings_start_since(w.pid, made);
	CHECK_STR(writer_ask(&w, "spans 5"), "done");
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK(taken.kinds[RECORD_service] >= 1);
	CHECK_EQ(taken.kinds[RECORD_span_begin], 105);
	CHECK_EQ(taken.kinds[RECORD_span_attribute], 105);
	CHECK_EQ(taken.kinds[RECORD_span_end], 105);
	CHECK_EQ(taken.strange, 0);
	CHECK_EQ(taken.tids[0], w.pid);
	CHECK_EQ(rings_damaged(rings), 0);
	app_rings_free(rings);
	writer_reap(&w);
}

TEST(what_did_not_fit_before_is_counted)
{
	u64 made;
	struct writer w = writer_in_grace(&made);
	struct app_rings *rings;

	CHECK_STR(writer_ask(&w, "spans 5000"), "done");
	if (strcmp(writer_ask(&w, "listening"), "1") != 0) {
		writer_reap(&w);
		SKIP("5000 spans take more than their grace here");
	}
	rings = rings_start_since(w.pid, made);
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(losses_tell(rings), 0);
	CHECK(taken.lost > 0);
	CHECK_EQ(taken.kinds[RECORD_span_begin] + taken.kinds[RECORD_span_attribute] +
			 taken.kinds[RECORD_span_end] + taken.lost,
		 3 * 5100);
	app_rings_free(rings);
	writer_reap(&w);
}

TEST(after_the_grace_it_begins_with_the_listener)
{
	u64 made;
	struct writer w = writer_in_grace(&made);
	struct app_rings *rings;

	for (int i = 0; i < 1000 && strcmp(writer_ask(&w, "listening"), "0") != 0; i++)
		usleep(1000);
	CHECK_STR(writer_ask(&w, "spans 7"), "done"); /* of which nothing is written */
	rings = rings_start_since(w.pid, made);
	CHECK_STR(writer_ask(&w, "spans 5"), "done");
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(losses_tell(rings), 0);
	CHECK_EQ(taken.kinds[RECORD_service], 1);
	CHECK_EQ(taken.kinds[RECORD_span_begin], 5);
	CHECK_EQ(taken.kinds[RECORD_span_end], 5);
	CHECK_EQ(taken.lost, 0);
	app_rings_free(rings);
	writer_reap(&w);
}

/* Not ours to hear: it was made before we began, or came into scope later. */
TEST(a_ring_that_was_not_seen_to_be_made_begins_with_the_listener)
{
	u64 made;
	struct writer w = writer_in_grace(&made);
	struct app_rings *rings = rings_start(w.pid);

	CHECK_STR(writer_ask(&w, "spans 5"), "done");
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(taken.kinds[RECORD_span_begin], 5);
	CHECK_EQ(taken.kinds[RECORD_span_end], 5);
	app_rings_free(rings);
	writer_reap(&w);
}

/* ---- programs that lie ---- */

static struct app_ring *liar_ring;
static pid_t liar;

/* A ring that this process writes too, held by a child that only sleeps. */
static void liar_start(int seals)
{
	int fd = memfd_create(APP_RING_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, APP_RING_BYTES), 0);
	CHECK_EQ(fcntl(fd, F_ADD_SEALS, seals), 0);
	liar_ring = mmap(NULL, APP_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK((void *)liar_ring != MAP_FAILED);
	close(fd);
	liar = fork();
	CHECK(liar >= 0);
	if (liar == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	liar_ring->magic = APP_RING_MAGIC;
	liar_ring->version = APP_RING_VERSION;
	liar_ring->header_bytes = offsetof(struct app_ring, lane);
	liar_ring->lanes = APP_RING_LANES;
	liar_ring->lane_bytes = sizeof(struct app_lane);
	liar_ring->slots = APP_RING_SLOTS;
	liar_ring->pid = (u32)liar;
	liar_ring->lanes_used = 1;
}

static void liar_end(struct app_rings *rings)
{
	app_rings_free(rings);
	kill(liar, SIGKILL);
	waitpid(liar, NULL, 0);
	munmap(liar_ring, APP_RING_BYTES);
}

/* A span's end at a position, as the library would write it. */
static struct record_span_end *liar_write(u64 at, u32 tid)
{
	struct record_span_end *r = (void *)liar_ring->lane[0].slots[at % APP_RING_SLOTS].bytes;

	memset(r, 0, RECORD_SLOT_BYTES);
	r->head.kind = RECORD_span_end;
	r->head.slots = 1;
	r->head.time_ns = now_ns();
	r->head.tid = tid;
	memset(&r->ctx, 7, sizeof(r->ctx));
	__atomic_store_n(&r->head.seq, (u32)(at + 1), __ATOMIC_RELEASE);
	__atomic_store_n(&liar_ring->lane[0].control.head, at + 1, __ATOMIC_RELEASE);
	return r;
}

TEST(without_seals_it_is_none)
{
	struct app_ring_reached *reached = NULL;

	liar_start(F_SEAL_GROW);
	CHECK_EQ(app_ring_reach(liar, 0, NULL, &reached, NULL), 0);
	liar_end(NULL);
}

TEST(a_ring_of_another_process_is_none)
{
	struct app_ring_reached *reached = NULL;

	liar_start(APP_RING_SEALS);
	liar_ring->pid = 1;
	CHECK_EQ(app_ring_reach(liar, 0, NULL, &reached, NULL), 0);
	liar_ring->pid = (u32)liar;
	liar_ring->slots = 1 << 30;
	CHECK_EQ(app_ring_reach(liar, 0, NULL, &reached, NULL), 0);
	liar_end(NULL);
}

TEST(names_of_others_are_not_believed)
{
	struct app_rings *rings;

	liar_start(APP_RING_SEALS);
	rings = rings_start(liar);
	liar_write(0, (u32)liar)->head.pid = 1;
	liar_write(1, 1);	      /* a thread of init */
	liar_write(2, (u32)getpid()); /* of ours */
	liar_write(3, 0);
	liar_write(4, (u32)liar)->head.time_ns = now_ns() + 3600000000000ull;
	liar_write(5, (u32)liar)->head.time_ns = ~0ull;
	liar_write(6, (u32)liar)->head.time_ns = 5; /* long before we listened */
	memset(&liar_write(7, (u32)liar)->ctx, 0, sizeof(struct context));
	liar_write(8, (u32)liar)->head.kind = RECORD_switch;
	liar_write(9, (u32)liar)->status = 77;
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(losses_tell(rings), 0);
	CHECK_EQ(taken.kinds[RECORD_span_end], 1);
	CHECK_EQ(taken.kinds[RECORD_switch], 0);
	CHECK_EQ(rings_damaged(rings), 8);
	CHECK_EQ(taken.strange, 0);
	CHECK_EQ(taken.tids[0], liar);
	liar_end(rings);
}

TEST(records_that_were_cut_are_counted)
{
	struct app_rings_counts counts;
	struct app_rings *rings;

	liar_start(APP_RING_SEALS);
	rings = rings_start(liar);
	liar_write(0, (u32)liar)->head.cpu = APP_RECORD_CUT;
	liar_write(1, (u32)liar)->head.cpu = APP_RECORD_WHOLE;
	liar_write(2, 1)->head.cpu = APP_RECORD_CUT; /* not believed */
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(losses_tell(rings), 0);
	app_rings_counts(rings, &counts);
	CHECK_EQ(taken.kinds[RECORD_span_end], 2);
	CHECK_EQ(taken.strange, 0);
	CHECK_EQ(counts.cut, 1);
	CHECK_EQ(counts.damaged, 1);
	liar_end(rings);
}

/* It says that it is in its grace, and tells of a time before the kernel saw its ring. */
TEST(a_past_of_its_own_is_not_believed)
{
	struct app_rings *rings;
	u64 made;

	liar_start(APP_RING_SEALS);
	liar_ring->listening = APP_RING_GRACE;
	liar_ring->lease_ns = ~0ull;
	liar_ring->start_ns = 1;
	liar_ring->lost = 1ull << 40;
	made = now_ns();
	liar_write(0, (u32)liar)->head.time_ns = made - 1;
	liar_write(1, (u32)liar)->head.time_ns = 5;
	liar_write(2, (u32)liar);
	rings = rings_start_since(liar, made);
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(losses_tell(rings), 0);
	CHECK_EQ(taken.kinds[RECORD_span_end], 1);
	CHECK_EQ(taken.lost, 0);
	CHECK_EQ(rings_damaged(rings), 0);
	liar_end(rings);
}

TEST(absurd_heads_and_lengths)
{
	static const u64 heads[] = {1, 2049, ~0ull, 1ull << 63, 5};
	struct app_rings *rings;

	liar_start(APP_RING_SEALS);
	rings = rings_start(liar);
	for (size_t i = 0; i < 5; i++) {
		liar_write(i, (u32)liar)->head.slots = (u8)(i % 2 ? 0 : 255);
		liar_ring->lane[0].control.head = heads[i];
		CHECK_EQ(app_rings_poll(rings, &sink), 0);
	}
	liar_ring->lane[0].control.head = liar_ring->lane[0].control.tail = 10;
	liar_write(10, (u32)liar);
	liar_ring->lane[0].control.tail = 11; /* ahead of a head that is told to be behind */
	liar_ring->lane[0].control.head = 3;
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(losses_tell(rings), 0);
	CHECK(rings_damaged(rings) >= 5);
	CHECK_EQ(taken.kinds[RECORD_span_end], 0);
	liar_ring->lanes_used = ~0u;
	liar_ring->lost = ~0ull;
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(losses_tell(rings), 0);
	CHECK_EQ(taken.lost, rings_damaged(rings));
	liar_end(rings);
}

TEST(garbage_everywhere)
{
	struct app_rings *rings;
	u64 random = 88172645463325252ull;

	liar_start(APP_RING_SEALS);
	rings = rings_start(liar);
	liar_ring->lanes_used = 8;
	for (int round = 0; round < 20; round++) {
		for (u32 lane = 0; lane < 8; lane++) {
			u64 *words = (u64 *)liar_ring->lane[lane].slots;
			u64 tail = liar_ring->lane[lane].control.tail;

			for (size_t i = 0; i < APP_RING_SLOTS * 8; i++) {
				random ^= random << 13;
				random ^= random >> 7;
				random ^= random << 17;
				words[i] = random;
			}
			for (u64 i = 0; i < APP_RING_SLOTS; i++) { /* so that they are looked at */
				u8 *at = liar_ring->lane[lane]
						 .slots[(tail + i) % APP_RING_SLOTS]
						 .bytes;
				u32 seq = (u32)(tail + i + 1);

				memcpy(at, &seq, 4);
				at[4] = (u8)(RECORD_service + at[4] % 7);
				at[5] = (u8)(1 + at[5] % 20);
			}
			liar_ring->lane[lane].control.head = tail + APP_RING_SLOTS;
		}
		CHECK_EQ(app_rings_poll(rings, &sink), 0);
	}
	CHECK_EQ(losses_tell(rings), 0);
	CHECK(rings_damaged(rings) > 1000);
	CHECK_EQ(taken.strange, 0);
	liar_end(rings);
}

/* A thread that is in the middle of a record: how far back what it will write can lie. */
TEST(a_cut_says_up_to_when_it_is_complete)
{
	struct app_rings *rings;
	u64 drained, cut, seq;

	liar_start(APP_RING_SEALS);
	rings = rings_start(liar);
	liar_write(0, (u32)liar);
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	drained = now_ns();
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	liar_write(1, (u32)liar);
	seq = liar_write(2, (u32)liar)->head.time_ns;
	liar_write(2, (u32)liar)->head.seq = 0;
	for (int i = 0; i < 3; i++)
		CHECK_EQ(app_rings_poll(rings, &sink), 0);
	cut = now_ns();
	CHECK_EQ(app_rings_cut_begin(rings, cut), 0);
	CHECK_EQ(app_rings_cut_pass(rings, &sink), 0);
	CHECK(app_rings_complete(rings) >= drained);
	CHECK(app_rings_complete(rings) <= seq);
	/* a second later nobody waits for it any more */
	cut += 1000000000ull;
	CHECK_EQ(app_rings_cut_begin(rings, cut), 0);
	CHECK_EQ(app_rings_cut_pass(rings, &sink), 0);
	CHECK_EQ(app_rings_complete(rings), cut);
	liar_write(2, (u32)liar);
	cut = now_ns();
	CHECK_EQ(app_rings_cut_begin(rings, cut), 0);
	CHECK_EQ(app_rings_cut_pass(rings, &sink), 1);
	CHECK_EQ(app_rings_complete(rings), cut);
	CHECK_EQ(taken.kinds[RECORD_span_end], 3);
	liar_end(rings);
}

TEST(a_mark_is_reached_or_not)
{
	struct ring_mark m = {.ns = 10, .before_ns = 10};

	CHECK_EQ(ring_mark_clear_ns(&m, 0), 10);
	ring_mark_set(&m, 5, 5, 20); /* all is out */
	CHECK_EQ(ring_mark_clear_ns(&m, 5), 20);
	ring_mark_set(&m, 6, 9, 30); /* 6 was not reserved at 20, but at 30 */
	CHECK_EQ(ring_mark_clear_ns(&m, 6), 20);
	ring_mark_set(&m, 6, 12, 40);
	ring_mark_set(&m, 8, 15, 50);
	CHECK_EQ(ring_mark_clear_ns(&m, 8), 20);
	ring_mark_set(&m, 9, 15, 60); /* 9 was not reserved at 30 */
	CHECK_EQ(ring_mark_clear_ns(&m, 9), 30);
	CHECK_EQ(ring_mark_clear_ns(&m, 15), 60);
	ring_mark_set(&m, 15, 15, 70);
	CHECK_EQ(ring_mark_clear_ns(&m, 15), 70);
}

/* What stands behind it may be anything: it is reached when the program has ended. */
TEST(half_a_record_hides_what_follows_until_the_end)
{
	struct app_rings *rings;

	liar_start(APP_RING_SEALS);
	rings = rings_start(liar);
	liar_write(0, (u32)liar);
	liar_write(1, (u32)liar)->head.seq = 0;
	liar_write(2, (u32)liar);
	CHECK_EQ(app_rings_cut_begin(rings, now_ns()), 0);
	CHECK_EQ(app_rings_cut_pass(rings, &sink), 0);
	CHECK_EQ(taken.kinds[RECORD_span_end], 1);
	kill(liar, SIGKILL);
	waitpid(liar, NULL, 0);
	rings_settle(rings);
	CHECK_EQ(taken.kinds[RECORD_span_end], 1);
	CHECK_EQ(rings_damaged(rings), 1);
	app_rings_free(rings);
	munmap(liar_ring, APP_RING_BYTES);
}

/* ---- limits: the last, since where they are for good little is left for others ---- */

/* Those that there is no room for are told, too. */
/* There is no place for it: nothing makes room for what does not come. */
TEST(one_that_does_not_fit_ends_no_other)
{
	struct writer w = writer_start();
	const struct rlimit few = {4 * APP_RINGS_OF_PROCESS, 4 * APP_RINGS_OF_PROCESS};
	struct app_ring_reached *reached;
	struct app_rings_counts counts;
	struct app_rings *rings;
	struct rlimit before;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	rings = app_rings_new();
	if (setrlimit(RLIMIT_NOFILE, &before)) {
		writer_reap(&w);
		app_rings_free(rings);
		SKIP("limits are for good here");
	}
	CHECK(rings != NULL);
	CHECK_STR(writer_ask(&w, "rings 1000"), "done");
	CHECK_EQ(app_ring_reach(w.pid, 0, NULL, &reached, NULL), APP_RINGS_OF_PROCESS);
	CHECK_EQ(app_rings_add(rings, reached), 0);
	CHECK_STR(writer_ask(&w, "unmap"), "done");
	CHECK_STR(writer_ask(&w, "rings 100"), "done");
	CHECK(app_ring_reach(w.pid, 0, NULL, &reached, NULL) > 0);
	CHECK_EQ(app_rings_add(rings, reached), -EMFILE);
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	app_rings_counts(rings, &counts);
	CHECK_EQ(counts.rings, APP_RINGS_OF_PROCESS);
	app_rings_free(rings);
	writer_reap(&w);
}

TEST(more_rings_than_descriptors_are_missed)
{
	struct writer a = writer_start(), b = writer_start();
	const struct rlimit few = {7, 7};
	struct app_ring_reached *reached;
	struct app_rings_counts counts;
	struct app_rings *rings;
	struct rlimit before;

	memset(&taken, 0, sizeof(taken));
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	rings = app_rings_new();
	if (setrlimit(RLIMIT_NOFILE, &before)) {
		writer_reap(&a);
		writer_reap(&b);
		app_rings_free(rings);
		SKIP("limits are for good here");
	}
	CHECK(rings != NULL);
	CHECK_EQ(app_ring_reach(a.pid, 0, NULL, &reached, NULL), 1);
	CHECK_EQ(app_rings_add(rings, reached), 0);
	CHECK_EQ(app_ring_reach(b.pid, 0, NULL, &reached, NULL), 1);
	CHECK_EQ(app_rings_add(rings, reached), -EMFILE);
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	app_rings_counts(rings, &counts);
	CHECK_EQ(counts.rings, 1);
	CHECK_EQ(counts.not_reached, 1);
	CHECK_EQ(taken.missed, 1);
	app_rings_free(rings);
	writer_reap(&a);
	writer_reap(&b);
}

TEST(the_limit_of_descriptors_is_raised)
{
	struct rlimit before, after, low;
	struct app_rings *rings;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = (struct rlimit){256, before.rlim_max};
	if (before.rlim_max <= 256)
		SKIP("there are no more descriptors to be had here");
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
	rings = app_rings_new();
	CHECK(rings != NULL);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
	CHECK(after.rlim_cur > 256);
	app_rings_free(rings);
	setrlimit(RLIMIT_NOFILE, &before);
}

TEST_MAIN()
