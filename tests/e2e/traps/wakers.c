/* SPDX-License-Identifier: Apache-2.0 */
/* Wake-ups by somebody else than the thread that runs, and such as come early. */
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "traps.h"

static volatile int done;

static void pin(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

/* The first CPU that the process may use, or the last. */
static int cpu_first(void)
{
	cpu_set_t cpus;
	int cpu = 0;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &cpus))
		cpu++;
	return cpu;
}

static int cpu_last(void)
{
	cpu_set_t cpus;
	int cpu = CPU_SETSIZE - 1;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	while (cpu > 0 && !CPU_ISSET(cpu, &cpus))
		cpu--;
	return cpu;
}

static void *sleeper_run(void *arg)
{
	prctl(PR_SET_NAME, "sleeper");
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	pin(cpu_first());
	for (long i = 0; i < (long)arg; i++)
		sleep_until(truth_now() + 2 * MS);
	done = 1;
	return NULL;
}

/* One thread sleeps, the other writes all the time, on one CPU: its timer hits the write. */
static int interrupted_run(long sleeps, char **argv)
{
	int memory = memfd_create("trap", MFD_CLOEXEC);
	static char buffer[1 << 20];
	pthread_t thread;

	(void)argv;
	pin(cpu_first());
	if (pthread_create(&thread, NULL, sleeper_run, (void *)sleeps))
		return 1;
	while (!done)
		TRUTH_TRY(pwrite(memory, buffer, sizeof(buffer), 0));
	pthread_join(thread, NULL);
	return 0;
}

/* One process sleeps, the other makes calls all the time: its timer hits their begin and end. */
static int napper_run(long naps, char **argv)
{
	pid_t caller;

	(void)argv;
	pin(cpu_first());
	caller = fork();
	TRUTH_TRY(caller);
	if (!caller) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (setpriority(PRIO_PROCESS, 0, 10);;)
			syscall(SYS_getppid);
	}
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	for (long i = 0; i < naps; i++)
		TRUTH_TRY(usleep(1500));
	kill(caller, SIGKILL);
	TRUTH_TRY(waitpid(caller, NULL, 0));
	return 0;
}

/* Sends a byte and reads one, so many times. */
static void play(int fd, long rounds, bool serves)
{
	char byte = 0;

	for (long i = 0; i < rounds; i++) {
		if (serves)
			TRUTH_TRY(write(fd, &byte, 1));
		TRUTH_TRY(read(fd, &byte, 1));
		if (!serves)
			TRUTH_TRY(write(fd, &byte, 1));
	}
}

static int player_start(int fd, int other, long rounds)
{
	int first = cpu_first(), last = cpu_last();
	pid_t child = fork();

	TRUTH_TRY(child);
	pin(child ? first : last);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(other);
		play(fd, rounds, false);
		_exit(0);
	}
	close(fd);
	play(other, rounds, true);
	return waitpid(child, NULL, 0) != child;
}

/* Two processes that wake each other as fast as they can: many wake-ups come early. */
static int pingpong_run(long rounds, char **argv)
{
	int ends[2];

	(void)argv;
	TRUTH_TRY(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	return player_start(ends[0], ends[1], rounds);
}

/* A connection within the host. */
static void connection_new(int kind, int ends[2])
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, kind, 0);

	ends[0] = socket(AF_INET, kind, 0);
	TRUTH_TRY(bind(listener, (void *)&address, sizeof(address)));
	if (kind == SOCK_STREAM)
		TRUTH_TRY(listen(listener, 1));
	TRUTH_TRY(getsockname(listener, (void *)&address, &length));
	TRUTH_TRY(connect(ends[0], (void *)&address, sizeof(address)));
	ends[1] = kind == SOCK_STREAM ? accept(listener, NULL, NULL) : listener;
	TRUTH_TRY(ends[1]);
}

/* The same over TCP: the wake-up is done by a softirq in the sender's call. */
static int loopback_run(long rounds, char **argv)
{
	int ends[2];

	(void)argv;
	connection_new(SOCK_STREAM, ends);
	return player_start(ends[1], ends[0], rounds);
}

static void *drain_run(void *arg)
{
	prctl(PR_SET_NAME, "drain");
	pin(cpu_last());
	while (recv(*(int *)arg, NULL, 1 << 20, MSG_TRUNC) > 0)
		;
	return NULL;
}

