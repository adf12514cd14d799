/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of monitors. */
#ifndef MONITOR_INTERNAL_H
#define MONITOR_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/thread.h"
#include "monitor/kept.h"
#include "monitor/monitors.h"

#define SECOND_NS UINT64_C(1000000000)
#define MINUTE_NS (60 * SECOND_NS)

/* Who waits for a rule (monitors_await()). */
struct awaiting {
	char name[MONITOR_NAME_BYTES];
	uint64_t change; /* that is to be saved */
	uint64_t until_ns;
	void (*ready)(void *arg);
	void *arg;
};

struct monitors {
	struct monitors_options options;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* of CLOCK_MONOTONIC: something is to be done, or it ends */
	pthread_t evaluator, teller, saver;
	bool has_evaluator, has_teller, has_saver;
	/* with the lock: */
	struct monitors_kept kept;
	uint64_t numbers; /* of rules that were made */
	struct monitors_health health;
	size_t first_late;	 /* the place of the rule that the next round begins with */
	uint64_t alone_until_ns; /* of the evaluator (round.h) */
	bool is_new;		 /* a rule was made or changed: evaluate now */
	bool is_ending;
	uint64_t begun_ns;	 /* since 1970 */
	atomic_bool stop;	 /* ends what is being told */
	uint64_t to_save, saved; /* the last change, and the last one that is in the file */
	bool must_sync;		 /* those in between are to be on the disk */
	bool saver_ends;
	char save_failed[128]; /* why the file could not be written; "": it could */
	VEC(struct awaiting) awaiting;
	bool is_released; /* nobody may wait any more */
};

/* Since 1970. */
static inline uint64_t monitors_now_ns(void)
{
	return clock_read_ns(CLOCK_REALTIME);
}

/* Waits for a change with the lock, until a time of CLOCK_MONOTONIC. */
static inline void monitors_wait(struct monitors *m, uint64_t until_ns)
{
	condition_wait(&m->changed, &m->lock, until_ns);
}

/*
 * With the lock: another thread writes the file soon, durably or not. What fails is kept in
 * save_failed.
 */
void monitors_save(struct monitors *m, bool sync);

/* With the lock, which it leaves meanwhile: waits until all is written that is to be written. */
void monitors_save_await(struct monitors *m);

/* The thread that writes. It ends once `saver_ends` is set and all is written. */
void *monitors_saver_run(void *arg);

/* Writes the file, without the lock. 0 or a negative errno. For one thread. */
int monitors_file_write(const struct monitors *m, const struct bytes *data, bool sync);

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

/* "p99 of shop is 312 ms, above 200 ms"; "p99 of shop is 12 ms" where it is green. */
char *monitor_sentence(const struct monitor *monitor, char *text, size_t size);

#endif
