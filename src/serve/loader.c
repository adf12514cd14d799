/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/loader.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/units.h"
#include "serve/disk.h"
#include "serve/entry.h"
#include "serve/words.h"
#include "wire/otlp.h"
#include "wire/zipkin.h"

/* Small commits cost half the rate and twice the space; late ones cost freshness. */
#define COMMIT_NS 200000000u
#define LATE_NS 700000000u		     /* of a commit that fills a group of rows meanwhile */
#define COMMIT_SPANS (4 * STORE_GROUP_SPANS) /* that are no rows of the group: kernel spans */
#define COMMIT_BYTES ((size_t)64 << 20)	     /* of texts; DuckDB keeps them in memory until then */
#define RETRY_NS 1000000000u
#define END_NS 2000000000u
#define RETAIN_NS 10000000000u
#define ATTEMPTS 5		     /* with the same entries, before the way changes */
#define POOL_BYTES ((size_t)1 << 30) /* of one request */

struct loader {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool woken, stopping;
	uint64_t end_ns; /* when it ends, even if more is synced; 0: not yet known */
	struct loader_options options;
	struct counts *counts;
	struct store *store;
	struct log_reader *reader;
	/* what is appended to the store and not committed */
	uint64_t position, spans;
	uint64_t passed;   /* spans of the next entry that are stored */
	uint64_t begun_ns; /* 0: nothing is appended */
	/* failures with the entries behind a position of the store */
	uint64_t failed_at;
	unsigned int failures;
	uint64_t alone_until; /* entries before this position are committed alone */
	bool refusing;	      /* the next entry is passed over */
	char told[ERROR_TEXT_BYTES], told_lost[ERROR_TEXT_BYTES];
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

static void appended_tell(struct loader *l, const struct received_batch *batch)
{
	for (size_t i = 0; i < WATCHES_MAX && l->options.watches[i].appended; i++)
		l->options.watches[i].appended(l->options.watches[i].arg, batch,
					       store_fates(l->store));
	claims_send(l->options.claims, batch, store_fates(l->store));
}

static void settled_tell(struct loader *l, bool is_stored)
{
	for (size_t i = 0; i < WATCHES_MAX && l->options.watches[i].settled; i++)
		l->options.watches[i].settled(l->options.watches[i].arg, is_stored);
}

/* The store works. */
static void failure_forget(struct loader *l)
{
	if (!*l->told)
		return;
	l->told[0] = '\0';
	pthread_mutex_lock(&l->counts->lock);
	l->counts->store_error[0] = '\0';
	pthread_mutex_unlock(&l->counts->lock);
}

/* Commits what is appended: entries, and the first spans of the next one. */
static int batch_commit(struct loader *l, uint64_t passed, struct error *e)
{
	int err;

	if (!l->begun_ns)
		return 0;
	err = store_commit_part(l->store, l->position, passed, e);
	if (err)
		return err;
	atomic_fetch_add(&l->counts->spans_stored, l->spans);
	settled_tell(l, true);
	l->spans = l->begun_ns = 0;
	log_trim(l->options.log, l->position, NULL);
	failure_forget(l);
	return 0;
}

/*
 * So many spans are appended before a commit. 0: now; a group of rows is full, and it is time.
 * Groups that are committed together waste less of the disk.
 */
static uint64_t room_left(const struct loader *l)
{
	uint64_t room = store_room(l->store);

	return room || clock_now_ns() - l->begun_ns >= COMMIT_NS ? room : STORE_GROUP_SPANS;
}

/* Appends the spans of an entry, and commits when a group of rows is full and it is time. */
static int spans_append(struct loader *l, struct error *e)
{
	size_t from = l->passed < l->batch.count ? l->passed : l->batch.count;
	int err = 0;

	l->passed = 0;
	while (from < l->batch.count && !err) {
		struct received_batch part = {.data = l->batch.data + from};
		uint64_t room = room_left(l);

		if (!room) {
			err = batch_commit(l, from, e);
			l->begun_ns = clock_now_ns();
			continue;
		}
		part.count = l->batch.count - from < room ? l->batch.count - from : room;
		err = store_append(l->store, &part, e);
		if (!err)
			appended_tell(l, &part);
		from += part.count;
		l->spans += part.count;
	}
	return err;
}

static int entry_store(struct loader *l, const struct log_entry *entry, struct error *e)
{
	enum entry_kind kind;
	int err = entry_decode(entry->data, entry->bytes, &kind, &l->body);

	l->batch.count = 0;
	pool_reset(&l->pool);
	err = err ? err : body_decode(l, kind);
	/* Another time, or another version of fathom, may store it. */
	if (err == -ENOMEM || err == -EPROTONOSUPPORT)
		return error_set(e, err, "cannot decode what was received");
	if (err) {
		atomic_fetch_add(&l->counts->entries_bad, 1);
		return 0;
	}
	if (entry->begin >= l->options.from_position)
		words_learn(l->options.senders, entry_connection(entry->data, entry->bytes),
			    &l->batch);
	err = claims_mark(l->options.claims, entry, &l->batch, &l->pool);
	if (err)
		return error_set(e, err, "cannot decode what was received");
	return spans_append(l, e);
}

/* Keeps an entry that the store refuses beside the log. */
static int entry_refuse(struct loader *l, const struct log_entry *entry, struct error *e)
{
	int err = refused_keep(l->options.log_dir, entry, e);

	if (err)
		return err;
	atomic_fetch_add(&l->counts->entries_refused, 1);
	l->refusing = false;
	l->passed = 0;
	return 0;
}

static int reader_open(struct loader *l, struct error *e)
{
	l->position = store_position(l->store);
	l->passed = store_passed(l->store);
	l->spans = l->begun_ns = 0;
	return log_reader_open(l->options.log_dir, l->position, &l->reader, e);
}

static void lost_count(struct loader *l, uint64_t before)
{
	atomic_fetch_add(&l->counts->log_lost_bytes, log_reader_lost(l->reader) - before);
}

static bool batch_is_full(const struct loader *l)
{
	return !room_left(l) || l->spans >= COMMIT_SPANS ||
	       store_pending_bytes(l->store) >= COMMIT_BYTES || l->position <= l->alone_until;
}

static bool time_is_over(const struct loader *l)
{
	uint64_t end_ns = __atomic_load_n(&l->end_ns, __ATOMIC_ACQUIRE);

	return end_ns && clock_now_ns() >= end_ns;
}

/* Appends what is synced. 0 if nothing is left, or the time is over. */
static int log_read(struct loader *l, struct error *e)
{
	uint64_t synced = log_status(l->options.log).synced;
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
		err = l->refusing ? entry_refuse(l, &entry, e) : entry_store(l, &entry, e);
		l->position = entry.end;
		if (!err && batch_is_full(l))
			err = batch_commit(l, 0, e);
		if (err)
			return err;
		if (time_is_over(l))
			return 0;
	}
	return more;
}

