/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/live.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/thread.h"
#include "serve/answer.h"
#include "serve/own_span.h"

#define PING_NS 10000000000u /* less than the time after which idle connections are closed */
#define BLOCK_BYTES 32768
#define NAME_BYTES 1024

struct listener {
	struct live *live;
	struct listener *next;
	struct MHD_Connection *connection;
	struct live_filter filter;
	char service[NAME_BYTES], operation[NAME_BYTES];
	struct bytes pending; /* of spans that are not settled */
	uint64_t pending_missed;
	struct bytes ready;
	size_t read; /* of `ready` */
	uint64_t missed;
	bool is_suspended;
};

/* The lock is taken before those of libmicrohttpd. */
struct live {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread; /* writes now and then, so that it shows who is gone */
	bool stopping;
	struct listener *listeners;
	size_t listeners_count;
	struct bytes text;
};

static void resume(struct listener *to)
{
	if (!to->is_suspended)
		return;
	to->is_suspended = false;
	MHD_resume_connection(to->connection);
}

/* Whether there is room for more in both buffers, which become one. */
static bool has_room(const struct listener *to, size_t bytes)
{
	return to->pending.count + to->ready.count - to->read + bytes <= LIVE_BUFFER_BYTES;
}

static void missed_tell(struct listener *to)
{
	char text[80];
	int n = snprintf(text, sizeof(text), "event: missed\ndata: {\"spans\":%" PRIu64 "}\n\n",
			 to->missed);

	if (!to->missed || !has_room(to, (size_t)n))
		return;
	bytes_put(&to->ready, text, (size_t)n);
	to->missed = 0;
}

static void buffer_drop(struct bytes *buffer)
{
	bytes_free(buffer);
	*buffer = (struct bytes){0};
}

/* Forgets what was read. */
static void ready_compact(struct listener *to)
{
	to->ready.count -= to->read;
	memmove(to->ready.data, to->ready.data + to->read, to->ready.count);
	to->read = 0;
}

/* What was pending is to be read. */
static void listener_settle(struct listener *to, bool is_stored)
{
	if (is_stored) {
		to->missed += to->pending_missed;
		if (to->read)
			ready_compact(to);
		bytes_put(&to->ready, to->pending.data, to->pending.count);
		missed_tell(to);
		if (to->ready.failed) /* the connection ends */
			buffer_drop(&to->ready);
	}
	to->pending.count = 0;
	to->pending_missed = 0;
	if (to->ready.count > to->read)
		resume(to);
}

static bool is_wanted(const struct live_filter *f, const struct received_span *span)
{
	return (!f->service || strcmp(f->service, span->resource->service) == 0) &&
	       (!f->operation || strcmp(f->operation, span->name) == 0) &&
	       (f->kind < 0 || f->kind == span->kind) &&
	       (!f->is_error || span->status == RECEIVED_ERROR) &&
	       received_duration_ns(span) >= f->duration_from_ns;
}

/* The event of a span, which is written for the first listener that wants it. */
static const struct bytes *event_of(struct live *l, const struct received_span *span)
{
	struct json j;

	if (l->text.count)
		return &l->text;
	bytes_put(&l->text, "event: span\ndata: ", 18);
	json_init_bytes(&j, &l->text);
	own_span_write(&j, span);
	if (json_end(&j))
		l->text.failed = true;
	bytes_put_u8(&l->text, '\n');
	return &l->text;
}

static void span_tell(struct live *l, const struct received_span *span)
{
	l->text.count = 0;
	for (struct listener *to = l->listeners; to; to = to->next) {
		const struct bytes *event;

		if (!is_wanted(&to->filter, span))
			continue;
		event = event_of(l, span);
		if (event->failed || !has_room(to, event->count))
			to->pending_missed++;
		else
			bytes_put(&to->pending, event->data, event->count);
	}
	if (l->text.failed)
		buffer_drop(&l->text);
}

static void live_appended(void *arg, const struct received_batch *batch, const uint8_t *fates)
{
	struct live *l = arg;

	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < batch->count && l->listeners; i++) {
		if (fates[i] != STORE_REPEATS && fates[i] != STORE_KERNEL &&
		    fates[i] != STORE_CONTEXT && fates[i] != STORE_COUNTED)
			span_tell(l, &batch->data[i]);
	}
	pthread_mutex_unlock(&l->lock);
}

