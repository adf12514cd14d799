/* SPDX-License-Identifier: Apache-2.0 */
/* The tracker looks when it must, says what changed, and not more. */
#include "capture/context/tracker.h"

#include <sys/stat.h>

#include "capture/context/locate.h"
#include "capture/context/program.h"
#include "tests/unit/capture/context/publisher.h"
#include "tests/unit/capture/context/remote.h"

#define MS 1000000ull

static struct context_tracker *tracker;
static struct context_location last;
static pid_t last_pid;
static unsigned int told, told_followed, learned;
static struct context_executed executed; /* what kernel programs would have seen */
static struct context_location lesson;

static void location_told(void *arg, pid_t pid, const struct context_location *location)
{
	told++;
	last_pid = pid;
	last = *location;
}

static void followed_told(void *arg, pid_t pid)
{
	told_followed++;
}

static bool executed_get(void *arg, pid_t pid, struct context_executed *out)
{
	if (pid != publisher.pid || !executed.time_ns)
		return false;
	*out = executed;
	return true;
}

static void lesson_take(void *arg, const struct context_program *program,
			const struct context_location *location)
{
	CHECK_MEM(program, &executed.program, sizeof(*program));
	learned++;
	lesson = *location;
}

static void tracker_begin(void)
{
	const struct context_tracker_sink sink = {.set = location_told,
						  .followed = followed_told,
						  .executed = executed_get,
						  .learn = lesson_take};

	context_tracker_free(tracker);
	tracker = context_tracker_new(&sink);
	CHECK(tracker != NULL);
	told = told_followed = learned = 0;
	memset(&last, 0, sizeof(last));
	memset(&executed, 0, sizeof(executed));
}

/*
 * Runs what is due until the location is known, on the tracker's own time: a
 * slow machine changes nothing. Returns the time that it took, in that time.
 */
static u64 run_until_known(u64 from)
{
	u64 now = from;

	for (int i = 0; i < 1000 && !last.known; i++) {
		u64 due = context_tracker_run(tracker, now);

		if (last.known)
			break;
		CHECK(due != UINT64_MAX);
		CHECK(due > now);
		now = due;
	}
	return now - from;
}

static void start(const char *program)
{
	char path[PATH_MAX];

	publisher_path(program, path);
	publisher_start(path);
}

static void open_library(const char *name)
{
	char path[PATH_MAX];

	publisher_path(name, path);
	publisher_do("open %s", path);
}

TEST(found_at_the_first_look)
{
	struct context context;

	tracker_begin();
	start("glibc-pie");
	CHECK_EQ(context_tracker_found(tracker, publisher.pid, 1 * MS), 0);
	CHECK_EQ(told, 0);
	CHECK_EQ(run_until_known(1 * MS), 0);
	CHECK_EQ(last_pid, publisher.pid);
	CHECK_EQ(last.flags, 0);
	publisher_do("set 12");
	CHECK_EQ(context_read_remote(publisher.pid, &last, &context, NULL), 1);
}

TEST(nothing_pending_in_the_end)
{
	u64 now = 1 * MS, due;

	tracker_begin();
	start("glibc-opener");
	CHECK_EQ(context_tracker_found(tracker, publisher.pid, now), 0);
	for (int i = 0; i < 100; i++) {
		due = context_tracker_run(tracker, now);
		if (due == UINT64_MAX)
			break;
		now = due;
	}
	CHECK_EQ(due, UINT64_MAX);
	CHECK(now < 200 * MS);
	CHECK_EQ(told, 0);
}

TEST(library_that_comes_late)
{
	struct context_tracker_counts counts;
	u64 now = 1000 * MS;

	tracker_begin();
	start("glibc-opener");
	CHECK_EQ(context_tracker_found(tracker, publisher.pid, 1 * MS), 0);
	while (context_tracker_run(tracker, now) != UINT64_MAX)
		now += 10 * MS;
	CHECK_EQ(told, 0);
	open_library("libglibc-tlsdesc.so");
	CHECK_EQ(context_tracker_mapped(tracker, publisher.pid, now), 0);
	CHECK(run_until_known(now) <= 100 * MS);
	context_tracker_counts(tracker, &counts);
	CHECK_EQ(counts.located, 1);
	CHECK_EQ(counts.refused, 0);
}

