/* SPDX-License-Identifier: Apache-2.0 */
/* Records more than fits, so that it is known when it is lost. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/capture/recording.h"

/* Calls without end; it counts them in memory that it shares with us. */
static pid_t storm_start(const u64 *calls, volatile u64 *stop)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!*stop) {
		syscall(SYS_getppid);
		__atomic_fetch_add((u64 *)calls, 1, __ATOMIC_RELAXED);
	}
	_exit(0);
}

struct stall {
	const u64 *calls;
	bool done;
	u64 cut_ns;		 /* 0: it is not there yet */
	u64 early;		 /* losses told until the cut was there */
	u64 late, late_begin_ns; /* and after it */
};

/* Until it has made so many more. */
static void storm_wait(const u64 *calls, u64 more)
{
	u64 from = __atomic_load_n(calls, __ATOMIC_RELAXED);

	for (int i = 0; i < 20000 && __atomic_load_n(calls, __ATOMIC_RELAXED) < from + more; i++)
		usleep(500);
}

static int stall_see(void *arg, const struct capture_stream *stream, const struct record_head *r)
{
	struct stall *s = arg;

	(void)r;
	if (stream->kind != CAPTURE_STREAM_CPU || s->done)
		return 0;
	s->done = true;
	storm_wait(s->calls, 40000); /* more than the rings take, while they are emptied */
	return 0;
}

static int stall_lost(void *arg, const struct capture_stream *stream,
		      const struct record_lost *lost)
{
	struct stall *s = arg;

	(void)stream;
	if (lost->why != LOST_buffer)
		return 0;
	if (!s->cut_ns) {
		s->early += lost->count;
		return 0;
	}
	s->late += lost->count;
	if (!s->late_begin_ns || lost->begin_ns < s->late_begin_ns)
		s->late_begin_ns = lost->begin_ns;
	return 0;
}

/* Records without room while a cut empties the rings are lost after it, and in doubt from it on. */
TEST(losses_during_a_cut_come_after_it)
{
	u64 *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct capture_options options = {.pid_count = 1, .buffer_bytes = 1 << 20};
	struct stall s = {.calls = shared, .done = true};
	struct capture_sink sink = {&s, stall_see, stall_lost};
	struct capture *c;
	u64 cut, early;
	pid_t pid;

	need_root();
	pid = storm_start(&shared[0], &shared[1]);
	options.pids = &pid;
	recording_begin(&c, &options, &sink, NULL);
	CHECK_OK(capture_poll(c, &sink));
	early = s.early;
	s.done = false;
	storm_wait(shared, 1); /* there is something in the rings */
	CHECK_OK(capture_cut(c, &sink, &cut));
	CHECK(s.done);
	early = s.early - early;
	s.cut_ns = cut;
	CHECK_OK(capture_poll(c, &sink));
	shared[1] = 1;
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK(s.late > 10000);
	CHECK(s.late > early);
	CHECK(s.late_begin_ns <= cut);
	capture_close(c);
	munmap(shared, 4096);
}

#define FILLING 40000 /* descriptors made and closed: more than one ring of rare things takes */
#define CHILDREN 20
#define PATHS 30

