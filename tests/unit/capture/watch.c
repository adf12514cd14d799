/* SPDX-License-Identifier: Apache-2.0 */
/* Rings and contexts are found while a recording runs, soon, and missing ones are told. */
#include "capture/watch.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "bpf/notice.h"
#include "tests/unit/capture/app/writer.h"
#include "tests/unit/proc/silent.h"
#include "tests/unit/threads.h"

#define WAIT_NS 30000000000ull

static u64 missed;

static int on_record(void *arg, const struct capture_stream *s, const struct record_head *r)
{
	return 0;
}

static int on_lost(void *arg, const struct capture_stream *s, const struct record_lost *lost)
{
	missed += lost->why == LOST_application && lost->lost_kind == RECORD_service;
	return 0;
}

static const struct capture_sink sink = {NULL, on_record, on_lost};

struct watched {
	struct capture_watch *watch;
	struct app_rings *rings;
};

static struct watched watched_start(void)
{
	struct watched w = {.rings = app_rings_new()};
	struct error e = {0};

	missed = 0;
	CHECK(w.rings != NULL);
	CHECK_EQ(capture_watch_open(NULL, &w.watch, &e), 0);
	return w;
}

static void watched_end(struct watched *w)
{
	capture_watch_close(w->watch);
	app_rings_free(w->rings);
}

static void watched_notice(struct watched *w, u8 what, pid_t pid)
{
	struct record_head head = {.kind = NOTICE_KIND, .slots = what, .pid = (u32)pid};

	CHECK(capture_watch_notice(w->watch, &head));
}

/* Until so many rings are listened to and so many were missed. */
static void watched_await(struct watched *w, u64 rings, u64 not_reached)
{
	struct app_rings_counts counts = {0};
	u64 until = now_ns() + WAIT_NS;

	while (now_ns() < until) {
		capture_watch_collect(w->watch, w->rings);
		CHECK_EQ(app_rings_poll(w->rings, &sink), 0);
		app_rings_counts(w->rings, &counts);
		if (counts.rings == rings && missed == not_reached)
			return;
		usleep(1000);
	}
	CHECK_EQ(counts.rings, rings);
	CHECK_EQ(missed, not_reached);
}

TEST(a_process_that_was_there_is_reached)
{
	struct record_head found = {.kind = RECORD_process};
	struct watched w = watched_start();
	struct writer writer = writer_start();

	found.tid = found.pid = (u32)writer.pid;
	capture_watch_life(w.watch, &found);
	watched_await(&w, 1, 0);
	CHECK_STR(writer_ask(&writer, "listening"), "1");
	watched_end(&w);
	CHECK_STR(writer_ask(&writer, "listening"), "0");
	writer_reap(&writer);
}

TEST(a_ring_that_is_made_is_reached)
{
	struct watched w = watched_start();
	struct writer writer = writer_start();

	watched_notice(&w, NOTICE_RING, writer.pid);
	watched_await(&w, 1, 0);
	writer_reap(&writer);
	watched_await(&w, 0, 0); /* and is let go */
	watched_end(&w);
}

TEST(a_process_that_ended_before_is_told)
{
	struct watched w = watched_start();
	siginfo_t info;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0)
		_exit(0);
	CHECK_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	watched_notice(&w, NOTICE_RING, pid); /* a zombie */
	watched_await(&w, 0, 1);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	watched_notice(&w, NOTICE_RING, pid); /* nothing */
	watched_await(&w, 0, 2);
	watched_end(&w);
}

/* It was seen to make one, which is not there as long as we try. */
TEST(a_ring_that_is_not_found_in_time_is_told)
{
	struct watched w = watched_start();
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	watched_notice(&w, NOTICE_RING, pid);
	watched_await(&w, 0, 1);
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	watched_end(&w);
}

TEST(a_ring_that_another_capture_has_is_told_and_taken_later)
{
	struct writer writer = writer_start();
	struct watched w = watched_start();
	struct app_ring_reached *reached = NULL;
	struct app_rings *other = app_rings_new();

	CHECK_EQ(app_ring_reach(writer.pid, 0, NULL, &reached, NULL), 1);
	CHECK_EQ(app_rings_add(other, reached), 0);
	watched_notice(&w, NOTICE_RING, writer.pid);
	watched_await(&w, 0, 1);
	app_rings_free(other);
	watched_await(&w, 1, 1);
	CHECK_STR(writer_ask(&writer, "listening"), "1");
	watched_end(&w);
	writer_reap(&writer);
}

/* ---- what does not answer ---- */

static void watched_found(struct watched *w, pid_t pid)
{
	struct record_head found = {.kind = RECORD_process, .tid = (u32)pid, .pid = (u32)pid};

	capture_watch_life(w->watch, &found);
}

/* A library of one process does not answer; another one is reached all the same. */
TEST(a_file_system_that_does_not_answer_is_left_alone)
{
	const struct silent_file library = {"library.so", PROT_READ | PROT_EXEC, MAP_PRIVATE};
	struct silent silent = silent_start(&library), other = silent_start(&library);
	struct watched w = watched_start();
	struct writer writer;

	watched_found(&w, silent.mapper);
	watched_found(&w, other.mapper); /* on another device */
	for (int i = 0; i < 10000 && capture_watch_missed(w.watch) < 2; i++) {
		capture_watch_collect(w.watch, w.rings);
		usleep(1000);
	}
	CHECK_EQ(capture_watch_missed(w.watch), 2); /* and told */
	CHECK_EQ(threads_count(), 4);		    /* two are stuck */
	writer = writer_start();
	watched_found(&w, writer.pid);
	watched_await(&w, 1, 0);
	CHECK_STR(writer_ask(&writer, "listening"), "1");
	silent_end(&silent);
	CHECK_EQ(threads_await(3), 3); /* one came back */
	watched_end(&w);
	CHECK_EQ(threads_await(2), 2);
	silent_end(&other); /* after the end */
	CHECK_EQ(threads_await(1), 1);
	writer_reap(&writer);
}

