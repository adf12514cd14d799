/* SPDX-License-Identifier: Apache-2.0 */
/* Seals chunks on a separate thread, so that draining never waits for a disk. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/thread.h"
#include "chunk/chunk.h"

#define COMPRESSING_WAIT_MAX 4 /* maximum of waiting chunks while one is compressed */

struct sealer_job {
	struct sealer_job *next;
	struct chunk_writer *writer;
};

struct chunk_sealer {
	pthread_t thread;
	pthread_mutex_t lock; /* guards the queue and `ending` */
	pthread_cond_t wake;
	struct sealer_job *first;
	struct sealer_job **last;
	unsigned int waiting;
	bool ending;
	chunk_sealed_fn *sealed;
	void *arg;
};

static struct sealer_job *next_job(struct chunk_sealer *sealer, bool *in_time)
{
	struct sealer_job *job;

	pthread_mutex_lock(&sealer->lock);
	while (!sealer->first && !sealer->ending)
		pthread_cond_wait(&sealer->wake, &sealer->lock);
	job = sealer->first;
	if (job) {
		*in_time = --sealer->waiting <= COMPRESSING_WAIT_MAX;
		sealer->first = job->next;
		if (!sealer->first)
			sealer->last = &sealer->first;
	}
	pthread_mutex_unlock(&sealer->lock);
	return job;
}

static void *sealer_run(void *arg)
{
	struct chunk_sealer *sealer = arg;
	struct sealer_job *job;
	bool in_time;

	while ((job = next_job(sealer, &in_time))) {
		struct chunk_info info = {0};
		struct error e = {0};
		int err;

		if (!in_time)
			chunk_writer_plain(job->writer);
		err = chunk_writer_seal(job->writer, &info, &e);
		if (sealer->sealed)
			sealer->sealed(sealer->arg, err, &info, &e);
		chunk_writer_close(job->writer);
		free(job);
	}
	return NULL;
}

int chunk_sealer_open(struct chunk_sealer **sealer, chunk_sealed_fn *sealed, void *arg,
		      struct error *e)
{
	struct chunk_sealer *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return error_set(e, ENOMEM, "cannot start the thread that seals chunks");
	s->last = &s->first;
	s->sealed = sealed;
	s->arg = arg;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	err = thread_start(&s->thread, sealer_run, s);
	if (err) {
		free(s);
		return error_set(e, err, "cannot start the thread that seals chunks");
	}
	*sealer = s;
	return 0;
}

int chunk_sealer_push(struct chunk_sealer *sealer, struct chunk_writer *writer)
{
	struct sealer_job *job = malloc(sizeof(*job));

	if (!job)
		return -ENOMEM;
	*job = (struct sealer_job){NULL, writer};
	pthread_mutex_lock(&sealer->lock);
	*sealer->last = job;
	sealer->last = &job->next;
	sealer->waiting++;
	pthread_cond_signal(&sealer->wake);
	pthread_mutex_unlock(&sealer->lock);
	return 0;
}

void chunk_sealer_close(struct chunk_sealer *sealer)
{
	if (!sealer)
		return;
	pthread_mutex_lock(&sealer->lock);
	sealer->ending = true;
	pthread_cond_signal(&sealer->wake);
	pthread_mutex_unlock(&sealer->lock);
	pthread_join(sealer->thread, NULL);
	pthread_mutex_destroy(&sealer->lock);
	pthread_cond_destroy(&sealer->wake);
	free(sealer);
}
