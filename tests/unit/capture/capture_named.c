/* SPDX-License-Identifier: Apache-2.0 */
/* Events that name threads, with more threads than there is room for. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include "capture/state.h"
#include "programs.skel.h"
#include "tests/unit/capture/recording.h"

#define CHILDREN 4
#define NO_PID 4300000	/* more than the kernel gives */
#define NUMBERS 8000	/* that new threads may get meanwhile, on a busy host */
#define FIRST_AGAIN 300 /* behind the last number */

/* The entry of a thread in the programs' map: struct named_thread. */
struct named {
	struct context ctx;
	u32 tid, pid, in, pad;
};

static int truth_children(void)
{
	int status, failed = 0;

	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		failed |= child < 0 || waitpid(child, &status, 0) != child || status;
	}
	return failed;
}

struct seen_events {
	u64 records, wrong; /* of a process that is not there */
};

static int event_see(void *arg, const struct capture_stream *stream, const struct record_head *head)
{
	struct seen_events *seen = arg;

	(void)stream;
	if (head->kind != RECORD_event)
		return 0;
	seen->records++;
	seen->wrong += head->pid == NO_PID;
	return 0;
}

static u32 pid_max(void)
{
	FILE *file = fopen("/proc/sys/kernel/pid_max", "r");
	unsigned int max = 0;

	CHECK(file && fscanf(file, "%u", &max) == 1);
	fclose(file);
	return max;
}

/* No room for a thread more; the next numbers were those of threads that have ended. */
static void threads_fill(struct capture *c)
{
	int named = bpf_map__fd(c->programs->maps.named_threads);
	int ended = bpf_map__fd(c->programs->maps.ended_threads);
	u32 max = pid_max(), tid = (u32)capture_child(c);
	struct named one = {.pid = NO_PID, .in = 1};

	CHECK_EQ(bpf_map__value_size(c->programs->maps.named_threads), sizeof(one));
	for (one.tid = NO_PID; !bpf_map_update_elem(named, &one.tid, &one, BPF_ANY);)
		one.tid++;
	CHECK(one.tid > NO_PID);
	for (int i = 0; i < NUMBERS; i++) {
		tid = tid + 1 < max ? tid + 1 : FIRST_AGAIN;
		one.tid = tid;
		CHECK_EQ(bpf_map_update_elem(ended, &tid, &one, BPF_ANY), 0);
	}
}

/* An event of a thread without room is lost, or has no process. It never gets another process. */
TEST(a_thread_without_room_is_not_taken_for_one_before_it)
{
	static const char *const events[] = {"sched:sched_wakeup_new"};
	char *argv[] = TRUTH_COMMAND("children");
	struct capture_options options = {.events = events, .event_count = 1};
	struct seen_events seen = {0};
	struct capture_sink sink = {&seen, event_see, NULL};
	struct capture *c;
	struct capture_counts counts;
	int status;

	need_root();
	recording_begin(&c, &options, &sink, argv);
	threads_fill(c);
	CHECK_OK(capture_release(c, &failure));
	status = recording_end(c, &sink, capture_child(c));
	capture_counts(c, &counts);
	capture_close(c);
	CHECK_EQ(status, 0);
	CHECK_EQ(seen.wrong, 0);
	CHECK(counts.incomplete >= CHILDREN); /* what was not known is said */
}

int main(int argc, char **argv)
{
	static const struct truth truths[] = {{"children", truth_children}, {NULL, NULL}};

	return truth_main(truths, argc, argv);
}