/* Many mappings in a burst are one look, and at most one in 10 ms. */
TEST(burst_of_mappings)
{
	struct context_tracker_counts counts;
	u64 now = 1000 * MS;

	tracker_begin();
	start("glibc-opener");
	for (int i = 0; i < 1000; i++) {
		CHECK_EQ(context_tracker_mapped(tracker, publisher.pid, now), 0);
		context_tracker_run(tracker, now);
		now += MS / 10; /* 100 ms together */
	}
	context_tracker_counts(tracker, &counts);
	CHECK(counts.looks >= 10 && counts.looks <= 12);
}

TEST(exec_forgets)
{
	tracker_begin();
	start("glibc-pie");
	CHECK_EQ(context_tracker_found(tracker, publisher.pid, 1 * MS), 0);
	run_until_known(1 * MS);
	publisher_do("exec");
	CHECK_EQ(context_tracker_exec(tracker, publisher.pid, 500 * MS), 0);
	CHECK_EQ(told, 2);
	CHECK_EQ(last.known, 0);
	CHECK_EQ(run_until_known(500 * MS), 0);
	CHECK_EQ(told, 3);
}

/* As if the kernel programs had seen the publisher's exec, and assumed that. */
static void executed_begin(const char *program, const struct context_location *assumed)
{
	struct stat info;
	char path[PATH_MAX];

	tracker_begin();
	start(program);
	publisher_path(program, path);
	CHECK_EQ(stat(path, &info), 0);
	executed.program.inode = info.st_ino;
	executed.program.bytes = (u64)info.st_size;
	executed.time_ns = 7;
	if (assumed)
		executed.assumed = *assumed;
	CHECK_EQ(context_tracker_exec(tracker, publisher.pid, 1 * MS), 0);
}

/* Until nothing is pending; on the tracker's own time. */
static void run_to_the_end(u64 now)
{
	while (now != UINT64_MAX)
		now = context_tracker_run(tracker, now);
}

TEST(what_is_found_is_learned_for_the_program)
{
	executed_begin("glibc-linked-tlsdesc", NULL);
	CHECK_EQ(told, 0);
	run_to_the_end(1 * MS);
	CHECK_EQ(told, 2);
	CHECK_EQ(last.flags, 0);
	CHECK_EQ(told_followed, 1);
	CHECK_EQ(learned, 1);
	CHECK_MEM(&lesson, &last, sizeof(last));
}

/* A program of which nothing is known yet runs until its location is, having done that before. */
static void begins_unknown(const char *did)
{
	tracker_begin();
	start("glibc-pie");
	if (did)
		publisher_do("%s", did);
	CHECK_EQ(context_tracker_exec(tracker, publisher.pid, 1 * MS), 0);
	run_until_known(1 * MS);
	CHECK_EQ(last.flags, CONTEXT_FATHOM);
	CHECK_EQ(told, 1);
}

/* Its spans count as soon as its location is told: it is told with what its sampled flag means. */
TEST(whose_it_is_is_told_with_it)
{
	begins_unknown("describe");
	run_to_the_end(2 * MS);
	CHECK_EQ(last.flags, CONTEXT_FATHOM);
	CHECK_EQ(told, 1);
}

/* A program that begins may say so a bit later: until then the sampled flag counts. */
TEST(whose_it_is_is_awaited_from_an_exec_on)
{
	begins_unknown(NULL);
	run_to_the_end(2 * MS);
	CHECK_EQ(last.flags, 0);
	CHECK_EQ(told, 2);
	begins_unknown(NULL);
	publisher_do("describe");
	CHECK_EQ(context_tracker_named(tracker, publisher.pid, 2 * MS), 0);
	run_to_the_end(2 * MS);
	CHECK_EQ(last.flags, CONTEXT_FATHOM);
	CHECK_EQ(told, 1);
}

