/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library is opened, used by a thread, closed, and then the thread ends: its end
 * calls into the library, which must still be there. And it is opened once more.
 */
#include <dlfcn.h>
#include <fathom/fathom.h>
#include <pthread.h>
#include <semaphore.h>

static sem_t used, closed;
static struct fathom_span (*span_begin)(const char *name);

static void *thread_uses(void *arg)
{
	span_begin("left open");
	sem_post(&used);
	sem_wait(&closed);
	return NULL;
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 3; i++) {
		void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		pthread_t thread;

		if (!lib)
			return 1;
		*(void **)&span_begin = dlsym(lib, "fathom_span_begin");
		sem_init(&used, 0, 0);
		sem_init(&closed, 0, 0);
		if (!span_begin || pthread_create(&thread, NULL, thread_uses, NULL) != 0)
			return 2;
		sem_wait(&used);
		dlclose(lib);
		sem_post(&closed);
		pthread_join(thread, NULL);
	}
	return 0;
}
