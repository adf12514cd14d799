/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls as a 32-bit program makes them (int 0x80), from a program that keeps
 * its memory below 4 GiB. Says "name fd" of what readlink shows of its
 * descriptors. usage: calls DIRECTORY
 * Or, with another word: `asleep` in a call each of two threads, until there is a byte to read;
 * `stopped` while it sleeps.
 */
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static char text[64] = "text", room[64];
static int ends[2], pair[2];
static uint32_t socket_args[6];

/* As the kernel lays them out for 32-bit programs. */
static struct {
	uint32_t name, name_len, parts, parts_count, control, control_len, flags;
} message;
static struct {
	uint32_t bytes, len;
} part;
static struct {
	uint32_t len;
	int32_t level, type, fd;
} control;

static long call_with(long nr, const long args[5])
{
	long result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(nr), "b"(args[0]), "c"(args[1]), "d"(args[2]), "S"(args[3]),
			   "D"(args[4])
			 : "r8", "r9", "r10", "r11", "memory");
	return (int)result;
}

#define CALL(nr, ...) call_with(nr, (const long[5]){__VA_ARGS__})

static long at(const void *p)
{
	return (long)(uint32_t)(uintptr_t)p;
}

static const char *keep(const char *string)
{
	static char strings[8][64];
	static int n;

	return strcpy(strings[n++ % 8], string);
}

static long socketcall(uint32_t which, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	const uint32_t args[6] = {a, b, c, d, 0, 0};

	memcpy(socket_args, args, sizeof(args));
	return CALL(102, which, at(socket_args), 0, 0, 0);
}

static void say(const char *what, int fd)
{
	char path[64], name[4096];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, name, sizeof(name) - 1);
	name[n > 0 ? n : 0] = '\0';
	printf("%s %d %s\n", what, fd, name);
	fflush(stdout);
}

static void *writes_late(void *arg)
{
	usleep(30000);
	if (write(ends[1], text, 4) != 4)
		exit(3);
	return NULL;
}

static void files(void)
{
	int fd = (int)CALL(5, at(keep("by-32-bit")), 02 | 0100 | 0100000, 0600, 0, 0);

	say("open", fd);
	CALL(4, fd, at(text), 4, 0, 0);	  /* write */
	CALL(194, fd, 4096, 1, 0, 0);	  /* ftruncate64: 4 GiB and a page */
	CALL(180, fd, at(room), 4, 1, 1); /* pread64 */
	CALL(140, fd, 1, 5, at(room), 0); /* _llseek */
	CALL(63, fd, 50, 0, 0, 0);	  /* dup2 */
	CALL(221, 50, 2, 1, 0, 0);	  /* fcntl64 */
	CALL(3, 50, at(room), 8, 0, 0);	  /* read */
	CALL(38, at(keep("by-32-bit")), at(keep("renamed")), 0, 0, 0);
	CALL(304, at(keep("target")), -100, at(keep("link")), 0, 0); /* symlinkat */
	CALL(6, 50, 0, 0, 0, 0);				     /* close */
	CALL(3, 50, at(room), 8, 0, 0);				     /* read: it is closed */
}

static void waits(void)
{
	pthread_t thread;

	if (CALL(42, at(ends), 0, 0, 0, 0) || pthread_create(&thread, NULL, writes_late, NULL))
		exit(4);
	say("pipe", ends[0]);
	CALL(3, ends[0], at(room), 4, 0, 0); /* read, until the other thread writes */
	pthread_join(thread, NULL);
}

static void sockets(void)
{
	int fd;

	if (socketcall(8, AF_UNIX, SOCK_STREAM, 0, (uint32_t)at(pair)))
		exit(5);
	say("socketpair", pair[0]);
	part.bytes = (uint32_t)at(text);
	part.len = 1;
	message.parts = (uint32_t)at(&part);
	message.parts_count = 1;
	message.control = (uint32_t)at(&control);
	message.control_len = sizeof(control);
	control.len = sizeof(control);
	control.level = SOL_SOCKET;
	control.type = SCM_RIGHTS;
	control.fd = 0;
	if (socketcall(16, (uint32_t)pair[0], (uint32_t)at(&message), 0, 0) != 1)
		exit(6);
	if (socketcall(17, (uint32_t)pair[1], (uint32_t)at(&message), 0, 0) != 1)
		exit(7);
	fd = control.fd;
	say("received", fd);
	CALL(19, fd, 0, 1, 0, 0); /* lseek */
}