TEST(another_program_by_now_is_not_learned)
{
	executed_begin("glibc-linked-tlsdesc", NULL);
	executed.time_ns++;
	run_to_the_end(1 * MS);
	CHECK_EQ(told, 2);
	CHECK_EQ(learned, 0);
	executed_begin("glibc-linked-tlsdesc", NULL);
	CHECK_EQ(context_tracker_exec(tracker, publisher.pid, 1 * MS), 0);
	executed.program.bytes++;
	CHECK_EQ(context_tracker_exec(tracker, publisher.pid, 2 * MS), 0);
	run_to_the_end(2 * MS);
	CHECK_EQ(told, 2);
	CHECK_EQ(learned, 0);
}

TEST(assumed_and_confirmed)
{
	struct context_location assumed;

	executed_begin("glibc-linked-tlsdesc", NULL);
	run_to_the_end(1 * MS);
	assumed = context_program_learn(NULL, &lesson);
	CHECK_EQ(assumed.flags, CONTEXT_ASSUMED);
	executed_begin("glibc-linked-tlsdesc", &assumed);
	CHECK_EQ(told, 1);
	CHECK_MEM(&last, &assumed, sizeof(last));
	run_to_the_end(1 * MS);
	CHECK_EQ(told, 2);
	CHECK_EQ(last.flags, 0);
	CHECK(context_location_is_same(&last, &assumed));
	CHECK_EQ(told_followed, 0); /* it was from its exec on */
	CHECK_EQ(learned, 0);
}

TEST(assumed_and_corrected)
{
	struct context_location assumed = {
		.known = 1, .tp_offset = -4096, .flags = CONTEXT_ASSUMED};
	struct context_location again;

	executed_begin("glibc-linked-tlsdesc", &assumed);
	run_to_the_end(1 * MS);
	CHECK_EQ(told, 2);
	CHECK(last.known && !context_location_is_same(&last, &assumed));
	CHECK_EQ(last.flags, 0);
	CHECK_EQ(told_followed, 1);
	CHECK_EQ(learned, 1);
	again = context_program_learn(&assumed, &lesson);
	CHECK_EQ(again.known, 0); /* it is not the same in each process: never again */
	again = context_program_learn(&again, &lesson);
	CHECK_EQ(again.known, 0);
}

/* Its libraries may still come, but not for long. */
TEST(assumed_of_a_process_without)
{
	struct context_location assumed = {.known = 1, .tp_offset = -64, .flags = CONTEXT_ASSUMED};
	u64 now = 1 * MS;

	executed_begin("glibc-opener", &assumed);
	for (; now < 80 * MS; now += MS)
		context_tracker_run(tracker, now);
	CHECK_EQ(told, 1);
	run_to_the_end(now);
	CHECK_EQ(told, 2);
	CHECK_EQ(last.known, 0);
	CHECK_EQ(learned, 1);
	CHECK_EQ(lesson.known, 0);
}

TEST(assumed_by_the_child_that_executes)
{
	struct context_location assumed = {.known = 1, .tp_offset = -64, .flags = CONTEXT_ASSUMED};
	pid_t parent;

	tracker_begin();
	start("glibc-pie");
	parent = publisher.pid;
	CHECK_EQ(context_tracker_found(tracker, parent, 1 * MS), 0);
	run_until_known(1 * MS);
	CHECK_EQ(told, 1);
	executed.time_ns = 7;
	executed.assumed = assumed;
	publisher.pid = publisher_do("fork"); /* executed_get() knows it */
	CHECK_EQ(context_tracker_fork(tracker, parent, publisher.pid, 2 * MS), 0);
	CHECK_EQ(told, 1); /* not its parent's */
	CHECK_EQ(context_tracker_exec(tracker, publisher.pid, 2 * MS), 0);
	publisher.pid = parent;
	CHECK_EQ(told, 2);
	CHECK_MEM(&last, &assumed, sizeof(last));
}

