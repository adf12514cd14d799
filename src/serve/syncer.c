/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/syncer.h"

#include <errno.h>
#include <stdlib.h>

#include "base/thread.h"

struct syncer {
	struct log *log;
	struct loader *loader;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct sync_wait *waiting;
	bool stopping, joined;
};

static void all_sync(struct syncer *s, struct sync_wait *waiting)
{
	while (waiting) {
		struct sync_wait *w = waiting;
		/* the first one syncs what all have appended; some of it may be lost */
		int err = log_sync(s->log, w->end);

		/* it may be freed as soon as it is done */
		waiting = w->next;
		w->done(w, err);
	}
	if (s->loader)
		loader_wake(s->loader);
}

static void *syncer_run(void *arg)
{
	struct syncer *s = arg;
	bool stopping = false;

	while (!stopping) {
		struct sync_wait *waiting;

		pthread_mutex_lock(&s->lock);
		while (!s->waiting && !s->stopping)
			pthread_cond_wait(&s->wake, &s->lock);
		waiting = s->waiting;
		s->waiting = NULL;
		stopping = s->stopping && !waiting;
		pthread_mutex_unlock(&s->lock);
		if (waiting)
			all_sync(s, waiting);
	}
	return NULL;
}

int syncer_start(struct log *log, struct loader *loader, struct syncer **out)
{
	struct syncer *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->log = log;
	s->loader = loader;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	err = thread_start(&s->thread, syncer_run, s);
	if (err) {
		s->joined = true; /* there is no thread */
		syncer_free(s);
		return err;
	}
	*out = s;
	return 0;
}

bool syncer_add(struct syncer *s, struct sync_wait *w)
{
	bool added;

	pthread_mutex_lock(&s->lock);
	added = !s->stopping;
	if (added) {
		if (w->hold)
			w->hold(w);
		w->next = s->waiting;
		s->waiting = w;
		pthread_cond_signal(&s->wake);
	}
	pthread_mutex_unlock(&s->lock);
	return added;
}

void syncer_drain(struct syncer *s)
{
	if (s->joined)
		return;
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	s->joined = true;
}

void syncer_free(struct syncer *s)
{
	if (!s)
		return;
	syncer_drain(s);
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
