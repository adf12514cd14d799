/* SPDX-License-Identifier: Apache-2.0 */
/* Does a known number of known system calls, in two threads and a child. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *thread_run(void *arg)
{
	long n = *(long *)arg;

	for (long i = 0; i < n; i++)
		syscall(SYS_gettid);
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000;
	struct timespec nap = {.tv_nsec = 2000000};
	pthread_t thread;
	pid_t child;
	int fd;

	for (long i = 0; i < n; i++)
		syscall(SYS_getppid);
	pthread_create(&thread, NULL, thread_run, &n);
	pthread_join(thread, NULL);
	child = fork();
	if (child == 0) {
		for (long i = 0; i < n; i++)
			syscall(SYS_getuid);
		_exit(3);
	}
	waitpid(child, NULL, 0);
	for (int i = 0; i < 10; i++)
		syscall(SYS_nanosleep, &nap, NULL);
	fd = (int)syscall(SYS_openat, AT_FDCWD, "/nowhere/at/all", O_RDONLY);
	fd = (int)syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY | O_CLOEXEC);
	syscall(SYS_lseek, fd, 7, SEEK_SET);
	syscall(0x10003, fd); /* neither is there */
	syscall(0x40000003, fd);
	syscall(SYS_fcntl, fd, F_GETFD);
	syscall(SYS_close, fd);
	return 0;
}
