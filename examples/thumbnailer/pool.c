// SPDX-License-Identifier: Apache-2.0
#include "pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct pool {
	struct pool_work work;
	pthread_mutex_t lock; /* guards everything below it but `threads` and `workers` */
	pthread_cond_t filled;
	void **jobs; /* a ring of `depth`; the oldest is at `first` */
	unsigned depth;
	unsigned first;
	unsigned count;
	bool closing;
	unsigned threads;
	pthread_t workers[];
};

/* The next job, or NULL once the pool closes and nothing is left. */
static void *job_take(struct pool *pool)
{
	void *job = NULL;

	pthread_mutex_lock(&pool->lock);
	while (!pool->count && !pool->closing)
		pthread_cond_wait(&pool->filled, &pool->lock);
	if (pool->count) {
		job = pool->jobs[pool->first];
		pool->first = (pool->first + 1) % pool->depth;
		pool->count--;
	}
	pthread_mutex_unlock(&pool->lock);
	return job;
}

static void *worker_main(void *argument)
{
	struct pool *pool = argument;
	void *job;

	pthread_setname_np(pthread_self(), "worker");
	while ((job = job_take(pool)))
		pool->work.run(pool->work.owner, job);
	return NULL;
}

int pool_open(struct pool **out, const struct pool_work *work, unsigned threads, unsigned depth)
{
	struct pool *pool;
	int error = 0;

	if (!threads || !depth)
		return -EINVAL;
	pool = calloc(1, sizeof(*pool) + threads * sizeof(pool->workers[0]));
	if (!pool)
		return -ENOMEM;
	pool->work = *work;
	pool->depth = depth;
	pool->jobs = calloc(depth, sizeof(*pool->jobs));
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->filled, NULL);
	if (!pool->jobs)
		error = -ENOMEM;
	while (!error && pool->threads < threads) {
		error = -pthread_create(&pool->workers[pool->threads], NULL, worker_main, pool);
		if (!error)
			pool->threads++;
	}
	if (error) {
		pool_close(pool);
		return error;
	}
	*out = pool;
	return 0;
}

int pool_put(struct pool *pool, void *job)
{
	int error = 0;

	pthread_mutex_lock(&pool->lock);
	if (pool->count == pool->depth || pool->closing) {
		error = -EAGAIN;
	} else {
		pool->jobs[(pool->first + pool->count++) % pool->depth] = job;
		pthread_cond_signal(&pool->filled);
	}
	pthread_mutex_unlock(&pool->lock);
	return error;
}

void pool_close(struct pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->closing = true;
	pthread_cond_broadcast(&pool->filled);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->threads; i++)
		pthread_join(pool->workers[i], NULL);
	pthread_cond_destroy(&pool->filled);
	pthread_mutex_destroy(&pool->lock);
	free(pool->jobs);
	free(pool);
}
