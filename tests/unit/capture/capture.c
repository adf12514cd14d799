/* SPDX-License-Identifier: Apache-2.0 */
/* Records a command: it and its children to the last call, from its exec on. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "tests/unit/capture/recording.h"

/* The thread context that the command publishes. */
static const struct otel_record published = {
	{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, {9, 8, 7, 6, 5, 4, 3, 2}, 1, 1, 0};
static __thread const struct otel_record *volatile context_variable;

static int truth_calls(void)
{
	calls_make();
	return 7;
}

static int truth_ping(void)
{
	int fds[2];
	char byte;

	if (pipe(fds))
		return 1;
	if (fork() == 0) {
		for (int i = 0; i < 100; i++) {
			usleep(500);
			if (write(fds[1], "x", 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	for (int i = 0; i < 100; i++) {
		if (read(fds[0], &byte, 1) != 1)
			return 1;
	}
	wait(NULL);
	return 0;
}

static int truth_context(void)
{
	char byte;

	if (read(0, &byte, 1) != 1)
		return 1;
	syscall(SYS_getppid);
	context_variable = &published;
	for (int i = 0; i < 100; i++)
		syscall(SYS_getppid);
	context_variable = NULL;
	syscall(SYS_getppid);
	return 0;
}

static const struct truth truths[] = {
	{"calls", truth_calls},
	{"ping", truth_ping},
	{"context", truth_context},
	{NULL, NULL},
};

#define PROGRAMS_MAX 512

struct programs {
	unsigned int ids[PROGRAMS_MAX];
	int count;
};

static void program_add(struct programs *programs, const char *path)
{
	FILE *file = fopen(path, "r");
	unsigned int id;
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "prog_id: %u", &id) == 1 && programs->count < PROGRAMS_MAX)
			programs->ids[programs->count++] = id;
	}
	if (file)
		fclose(file);
}

/* The programs that a descriptor of this process stands for, or a link that it stands for. */
static void programs_find(struct programs *programs)
{
	DIR *dir = opendir("/proc/self/fdinfo");
	struct dirent *entry;
	char path[300];

	programs->count = 0;
	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", entry->d_name);
		program_add(programs, path);
	}
	if (dir)
		closedir(dir);
}

static int programs_left(const struct programs *programs)
{
	int left = 0;

	for (int i = 0; i < programs->count; i++) {
		int fd = bpf_prog_get_fd_by_id(programs->ids[i]);

		left += fd >= 0;
		if (fd >= 0)
			close(fd);
	}
	return left;
}

/* Programs are freed after a grace period. Another recorder's are none of these. */
static void check_nothing_left(const struct programs *programs)
{
	for (int i = 0; i < 1000 && programs_left(programs) > 0; i++)
		usleep(10000);
	CHECK_EQ(programs_left(programs), 0);
}

TEST(command_is_recorded_exactly)
{
	struct programs programs;
	struct seen s = {0};
	int status;

	need_root();
	status = truth_record(&s, "calls");
	CHECK_EQ(WEXITSTATUS(status), 7);
	CHECK_EQ(s.first_kind, RECORD_exec);
	CHECK(s.first_is_child);
	CHECK_EQ(s.records[RECORD_exec], 1);
	CHECK_EQ(s.records[RECORD_fork], 0);
	CHECK_EQ(s.records[RECORD_exit], 1);
	CHECK_EQ(s.counted, SEEN_CALLS);
	CHECK_EQ(s.begin_unknown, 0);
	CHECK_EQ(s.lost, 0);
	CHECK_EQ(s.dead, 1);
	CHECK(s.switches > 0);
	programs_find(&programs);
	CHECK(programs_left(&programs) > 0);
	capture_close(s.c);
	check_nothing_left(&programs);
}

TEST(children_are_in_scope)
{
	struct seen s = {0};
	int status;

	need_root();
	status = truth_record(&s, "ping");
	CHECK_EQ(WEXITSTATUS(status), 0);
	CHECK_EQ(s.records[RECORD_fork], 1);
	CHECK_EQ(s.records[RECORD_exit], 2);
	CHECK(s.reads_of_pipe >= 100);
	/* the child sleeps 100 times; on a busy machine its reader often finds the byte there */
	CHECK(s.wakings_by_task >= 10);
	CHECK(s.records[RECORD_waking] >= 110);
	capture_close(s.c);
}

TEST(flight_recorder_keeps_the_latest)
{
	char *argv[] = TRUTH_COMMAND("calls");
	struct capture_options options = {.flight = true, .buffer_bytes = 1 << 19};
	struct seen s = {0};
	struct capture_sink sink = {&s, seen_record, seen_lost};
	struct capture_memory memory;
	u64 cut, first;
	int status;

	need_root();
	recording_begin(&s.c, &options, &sink, argv);
	capture_memory(s.c, &memory);
	CHECK_EQ(memory.ring_bytes, 1 << 19);
	CHECK_OK(capture_release(s.c, &failure));
	CHECK_EQ(waitpid(capture_child(s.c), &status, 0), capture_child(s.c));
	CHECK_OK(capture_flight(s.c, &sink, &cut));
	first = s.counted;
	CHECK(first > 100 && first < SEEN_CALLS);
	CHECK_EQ(s.dead, 1);
	CHECK_EQ(s.lost, 0);
	CHECK_OK(capture_flight(s.c, &sink, &cut));
	CHECK_EQ(s.counted, 2 * first);
	capture_close(s.c);
}

TEST(calls_carry_the_active_span)
{
	char *argv[] = TRUTH_COMMAND("context");
	struct context_location location = {.known = 1};
	struct capture_options options = {0};
	struct seen s = {.context = (const void *)&published};
	struct capture_sink sink = {&s, seen_record, seen_lost};
	int in[2], saved, status;
	u64 cut;

	need_root();
	location.tp_offset = (char *)&context_variable - (char *)__builtin_thread_pointer();
	CHECK_EQ(pipe2(in, O_CLOEXEC), 0);
	saved = dup(0);
	dup2(in[0], 0);
	recording_begin(&s.c, &options, &sink, argv);
	dup2(saved, 0);
	CHECK_OK(command_begin(s.c));
	CHECK_OK(capture_context_set(s.c, capture_child(s.c), &location));
	CHECK_EQ(write(in[1], "x", 1), 1);
	CHECK_EQ(waitpid(capture_child(s.c), &status, 0), capture_child(s.c));
	capture_stop(s.c);
	CHECK_EQ(capture_cut(s.c, &sink, &cut), 0);
	CHECK_EQ(s.counted, 102);
	CHECK_EQ(s.with_context, 100);
	capture_close(s.c);
	close(in[0]);
	close(in[1]);
	close(saved);
}

TEST(missing_command_is_told)
{
	char *argv[] = {"/does/not/exist", NULL};
	struct capture_options options = {0};
	struct seen s = {0};
	struct capture_sink sink = {&s, seen_record, seen_lost};

	need_root();
	recording_begin(&s.c, &options, &sink, argv);
	CHECK_EQ(command_begin(s.c), -ENOENT);
	CHECK_EQ(capture_child(s.c), 0);
	capture_close(s.c);
}

/* Somebody else ends it while it waits: that is its end, and not ours. */
TEST(a_command_that_is_killed_before_it_begins)
{
	char *argv[] = {"/bin/true", NULL};
	struct capture_options options = {0};
	struct seen s = {0};
	struct capture_sink sink = {&s, seen_record, seen_lost};
	siginfo_t ended;
	int status;

	need_root();
	recording_begin(&s.c, &options, &sink, argv);
	CHECK_EQ(kill(capture_child(s.c), SIGKILL), 0);
	CHECK_EQ(waitid(P_PID, (id_t)capture_child(s.c), &ended, WEXITED | WNOWAIT), 0);
	CHECK_EQ(command_begin(s.c), 0);
	CHECK_EQ(waitpid(capture_child(s.c), &status, 0), capture_child(s.c));
	CHECK(WIFSIGNALED(status));
	capture_close(s.c);
}

/* Bytes between the end of a struct and the end of its last slot are zero. */
TEST(records_have_whole_slots)
{
	u8 wanted[CAPTURE_SYSCALLS] = {1};
	char *argv[] = {"/bin/true", NULL};
	struct capture_options options = {.syscalls = wanted};
	struct seen s = {0};
	struct capture_sink sink = {&s, seen_record, seen_lost};
	u64 cut;

	need_root();
	recording_begin(&s.c, &options, &sink, argv);
	CHECK_OK(capture_cut(s.c, &sink, &cut));
	CHECK_EQ(s.records[RECORD_filter], 1);
	CHECK_EQ(s.filter_rest, 0);
	capture_close(s.c);
}

int main(int argc, char **argv)
{
	return truth_main(truths, argc, argv);
}
