/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes with much memory that a signal ends: the kernel takes the memory back, with no
 * system call open: kernel, all that wait4 counts from the signal on. The last thing that they
 * do in user code takes some microseconds.
 */
#include "tests/truth/truth.h"

#define MEMORY_BYTES ((size_t)400 << 20)

/* How a child began to end: its own clocks. */
struct begun {
	struct truth truth;
	int64_t cpu_ns; /* of the process */
};

static void be_killed(void)
{
	kill(getpid(), SIGKILL);
}

static void touch_nothing(void)
{
	int *volatile nothing = NULL;

	*(volatile int *)nothing = 1;
}

static void die(struct begun *begun, void (*by)(void))
{
	char *memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* no core is written, wherever those would go */
	if (memory == MAP_FAILED)
		_exit(1);
	madvise(memory, MEMORY_BYTES, MADV_NOHUGEPAGE);
	if (madvise(memory, MEMORY_BYTES, MADV_POPULATE_WRITE)) /* without a fault for each page */
		memset(memory, 1, MEMORY_BYTES);
	truth_begin(&begun->truth, "killed",
		    by == be_killed ? "ended by SIGKILL" : "ended by SIGSEGV");
	begun->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	by();
}

static int64_t timeval_ns(struct timeval t)
{
	return t.tv_sec * 1000 * MS + t.tv_usec * 1000;
}

/* The counters that the kernel keeps of a thread until it is waited for. */
static void ended_counters(pid_t child, long long *run, long long *wait)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", child);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%lld %lld", run, wait) != 2)
		*run = *wait = 0;
	if (file)
		fclose(file);
}

/* Returns whether it ended by that signal. */
static int row(struct begun *begun, void (*by)(void), int signal)
{
	long long run, waited;
	struct rusage usage;
	siginfo_t info;
	int status;
	pid_t child = fork();

	TRUTH_TRY(child);
	if (!child)
		die(begun, by);
	TRUTH_TRY(waitid(P_PID, child, &info, WEXITED | WNOWAIT));
	ended_counters(child, &run, &waited);
	TRUTH_TRY(wait4(child, &status, 0, &usage));
	if (!WIFSIGNALED(status) || WTERMSIG(status) != signal)
		return 0;
	printf("{\"program\":\"killed\",\"what\":\"%s\",\"pid\":%d,\"tid\":%d,\"ends\":true,"
	       "\"from_ns\":%lld,\"to_ns\":%lld,\"expect\":{\"kernel_ns\":%lld},"
	       "\"run_ns\":%lld,\"wait_ns\":%lld,\"switches\":%ld}\n",
	       begun->truth.what, child, child, (long long)begun->truth.from_ns,
	       (long long)truth_now(),
	       (long long)(timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime) - begun->cpu_ns),
	       run - (long long)begun->truth.run_ns, waited - (long long)begun->truth.wait_ns,
	       usage.ru_nvcsw + usage.ru_nivcsw - begun->truth.switches);
	fflush(stdout);
	return 1;
}

int main(void)
{
	struct begun *begun = truth_share(sizeof(*begun));

	return row(begun, touch_nothing, SIGSEGV) && row(begun, be_killed, SIGKILL) ? 0 : 1;
}