static void live_settled(void *arg, bool is_stored)
{
	struct live *l = arg;

	pthread_mutex_lock(&l->lock);
	for (struct listener *to = l->listeners; to; to = to->next)
		listener_settle(to, is_stored);
	pthread_mutex_unlock(&l->lock);
}

struct span_watch live_watch(struct live *l)
{
	return (struct span_watch){live_appended, live_settled, l};
}

/* A comment of the stream. */
static void ping(struct listener *to)
{
	if (to->ready.count == to->read && !to->pending.count)
		bytes_put(&to->ready, ":\n\n", 3);
	missed_tell(to);
	resume(to);
}

static void *pings_run(void *arg)
{
	struct live *l = arg;

	pthread_mutex_lock(&l->lock);
	while (!l->stopping) {
		if (condition_wait(&l->wake, &l->lock, clock_now_ns() + PING_NS))
			continue;
		for (struct listener *to = l->listeners; to; to = to->next)
			ping(to);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

struct live *live_open(void)
{
	struct live *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	pthread_mutex_init(&l->lock, NULL);
	condition_init(&l->wake);
	if (thread_start(&l->thread, pings_run, l) == 0)
		return l;
	pthread_cond_destroy(&l->wake);
	pthread_mutex_destroy(&l->lock);
	free(l);
	return NULL;
}

void live_stop(struct live *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->stopping = true;
	for (struct listener *to = l->listeners; to; to = to->next)
		resume(to);
	pthread_cond_signal(&l->wake);
	pthread_mutex_unlock(&l->lock);
}

void live_close(struct live *l)
{
	if (!l)
		return;
	live_stop(l);
	pthread_join(l->thread, NULL);
	pthread_cond_destroy(&l->wake);
	pthread_mutex_destroy(&l->lock);
	bytes_free(&l->text);
	free(l);
}

static ssize_t ready_read(void *arg, uint64_t position, char *to, size_t most)
{
	struct listener *from = arg;
	bool ends = false;
	size_t n;

	pthread_mutex_lock(&from->live->lock);
	n = from->ready.count - from->read;
	n = n < most ? n : most;
	if (n) {
		memcpy(to, from->ready.data + from->read, n);
		from->read += n;
		if (from->read == from->ready.count)
			from->read = from->ready.count = 0;
	} else if (from->live->stopping) {
		ends = true;
	} else {
		from->is_suspended = true;
		MHD_suspend_connection(from->connection);
	}
	pthread_mutex_unlock(&from->live->lock);
	return ends ? MHD_CONTENT_READER_END_OF_STREAM : (ssize_t)n;
}

static void listener_free(void *arg)
{
	struct listener *gone = arg;
	struct live *l = gone->live;

	pthread_mutex_lock(&l->lock);
	for (struct listener **at = &l->listeners; *at; at = &(*at)->next) {
		if (*at != gone)
			continue;
		*at = gone->next;
		l->listeners_count--;
		break;
	}
	pthread_mutex_unlock(&l->lock);
	bytes_free(&gone->pending);
	bytes_free(&gone->ready);
	free(gone);
}

static const char *name_keep(char to[NAME_BYTES], const char *name)
{
	snprintf(to, NAME_BYTES, "%s", name ? name : "");
	return name ? to : NULL;
}

static struct listener *listener_make(struct live *l, struct MHD_Connection *connection,
				      const struct live_filter *filter)
{
	struct listener *made = calloc(1, sizeof(*made));

	if (!made)
		return NULL;
	made->live = l;
	made->connection = connection;
	made->filter = *filter;
	made->filter.service = name_keep(made->service, filter->service);
	made->filter.operation = name_keep(made->operation, filter->operation);
	bytes_put(&made->ready, ":\n\n", 3); /* so that the client sees that it listens */
	return made;
}

struct MHD_Response *live_listen(struct live *l, struct MHD_Connection *connection,
				 const struct live_filter *filter)
{
	struct listener *made = listener_make(l, connection, filter);
	struct MHD_Response *response;

	if (!made)
		return NULL;
	pthread_mutex_lock(&l->lock);
	if (l->listeners_count < LIVE_LISTENERS_MAX) {
		made->next = l->listeners;
		l->listeners = made;
		l->listeners_count++;
		pthread_mutex_unlock(&l->lock);
	} else {
		pthread_mutex_unlock(&l->lock);
		listener_free(made);
		return NULL;
	}
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, ready_read,
						     made, listener_free);
	if (!response)
		listener_free(made);
	return response;
}