/* The descriptor of a process that was made, or of the peer; a read of it fails. */
static void say_pidfd(const char *what, int fd)
{
	say(what, fd);
	CALL(3, fd, at(room), 8, 0, 0); /* read */
}

static void processes(void)
{
	static uint64_t clone3_args[8];
	static uint32_t len = 4;
	static int fd;
	long child = CALL(120, CLONE_PIDFD | SIGCHLD, 0, at(&fd), 0, 0);

	if (child == 0)
		_exit(0);
	if (child < 0 || waitpid((pid_t)child, NULL, 0) != child)
		exit(14);
	say_pidfd("clone", fd);
	clone3_args[0] = CLONE_PIDFD;
	clone3_args[1] = (uint64_t)at(&fd);
	clone3_args[4] = SIGCHLD;
	child = CALL(435, at(clone3_args), sizeof(clone3_args), 0, 0, 0);
	if (child == 0)
		_exit(0);
	if (child < 0 || waitpid((pid_t)child, NULL, 0) != child)
		exit(15);
	say_pidfd("clone3", fd);
	if (CALL(365, pair[0], SOL_SOCKET, 77, at(&fd), at(&len)) == 0) /* SO_PEERPIDFD */
		say_pidfd("peer", fd);
}

static uint32_t seconds_60[2] = {60, 0}, seconds_2[2] = {2, 0};

static void *sleeps(void *arg)
{
	CALL(162, at(seconds_60), 0, 0, 0, 0); /* nanosleep */
	return arg;
}

static int asleep(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, sleeps, NULL))
		return 8;
	return CALL(3, 0, at(room), 1, 0, 0) == 1 ? 0 : 9;
}

/* Waits until a file of /proc/PID begins with this, behind a name. False if it does not in ten
 * seconds. */
static int comes_to_say(pid_t pid, const char *file, const char *what)
{
	char path[64], line[512], *text;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	for (int i = 0; i < 5000; i++) {
		FILE *says = fopen(path, "r");

		line[0] = '\0';
		if (says && !fgets(line, sizeof(line), says))
			line[0] = '\0';
		if (says)
			fclose(says);
		text = strrchr(line, ')') ? strrchr(line, ')') + 2 : line;
		if (strncmp(text, what, strlen(what)) == 0)
			return 1;
		usleep(2000);
	}
	return 0;
}

/* Stops it when it sleeps, and lets it go on when it has stopped. */
static int stop(pid_t pid)
{
	int stopped;

	if (!comes_to_say(pid, "syscall", "162 "))
		return 12;
	usleep(50000);
	kill(pid, SIGSTOP);
	stopped = comes_to_say(pid, "stat", "T ");
	kill(pid, SIGCONT);
	return stopped ? 0 : 13;
}

static int stopped(void)
{
	pid_t me = getpid(), child = fork();
	int status;

	if (child < 0)
		return 10;
	if (child == 0)
		_exit(stop(me));
	CALL(162, at(seconds_2), 0, 0, 0, 0);
	return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 11;
}

int main(int argc, char **argv)
{
	signal(SIGSEGV, _exit); /* a kernel without 32-bit calls */
	if (argc != 2)
		return 2;
	if (CALL(20, 0, 0, 0, 0, 0) != getpid())
		return 77;
	if (strcmp(argv[1], "asleep") == 0)
		return asleep();
	if (strcmp(argv[1], "stopped") == 0)
		return stopped();
	if (chdir(argv[1]))
		return 2;
	files();
	waits();
	sockets();
	processes();
	return 0;
}
