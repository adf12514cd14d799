/* SPDX-License-Identifier: Apache-2.0 */
/* System calls whose two ends do not tell the same. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <sys/time.h>

#include "traps.h"

/* From now on the call `nr` gets `answer`; other calls go on. A listener's fd, or 0; -1: failed. */
static int filter_call(unsigned int nr, unsigned int answer, unsigned int flags)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {.len = sizeof(program) / sizeof(program[0]), .filter = program};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
}

/* Refused calls, and time in user code before each; getuid is not refused. */
static int refused_run(long times, char **argv)
{
	bool good = true;

	(void)argv;
	if (filter_call(SYS_getppid, SECCOMP_RET_ERRNO | EPERM, 0) < 0)
		TRUTH_SKIP("this kernel has no seccomp filters");
	for (long i = 0; i < times; i++) {
		syscall(SYS_getuid);
		spin_ms(1);
		good &= syscall(SYS_getppid) == -1 && errno == EPERM;
	}
	return !good;
}

static void do_nothing(int signal)
{
	(void)signal;
}

/* A read that goes on after each of some signals, until there is something. */
static int read_again_run(long signals, char **argv)
{
	struct sigaction action = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};
	int ends[2];
	char byte;
	pid_t child;

	(void)argv;
	if (pipe(ends) || sigaction(SIGUSR1, &action, NULL))
		return 1;
	child = fork();
	TRUTH_TRY(child);
	if (!child)
		_exit(read(ends[0], &byte, 1) != 1);
	for (long i = 0; i < signals; i++) {
		sleep_until(truth_now() + 20 * MS);
		kill(child, SIGUSR1);
	}
	sleep_until(truth_now() + 20 * MS);
	TRUTH_TRY(write(ends[1], "", 1));
	return waitpid(child, NULL, 0) != child;
}

/* A read, a sleep and a poll, each of which a handler makes fail. */
static int failing_run(long ms, char **argv)
{
	struct sigaction action = {.sa_handler = do_nothing};
	struct itimerval after = {.it_value = {.tv_usec = ms * 1000}};
	struct timespec second = {.tv_sec = 1};
	struct pollfd one;
	int ends[2];
	char byte;

	(void)argv;
	if (pipe(ends) || sigaction(SIGALRM, &action, NULL))
		return 1;
	one = (struct pollfd){.fd = ends[0], .events = POLLIN};
	setitimer(ITIMER_REAL, &after, NULL);
	if (read(ends[0], &byte, 1) != -1 || errno != EINTR)
		return 1;
	setitimer(ITIMER_REAL, &after, NULL);
	if (syscall(SYS_nanosleep, &second, NULL) != -1 || errno != EINTR)
		return 1;
	setitimer(ITIMER_REAL, &after, NULL);
	return syscall(SYS_poll, &one, 1, 1000) != -1 || errno != EINTR;
}

/* A poll of 300 ms that is stopped and continued: restart_syscall goes on with it. */
static int poll_again_run(long stops, char **argv)
{
	pid_t child = fork();
	struct pollfd none = {.fd = -1};

	(void)argv;
	TRUTH_TRY(child);
	if (!child)
		_exit((int)syscall(SYS_poll, &none, 1, 300));
	for (long i = 0; i < stops; i++) {
		sleep_until(truth_now() + 20 * MS);
		TRUTH_TRY(kill(child, SIGSTOP));
		TRUTH_TRY(waitpid(child, NULL, WUNTRACED));
		sleep_until(truth_now() + 20 * MS);
		TRUTH_TRY(kill(child, SIGCONT));
	}
	return waitpid(child, NULL, 0) != child;
}

/* 32-bit calls: 20 is getpid there, and writev in the other table. */
static int compat_run(long times, char **argv)
{
	(void)argv;
	for (long i = 0; i < times; i++) {
#ifdef __x86_64__
		long result = 20;

		__asm__ volatile("int $0x80" : "+a"(result) : "b"(11), "c"(22), "d"(33) : "memory");
		if (result != getpid())
			TRUTH_SKIP("this kernel has no 32-bit calls");
#else
		TRUTH_SKIP("32-bit calls are made on x86 only");
#endif
	}
	return 0;
}

static int handlers_run(long number, char **argv)
{
	struct sigaction action = {.sa_handler = do_nothing};

	(void)argv;
	sigaction(SIGUSR1, &action, NULL);
	for (long i = 0; i < number; i++)
		raise(SIGUSR1); /* each returns by rt_sigreturn */
	return 0;
}

const struct trap traps_calls[] = {
	{"refused", refused_run},
	{"read_again", read_again_run},
	{"poll_again", poll_again_run},
	{"failing", failing_run},
	{"compat", compat_run},
	{"handlers", handlers_run},
	{NULL, NULL},
};
