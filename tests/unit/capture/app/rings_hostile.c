/* SPDX-License-Identifier: Apache-2.0 */
/* Rings of programs that lie, and limits that are met. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/counter.h"
#include "capture/app/internal.h"
#include "capture/mark.h"
#include "lib/app_ring.h"
#include "tests/unit/capture/app/rings_taken.h"

/* ---- programs that lie ---- */

static struct app_ring *liar_ring;
static int liar_file;
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
	liar_file = fd;
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
	close(liar_file);
}

/* A span's end at a position, as the library would write it. */
static struct record_span_end *liar_write(u64 at, u32 tid)
{
	struct record_span_end *r = (void *)liar_ring->lane[0].slots[at % APP_RING_SLOTS].bytes;

	memset(r, 0, RECORD_SLOT_BYTES);
	r->head.kind = RECORD_span_end;
	r->head.slots = 1;
	r->head.cpu = APP_RECORD_WHOLE;
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
	liar_write(10, (u32)liar)->next.trace[0] = 7; /* a span without an id */
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(losses_tell(rings), 0);
	CHECK_EQ(taken.kinds[RECORD_span_end], 1);
	CHECK_EQ(taken.kinds[RECORD_switch], 0);
	CHECK_EQ(rings_damaged(rings), 9);
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
	liar_write(0, (u32)liar)->head.cpu = APP_RECORD_WHOLE ^ APP_RECORD_CUT;
	liar_write(1, (u32)liar)->head.cpu = APP_RECORD_WHOLE;
	liar_write(2, 1)->head.cpu = APP_RECORD_WHOLE ^ APP_RECORD_CUT; /* not believed */
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(losses_tell(rings), 0);
	app_rings_counts(rings, &counts);
	CHECK_EQ(taken.kinds[RECORD_span_end], 2);
	CHECK_EQ(taken.strange, 0);
	CHECK_EQ(counts.cut, 1);
	CHECK_EQ(counts.damaged, 1);
	liar_end(rings);
}

static void liar_count(u64 at, u64 counter)
{
	struct record_span_end *r = liar_write(at, (u32)liar);

	r->head.cpu = APP_RECORD_WHOLE ^ APP_RECORD_COUNTED;
	r->head.time_ns = counter;
}