static void child_make(bool exec)
{
	static char *const arguments[] = {"true", NULL};
	pid_t pid = fork();

	if (pid == 0) {
		if (exec)
			execv("/bin/true", arguments);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* Fills what rare records go through, then what the others do; all that comes after is lost. */
static void fill(const int go[2])
{
	char byte;

	if (read(go[0], &byte, 1) != 1)
		_exit(1);
	for (int i = 0; i < FILLING; i++)
		close(dup(go[0]));
	for (int i = 0; i < CHILDREN; i++)
		child_make(i % 2);
	for (int i = 0; i < PATHS; i++)
		syscall(SYS_openat, AT_FDCWD, "/nowhere", O_RDONLY);
	_exit(0);
}

struct tally {
	u64 recorded[RECORD_KIND_MAX + 1], lost[RECORD_KIND_MAX + 1];
};

static int tally_record(void *arg, const struct capture_stream *stream, const struct record_head *r)
{
	struct tally *t = arg;

	(void)stream;
	t->recorded[r->kind]++;
	return 0;
}

static int tally_lost(void *arg, const struct capture_stream *stream,
		      const struct record_lost *lost)
{
	struct tally *t = arg;

	(void)stream;
	if (lost->why != LOST_buffer || lost->lost_kind > RECORD_KIND_MAX)
		return -EBADMSG;
	t->lost[lost->lost_kind] += lost->count;
	return 0;
}

TEST(losses_are_counted_by_kind)
{
	struct capture_options options = {.pid_count = 1, .buffer_bytes = 64 << 10};
	struct capture_counts counts;
	struct tally t = {0};
	struct capture_sink sink = {&t, tally_record, tally_lost};
	struct capture *c;
	u64 all = 0, cut;
	int go[2];
	pid_t pid;

	need_root();
	CHECK_EQ(pipe(go), 0);
	pid = fork();
	if (pid == 0)
		fill(go);
	options.pids = &pid;
	recording_begin(&c, &options, &sink, NULL);
	CHECK_EQ(write(go[1], "", 1), 1);
	CHECK_EQ(waitpid(pid, NULL, 0), pid); /* nobody takes anything meanwhile */
	capture_stop(c);
	CHECK_EQ(capture_cut(c, &sink, &cut), 0);
	CHECK_EQ(t.lost[0], 0); /* none of a kind that nobody knows */
	CHECK_EQ(t.recorded[RECORD_fork] + t.lost[RECORD_fork], CHILDREN);
	CHECK_EQ(t.recorded[RECORD_exec] + t.lost[RECORD_exec], CHILDREN / 2);
	CHECK_EQ(t.recorded[RECORD_exit] + t.lost[RECORD_exit], CHILDREN + 1);
	CHECK(t.recorded[RECORD_fd] + t.lost[RECORD_fd] >= 2 * FILLING);
	CHECK(t.lost[RECORD_fork] && t.lost[RECORD_exec] && t.lost[RECORD_exit]);
	CHECK(t.lost[RECORD_fd] && t.lost[RECORD_syscall] && t.lost[RECORD_switch]);
	CHECK(t.lost[RECORD_path] >= PATHS);
	for (int kind = 0; kind <= RECORD_KIND_MAX; kind++)
		all += t.lost[kind];
	capture_counts(c, &counts);
	CHECK_EQ(counts.lost_buffer, all);
	capture_close(c);
	close(go[0]);
	close(go[1]);
}

#define WAKERS 4
#define WAKES 100 /* by each */

/* Fills what rare records go through, then waits for one byte after the other. */
static void fill_and_wait(int in, int out)
{
	char byte;

	for (int i = 0; i < FILLING; i++)
		close(dup(in));
	while (write(out, "", 1) == 1 && read(in, &byte, 1) == 1)
		;
	_exit(0);
}

static void wake(int out, int in)
{
	char byte;

	for (int i = 0; i < WAKES; i++) {
		usleep(200); /* until it is asleep */
		if (write(out, "", 1) != 1 || read(in, &byte, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

/* The threads that wake the recorded one again and again are not recorded themselves. */
TEST(a_name_that_does_not_fit_is_lost_once)
{
	struct capture_options options = {.pid_count = 1, .buffer_bytes = 64 << 10};
	struct tally t = {0};
	struct capture_sink sink = {&t, tally_record, tally_lost};
	int there[2], back[2];
	struct capture *c;
	pid_t pid, waker;
	int status;
	char byte;
	u64 cut;

	need_root();
	CHECK_EQ(pipe(there) + pipe(back), 0);
	pid = fork();
	if (pid == 0) {
		close(there[1]);
		if (read(there[0], &byte, 1) == 1)
			fill_and_wait(there[0], back[1]);
		_exit(1);
	}
	options.pids = &pid;
	recording_begin(&c, &options, &sink, NULL);
	CHECK_EQ(write(there[1], "", 1), 1);
	CHECK_EQ(read(back[0], &byte, 1), 1); /* all is full now */
	for (int i = 0; i < WAKERS; i++) {
		waker = fork();
		if (waker == 0)
			wake(there[1], back[0]);
		CHECK_EQ(waitpid(waker, &status, 0), waker);
		CHECK_EQ(status, 0);
	}
	close(there[1]);
	CHECK_EQ(waitpid(pid, NULL, 0), pid); /* nobody took anything meanwhile */
	capture_stop(c);
	CHECK_EQ(capture_cut(c, &sink, &cut), 0);
	capture_close(c);
	CHECK(t.recorded[RECORD_waking] + t.lost[RECORD_waking] > WAKERS * WAKES / 2);
	/* one may have fitted; others that a timer interrupted for it may have come */
	CHECK(t.lost[RECORD_name] >= WAKERS - 1);
	CHECK(t.lost[RECORD_name] < WAKES / 2);
	close(there[0]);
	close(back[0]);
	close(back[1]);
}

int main(int argc, char **argv)
{
	return check_main(argc, argv);
}
