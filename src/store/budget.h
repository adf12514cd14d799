/* SPDX-License-Identifier: Apache-2.0 */
/* The time that a query may take: a thread interrupts those that take longer. */
#ifndef STORE_BUDGET_H
#define STORE_BUDGET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "store/duckdb.h"

/* A query under way, in memory of the thread that asks. */
struct budget_query {
	duckdb_connection connection;
	uint64_t end_ns;     /* by the monotonic clock */
	atomic_bool is_over; /* its time is over: what it runs is interrupted */
	struct budget_query *next;
};

struct budget {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	const struct duckdb *api;
	struct budget_query *queries;
	bool runs, stopping;
};

/* Starts the thread. `api` outlives it. 0 or a negative errno. */
int budget_start(struct budget *b, const struct duckdb *api);

/* All queries have left. One that was not started is allowed. */
void budget_stop(struct budget *b);

/* Until budget_leave(), the query's statements fail when `time_ns` is over. For all threads. */
void budget_enter(struct budget *b, struct budget_query *q, uint64_t time_ns);
void budget_leave(struct budget *b, struct budget_query *q);

#endif
