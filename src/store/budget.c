/* SPDX-License-Identifier: Apache-2.0 */
#include "store/budget.h"

#include <stdbool.h>

#include "base/clock.h"
#include "base/thread.h"

/* A query may run several statements, so it is interrupted again. */
#define AGAIN_NS 50000000u

/* Interrupts queries whose time is over. When to look again; 0: there are no queries. */
static uint64_t queries_look(struct budget *b)
{
	uint64_t now_ns = clock_now_ns(), next_ns = 0;

	for (struct budget_query *q = b->queries; q; q = q->next) {
		uint64_t at_ns = q->end_ns;

		if (at_ns <= now_ns) {
			atomic_store(&q->is_over, true);
			b->api->interrupt(q->connection);
			at_ns = now_ns + AGAIN_NS;
		}
		if (!next_ns || at_ns < next_ns)
			next_ns = at_ns;
	}
	return next_ns;
}

static void *budget_run(void *arg)
{
	struct budget *b = arg;

	pthread_mutex_lock(&b->lock);
	while (!b->stopping) {
		uint64_t next_ns = queries_look(b);

		if (next_ns)
			condition_wait(&b->wake, &b->lock, next_ns);
		else
			pthread_cond_wait(&b->wake, &b->lock);
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

static void locks_free(struct budget *b)
{
	pthread_cond_destroy(&b->wake);
	pthread_mutex_destroy(&b->lock);
}

int budget_start(struct budget *b, const struct duckdb *api)
{
	int err;

	*b = (struct budget){.api = api};
	pthread_mutex_init(&b->lock, NULL);
	condition_init(&b->wake);
	err = thread_start(&b->thread, budget_run, b);
	b->runs = !err;
	if (err)
		locks_free(b);
	return err;
}

void budget_stop(struct budget *b)
{
	if (!b->runs)
		return;
	pthread_mutex_lock(&b->lock);
	b->stopping = true;
	pthread_cond_signal(&b->wake);
	pthread_mutex_unlock(&b->lock);
	pthread_join(b->thread, NULL);
	locks_free(b);
	b->runs = false;
}

void budget_enter(struct budget *b, struct budget_query *q, uint64_t time_ns)
{
	q->end_ns = clock_now_ns() + time_ns;
	atomic_store(&q->is_over, !time_ns);
	pthread_mutex_lock(&b->lock);
	q->next = b->queries;
	b->queries = q;
	/* the thread may look at this one before others */
	pthread_cond_signal(&b->wake);
	pthread_mutex_unlock(&b->lock);
}

void budget_leave(struct budget *b, struct budget_query *q)
{
	pthread_mutex_lock(&b->lock);
	for (struct budget_query **at = &b->queries; *at; at = &(*at)->next) {
		if (*at != q)
			continue;
		*at = q->next;
		break;
	}
	pthread_mutex_unlock(&b->lock);
}