/* ---- a recording for real ---- */

#define STARTS 9
#define SOON_NS 100000000ull
#define RECORDINGS_MAX 6

struct seen {
	pid_t pid;
	u64 exec_ns, heard_ns, context_ns;
};

static struct seen seen[64];
static size_t seen_count;

static struct seen *seen_of(u32 pid)
{
	for (size_t i = seen_count; i-- > 0;) {
		if (seen[i].pid == (pid_t)pid)
			return &seen[i];
	}
	return NULL;
}

static int on_real_record(void *arg, const struct capture_stream *s, const struct record_head *r)
{
	const struct record_syscall *call = (const void *)r;
	static const struct context none;
	struct seen *of = seen_of(r->pid);

	if (r->kind == RECORD_exec && seen_count < 64)
		seen[seen_count++] = (struct seen){.pid = (pid_t)r->pid, .exec_ns = r->time_ns};
	if (of && r->kind == RECORD_service && !of->heard_ns)
		of->heard_ns = r->time_ns;
	if (of && r->kind == RECORD_syscall && r->slots >= 3 && !of->context_ns &&
	    memcmp(&call->ctx, &none, sizeof(none)) != 0)
		of->context_ns = r->time_ns;
	return 0;
}

static const struct capture_sink real_sink = {NULL, on_real_record, NULL};

static void programs_record(void)
{
	char command[4096];
	char *argv[] = {"/bin/sh", "-c", command, NULL};
	struct capture_options options = {0};
	struct capture *c = NULL;
	struct error e = {0};
	int status;

	snprintf(command, sizeof(command), "for i in 1 2 3 4 5 6 7 8 9; do \"%s\" stay; done",
		 getenv("APP_WRITER"));
	CHECK_EQ(capture_open(&options, &c, &e), 0);
	CHECK_EQ(capture_spawn(c, argv, &e), 0);
	CHECK_EQ(capture_start(c, 0, &real_sink, &e), 0);
	CHECK_EQ(capture_release(c, &e), 0);
	while (waitpid(capture_child(c), &status, WNOHANG) == 0) {
		CHECK_EQ(capture_poll(c, &real_sink), 0);
		usleep(1000);
	}
	CHECK_EQ(status, 0);
	CHECK_EQ(capture_poll(c, &real_sink), 0);
	capture_close(c);
}

static int u64_compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

/*
 * Neighbours that want the CPU wait for us and for what we start: how soon a ring is found is
 * up to the watch, not to how busy the machine is.
 */
static bool go_first(void)
{
	const struct sched_param first = {.sched_priority = 1};

	return sched_setscheduler(0, SCHED_RR, &first) == 0 ||
	       setpriority(PRIO_PROCESS, 0, -20) == 0;
}

static void go_as_others(void)
{
	const struct sched_param others = {0};

	CHECK_EQ(sched_setscheduler(0, SCHED_OTHER, &others), 0);
	CHECK_EQ(setpriority(PRIO_PROCESS, 0, 0), 0);
}

static bool median_is_soon(const char *what, u64 times[STARTS])
{
	qsort(times, STARTS, sizeof(times[0]), u64_compare);
	printf("# %s after %llu us\n", what, (unsigned long long)times[STARTS / 2] / 1000);
	return times[STARTS / 2] < SOON_NS;
}

/* Records some programs. Whether most were found soon: single ones may be late. */
static bool programs_are_found_soon(void)
{
	u64 heard[STARTS], context[STARTS];
	bool soon;

	seen_count = 0;
	programs_record();
	CHECK_EQ(seen_count, 1 + STARTS); /* the shell is the first */
	for (size_t i = 0; i < STARTS; i++) {
		const struct seen *s = &seen[1 + i];

		heard[i] = s->heard_ns ? s->heard_ns - s->exec_ns : ~0ull;
		context[i] = s->context_ns ? s->context_ns - s->exec_ns : ~0ull;
	}
	soon = median_is_soon("context", context);
	return median_is_soon("ring", heard) && soon;
}

/* A watch that looks too seldom is late each time, a disk or a hypervisor now and then. */
TEST(rings_and_contexts_are_found_soon)
{
	bool soon = false;

	if (geteuid() != 0)
		SKIP("recording needs root");
	if (!go_first())
		SKIP("cannot run before busy neighbours");
	for (int i = 0; i < RECORDINGS_MAX && !soon; i++)
		soon = programs_are_found_soon();
	go_as_others();
	CHECK(soon);
}

/* More at once than it can look at: what is dropped is counted. */
TEST(what_is_dropped_is_counted)
{
	/* a process that is there, and takes longer to look into than to tell of */
	struct record_process r = {
		.head = {.kind = RECORD_process, .slots = 1, .tid = (u32)getpid()}};
	struct capture_watch *watch = NULL;

	CHECK_EQ(capture_watch_open(NULL, &watch, NULL), 0);
	CHECK_EQ(capture_watch_missed(watch), 0);
	for (int i = 0; i < 2000000 && capture_watch_missed(watch) == 0; i++)
		capture_watch_life(watch, &r.head);
	CHECK(capture_watch_missed(watch) > 0);
	capture_watch_close(watch);
}

TEST_MAIN()
