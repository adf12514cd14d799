/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs whose time is known: each makes a thread wait for one cause and
 * says, by its own clock, how long. One JSON object per line and thread:
 *
 *   {"program","what","pid","tid","from_ns","to_ns","expect":{PART_ns:...},
 *    "run_ns","wait_ns","task_ns","usage_ns","disk_ns","switches"}
 *
 * Between from_ns and to_ns (CLOCK_MONOTONIC) the thread spent expect[PART] in
 * that part of the split; parts that are not named are not stated. run_ns is
 * the thread's CPU time in that range, wait_ns its time on a run queue as
 * schedstat counts it (throttled time included), task_ns its CPU time as perf's
 * task clock counts it (what the hypervisor took included; not of one that ended),
 * disk_ns its sleep for a disk, in faults too, as delay accounting counts it (nothing where that is
 * off; -1: it tells nobody), switches how often it left the CPU, by getrusage. With "ends":true the
 * thread ended shortly before to_ns. Exit status 77: the cause cannot be made here, stderr says
 * why.
 *
 * A wait is counted from just before the call that blocks to just before what
 * ends it (stamped by the one who does that), so wake-up latency is not in it.
 */
#ifndef TESTS_TRUTH_TRUTH_H
#define TESTS_TRUTH_TRUTH_H

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000ll

struct truth {
	const char *program, *what;
	int64_t from_ns, run_ns, wait_ns, task_ns, usage_ns, disk_ns;
	long switches;
	int task_clock; /* a descriptor; negative: there is none */
};

