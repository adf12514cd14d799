/* SPDX-License-Identifier: Apache-2.0 */
/* Several copies of libfathom in a process: each has a ring, and each is heard. */
#include "capture/app/rings.h"
#include "tests/unit/capture/app/writer.h"

static u64 begun[2], lost; /* spans of the program, and of the plugin */
static struct record_span_begin outer, inner;
static struct record_span_end inner_end;

static int on_record(void *arg, const struct capture_stream *s, const struct record_head *r)
{
	const struct record_span_begin *begin = (const void *)r;
	bool plugin = r->kind == RECORD_span_begin && begin->name_len == 6 &&
		      memcmp(begin->name, "plugin", 6) == 0;

	begun[plugin] += r->kind == RECORD_span_begin;
	if (r->kind == RECORD_span_begin)
		*(plugin ? &inner : &outer) = *begin;
	if (r->kind == RECORD_span_end &&
	    memcmp(&((const struct record_span_end *)r)->ctx, &inner.ctx, sizeof(inner.ctx)) == 0)
		inner_end = *(const struct record_span_end *)r;
	return 0;
}

static int on_lost(void *arg, const struct capture_stream *s, const struct record_lost *r)
{
	lost += r->count;
	return 0;
}

static const struct capture_sink sink = {NULL, on_record, on_lost};

static u64 rings_left(struct app_rings *rings)
{
	struct app_rings_counts counts;

	CHECK_EQ(app_rings_poll(rings, &sink), 0);
	app_rings_counts(rings, &counts);
	return counts.rings;
}

/* Reaches so many rings that are not known. */
static void rings_reach(struct app_rings *rings, pid_t pid, struct app_rings_known *known,
			int expected)
{
	struct app_ring_reached *reached = NULL;
	struct error e = {0};
	int result = app_ring_reach(pid, 0, known, &reached, &e);

	if (result < 0)
		CHECK_STR(e.text, "reached");
	CHECK_EQ(result, expected);
	CHECK_EQ(app_rings_add(rings, reached), 0);
}

static struct app_rings *rings_new(void)
{
	struct app_rings *rings = app_rings_new();

	CHECK(rings != NULL);
	begun[0] = begun[1] = lost = 0;
	return rings;
}

TEST(both_are_heard)
{
	struct writer w = writer_start();
	struct app_rings *rings = rings_new();

	CHECK_STR(writer_ask(&w, "open"), "done");
	rings_reach(rings, w.pid, NULL, 2);
	CHECK_STR(writer_ask(&w, "spans 10"), "done");
	CHECK_STR(writer_ask(&w, "plugin 7"), "done");
	CHECK_STR(writer_ask(&w, "spans 10"), "done");
	CHECK_EQ(rings_left(rings), 2);
	CHECK_EQ(begun[0], 20);
	CHECK_EQ(begun[1], 7);
	CHECK_EQ(lost, 0);
	writer_reap(&w);
	for (int i = 0; i < 1000 && rings_left(rings); i++)
		usleep(1000);
	CHECK_EQ(rings_left(rings), 0);
	app_rings_free(rings);
}

/* The plugin's variable is the program's: what is active there is its parent, and goes on after it.
 */
TEST(one_knows_what_the_other_has_active)
{
	struct writer w = writer_start();
	struct app_rings *rings = rings_new();

	CHECK_STR(writer_ask(&w, "open"), "done");
	rings_reach(rings, w.pid, NULL, 2);
	CHECK_STR(writer_ask(&w, "within 1"), "done");
	CHECK_EQ(rings_left(rings), 2);
	CHECK_EQ(begun[0], 1);
	CHECK_EQ(begun[1], 1);
	CHECK(memcmp(inner.ctx.trace, outer.ctx.trace, 16) == 0);
	CHECK(memcmp(&inner.parent, outer.ctx.span, 8) == 0);
	CHECK_EQ(inner_end.flags, 1);
	CHECK(memcmp(&inner_end.next, &outer.ctx, sizeof(outer.ctx)) == 0);
	CHECK_STR(writer_ask(&w, "plugin 1"), "done"); /* and now there is nothing */
	CHECK_EQ(rings_left(rings), 2);
	CHECK_EQ(inner.parent, 0);
	CHECK(memcmp(inner.ctx.trace, outer.ctx.trace, 16) != 0);
	app_rings_free(rings);
	writer_reap(&w);
}