/* Whether it is time to commit: not if a group of rows is full soon. */
static bool commit_is_due(const struct loader *l)
{
	uint64_t took_ns = clock_now_ns() - l->begun_ns;

	return took_ns >= LATE_NS ||
	       (took_ns >= COMMIT_NS &&
		took_ns * (l->spans + store_room(l->store)) > LATE_NS * l->spans);
}

static int step(struct loader *l, bool last, struct error *e)
{
	int err = l->reader ? 0 : reader_open(l, e);

	err = err ? err : log_read(l, e);
	if (!err && (last || (l->begun_ns && (!store_room(l->store) || commit_is_due(l)))))
		err = batch_commit(l, 0, e);
	if (err || l->begun_ns)
		return err;
	err = store_retain(l->store, e);
	if (!err)
		failure_forget(l);
	return err;
}

static void __attribute__((format(printf, 2, 3)))
warn_tell(struct loader *l, const char *format, ...)
{
	char line[ERROR_TEXT_BYTES + 100];
	va_list arguments;

	if (!l->options.warn)
		return;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	l->options.warn(line);
}

static void failure_tell(struct loader *l, const char *text)
{
	atomic_fetch_add(&l->counts->store_failures, 1);
	if (strcmp(l->told, text) == 0)
		return;
	snprintf(l->told, sizeof(l->told), "%s", text);
	pthread_mutex_lock(&l->counts->lock);
	memcpy(l->counts->store_error, l->told, sizeof(l->told));
	pthread_mutex_unlock(&l->counts->lock);
	warn_tell(l, "spans are not stored, and are tried again: %s", text);
}