#define TRUTH_TRY(call)                                                                            \
	do {                                                                                       \
		if ((call) < 0) {                                                                  \
			perror(#call);                                                             \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define TRUTH_SKIP(...)                                                                            \
	do {                                                                                       \
		fprintf(stderr, __VA_ARGS__);                                                      \
		fprintf(stderr, "\n");                                                             \
		exit(77);                                                                          \
	} while (0)

static inline int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000 * MS + now.tv_nsec;
}

static inline int64_t truth_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* Time that the calling thread has waited on run queues so far. */
static inline int64_t truth_waited(void)
{
	FILE *file = fopen("/proc/thread-self/schedstat", "re");
	long long run = 0, wait = 0;

	if (!file || fscanf(file, "%lld %lld", &run, &wait) != 2)
		wait = 0;
	if (file)
		fclose(file);
	return wait;
}

static inline long truth_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* CPU time of the calling thread so far, as getrusage() has it. */
static inline int64_t truth_usage(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 * MS +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

/* The clocks at one point in time: the thread did not leave the CPU between their readings. */
static inline int64_t truth_stamp(int64_t *run_ns, int64_t *usage_ns, int64_t *wait_ns,
				  long *switches)
{
	int64_t now_ns;

	do {
		*switches = truth_switches();
		*wait_ns = truth_waited();
		*run_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		*usage_ns = truth_usage(); /* by itself it is as old as the last tick */
		now_ns = truth_now();
	} while (truth_switches() != *switches);
	return now_ns;
}

/*
 * How long the calling thread has slept for a disk so far, by the kernel's delay accounting
 * (sysctl kernel.task_delayacct, from before it began); -1: this process cannot ask.
 */
int64_t truth_disk_delay(void);

/* perf's task clock of the calling thread, from here on. */
static inline int truth_task_clock(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_TASK_CLOCK};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static inline int64_t truth_task_ns(const struct truth *truth)
{
	int64_t ns = 0;

	return read(truth->task_clock, &ns, sizeof(ns)) == sizeof(ns) ? ns : 0;
}

/*
 * With a task clock that the thread has, for what is begun often: each is a descriptor, and to let
 * their table grow takes milliseconds of sleep.
 */
static inline void truth_begin_clocked(struct truth *truth, const char *program, const char *what,
				       int task_clock)
{
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	truth->program = program;
	truth->what = what;
	truth->task_clock = task_clock;
	truth->from_ns = truth_stamp(&truth->run_ns, &truth->usage_ns, &truth->wait_ns,
				     &truth->switches);
	truth->task_ns = truth_task_ns(truth);
}

static inline void truth_begin(struct truth *truth, const char *program, const char *what)
{
	int task_clock = truth_task_clock();

	truth->disk_ns = truth_disk_delay();
	truth_begin_clocked(truth, program, what, task_clock);
}

/* What the clocks counted for the calling thread since truth_begin(). */
struct truth_passed {
	int64_t to_ns, run_ns, wait_ns, task_ns, usage_ns;
	long switches;
};

static inline struct truth_passed truth_passed(const struct truth *truth)
{
	struct truth_passed passed;

	passed.to_ns = truth_stamp(&passed.run_ns, &passed.usage_ns, &passed.wait_ns,
				   &passed.switches);
	passed.task_ns = truth_task_ns(truth) - truth->task_ns;
	passed.usage_ns -= truth->usage_ns;
	passed.run_ns -= truth->run_ns;
	passed.wait_ns -= truth->wait_ns;
	passed.switches -= truth->switches;
	return passed;
}

static inline void truth_print(const struct truth *truth, const struct truth_passed *passed,
			       const char *expect)
{
	int64_t disk_ns = truth_disk_delay();

	printf("{\"program\":\"%s\",\"what\":\"%s\",\"pid\":%d,\"tid\":%ld,"
	       "\"from_ns\":%lld,\"to_ns\":%lld,\"expect\":{%s},"
	       "\"run_ns\":%lld,\"wait_ns\":%lld,\"task_ns\":%lld,\"usage_ns\":%lld,"
	       "\"disk_ns\":%lld,\"switches\":%ld}\n",
	       truth->program, truth->what, getpid(), syscall(SYS_gettid),
	       (long long)truth->from_ns, (long long)passed->to_ns, expect,
	       (long long)passed->run_ns, (long long)passed->wait_ns, (long long)passed->task_ns,
	       (long long)passed->usage_ns,
	       (long long)(disk_ns < 0 ? disk_ns : disk_ns - truth->disk_ns), passed->switches);
	fflush(stdout);
}

/* Says what is true of the calling thread since truth_begin(): `expect` as in the rows. */
static inline void truth_say(const struct truth *truth, const char *expect)
{
	struct truth_passed passed = truth_passed(truth);

	truth_print(truth, &passed, expect);
}

/* For a thread that never blocks: it was runnable as long as schedstat says. */
static inline void truth_end_runnable(const struct truth *truth)
{
	struct truth_passed passed = truth_passed(truth);
	char expect[64];

	snprintf(expect, sizeof(expect), "\"runnable_ns\":%lld", (long long)passed.wait_ns);
	truth_print(truth, &passed, expect);
}

static inline void truth_end(const struct truth *truth, const char *part, int64_t expected_ns)
{
	char expect[64];

	snprintf(expect, sizeof(expect), "\"%s_ns\":%lld", part, (long long)expected_ns);
	truth_say(truth, expect);
}

/* Time off the CPU that is no run-queue wait: for causes whose end nobody can stamp. */
struct blocked {
	int64_t sum_ns, from_ns, run_ns, usage_ns, wait_ns;
	long switches;
};

static inline void blocked_begin(struct blocked *blocked)
{
	blocked->from_ns = truth_stamp(&blocked->run_ns, &blocked->usage_ns, &blocked->wait_ns,
				       &blocked->switches);
}

static inline void blocked_end(struct blocked *blocked)
{
	int64_t run, usage, wait, wall;
	long switches;

	wall = truth_stamp(&run, &usage, &wait, &switches) - blocked->from_ns;
	run -= blocked->run_ns;
	wait -= blocked->wait_ns;
	if (wall > run + wait)
		blocked->sum_ns += wall - run - wait;
}

static inline void sleep_until(int64_t when_ns)
{
	struct timespec when = {when_ns / (1000 * MS), when_ns % (1000 * MS)};

	while (syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) &&
	       errno == EINTR)
		;
}

/* The calling thread keeps to the first CPU that it may use. */
static inline void truth_pin(void)
{
	cpu_set_t cpus;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	for (int cpu = 0, kept = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &cpus) && kept++)
			CPU_CLR(cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

static inline void busy_until(int64_t when_ns)
{
	while (truth_now() < when_ns)
		;
}

/* Pages that parent and children share, all zero. */
static inline void *truth_share(size_t size)
{
	void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return shared;
}

/*
 * A child that sends the time on `to` every `pause_ns`, `rounds` times: the
 * slow peer of truth_receive(). Ends by itself, and with its parent.
 */
static inline pid_t truth_peer(int to, int rounds, int64_t pause_ns)
{
	pid_t pid = fork();

	TRUTH_TRY(pid);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < rounds; i++) {
		int64_t now;

		sleep_until(truth_now() + pause_ns);
		now = truth_now();
		if (write(to, &now, sizeof(now)) != sizeof(now))
			_exit(1);
	}
	_exit(0);
}

/* Reads what a peer sends; returns how long there was nothing to read. */
static inline int64_t truth_receive(int from, int rounds)
{
	int64_t waited = 0;

	for (int i = 0; i < rounds; i++) {
		int64_t begin = truth_now(), stamp = begin;

		TRUTH_TRY(read(from, &stamp, sizeof(stamp)));
		if (stamp > begin)
			waited += stamp - begin;
	}
	return waited;
}

/*
 * Opens a file of `size` bytes that is on a disk and not in the page cache,
 * already unlinked. In $TMPDIR, else /var/tmp.
 */
int truth_cold_file(size_t size, int flags);

#endif