/* Stamps by the counter: of the future, of before we listened, and of now. */
TEST(a_counter_is_believed_up_to_now)
{
	struct app_rings_counts counts;
	struct app_rings *rings;
	u64 before;

	if (!counter_is_clock())
		SKIP("the kernel's clock is not made of the processor's counter");
	liar_start(APP_RING_SEALS);
	rings = rings_start(liar);
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(liar_ring->counter, 0); /* no rate is known */
	usleep(2000);
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(liar_ring->counter, rings->session);
	liar_count(0, 5);
	liar_count(1, ~0ull);
	liar_count(2, counter_read() + (1ull << 40));
	before = now_ns();
	liar_count(3, counter_read());
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(losses_tell(rings), 0);
	app_rings_counts(rings, &counts);
	CHECK_EQ(taken.kinds[RECORD_span_end], 1);
	CHECK_EQ(taken.strange, 0);
	CHECK(taken.last_ns + 1000 > before && taken.last_ns < now_ns());
	CHECK_EQ(counts.stale + counts.damaged, 3);
	CHECK(counts.damaged > 0);
	app_rings_free(rings);
	CHECK_EQ(liar_ring->counter, 0);
	liar_end(NULL);
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
	static const u64 heads[] = {1, 2049, 1ull << 63, ~0ull, 5};
	struct app_rings *rings;

	liar_start(APP_RING_SEALS);
	rings = rings_start(liar);
	for (size_t i = 0; i < 5; i++) {
		liar_write(i, (u32)liar)->head.slots = (u8)(i % 2 ? 0 : 255);
		liar_ring->lane[0].control.head = heads[i];
		CHECK_EQ(app_rings_poll(rings, &sink), 0);
	}
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(rings_left(rings), 0); /* a head that goes back */
	CHECK_EQ(rings_damaged(rings), 5);
	liar_end(rings);
	liar_start(APP_RING_SEALS);
	liar_ring->lane[0].control.head = 10;
	rings = rings_start(liar);
	liar_ring->lane[0].control.tail = 10;
	liar_write(10, (u32)liar);
	liar_ring->lane[0].control.tail = 11; /* ahead of a head that is told to be behind */
	liar_ring->lane[0].control.head = 3;
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(losses_tell(rings), 0);
	CHECK_EQ(rings_damaged(rings), 1);
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

/* A ring that is not found yet may have records of the time before the cut. */
TEST(a_cut_is_complete_up_to_where_a_ring_is_sought)
{
	const u64 ms = 1000000;
	struct app_rings *rings = app_rings_new();
	u64 cut = now_ns();

	CHECK(rings != NULL);
	app_rings_sought(rings, 7, cut - 300 * ms); /* it was no ring */
	app_rings_sought(rings, 8, cut - 50 * ms);
	app_rings_sought(rings, 9, cut - 20 * ms);
	app_rings_sought(rings, 9, cut - 10 * ms);
	CHECK_EQ(app_rings_cut_begin(rings, cut), 0);
	CHECK_EQ(app_rings_complete(rings), cut - 50 * ms);
	app_rings_missed(rings, 8);
	CHECK_EQ(app_rings_complete(rings), cut - 20 * ms);
	CHECK_EQ(app_rings_cut_begin(rings, cut + 85 * ms), 0);
	CHECK_EQ(app_rings_complete(rings), cut - 10 * ms);
	app_rings_missed(rings, 9);
	CHECK_EQ(app_rings_complete(rings), cut - 10 * ms);
	app_rings_missed(rings, 9);
	CHECK_EQ(app_rings_complete(rings), cut + 85 * ms);
	app_rings_free(rings);
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
	CHECK(app_rings_complete(rings) + 1000 >= drained); /* what a stamp may be off */
	CHECK(app_rings_complete(rings) <= seq);
	/* a second later nobody waits for it any more */
	cut += 1000000000ull;
	CHECK_EQ(app_rings_cut_begin(rings, cut), 0);
	CHECK_EQ(app_rings_cut_pass(rings, &sink), 1);
	CHECK_EQ(app_rings_complete(rings), cut);
	liar_write(2, (u32)liar);
	cut = now_ns();
	CHECK_EQ(app_rings_cut_begin(rings, cut), 0);
	CHECK_EQ(app_rings_cut_pass(rings, &sink), 1);
	CHECK_EQ(app_rings_complete(rings), cut);
	CHECK_EQ(taken.kinds[RECORD_span_end], 3);
	liar_end(rings);
}

/* A lane is seen for the first time: it is not known for how long a record is unfinished. */
TEST(who_has_just_begun_a_record_is_waited_for)
{
	struct app_rings *rings;
	u64 cut;

	liar_start(APP_RING_SEALS);
	rings = rings_start(liar);
	liar_write(0, (u32)liar)->head.seq = 0;
	cut = now_ns() + 2000000000ull; /* it has been listened to for long */
	CHECK_EQ(app_rings_cut_begin(rings, cut), 0);
	CHECK_EQ(app_rings_cut_pass(rings, &sink), 0);
	liar_write(0, (u32)liar);
	CHECK_EQ(app_rings_cut_pass(rings, &sink), 1);
	CHECK_EQ(taken.kinds[RECORD_span_end], 1);
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

/* As a handler writes it that interrupts the first: it is reached when the program has ended. */
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
	CHECK_EQ(taken.kinds[RECORD_span_end], 2);
	CHECK_EQ(rings_damaged(rings), 1);
	app_rings_free(rings);
	munmap(liar_ring, APP_RING_BYTES);
	close(liar_file);
}

static u64 liar_file_bytes(void)
{
	struct stat st;

	CHECK_EQ(fstat(liar_file, &st), 0);
	return (u64)st.st_blocks * 512;
}

/* The recorder would pay for what it brings into the file. */
TEST(holes_are_not_filled)
{
	const u64 head = APP_RING_SLOTS;
	struct app_rings *rings;
	u64 before;

	liar_start(APP_RING_SEALS);
	liar_ring->lanes_used = APP_RING_LANES;
	for (u32 i = 0; i < APP_RING_LANES; i++)
		liar_ring->table[i].state = APP_LANE_LEFT;
	before = liar_file_bytes();
	rings = rings_start(liar);
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(app_rings_cut_begin(rings, now_ns()), 0);
	CHECK_EQ(losses_tell(rings), 0);
	CHECK_EQ(liar_file_bytes(), before);
	for (u32 i = 0; i < APP_RING_LANES; i++)
		liar_ring->lane[i].control.head = head;
	before = liar_file_bytes();
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(app_rings_cut_begin(rings, now_ns()), 0);
		CHECK_EQ(app_rings_poll(rings, &sink), 0);
		CHECK_EQ(app_rings_cut_pass(rings, &sink), 1);
	}
	CHECK_EQ(losses_tell(rings), 0);
	CHECK_EQ(rings_damaged(rings), APP_RING_LANES);
	CHECK_EQ(liar_file_bytes(), before);
	CHECK_EQ(fallocate(liar_file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			   offsetof(struct app_ring, lane),
			   APP_RING_BYTES - offsetof(struct app_ring, lane)),
		 0);
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	CHECK_EQ(rings_left(rings), 0);
	CHECK(liar_file_bytes() <= 64 * 4096);
	liar_end(rings);
}

/* ---- limits: the last, since where they are for good little is left for others ---- */

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

/* Those that there is no room for are told, too. */
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
