/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that is made with its creator's thread pointer, as no C library does. The creator
 * publishes span CREATOR.
 *
 *	e2e-borrower keeps	calls getppid every millisecond until stdin ends
 *	e2e-borrower leaves	takes a thread pointer of its own 300 ms later, publishes span OWNER
 *				there, and calls getppid 300 times
 */
#include <asm/prctl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bare.h"

#define STACK_BYTES 65536
#define TLS_BYTES 4096 /* on either side of the thread pointer: more than this program has */
#define CALLS 300

__thread struct record *otel_thread_ctx_v1 __attribute__((visibility("default")));

static struct record creators = {"the first trace.", "CREATOR.", 1, 1, 0};
static struct record owners = {"the second trace", "OWNER...", 1, 1, 0};
static char *pointer; /* of the thread */
static long variable; /* from there */
static volatile int done;

__attribute__((optimize("no-stack-protector"))) static int thread_run(void *leaves)
{
	struct timespec pause = {0, 1000000}, later = {0, 300000000};

	if (leaves) {
		call(SYS_nanosleep, (long)&later, 0);
		call(SYS_arch_prctl, ARCH_SET_FS, (long)pointer);
		*(struct record **)(pointer + variable) = &owners;
	}
	for (int i = 0; i < CALLS || !leaves; i++) {
		call(SYS_getppid, 0, 0);
		if (!leaves)
			call(SYS_nanosleep, (long)&pause, 0);
	}
	done = 1;
	call(SYS_exit, 0, 0);
	return 0;
}

int main(int argc, char **argv)
{
	int leaves = argc > 1 && strcmp(argv[1], "leaves") == 0;
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
		    CLONE_SYSVSEM;
	char *memory = mmap(NULL, STACK_BYTES + 2 * TLS_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *mine = (char *)__builtin_thread_pointer(), byte;

	if (memory == MAP_FAILED)
		return 1;
	variable = (char *)&otel_thread_ctx_v1 - mine;
	pointer = memory + STACK_BYTES + TLS_BYTES;
	memcpy(pointer + variable, mine + variable, (size_t)-variable);
	memcpy(pointer, &pointer, sizeof(pointer));
	otel_thread_ctx_v1 = &creators;
	printf("%d\n", clone(thread_run, memory + STACK_BYTES, flags, leaves ? argv : NULL));
	fflush(stdout);
	while (leaves ? !done : read(0, &byte, 1) == 1)
		usleep(1000);
	return 0;
}