TEST(dynamic_is_not_assumed)
{
	struct context_location dynamic = {.known = 1, .dynamic = 1, .module = 2};
	struct context_location learnt = context_program_learn(NULL, &dynamic);

	CHECK_EQ(learnt.known, 0);
}

TEST(fork_inherits)
{
	struct context_location parents;
	int child;

	tracker_begin();
	start("glibc-linked-classic");
	CHECK_EQ(context_tracker_found(tracker, publisher.pid, 1 * MS), 0);
	run_until_known(1 * MS);
	parents = last;
	child = publisher_do("fork");
	CHECK_EQ(context_tracker_fork(tracker, publisher.pid, child, 2 * MS), 0);
	CHECK_EQ(told, 2);
	CHECK_EQ(last_pid, child);
	CHECK_MEM(&last, &parents, sizeof(last));
}

TEST(a_fork_of_a_program_that_begins_is_awaited_like_it)
{
	int child;

	begins_unknown(NULL);
	child = publisher_do("fork");
	CHECK_EQ(context_tracker_fork(tracker, publisher.pid, child, 2 * MS), 0);
	CHECK_EQ(last_pid, child);
	CHECK_EQ(last.flags, CONTEXT_FATHOM);
	CHECK_EQ(told, 2);
	run_to_the_end(2 * MS);
	CHECK_EQ(told, 4);
	CHECK_EQ(last.flags, 0);
}

TEST(told_once)
{
	u64 now = 1 * MS;

	tracker_begin();
	start("glibc-pie");
	for (int i = 0; i < 50; i++) {
		CHECK_EQ(context_tracker_mapped(tracker, publisher.pid, now), 0);
		context_tracker_run(tracker, now);
		now += 20 * MS;
	}
	CHECK_EQ(told, 1);
}

/* From its exec on, by the clock: a program in the middle of its start. */
TEST(found_while_it_starts)
{
	static const char *const programs[] = {"glibc-static-pie", "glibc-linked-tlsdesc",
					       "glibc-linked-initial", "musl-linked-classic"};

	int input[2], output = open("/dev/null", O_WRONLY | O_CLOEXEC);

	CHECK(output >= 0 && !pipe2(input, O_CLOEXEC));
	for (int i = 0; i < 4; i++) {
		char path[PATH_MAX];
		u64 begin, now;
		pid_t pid;

		tracker_begin();
		publisher_path(programs[i], path);
		pid = vfork();
		if (!pid) {
			dup2(input[0], 0);
			dup2(output, 1);
			execl(path, path, (char *)NULL);
			_exit(127);
		}
		CHECK(pid > 0);
		begin = now = now_ns();
		context_tracker_exec(tracker, pid, now);
		while (!last.known && now - begin < 5000 * MS) {
			u64 due = context_tracker_run(tracker, now);

			now = now_ns();
			if (last.known || due == UINT64_MAX)
				break;
			if (due > now)
				usleep((due - now) / 1000 + 1);
			now = now_ns();
		}
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		CHECK_EQ(last.known, 1);
	}
	close(input[0]);
	close(input[1]);
	close(output);
}

TEST(gone_process)
{
	tracker_begin();
	start("glibc-pie");
	CHECK_EQ(context_tracker_found(tracker, publisher.pid, 1 * MS), 0);
	publisher_end();
	CHECK_EQ(context_tracker_run(tracker, 2 * MS), UINT64_MAX);
	CHECK_EQ(told, 0);
	context_tracker_exit(tracker, 1);
	context_tracker_free(tracker);
	tracker = NULL;
}

/* ---- goroutines ---- */

/* As of the publisher's own. */
static const struct light_location lights = {.at = -8, .id = 152, .maker = 280};

