/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads whose thread pointers and vectors of thread-local blocks are made here. Both vectors
 * have an entry for the library that defines the context's variable, under which span BEYOND is
 * published. The first one's length says that it ends just before that entry, so that it is none;
 * where the other C library keeps the length stands the opposite. Prints their numbers; each calls
 * getppid CALLS times once its process has been looked at.
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bare.h"

#define STACK_BYTES 65536
#define VECTOR_WORDS 512
#define BLOCK_BYTES 4096 /* more than the library has */
#define CALLS 100
#ifdef __GLIBC__
#define WORDS_PER_ENTRY 2
#define LENGTH 0  /* word before the vector's begin, which is word 2 */
#define NOTHING 2 /* its generation here, and musl's length */
#else
#define WORDS_PER_ENTRY 1
#define LENGTH 2
#define NOTHING 0
#endif

struct thread {
	uint64_t pointer[64]; /* what the thread pointer points to: itself, the vector */
	uint64_t vector[VECTOR_WORDS];
	_Alignas(16) char block[BLOCK_BYTES], stack[STACK_BYTES];
};

void **publisher_slot(void); /* of the library */

static struct record beyond = {"the third trace.", "BEYOND..", 1, 1, 0};
static struct thread threads[2];
static int done;

__attribute__((optimize("no-stack-protector"))) static int thread_run(void *arg)
{
	struct timespec later = {0, 300000000};

	call(SYS_nanosleep, (long)&later, 0);
	for (int i = 0; i < CALLS; i++)
		call(SYS_getppid, 0, 0);
	__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
	call(SYS_exit, 0, 0);
	return 0;
}

/* The library's number, and where in its block the variable stands. */
static uint64_t module_find(uint64_t *offset)
{
	uint64_t variable = (uint64_t)publisher_slot(); /* which makes this thread's entry */
	uint64_t *vector = ((uint64_t **)__builtin_thread_pointer())[1], module = 1;

	while (variable - vector[module * WORDS_PER_ENTRY] >= 64)
		module++;
	*offset = variable - vector[module * WORDS_PER_ENTRY];
	return module;
}

static int thread_start(struct thread *thread, int is_short)
{
	uint64_t offset, module = module_find(&offset);
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
		    CLONE_SYSVSEM | CLONE_SETTLS;

	thread->pointer[0] = (uint64_t)thread->pointer;
	thread->pointer[1] = (uint64_t)&thread->vector[2];
	thread->vector[LENGTH] = is_short ? module - 1 : module;
	thread->vector[NOTHING] = is_short ? module : module - 1;
	thread->vector[2 + module * WORDS_PER_ENTRY] = (uint64_t)thread->block;
	*(struct record **)(thread->block + offset) = &beyond;
	return clone(thread_run, thread->stack + STACK_BYTES, flags, NULL, NULL, thread->pointer,
		     NULL);
}

int main(void)
{
	int tid = thread_start(&threads[0], 1);

	printf("%d %d\n", tid, thread_start(&threads[1], 0));
	fflush(stdout);
	while (__atomic_load_n(&done, __ATOMIC_RELAXED) < 2)
		usleep(1000);
	return 0;
}