/* Tells that a file is left out, once for each reason. */
static void loss_tell(struct loader *l)
{
	const char *why = store_lost_why(l->store);

	if (strcmp(l->told_lost, why) == 0)
		return;
	snprintf(l->told_lost, sizeof(l->told_lost), "%s", why);
	if (*why)
		warn_tell(l, "%s", why);
}

/* Decides how to go on: as before, entry by entry, or without the next entry. */
static void failure_judge(struct loader *l, const char *text, bool works)
{
	uint64_t stored = store_position(l->store);

	if (stored != l->failed_at)
		l->failures = 0;
	l->failed_at = stored;
	l->refusing = false;
	if (++l->failures < ATTEMPTS || l->position == stored)
		return;
	if (l->alone_until <= stored) {
		l->alone_until = l->position;
		l->failures = 0;
	} else if (works && !disk_is_short(l->options.log_dir, l->options.min_free_bytes, text)) {
		l->refusing = store_commit(l->store, stored, NULL) == 0;
	}
}

/* Goes on from what is stored. Until the store can be opened again, each step fails and comes here.
 */
static void start_over(struct loader *l, const struct error *e)
{
	bool works;

	failure_tell(l, e->text);
	settled_tell(l, false);
	works = store_reopen(l->store, NULL) == 0;
	failure_judge(l, e->text, works);
	log_reader_close(l->reader);
	l->reader = NULL;
}

/* Waits until more is synced, but no longer than that. True when it is to end. */
static bool rest(struct loader *l, uint64_t time_ns)
{
	uint64_t end_ns = clock_now_ns() + time_ns;
	bool stopping;

	pthread_mutex_lock(&l->lock);
	while (!l->woken && !l->stopping && condition_wait(&l->wake, &l->lock, end_ns))
		;
	l->woken = false;
	stopping = l->stopping;
	pthread_mutex_unlock(&l->lock);
	return stopping;
}

/* Looks for room on the disk, and tells when there is too little, and when there is some again. */
static void room_look(struct loader *l)
{
	uint64_t least = l->options.min_free_bytes;
	char text[UNITS_TEXT_BYTES];
	bool was_full = atomic_load(&l->counts->is_full), is_full;

	disk_check(l->options.log_dir, least, &l->counts->is_full);
	is_full = atomic_load(&l->counts->is_full);
	if (is_full && !was_full)
		warn_tell(l,
			  "the disk has less than %s free (--min-free): spans are refused until "
			  "there is an eighth more",
			  units_format_bytes(least, text));
	else if (was_full && !is_full)
		warn_tell(l, "the disk has room again: spans are taken");
}

static void *loader_run(void *arg)
{
	struct loader *l = arg;
	bool last = false;

	for (;;) {
		struct error e = {0};
		int err = step(l, last, &e);

		if (err)
			start_over(l, &e);
		loss_tell(l);
		room_look(l);
		if (last)
			break;
		last = rest(l, err				  ? RETRY_NS
			       : l->begun_ns			  ? COMMIT_NS
			       : atomic_load(&l->counts->is_full) ? RETRY_NS
								  : RETAIN_NS);
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

int loader_start(const struct loader_options *options, struct loader **out)
{
	struct loader *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	*l = (struct loader){.options = *options,
			     .counts = options->counts,
			     .store = options->store,
			     .pool = {.limit_bytes = POOL_BYTES}};
	pthread_mutex_init(&l->lock, NULL);
	condition_init(&l->wake);
	err = thread_start(&l->thread, loader_run, l);
	if (err) {
		loader_free(l);
		return err;
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
	__atomic_store_n(&l->end_ns, clock_now_ns() + END_NS, __ATOMIC_RELEASE);
	pthread_cond_signal(&l->wake);
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
	loader_free(l);
}
