/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/loader.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "serve/entry.h"
#include "wire/otlp.h"
#include "wire/zipkin.h"

/* Small commits cost half the rate and twice the space; late ones cost freshness. */
#define COMMIT_NS 200000000u
#define COMMIT_SPANS 65536u
#define COMMIT_BYTES ((size_t)64 << 20) /* of texts; DuckDB keeps them in memory until then */
#define RETRY_NS 1000000000u
#define POOL_BYTES ((size_t)1 << 30) /* of one request */

struct loader {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool woken, stopping;
	struct log *log;
	int log_dir;
	struct store *store;
	struct counts *counts;
	struct log_reader *reader;
	/* what is appended to the store and not committed */
	uint64_t position, spans, begun_ns; /* 0: nothing */
	struct pool pool;
	struct bytes body;
	struct received_batch batch;
};

static int body_decode(struct loader *l, enum entry_kind kind)
{
	if (kind == ENTRY_ZIPKIN_JSON)
		return zipkin_decode(l->body.data, l->body.count, &l->pool, &l->batch, NULL);
	return otlp_decode(l->body.data, l->body.count, &l->pool, &l->batch, NULL);
}

static int entry_store(struct loader *l, const struct log_entry *entry, struct error *e)
{
	enum entry_kind kind;
	int err = entry_decode(entry->data, entry->bytes, &kind, &l->body);

	l->batch.count = 0;
	pool_reset(&l->pool);
	err = err ? err : body_decode(l, kind);
	if (err) {
		atomic_fetch_add(&l->counts->entries_bad, 1);
		return 0;
	}
	l->spans += l->batch.count;
	return store_append(l->store, &l->batch, e);
}

static int batch_commit(struct loader *l, struct error *e)
{
	int err;

	if (!l->begun_ns)
		return 0;
	err = store_commit(l->store, l->position, e);
	if (err)
		return err;
	atomic_fetch_add(&l->counts->spans_stored, l->spans);
	l->spans = l->begun_ns = 0;
	log_trim(l->log, l->position, NULL);
	return 0;
}

static int reader_open(struct loader *l, struct error *e)
{
	l->position = store_position(l->store);
	l->spans = l->begun_ns = 0;
	return log_reader_open(l->log_dir, l->position, &l->reader, e);
}

static void lost_count(struct loader *l, uint64_t before)
{
	atomic_fetch_add(&l->counts->log_lost_bytes, log_reader_lost(l->reader) - before);
}

/* Appends what is synced. 0 if nothing is left. */
static int log_read(struct loader *l, struct error *e)
{
	uint64_t synced = log_status(l->log).synced;
	struct log_entry entry;
	int more = 1;

	while (more > 0) {
		uint64_t lost = log_reader_lost(l->reader);
		int err;

		more = log_reader_next(l->reader, synced, &entry, e);
		lost_count(l, lost);
		if (more <= 0)
			break;
		l->begun_ns = l->begun_ns ? l->begun_ns : clock_now_ns();
		err = entry_store(l, &entry, e);
		l->position = entry.end;
		if (!err &&
		    (l->spans >= COMMIT_SPANS || store_pending_bytes(l->store) >= COMMIT_BYTES))
			err = batch_commit(l, e);
		if (err)
			return err;
	}
	return more;
}

static int step(struct loader *l, bool last, struct error *e)
{
	int err = l->reader ? 0 : reader_open(l, e);

	err = err ? err : log_read(l, e);
	if (!err && (last || (l->begun_ns && clock_now_ns() - l->begun_ns >= COMMIT_NS)))
		err = batch_commit(l, e);
	return err;
}

/* Goes on from what is stored. Until the store can be opened again, each step fails and comes here.
 */
static void start_over(struct loader *l)
{
	atomic_fetch_add(&l->counts->store_failures, 1);
	store_reopen(l->store, NULL);
	log_reader_close(l->reader);
	l->reader = NULL;
}

/* Waits until more is synced, or, if that is earlier, for a time. True when it is to end. */
static bool rest(struct loader *l, uint64_t time_ns)
{
	struct timespec until;
	uint64_t end_ns = clock_now_ns() + time_ns;
	bool stopping;

	until.tv_sec = (time_t)(end_ns / 1000000000u);
	until.tv_nsec = (long)(end_ns % 1000000000u);
	pthread_mutex_lock(&l->lock);
	while (!l->woken && !l->stopping) {
		if (!time_ns)
			pthread_cond_wait(&l->wake, &l->lock);
		else if (pthread_cond_timedwait(&l->wake, &l->lock, &until) == ETIMEDOUT)
			break;
	}
	l->woken = false;
	stopping = l->stopping;
	pthread_mutex_unlock(&l->lock);
	return stopping;
}

static void *loader_run(void *arg)
{
	struct loader *l = arg;
	bool last = false;

	for (;;) {
		struct error e = {0};
		int err = step(l, last, &e);

		if (err)
			start_over(l);
		if (last)
			break;
		last = rest(l, err ? RETRY_NS : l->begun_ns ? COMMIT_NS : 0);
	}
	return NULL;
}

static void loader_free(struct loader *l)
{
	log_reader_close(l->reader);
	pool_free(&l->pool);
	bytes_free(&l->body);
	vec_free(&l->batch);
	pthread_cond_destroy(&l->wake);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

int loader_start(struct log *log, int log_dir, struct store *store, struct counts *counts,
		 struct loader **out)
{
	struct loader *l = calloc(1, sizeof(*l));
	pthread_condattr_t monotonic;
	int err;

	if (!l)
		return -ENOMEM;
	*l = (struct loader){.log = log,
			     .log_dir = log_dir,
			     .store = store,
			     .counts = counts,
			     .pool = {.limit_bytes = POOL_BYTES}};
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&l->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	err = pthread_create(&l->thread, NULL, loader_run, l);
	if (err) {
		loader_free(l);
		return -err;
	}
	*out = l;
	return 0;
}

void loader_wake(struct loader *l)
{
	pthread_mutex_lock(&l->lock);
	l->woken = true;
	pthread_cond_signal(&l->wake);
	pthread_mutex_unlock(&l->lock);
}

void loader_stop(struct loader *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->stopping = true;
	pthread_cond_signal(&l->wake);
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
	loader_free(l);
}
