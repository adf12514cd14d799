/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that take turns with a lock, and threads that wait for work, with locks of each kind. A
 * thread has the name of its group. `locks MS` lasts that long; `locks MS idle` gives no work.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TURN_NS 2000000
#define THREADS 3
#define MS 1000000ll

static long long end_ns;

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 * MS + t.tv_nsec;
}

static void sleep_ns(long long ns)
{
	const struct timespec t = {ns / 1000000000, ns % 1000000000};

	nanosleep(&t, NULL);
}

/* Who has just released a lock would take it again before a waiter has woken. */
static void leave_to_others(void)
{
	sleep_ns(TURN_NS / 10);
}

/* ---- locks ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t free;
	int taken;
} monitor = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static void mutex_turn(void)
{
	pthread_mutex_lock(&mutex);
	sleep_ns(TURN_NS);
	pthread_mutex_unlock(&mutex);
}

static void rwlock_turn(void)
{
	pthread_rwlock_wrlock(&rwlock);
	sleep_ns(TURN_NS);
	pthread_rwlock_unlock(&rwlock);
}

static void semaphore_turn(void)
{
	sem_wait(&semaphore);
	sleep_ns(TURN_NS);
	sem_post(&semaphore);
}

static void monitor_turn(void)
{
	pthread_mutex_lock(&monitor.mutex);
	while (monitor.taken)
		pthread_cond_wait(&monitor.free, &monitor.mutex);
	monitor.taken = 1;
	pthread_mutex_unlock(&monitor.mutex);
	sleep_ns(TURN_NS);
	pthread_mutex_lock(&monitor.mutex);
	monitor.taken = 0;
	pthread_cond_signal(&monitor.free);
	pthread_mutex_unlock(&monitor.mutex);
}

static void *mutex_thread(void *arg)
{
	while (now() < end_ns) {
		mutex_turn();
		leave_to_others();
	}
	return arg;
}

static void *rwlock_thread(void *arg)
{
	while (now() < end_ns) {
		rwlock_turn();
		leave_to_others();
	}
	return arg;
}

static void *semaphore_thread(void *arg)
{
	while (now() < end_ns) {
		semaphore_turn();
		leave_to_others();
	}
	return arg;
}

static void *monitor_thread(void *arg)
{
	while (now() < end_ns) {
		monitor_turn();
		leave_to_others();
	}
	return arg;
}

/* ---- pools ---- */

static sem_t jobs;
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t more;
	int jobs, over;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

static void *pool_thread(void *arg)
{
	pthread_mutex_lock(&queue.mutex);
	while (!queue.over) {
		if (queue.jobs)
			queue.jobs--;
		else
			pthread_cond_wait(&queue.more, &queue.mutex);
	}
	pthread_mutex_unlock(&queue.mutex);
	return arg;
}

static void *workers_thread(void *arg)
{
	do
		sem_wait(&jobs);
	while (now() < end_ns);
	return arg;
}

static void give_jobs(void)
{
	while (now() < end_ns) {
		sleep_ns(TURN_NS);
		pthread_mutex_lock(&queue.mutex);
		queue.jobs++;
		pthread_cond_signal(&queue.more);
		pthread_mutex_unlock(&queue.mutex);
		sem_post(&jobs);
	}
	pthread_mutex_lock(&queue.mutex);
	queue.over = 1;
	pthread_cond_broadcast(&queue.more);
	pthread_mutex_unlock(&queue.mutex);
	for (int i = 0; i < THREADS; i++)
		sem_post(&jobs);
}

static const struct group {
	const char *name;
	void *(*run)(void *);
	int works; /* also while idle */
} groups[] = {
	{"mutex", mutex_thread, 0},	    {"rwlock", rwlock_thread, 0},
	{"semaphore", semaphore_thread, 0}, {"monitor", monitor_thread, 0},
	{"pool", pool_thread, 1},	    {"workers", workers_thread, 1},
};
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

int main(int argc, char **argv)
{
	int idle = argc > 2 && strcmp(argv[2], "idle") == 0;
	pthread_t threads[GROUPS * THREADS];
	size_t count = 0;

	if (argc < 2)
		return 2;
	end_ns = now() + atoll(argv[1]) * MS;
	sem_init(&semaphore, 0, 1);
	sem_init(&jobs, 0, 0);
	for (size_t i = 0; i < GROUPS * THREADS; i++) {
		const struct group *group = &groups[i / THREADS];

		if (idle && !group->works)
			continue;
		pthread_create(&threads[count], NULL, group->run, NULL);
		pthread_setname_np(threads[count++], group->name);
	}
	puts("ready");
	fflush(stdout);
	while (idle)
		pause();
	give_jobs();
	while (count)
		pthread_join(threads[--count], NULL);
	return 0;
}
