/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for known times in a known stack: three functions deep, in a call that
 * is made directly. Usage: program MODE..., each one done in turn:
 *   nanosleep, futex, pipe     waits of 60 ms
 *   library FILE               a wait in a library that is loaded just then
 *   exec FILE ARG...           runs another program
 *   forever                    says "ready" and waits for ever
 */
#include <dlfcn.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAIT_NS 60000000
#define KEEP_FRAME() __asm__ volatile("" ::: "memory") /* no call is the last thing */

/* Another build of it has other names at other places. */
#ifdef OTHER
#define inner other_inner
#define middle other_middle
#define outer other_outer
int other_data[1000] = {1};
__attribute__((noinline)) void other_function(void);
__attribute__((noinline)) void other_function(void)
{
	for (volatile int i = 0; i < 1000; i++)
		other_data[i]++;
}
#endif

static const struct timespec wait_time = {0, WAIT_NS};
static int futex_word;
static int pipe_fds[2];

__attribute__((noinline)) static void inner(const char *mode)
{
	char c;

	if (!strcmp(mode, "nanosleep"))
		syscall(SYS_nanosleep, &wait_time, NULL);
	else if (!strcmp(mode, "futex"))
		syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 0, &wait_time, NULL, 0);
	else
		syscall(SYS_read, pipe_fds[0], &c, 1);
	KEEP_FRAME();
}

__attribute__((noinline)) static void middle(const char *mode)
{
	inner(mode);
	KEEP_FRAME();
}

__attribute__((noinline)) static void outer(const char *mode)
{
	middle(mode);
	KEEP_FRAME();
}

static void waits_for_pipe(const char *mode)
{
	if (pipe(pipe_fds))
		exit(1);
	if (!strcmp(mode, "pipe") && fork() == 0) {
		nanosleep(&wait_time, NULL);
		_exit(write(pipe_fds[1], "", 1) != 1);
	}
	if (!strcmp(mode, "forever")) {
		puts("ready");
		fflush(stdout);
	}
	outer(mode);
}

static void in_library(const char *file)
{
	void *library = dlopen(file, RTLD_NOW);
	void (*function)(void) = library ? (void (*)(void))dlsym(library, "library_waits") : NULL;

	if (!function)
		exit(1);
	function();
	dlclose(library);
}

int main(int argc, char **argv)
{
#ifdef OTHER
	other_function();
#endif
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "library") && i + 1 < argc) {
			in_library(argv[++i]);
		} else if (!strcmp(argv[i], "exec") && i + 1 < argc) {
			execv(argv[i + 1], argv + i + 1);
			return 1;
		} else if (!strcmp(argv[i], "pipe") || !strcmp(argv[i], "forever")) {
			waits_for_pipe(argv[i]);
		} else {
			outer(argv[i]);
		}
	}
	return 0;
}