static void *taker_run(void *arg)
{
	char byte;

	prctl(PR_SET_NAME, "taker");
	pin(cpu_last());
	while (recv(*(int *)arg, &byte, 1, 0) == 1 && byte != 'e')
		;
	done = 1;
	return NULL;
}

static long giver_rounds;

static void *giver_run(void *arg)
{
	prctl(PR_SET_NAME, "giver");
	pin(cpu_last());
	for (long i = 0; i < giver_rounds; i++) {
		sleep_until(truth_now() + MS);
		TRUTH_TRY(write(*(int *)arg, "x", 1));
	}
	TRUTH_TRY(write(*(int *)arg, "e", 1));
	return NULL;
}

/*
 * Packets of all connections are taken in by the first CPU. There one thread sends all the time;
 * on the other one thread sends a byte to another now and then, over another connection.
 */
static int crossed_run(long rounds, char **argv)
{
	int kind = strcmp(argv[3], "tcp") == 0 ? SOCK_STREAM : SOCK_DGRAM, much[2], little[2];
	static char buffer[60000];
	pthread_t threads[3];

	if (cpu_first() == cpu_last())
		TRUTH_SKIP("there is one CPU only");
	connection_new(kind, much);
	connection_new(kind, little);
	giver_rounds = rounds;
	prctl(PR_SET_NAME, "sender");
	if (pthread_create(&threads[0], NULL, drain_run, &much[1]) ||
	    pthread_create(&threads[1], NULL, taker_run, &little[1]) ||
	    pthread_create(&threads[2], NULL, giver_run, &little[0]))
		return 1;
	pin(cpu_first());
	while (!done)
		TRUTH_TRY(write(much[0], buffer, sizeof(buffer)));
	_exit(0);
}

static pid_t busy_child(void)
{
	pid_t child = fork();

	TRUTH_TRY(child);
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "busy");
	spin_ms(60000);
	_exit(0);
}

/* A child computes, and is sampled; its parent polls for each sample. */
static int sampled_run(long samples, char **argv)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 5 * MS,
		.sample_type = PERF_SAMPLE_IP,
		.wakeup_events = 1,
	};
	struct perf_event_mmap_page *page;
	pid_t child = busy_child();
	struct pollfd fd = {.events = POLLIN};

	(void)argv;
	fd.fd = (int)syscall(SYS_perf_event_open, &attr, child, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd.fd < 0)
		TRUTH_SKIP("perf_event_open: %s", strerror(errno));
	page = mmap(NULL, 9 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd.fd, 0);
	if (page == MAP_FAILED)
		TRUTH_SKIP("memory of perf: %s", strerror(errno));
	for (long i = 0; i < samples; i++) {
		TRUTH_TRY(poll(&fd, 1, -1));
		page->data_tail = page->data_head;
	}
	kill(child, SIGKILL);
	return waitpid(child, NULL, 0) != child;
}

static void *spinner_run(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "spinner");
	spin_ms(60000);
	return NULL;
}

/* One thread computes, the other waits for the signals of a clock that this drives. */
static int take_signals(int number, long times)
{
	pthread_t thread;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (pthread_create(&thread, NULL, spinner_run, NULL))
		return 1;
	for (long i = 0; i < times; i++)
		TRUTH_TRY(sigwaitinfo(&set, NULL));
	_exit(0);
}

static int profiled_run(long times, char **argv)
{
	struct itimerval every = {{0, 10000}, {0, 10000}};

	(void)argv;
	signal(SIGPROF, SIG_IGN); /* until it is blocked */
	TRUTH_TRY(setitimer(ITIMER_PROF, &every, NULL));
	return take_signals(SIGPROF, times);
}

static int cpu_timer_run(long times, char **argv)
{
	struct itimerspec every = {{0, 10 * MS}, {0, 10 * MS}};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	timer_t timer;

	(void)argv;
	signal(SIGUSR1, SIG_IGN);
	TRUTH_TRY(timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer));
	TRUTH_TRY(timer_settime(timer, 0, &every, NULL));
	return take_signals(SIGUSR1, times);
}

const struct trap traps_wakers[] = {
	{"interrupted", interrupted_run}, {"napper", napper_run},	{"sampled", sampled_run},
	{"profiled", profiled_run},	  {"cpu_timer", cpu_timer_run}, {"pingpong", pingpong_run},
	{"loopback", loopback_run},	  {"crossed", crossed_run},	{NULL, NULL},
};
