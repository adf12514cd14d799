/* SPDX-License-Identifier: Apache-2.0 */
/* Rings of real programs with libfathom. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "capture/app/internal.h"
#include "capture/mark.h"
#include "lib/app_ring.h"
#include "proc/line.h"
#include "tests/unit/capture/app/rings_taken.h"

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

/* /proc shows memory and descriptors only under its other threads. */
TEST(a_process_whose_main_thread_has_ended)
{
	char path[64], state[64];
	struct writer w = writer_start();
	struct app_rings *rings;

	writer_send(&w, "leave");
	CHECK_STR(writer_ask(&w, "spans 1"), "done");
	snprintf(path, sizeof(path), "/proc/%d/status", w.pid);
	do { /* it may be on its way out still */
		CHECK_EQ(proc_line_read(path, "State:", state, sizeof(state)), 0);
	} while (!strchr(state, 'Z'));
	rings = rings_start(w.pid);
	CHECK_STR(writer_ask(&w, "spans 10"), "done");
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(taken.kinds[RECORD_span_end], 10);
	CHECK_EQ(taken.strange, 0);
	app_rings_free(rings);
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
	for (int i = 0; i < 10000 && taken.kinds[RECORD_span_end] < 10; i++) {
		CHECK_EQ(app_rings_poll(rings, &sink), 0);
		usleep(1000);
	}
	CHECK(taken.kinds[RECORD_span_begin] == 10 || taken.kinds[RECORD_span_begin] == 11);
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

/* The recording ends before a look at its process: what it wrote is lost. */
TEST(a_ring_that_is_still_looked_for_at_the_end_is_missed)
{
	struct writer w = writer_start();
	u64 made_ns = now_ns();
	struct app_rings *rings = rings_start_since(w.pid, made_ns);

	app_rings_sought(rings, 4711, now_ns());
	app_rings_sought(rings, 4711, now_ns());
	app_rings_sought(rings, w.pid, made_ns); /* told late: it is listened to */
	app_rings_sought_end(rings);
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(taken.missed, 2);
	app_rings_sought_end(rings);
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(taken.missed, 2);
	app_rings_free(rings);
	writer_reap(&w);
}

/* ---- a recorder that does not run for longer than its lease ---- */

/* As if it had not run since a while ago: its lease is over. When that was. */
static u64 lease_end(struct app_rings *rings)
{
	struct app_source *s = &rings->sources.data[0];
	u64 now;

	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	now = now_ns();
	s->lease_ns = now;
	s->r->ring->lease_ns = now + (u64)s->r->process.clock_ns;
	rings->renewed_ns = 0;
	return now;
}

/* More spans than there is room for: the first that does not fit finds the lease over. */
TEST(what_a_process_stopped_writing_is_a_loss)
{
	struct writer w = writer_start();
	struct app_rings *rings = rings_start(w.pid);
	u64 over = lease_end(rings);

	CHECK_STR(writer_ask(&w, "spans 5000"), "done");
	CHECK_STR(writer_ask(&w, "listening"), "0");
	CHECK_EQ(taken.lost, 0);
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(losses_tell(rings), 0);
	CHECK(taken.kinds[RECORD_span_begin] < 5000);
	CHECK_EQ(taken.lost, 1);
	CHECK(taken.lost_begin_ns <= over && taken.lost_end_ns > taken.last_ns);
	CHECK_STR(writer_ask(&w, "listening"), "1");
	rings->renewed_ns = 0;
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(losses_tell(rings), 0);
	CHECK_EQ(taken.lost, 1); /* once */
	app_rings_free(rings);
	writer_reap(&w);
}

TEST(so_it_is_if_the_process_has_ended)
{
	struct writer w = writer_start();
	struct app_rings *rings = rings_start(w.pid);
	u64 over;

	CHECK_STR(writer_ask(&w, "spans 1"), "done"); /* whose the thread is, is known then */
	over = lease_end(rings);
	CHECK_STR(writer_ask(&w, "spans 5000"), "done");
	writer_reap(&w);
	rings_settle(rings);
	CHECK(taken.kinds[RECORD_span_begin] < 5000);
	CHECK_EQ(taken.lost, 1);
	CHECK(taken.lost_begin_ns <= over && taken.lost_end_ns > taken.last_ns);
	app_rings_free(rings);
}

/* A loss that is seen after the cut, and spans it, belongs to both sides. */
TEST(a_cut_in_it)
{
	struct writer w = writer_start();
	struct app_rings *rings = rings_start(w.pid);
	u64 over = lease_end(rings), cut;

	CHECK_STR(writer_ask(&w, "spans 5000"), "done");
	cut = now_ns();
	CHECK_EQ(app_rings_cut_begin(rings, cut), 0);
	CHECK_EQ(app_rings_cut_pass(rings, &sink), 1);
	CHECK_EQ(app_rings_cut_losses(rings, &sink), 0);
	CHECK_EQ(taken.lost, 1);
	CHECK(taken.lost_begin_ns <= over && taken.lost_end_ns == cut - 1);
	CHECK_EQ(losses_tell(rings), 0);
	CHECK_EQ(taken.lost, 2);
	CHECK(taken.lost_end_ns > cut);
	app_rings_free(rings);
	writer_reap(&w);
}

TEST(a_lease_that_is_over_is_no_loss_by_itself)
{
	struct writer w = writer_start();
	struct app_rings *rings = rings_start(w.pid);

	lease_end(rings);
	CHECK_STR(writer_ask(&w, "spans 50"), "done"); /* for which there is room */
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(losses_tell(rings), 0);
	CHECK_EQ(taken.kinds[RECORD_span_end], 50);
	CHECK_EQ(taken.lost, 0);
	app_rings_free(rings);
	writer_reap(&w);
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
	CHECK_EQ(taken.lost, 1); /* nobody knows how many */
	CHECK_EQ(taken.lost_begin_ns, made);
	app_rings_free(rings);
	writer_reap(&w);
}

/* That it is not in its grace any more says nothing, as long as no thread was given a lane. */
TEST(a_ring_that_nobody_wrote_into_has_lost_nothing)
{
	u64 made = now_ns();
	struct writer w = writer_start();
	struct app_rings *rings = app_rings_new();
	struct app_ring_reached *reached = NULL;
	u32 silent = 0;

	CHECK_STR(writer_ask(&w, "rings 1"), "done"); /* where nobody listens, and beside its own */
	CHECK_EQ(app_ring_reach(w.pid, made, NULL, &reached, NULL), 2);
	CHECK_EQ(app_rings_add(rings, reached), 0);
	for (size_t i = 0; i < rings->sources.count; i++) {
		if (app_ring_lanes(rings->sources.data[i].r->ring))
			continue;
		silent++;
		CHECK_EQ(rings->sources.data[i].unheard, 0);
	}
	CHECK_EQ(silent, 1);
	app_rings_free(rings);
	writer_reap(&w);
}

/* Its earlier records are not for us: it was made before we began, or came into scope later. */
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

TEST_MAIN()