TEST(goroutines_are_located_without_a_context)
{
	tracker_begin();
	start("glibc-go");
	CHECK_EQ(context_tracker_found(tracker, publisher.pid, 1 * MS), 0);
	run_to_the_end(1 * MS);
	CHECK_EQ(told, 1);
	CHECK_EQ(last.known, 0);
	CHECK_MEM(&last.light, &lights, sizeof(lights));
	CHECK_EQ(told_followed, 0); /* its spans cannot be seen */
}

TEST(goroutines_and_contexts_are_told_together)
{
	tracker_begin();
	start("glibc-go-context");
	CHECK_EQ(context_tracker_found(tracker, publisher.pid, 1 * MS), 0);
	run_until_known(1 * MS);
	CHECK_EQ(last.known, 1);
	CHECK_EQ(last.light.id, 152);
	CHECK(last.light.at < 0 && last.light.at != last.tp_offset);
	run_to_the_end(1 * MS);
	CHECK_EQ(last.light.id, 152);
}

TEST(goroutines_are_learned_for_the_program)
{
	struct context_location assumed;

	executed_begin("glibc-go", NULL);
	run_to_the_end(1 * MS);
	CHECK_EQ(learned, 1);
	CHECK_EQ(lesson.known, 0);
	assumed = context_program_learn(NULL, &lesson);
	CHECK_EQ(assumed.known, 0);
	CHECK_MEM(&assumed.light, &lights, sizeof(lights));
	executed_begin("glibc-go", &assumed);
	CHECK_EQ(told, 1); /* at its exec */
	CHECK_MEM(&last.light, &lights, sizeof(lights));
	run_to_the_end(1 * MS);
	CHECK_EQ(told, 1);
	CHECK_EQ(learned, 0);
}

/* That a process had goroutines and no context says nothing of the context of the next one. */
TEST(goroutines_do_not_settle_contexts)
{
	const struct context_location first = {.light = lights},
				      second = {.known = 1, .tp_offset = -64, .light = lights},
				      third = {.known = 1, .tp_offset = -32, .light = lights};
	struct context_location kept = context_program_learn(NULL, &first);

	kept = context_program_learn(&kept, &second);
	CHECK_EQ(kept.known, 1);
	CHECK_EQ(kept.tp_offset, -64);
	CHECK_EQ(kept.light.id, 152);
	kept = context_program_learn(&kept, &third);
	CHECK_EQ(kept.known, 0);
	CHECK_EQ(kept.light.id, 152);
}

TEST(a_fork_has_the_goroutines_of_its_parent)
{
	pid_t child;

	tracker_begin();
	start("glibc-go");
	CHECK_EQ(context_tracker_found(tracker, publisher.pid, 1 * MS), 0);
	run_to_the_end(1 * MS);
	child = publisher_do("fork");
	CHECK_EQ(context_tracker_fork(tracker, publisher.pid, child, 200 * MS), 0);
	CHECK_EQ(told, 2);
	CHECK_EQ(last_pid, child);
	CHECK_MEM(&last.light, &lights, sizeof(lights));
}

TEST(an_exec_ends_the_goroutines)
{
	tracker_begin();
	start("glibc-go");
	CHECK_EQ(context_tracker_found(tracker, publisher.pid, 1 * MS), 0);
	run_to_the_end(1 * MS);
	CHECK_EQ(context_tracker_exec(tracker, publisher.pid, 200 * MS), 0);
	CHECK_EQ(told, 2);
	CHECK(!context_location_tells(&last));
	run_to_the_end(200 * MS);
	CHECK_EQ(told, 3);
	CHECK_EQ(last.light.id, 152);
}

TEST(programs_whose_goroutines_cannot_be_read_are_counted)
{
	struct context_tracker_counts counts;

	tracker_begin();
	start("glibc-go-newer");
	CHECK_EQ(context_tracker_found(tracker, publisher.pid, 1 * MS), 0);
	run_to_the_end(1 * MS);
	CHECK_EQ(told, 0);
	context_tracker_counts(tracker, &counts);
	CHECK_EQ(counts.unread, 1);
}

TEST_MAIN()
