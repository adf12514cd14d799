/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of monitors. */
#ifndef MONITOR_INTERNAL_H
#define MONITOR_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "monitor/kept.h"
#include "monitor/monitors.h"

#define SECOND_NS UINT64_C(1000000000)
#define MINUTE_NS (60 * SECOND_NS)

struct monitors {
	struct monitors_options options;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* of CLOCK_MONOTONIC: something is to be done, or it ends */
	pthread_t evaluator, teller;
	bool has_evaluator, has_teller;
	/* with the lock: */
	struct monitors_kept kept;
	uint64_t numbers;    /* of rules that were made */
	uint64_t evaluation; /* grows when all are evaluated */
	bool is_new;	     /* a rule was made or changed: evaluate now */
	bool is_ending;
	uint64_t begun_ns;     /* since 1970 */
	atomic_bool stop;      /* ends what is being told */
	char save_failed[128]; /* why the file could not be written; "": it could */
};

/* Since 1970. */
static inline uint64_t monitors_now_ns(void)
{
	return clock_read_ns(CLOCK_REALTIME);
}

/* Waits for a change with the lock, until a time of CLOCK_MONOTONIC. */
static inline void monitors_wait(struct monitors *m, uint64_t until_ns)
{
	const struct timespec until = {.tv_sec = (time_t)(until_ns / SECOND_NS),
				       .tv_nsec = (long)(until_ns % SECOND_NS)};

	pthread_cond_timedwait(&m->changed, &m->lock, &until);
}

/* With the lock: writes the file, durably or not. What fails is kept in save_failed. */
void monitors_save(struct monitors *m, bool sync);

/* Before other threads run: reads the file, and joins it with the configuration. */
int monitors_load(struct monitors *m, struct error *e);

/* With the lock: tells all actions of a rule that its level changed. */
void monitors_tell(struct monitors *m, struct monitor *monitor, uint64_t now_ns);

#define TELLING_CUT_SHORT                                                                          \
	"fathom ended while it was told, so it may have arrived: it is not told again"

/* With the lock: it is not tried again. */
void monitors_give_up(struct monitors *m, struct telling *t, const char *why);

/* With the lock: forgets changes that were given up long ago. */
void monitors_forget(struct monitors *m, uint64_t now_ns);

/* The thread that tells. */
void *monitors_teller_run(void *arg);

/* The thread that evaluates. */
void *monitors_evaluator_run(void *arg);

/*
 * Asks the store for the value of a rule over the time that ends now, without the lock. `why` says
 * why there is none.
 */
struct monitor_sample monitors_measure(struct store *store, const struct monitor_rule *rule,
				       uint64_t begun_ns, char why[MONITOR_WHY_BYTES]);

/* "p99 of shop is 312 ms, above 200 ms"; "p99 of shop is 12 ms" where it is green. */
char *monitor_sentence(const struct monitor *monitor, char *text, size_t size);

#endif
