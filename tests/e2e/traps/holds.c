/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that somebody holds, outside of any system call. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>

#include "traps.h"

#define HELD_MS 20

/* Computes until its end is wanted, and ends with the one who holds it. */
static pid_t loop_start(volatile int *done)
{
	pid_t child = fork();

	TRUTH_TRY(child);
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!*done)
		;
	syscall(SYS_getppid);
	_exit(0);
}

/* A tracer interrupts a loop and holds it for 20 ms, some times. */
static int traced_run(long times, char **argv)
{
	volatile int *done = truth_share(sizeof(*done));
	pid_t child = loop_start(done);

	(void)argv;
	TRUTH_TRY(ptrace(PTRACE_SEIZE, child, NULL, NULL));
	for (long i = 0; i < times; i++) {
		sleep_until(truth_now() + 5 * MS);
		TRUTH_TRY(ptrace(PTRACE_INTERRUPT, child, NULL, NULL));
		TRUTH_TRY(waitpid(child, NULL, __WALL));
		sleep_until(truth_now() + HELD_MS * MS);
		TRUTH_TRY(ptrace(PTRACE_CONT, child, NULL, NULL));
	}
	*done = 1;
	return waitpid(child, NULL, 0) != child;
}

/* The listener of a filter that asks for each getppid. */
static int listener_new(void)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {.len = sizeof(program) / sizeof(program[0]), .filter = program};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &filter);
}

/* Filters that allow all, above the one that asks. */
static int filters_add(long count)
{
	struct sock_filter program[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog filter = {.len = 1, .filter = program};

	for (long i = 0; i < count; i++) {
		if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) < 0)
			return -1;
	}
	return 0;
}

/* A supervisor lets the call go on after 20 ms. */
static int supervised_run(long times, char **argv)
{
	int listener = listener_new();
	pid_t child;

	(void)argv;
	if (listener < 0)
		TRUTH_SKIP("this kernel has no seccomp notification");
	child = fork();
	TRUTH_TRY(child);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (long i = 0; i < times; i++)
			syscall(SYS_getppid);
		_exit(0);
	}
	for (long i = 0; i < times; i++) {
		struct seccomp_notif ask = {0};
		struct seccomp_notif_resp answer = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};

		TRUTH_TRY(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &ask));
		sleep_until(truth_now() + HELD_MS * MS);
		answer.id = ask.id;
		TRUTH_TRY(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer));
	}
	return waitpid(child, NULL, 0) != child;
}

/* A step each time that a byte comes in. */
static void step_wait(const char *done)
{
	char byte;

	printf("%s\n", done);
	fflush(stdout);
	TRUTH_TRY(read(0, &byte, 1) == 1 ? 0 : -1);
}

/*
 * A child computes; then it asks for a call, which the supervisor refuses in the end. Prints the
 * child's number, and when it is held. With so many filters.
 */
static int turned_away_run(long filters, char **argv)
{
	int listener = listener_new();
	volatile int *asks = truth_share(sizeof(*asks));
	struct seccomp_notif ask = {0};
	struct seccomp_notif_resp answer = {.error = -EPERM};
	char number[16];
	pid_t child;

	(void)argv;
	if (listener < 0)
		TRUTH_SKIP("this kernel has no seccomp notification");
	TRUTH_TRY(filters_add(filters - 1));
	child = loop_start(asks);
	snprintf(number, sizeof(number), "%d", child);
	step_wait(number);
	*asks = 1;
	TRUTH_TRY(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &ask));
	step_wait("held");
	answer.id = ask.id;
	TRUTH_TRY(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer));
	return waitpid(child, NULL, 0) != child;
}

static void *taker_run(void *arg)
{
	static char much[1 << 20];
	int fd = *(int *)arg;

	sleep_until(truth_now() + HELD_MS * MS);
	while (read(fd, much, sizeof(much)) > 0)
		;
	close(fd);
	return NULL;
}

/* Fills a connection that nobody reads, whose end waits until all is read. */
static void connection_fill(int ends[2])
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct linger linger = {1, 60};
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	static char much[1 << 16];

	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	TRUTH_TRY(bind(listener, (void *)&address, sizeof(address)));
	TRUTH_TRY(listen(listener, 1));
	TRUTH_TRY(getsockname(listener, (void *)&address, &length));
	TRUTH_TRY(connect(ends[0], (void *)&address, sizeof(address)));
	ends[1] = accept(listener, NULL, NULL);
	TRUTH_TRY(ends[1]);
	close(listener);
	TRUTH_TRY(setsockopt(ends[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	while (send(ends[0], much, sizeof(much), MSG_DONTWAIT) > 0)
		;
}

/*
 * Puts another file where a connection was, so many times: that is let go when the call is over,
 * on the way to user code, and waits for 20 ms then.
 */
static int put_off_run(long times, char **argv)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), ends[2];
	pthread_t thread;

	(void)argv;
	for (long i = 0; i < times; i++) {
		connection_fill(ends);
		if (pthread_create(&thread, NULL, taker_run, &ends[1]))
			return 1;
		TRUTH_TRY(dup2(null, ends[0]));
		pthread_join(thread, NULL);
		close(ends[0]);
	}
	return 0;
}

/* Computes for so many ms of wall time, whoever holds it meanwhile. */
static int loop_run(long ms, char **argv)
{
	(void)argv;
	spin_ms(ms);
	return 0;
}

/* Sleeps in one call for so many ms. */
static int doze_run(long ms, char **argv)
{
	struct timespec pause = {ms / 1000, ms % 1000 * MS};

	(void)argv;
	return (int)syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
}

/* Takes so many MiB and keeps them; its cgroup may slow it down on the way. */
static int hoard_run(long mib, char **argv)
{
	(void)argv;
	for (long i = 0; i < mib; i++) {
		char *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (memory == MAP_FAILED)
			return 1;
	}
	return 0;
}

const struct trap traps_holds[] = {
	{"traced", traced_run},	  {"supervised", supervised_run},
	{"loop", loop_run},	  {"doze", doze_run},
	{"hoard", hoard_run},	  {"turned-away", turned_away_run},
	{"put_off", put_off_run}, {NULL, NULL},
};