TEST(what_was_written_before_the_plugin_was_closed_arrives)
{
	struct writer w = writer_start();
	struct app_rings *rings = rings_new();
	struct app_rings_known known = {0};

	rings_reach(rings, w.pid, &known, 1);
	CHECK_STR(writer_ask(&w, "open"), "done");
	rings_reach(rings, w.pid, &known, 1); /* the other is known */
	CHECK_EQ(known.count, 2);
	CHECK_STR(writer_ask(&w, "plugin 7"), "done");
	CHECK_STR(writer_ask(&w, "close"), "done");
	CHECK_EQ(rings_left(rings), 1);
	CHECK_EQ(begun[1], 7);
	rings_reach(rings, w.pid, &known, 0);
	CHECK_EQ(known.count, 1); /* what is not mapped is forgotten */
	CHECK_STR(writer_ask(&w, "spans 3"), "done");
	CHECK_EQ(rings_left(rings), 1);
	CHECK_EQ(begun[0], 3);
	CHECK_EQ(lost, 0);
	app_rings_free(rings);
	writer_reap(&w);
}

static size_t mappings_count(pid_t pid)
{
	char path[32], line[512];
	size_t count = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	CHECK(maps != NULL);
	while (fgets(line, sizeof(line), maps))
		count++;
	fclose(maps);
	return count;
}

/* A number of /proc/PID/status, in kB. */
static u64 status_kb(pid_t pid, const char *name)
{
	char path[32], line[256];
	u64 value = 0;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "r");
	CHECK(status != NULL);
	while (fgets(line, sizeof(line), status)) {
		if (strncmp(line, name, strlen(name)) == 0)
			value = strtoull(line + strlen(name), NULL, 10);
	}
	fclose(status);
	CHECK(value > 0);
	return value;
}

