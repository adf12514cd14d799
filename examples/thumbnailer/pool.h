/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of threads behind a bounded queue: first in, first out. */
#ifndef THUMBNAILER_POOL_H
#define THUMBNAILER_POOL_H

struct pool;

struct pool_work {
	void (*run)(void *owner, void *job); /* called by a worker, for each job once */
	void *owner;
};

/* Starts the workers. 0 or a negative errno; *out is the caller's, to be closed. */
int pool_open(struct pool **out, const struct pool_work *work, unsigned threads, unsigned depth);

/* Queues a job; any thread. -EAGAIN: `depth` jobs are waiting already, this one was not taken. */
int pool_put(struct pool *pool, void *job);

/* Lets the workers finish everything that is queued, ends and frees them. NULL is fine. */
void pool_close(struct pool *pool);

#endif
