/* SPDX-License-Identifier: Apache-2.0 */
/* Records what ran before: the host, or a process by its pid; and the clock of the day. */
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/capture/recording.h"

/* A child with an open file, which makes its calls when `*go` is closed. */
static pid_t caller_start(int *go)
{
	int fds[2];
	pid_t child;

	CHECK_EQ(pipe(fds), 0);
	child = fork();
	if (child == 0) {
		int fd = open("/etc/passwd", O_RDONLY);
		char byte;

		close(fds[1]);
		if (fd < 0 || read(fds[0], &byte, 1) < 0)
			_exit(1);
		calls_make();
		_exit(0);
	}
	CHECK(child > 0);
	close(fds[0]);
	usleep(20000); /* it waits by now */
	*go = fds[1];
	return child;
}

/* The host: others are seen, this program is not, names are there. */
TEST(host_is_recorded_without_ourselves)
{
	struct capture_options options = {.host = true};
	struct seen s = {0};
	struct capture_sink sink = {&s, seen_record, seen_lost};
	int go, status;
	u64 cut;

	need_root();
	s.child = caller_start(&go);
	strcpy(s.fd_name, "/etc/passwd");
	recording_begin(&s.c, &options, &sink, NULL);
	CHECK(s.records[RECORD_process] > 1);
	CHECK(s.records[RECORD_thread] > 1);
	CHECK(s.fd_named >= 1);
	CHECK(access("/sys/fs/cgroup/unified", F_OK) != 0 || s.records[RECORD_cgroup] > 0);
	for (int i = 0; i < 1000; i++)
		syscall(SYS_getppid);
	close(go);
	while (waitpid(s.child, &status, WNOHANG) == 0) {
		CHECK_OK(capture_poll(s.c, &sink));
		CHECK_EQ(capture_cut(s.c, &sink, &cut), 0);
		CHECK(s.newest_ns <= cut);
		usleep(1000);
	}
	capture_stop(s.c);
	CHECK_EQ(capture_cut(s.c, &sink, &cut), 0);
	CHECK_EQ(s.counted, SEEN_CALLS);
	CHECK_EQ(s.lost, 0);
	CHECK(s.records[RECORD_waking] > 0);
	CHECK_EQ(s.dead, 0);
	capture_close(s.c);
}

/* A process that runs already, named by its pid. */
TEST(process_is_recorded_by_pid)
{
	struct seen s = {0};
	struct capture_sink sink = {&s, seen_record, seen_lost};
	struct capture_options options = {.pid_count = 1};
	int go;

	need_root();
	s.child = caller_start(&go);
	options.pids = &s.child;
	recording_begin(&s.c, &options, &sink, NULL);
	CHECK_EQ(s.records[RECORD_process], 1);
	CHECK_EQ(s.records[RECORD_thread], 1);
	close(go);
	CHECK_EQ(recording_end(s.c, &sink, s.child), 0);
	CHECK_EQ(s.counted, SEEN_CALLS);
	CHECK_EQ(s.counted_elsewhere, 0);
	CHECK_EQ(s.reads_of_pipe, 1);
	CHECK_EQ(s.records[RECORD_exit], 1);
	capture_close(s.c);
}

struct clocks {
	struct record_clock last;
	u64 count;
};

static int clock_see(void *arg, const struct capture_stream *stream, const struct record_head *r)
{
	struct clocks *seen = arg;

	(void)stream;
	if (r->kind == RECORD_clock) {
		memcpy(&seen->last, r, sizeof(seen->last));
		seen->count++;
	}
	return 0;
}

/* The clock is set to what it shows. */
TEST(a_step_of_the_clock_is_recorded)
{
	struct capture_options options = {.host = false};
	struct clocks seen = {0};
	struct capture_sink sink = {&seen, clock_see, NULL};
	struct timespec real, now;
	struct capture *c;

	need_root();
	recording_begin(&c, &options, &sink, NULL);
	CHECK_OK(capture_poll(c, &sink));
	if (clock_gettime(CLOCK_REALTIME, &real) || clock_settime(CLOCK_REALTIME, &real)) {
		capture_close(c);
		SKIP("the clock cannot be set here");
	}
	for (int i = 0; i < 1000 && !seen.count; i++) {
		CHECK_OK(capture_poll(c, &sink));
		usleep(1000);
	}
	CHECK(seen.count >= 1);
	CHECK_EQ(seen.last.reason, 1);
	CHECK(seen.last.boottime_ns >= seen.last.head.time_ns);
	clock_gettime(CLOCK_REALTIME, &now);
	CHECK(seen.last.realtime_ns <= (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec);
	CHECK(seen.last.realtime_ns >= (u64)real.tv_sec * 1000000000u + (u64)real.tv_nsec);
	capture_close(c);
}

TEST_MAIN()