static int fds_count(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

#ifdef __SANITIZE_ADDRESS__ /* memory that was freed is kept for a while, in mappings of its own   \
			     */
#define KEEPS_FREED true
#define MAPPINGS_MORE 20
#else
#define KEEPS_FREED false
#define MAPPINGS_MORE 2 /* the heap may be split otherwise */
#endif

TEST(opened_and_closed_a_hundred_times)
{
	struct writer w = writer_start();
	struct app_rings *rings = rings_new();
	struct app_rings_known known = {0};
	size_t own = 0, theirs = 0;
	u64 size = 0;
	int fds = 0;

	rings_reach(rings, w.pid, &known, 1);
	for (int i = 0; i < 110; i++) {
		CHECK_STR(writer_ask(&w, "open"), "done");
		rings_reach(rings, w.pid, &known, 1);
		CHECK_STR(writer_ask(&w, "plugin 1"), "done");
		CHECK_STR(writer_ask(&w, "close"), "done");
		CHECK_EQ(rings_left(rings), 1);
		if (i == 9) {
			own = mappings_count(getpid());
			theirs = mappings_count(w.pid);
			size = status_kb(w.pid, "VmSize:");
			fds = fds_count();
		}
	}
	CHECK_EQ(begun[1], 110);
	CHECK_EQ(lost, 0);
	CHECK_EQ(fds_count(), fds);
	CHECK(mappings_count(getpid()) <= own + MAPPINGS_MORE);
	CHECK(mappings_count(w.pid) <= theirs + MAPPINGS_MORE);
	CHECK(KEEPS_FREED || status_kb(w.pid, "VmSize:") <= size + 1024);
	app_rings_free(rings);
	writer_reap(&w);
}

/* Another thread that used it can still touch its lane, and what it may touch is all that stays. */
TEST(a_thread_that_stays_keeps_little)
{
	struct writer w = writer_start();
	struct app_rings *rings = rings_new();
	struct app_rings_known known = {0};
	u64 size = 0;

	rings_reach(rings, w.pid, &known, 1);
	for (int i = 0; i < 25; i++) {
		CHECK_STR(writer_ask(&w, "open"), "done");
		rings_reach(rings, w.pid, &known, 1);
		CHECK_STR(writer_ask(&w, "plugin 1"), "done");
		CHECK_STR(writer_ask(&w, "beside 3"), "done");
		CHECK_STR(writer_ask(&w, "close"), "done");
		CHECK_EQ(rings_left(rings), 1);
		if (i == 4)
			size = status_kb(w.pid, "VmSize:");
	}
	CHECK_EQ(begun[1], 100);
	CHECK(status_kb(w.pid, "VmSize:") <= size + 20 * 512); /* two lanes and a header each */
	app_rings_free(rings);
	writer_reap(&w);
}

/* Its destructor runs, and its threads go on. */
TEST(a_program_can_exit_while_a_plugin_is_at_work)
{
	for (int i = 0; i < 30; i++) {
		struct writer w = writer_start();
		int status = -1;

		CHECK_STR(writer_ask(&w, "open"), "done");
		writer_send(&w, "exit 4");
		CHECK_EQ(waitpid(w.pid, &status, 0), w.pid);
		CHECK_EQ(status, 0);
		fclose(w.to);
		fclose(w.from);
	}
}

TEST(a_forked_child_has_its_own_of_each)
{
	struct writer w = writer_start();
	struct app_rings *rings = rings_new();
	struct app_ring_reached *reached = NULL;
	u64 until = now_ns() + 30000000000ull;
	int found = 0;
	pid_t child;

	CHECK_STR(writer_ask(&w, "open"), "done");
	rings_reach(rings, w.pid, NULL, 2);
	child = atoi(writer_ask(&w, "fork"));
	CHECK(child > 0);
	for (struct app_rings_known known = {0}; found < 2 && now_ns() < until; usleep(1000)) {
		int result = app_ring_reach(child, 0, &known, &reached, NULL);

		CHECK(result >= 0);
		if (result)
			CHECK_EQ(app_rings_add(rings, reached), 0);
		found += result;
	}
	CHECK_EQ(found, 2);
	begun[0] = begun[1] = 0;
	while ((begun[0] < 10 || begun[1] < 10) && now_ns() < until) {
		CHECK_EQ(rings_left(rings), 4);
		usleep(1000);
	}
	CHECK_EQ(rings_left(rings), 4);
	/* Those that made the rings came before, or after us: when is a matter of chance. */
	CHECK(begun[0] == 10 || begun[0] == 11);
	CHECK(begun[1] == 10 || begun[1] == 11);
	kill(child, SIGKILL);
	app_rings_free(rings);
	writer_reap(&w);
}

/* All that was reached before a process ran another program ends, and nothing that came later. */
TEST(another_program_ends_them)
{
	struct writer w = writer_start();
	struct app_rings *rings = rings_new();
	struct app_rings_known known = {0};
	struct record_exec exec = {.head = {.kind = RECORD_exec}};

	CHECK_STR(writer_ask(&w, "open"), "done");
	rings_reach(rings, w.pid, &known, 2);
	CHECK_STR(writer_ask(&w, "plugin 5"), "done");
	exec.head.pid = exec.head.tid = (u32)w.pid;
	exec.head.time_ns = 1; /* before they were reached */
	app_rings_life(rings, &exec.head);
	CHECK_EQ(rings_left(rings), 2);
	exec.head.time_ns = now_ns();
	app_rings_life(rings, &exec.head);
	CHECK_STR(writer_ask(&w, "plugin 2"), "done");
	CHECK_EQ(rings_left(rings), 0);
	CHECK_EQ(begun[1], 7);
	app_rings_free(rings);
	writer_reap(&w);
}

TEST(no_process_has_more_than_its_share)
{
	struct app_rings *rings = rings_new();
	struct app_rings_known known = {0};
	struct writer w = writer_start();
	int fds = fds_count();

	CHECK_STR(writer_ask(&w, "rings 1000"), "done");
	rings_reach(rings, w.pid, &known, APP_RINGS_OF_PROCESS);
	CHECK_EQ(known.count, APP_RINGS_OF_PROCESS);
	rings_reach(rings, w.pid, &known, 0);
	CHECK_EQ(rings_left(rings), APP_RINGS_OF_PROCESS);
	CHECK_STR(writer_ask(&w, "unmap"), "done");
	CHECK_STR(writer_ask(&w, "rings 100"), "done");
	rings_reach(rings, w.pid, &known, APP_RINGS_OF_PROCESS); /* the oldest make room */
	CHECK_EQ(rings_left(rings), APP_RINGS_OF_PROCESS);
	CHECK(fds_count() <= fds + 2 * APP_RINGS_OF_PROCESS);
	app_rings_free(rings);
	CHECK_EQ(fds_count(), fds);
	writer_reap(&w);
}

TEST(a_thousand_that_are_none_cost_little)
{
	struct writer w = writer_start();
	struct app_rings *rings = rings_new();
	struct app_rings_known known = {0};
	struct app_ring_reached *reached = NULL;
	int fds = fds_count();
	u64 begin;

	CHECK_STR(writer_ask(&w, "fakes 1000"), "done");
	begin = now_ns();
	for (int i = 0; i < 10; i++) {
		int result = app_ring_reach(w.pid, 0, &known, &reached, NULL);

		CHECK(result == 0 || result == 1); /* its own may be hidden among them */
		if (result == 1)
			CHECK_EQ(app_rings_add(rings, reached), 0);
	}
	CHECK(now_ns() - begin < 5000000000ull);
	CHECK(known.count <= 1);
	CHECK(fds_count() <= fds + 2);
	app_rings_free(rings);
	writer_reap(&w);
}

TEST_MAIN()
