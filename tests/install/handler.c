/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library is opened by a running program, and a thread calls it for the first
 * time in a signal handler: nothing may be allocated then, since the handler may have
 * interrupted malloc() itself.
 */
#include <dlfcn.h>
#include <fathom/fathom.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);

static volatile sig_atomic_t in_handler, allocated, recorded;
static struct fathom_span (*span_begin)(const char *name);
static void (*span_end)(struct fathom_span *span);

void *malloc(size_t bytes)
{
	allocated += in_handler;
	return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	allocated += in_handler;
	return __libc_calloc(count, bytes);
}

void *memalign(size_t align, size_t bytes)
{
	allocated += in_handler;
	return __libc_memalign(align, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
	return memalign(align, bytes);
}

static void handler(int number)
{
	struct fathom_span span;

	(void)number;
	in_handler = 1;
	span = span_begin("first");
	recorded += span.state != 0;
	span_end(&span);
	in_handler = 0;
}

static void *thread_interrupted(void *arg)
{
	raise(SIGUSR1);
	return arg;
}

int main(int argc, char **argv)
{
	void *lib = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	pthread_t thread;

	if (!lib)
		return 1;
	*(void **)&span_begin = dlsym(lib, "fathom_span_begin");
	*(void **)&span_end = dlsym(lib, "fathom_span_end");
	signal(SIGUSR1, handler);
	for (int i = 0; i < 3; i++) {
		if (pthread_create(&thread, NULL, thread_interrupted, NULL) != 0)
			return 2;
		pthread_join(thread, NULL);
	}
	return allocated ? 3 : recorded == 3 ? 0 : 4;
}
