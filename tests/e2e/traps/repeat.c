/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2e-traps-repeat TIMES: opens, starts, stops and closes a capture of the host so
 * many times in one process. Says "done" when nothing of them should be left, and
 * stays until its input ends.
 */
#include <dirent.h>

#include "capture/capture.h"
#include "traps.h"

static unsigned long seen;

static int on_record(void *arg, const struct capture_stream *stream, const struct record_head *r)
{
	seen++;
	return 0;
}

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static int capture_once(int round, struct error *e)
{
	static const char *const events[] = {"sched:sched_migrate_task"};
	struct capture_options options = {.host = round % 2 == 0,
					  .flight = round % 5 == 4,
					  .events = events,
					  .event_count = 1};
	const struct capture_sink sink = {.record = on_record};
	pid_t self = getppid();
	struct capture *c = NULL;
	u64 cut_ns;
	int err;

	options.pids = &self;
	options.pid_count = options.host ? 0 : 1;
	err = capture_open(&options, &c, e);
	if (err)
		return err;
	err = capture_start(c, 0, &sink, e);
	if (!err && round % 3) { /* else it is closed as it runs */
		err = options.flight ? capture_flight(c, &sink, &cut_ns) : capture_poll(c, &sink);
		capture_stop(c);
		if (err >= 0 && !options.flight)
			err = capture_cut(c, &sink, &cut_ns);
	}
	capture_close(c);
	return err < 0 ? err : 0;
}

int main(int argc, char **argv)
{
	long times = argc > 1 ? atol(argv[1]) : 100;
	struct error e = {0};
	int first = 0;
	char byte;

	for (int i = 0; i < times; i++) {
		if (capture_once(i, &e)) {
			fprintf(stderr, "round %d: %s\n", i, e.text);
			return 1;
		}
		if (i == 4) /* what the libraries keep is there by now */
			first = descriptors();
		if (i > 4 && descriptors() != first) {
			fprintf(stderr, "round %d: %d fds, were %d\n", i, descriptors(), first);
			return 1;
		}
	}
	printf("done %lu\n", seen);
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
