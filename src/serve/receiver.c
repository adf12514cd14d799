/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/receiver.h"

#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "serve/answer.h"
#include "serve/body.h"
#include "serve/entry.h"

#define CONNECTIONS_MAX 256 /* of three servers: less than the usual limit of 1024 files */
#define REQUEST_SECONDS 30
#define PENDING_BYTES_MAX ((size_t)128 << 20) /* bodies of all requests under way */

struct request {
	struct MHD_Connection *connection;
	struct request *next; /* that waits for the same sync */
	struct body body;
	size_t counted; /* of the body, in receiver.pending_bytes */
	const struct intake *intake;
	struct intake_counts spans;
	uint64_t end; /* of its entry in the log; 0: not appended */
	bool synced;
	bool is_query;
	/* 0, or the answer of a request that is refused; the rest of its body is passed over */
	unsigned int status;
	int code;
	char why[ERROR_TEXT_BYTES];
};

struct receiver {
	struct MHD_Daemon *daemon;
	struct receiver_options options;
	pthread_mutex_t appending; /* for `entry` */
	struct bytes entry;
	atomic_size_t pending_bytes;
	pthread_t syncer;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct request *waiting; /* appended, not synced */
	bool stopping;
};

static void refuse(struct request *q, unsigned int status, int code, const char *why)
{
	if (q->status)
		return;
	q->status = status;
	q->code = code;
	snprintf(q->why, sizeof(q->why), "%s", why);
}

static bool type_is(const char *type, const char *wanted)
{
	size_t n = strlen(wanted);

	return type && strncasecmp(type, wanted, n) == 0 && strchr("; \t", type[n]);
}

/* The format of a content type; NULL: none has it. */
static const struct intake *intake_find(const struct protocol *protocol, const char *type)
{
	const struct intake *intake = protocol->intakes;

	while (intake->type && !type_is(type, intake->type))
		intake++;
	return intake->type ? intake : NULL;
}

static void request_check(struct request *q, const struct protocol *protocol, const char *url,
			  const char *method)
{
	const struct intake *intake = intake_find(protocol,
						  request_header(q->connection, "Content-Type"));
	const char *encoding = request_header(q->connection, "Content-Encoding");
	bool is_gzip = encoding && strcasecmp(encoding, "gzip") == 0;

	q->intake = intake ? intake : protocol->intakes;
	body_begin(&q->body, BODY_BYTES_MAX, is_gzip);
	if (!request_is_local(q->connection))
		refuse(q, MHD_HTTP_FORBIDDEN, CODE_INVALID_ARGUMENT,
		       "the Host or Origin of the request is no name of this host");
	else if (strcmp(url, protocol->path) != 0)
		refuse(q, MHD_HTTP_NOT_FOUND, CODE_UNIMPLEMENTED, protocol->wrong_path);
	else if (strcmp(method, "POST") != 0)
		refuse(q, MHD_HTTP_METHOD_NOT_ALLOWED, CODE_UNIMPLEMENTED, "spans come by POST");
	else if (!intake)
		refuse(q, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, CODE_INVALID_ARGUMENT,
		       protocol->wrong_type);
	else if (encoding && !is_gzip && strcasecmp(encoding, "identity") != 0)
		refuse(q, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, CODE_INVALID_ARGUMENT,
		       "the content encoding must be gzip or identity");
}

/* Counts the memory of a body: the limit is for all requests under way. */
static void pending_count(struct receiver *r, struct request *q)
{
	size_t more = q->body.bytes.capacity - q->counted;

	q->counted = q->body.bytes.capacity;
	if (atomic_fetch_add(&r->pending_bytes, more) + more > PENDING_BYTES_MAX)
		refuse(q, MHD_HTTP_TOO_MANY_REQUESTS, CODE_UNAVAILABLE,
		       "too many requests are under way");
}

static void body_drop(struct receiver *r, struct request *q)
{
	atomic_fetch_sub(&r->pending_bytes, q->counted);
	q->counted = 0;
	body_free(&q->body);
}

static void piece_take(struct receiver *r, struct request *q, const char *data, size_t bytes)
{
	int err;

	if (q->status)
		return;
	err = body_add(&q->body, data, bytes);
	if (err == -EFBIG)
		refuse(q, MHD_HTTP_CONTENT_TOO_LARGE, CODE_RESOURCE_EXHAUSTED,
		       "the request has more than 16 MB after decompression");
	else if (err == -EBADMSG)
		refuse(q, MHD_HTTP_BAD_REQUEST, CODE_INVALID_ARGUMENT, "the body is no gzip");
	else if (err)
		refuse(q, MHD_HTTP_SERVICE_UNAVAILABLE, CODE_UNAVAILABLE, "out of memory");
	pending_count(r, q);
	if (q->status)
		body_drop(r, q);
}

static void append_refuse(struct request *q, int err)
{
	if (err == -ENOSPC || err == -EDQUOT)
		refuse(q, MHD_HTTP_TOO_MANY_REQUESTS, CODE_UNAVAILABLE, "the disk is full");
	else
		refuse(q, MHD_HTTP_SERVICE_UNAVAILABLE, CODE_UNAVAILABLE,
		       "the log cannot be written");
}

static void body_append(struct receiver *r, struct request *q)
{
	const struct bytes *body = &q->body.bytes;
	struct log_part part;
	int err;

	pthread_mutex_lock(&r->appending);
	err = entry_encode(&r->entry, q->intake->kind, body->data, body->count);
	part = (struct log_part){r->entry.data, r->entry.count};
	err = err ? err : log_append(r->options.log, &part, 1, &q->end);
	pthread_mutex_unlock(&r->appending);
	if (err)
		append_refuse(q, err);
}

/* The body is whole: it is checked, and appended to the log. */
static void body_take(struct receiver *r, struct request *q)
{
	struct error e = {0};
	int err = 0;

	if (!q->status && body_finish(&q->body))
		refuse(q, MHD_HTTP_BAD_REQUEST, CODE_INVALID_ARGUMENT, "the gzip is cut");
	if (!q->status)
		err = q->intake->check(&q->body.bytes, &q->spans, &e);
	if (err == -ENOMEM)
		refuse(q, MHD_HTTP_SERVICE_UNAVAILABLE, CODE_UNAVAILABLE, "out of memory");
	else if (err)
		refuse(q, MHD_HTTP_BAD_REQUEST, CODE_INVALID_ARGUMENT, e.text);
	if (!q->status && q->spans.spans > q->spans.rejected)
		body_append(r, q);
	body_drop(r, q);
}

static enum MHD_Result request_answer(struct receiver *r, struct request *q)
{
	struct counts *counts = r->options.counts;
	struct bytes body = {0};

	if (q->status) {
		q->intake->refused(&body, q->code, q->why);
		atomic_fetch_add(&counts->requests_refused, 1);
	} else {
		q->intake->accepted(&body, &q->spans);
		atomic_fetch_add(&counts->requests_accepted, 1);
		atomic_fetch_add(&counts->spans_accepted, q->spans.spans - q->spans.rejected);
		atomic_fetch_add(&counts->spans_rejected, q->spans.rejected);
	}
	if (body.failed)
		bytes_free(&body);
	return answer_send(q->connection, q->status ? q->status : q->intake->accepted_status,
			   q->intake->answer_type, &body);
}

/* Hands the connection to the syncer, which resumes it. False: it ended, so this thread synced. */
static bool sync_wait(struct receiver *r, struct request *q)
{
	bool waits;

	pthread_mutex_lock(&r->lock);
	waits = !r->stopping;
	if (waits) {
		MHD_suspend_connection(q->connection);
		q->next = r->waiting;
		r->waiting = q;
		pthread_cond_signal(&r->wake);
	}
	pthread_mutex_unlock(&r->lock);
	if (!waits) {
		int err = log_sync(r->options.log, q->end);

		if (err)
			append_refuse(q, err);
	}
	return waits;
}

static bool is_query(const struct receiver_options *options, const char *url, const char *method)
{
	return options->queries.tables &&
	       (strcmp(url, options->protocol->path) != 0 || strcmp(method, "POST") != 0);
}

static enum MHD_Result request_take(void *arg, struct MHD_Connection *connection, const char *url,
				    const char *method, const char *version, const char *data,
				    size_t *bytes, void **state)
{
	struct receiver *r = arg;
	struct request *q = *state;

	if (!q) {
		q = calloc(1, sizeof(*q));
		if (!q)
			return MHD_NO;
		*state = q;
		q->connection = connection;
		q->is_query = is_query(&r->options, url, method);
		if (q->is_query)
			return MHD_YES;
		request_check(q, r->options.protocol, url, method);
		return MHD_YES;
	}
	if (*bytes) {
		if (!q->is_query)
			piece_take(r, q, data, *bytes);
		*bytes = 0;
		return MHD_YES;
	}
	if (q->is_query)
		return routes_answer(&r->options.queries, connection, url, method);
	if (!q->end)
		body_take(r, q);
	if (!q->status && q->end && !q->synced && sync_wait(r, q))
		return MHD_YES;
	return request_answer(r, q);
}

static void request_end(void *arg, struct MHD_Connection *connection, void **state,
			enum MHD_RequestTerminationCode why)
{
	struct request *q = *state;

	if (!q)
		return;
	body_drop(arg, q);
	free(q);
	*state = NULL;
}

/* One sync for all that wait; then each of them is answered. */
static void waiting_sync(struct receiver *r, struct request *waiting)
{
	while (waiting) {
		struct request *q = waiting;
		/* the first one syncs what all have appended; some of it may be lost */
		int err = log_sync(r->options.log, q->end);

		/* the request may be freed as soon as its connection is resumed */
		waiting = q->next;
		if (err)
			append_refuse(q, err);
		q->synced = true;
		MHD_resume_connection(q->connection);
	}
	loader_wake(r->options.loader);
}

static void *syncer_run(void *arg)
{
	struct receiver *r = arg;
	bool stopping = false;

	while (!stopping) {
		struct request *waiting;

		pthread_mutex_lock(&r->lock);
		while (!r->waiting && !r->stopping)
			pthread_cond_wait(&r->wake, &r->lock);
		waiting = r->waiting;
		r->waiting = NULL;
		stopping = r->stopping && !waiting;
		pthread_mutex_unlock(&r->lock);
		if (waiting)
			waiting_sync(r, waiting);
	}
	return NULL;
}

int receiver_start(int fd, const struct receiver_options *options, struct receiver **out)
{
	struct receiver *r = calloc(1, sizeof(*r));
	int err = r ? 0 : ENOMEM;

	if (r) {
		r->options = *options;
		pthread_mutex_init(&r->appending, NULL);
		pthread_mutex_init(&r->lock, NULL);
		pthread_cond_init(&r->wake, NULL);
		err = pthread_create(&r->syncer, NULL, syncer_run, r);
	}
	if (err) {
		free(r);
		close(fd);
		return -err;
	}
	r->daemon = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC, 0, NULL,
		NULL, request_take, r, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_COMPLETED,
		request_end, r, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, REQUEST_SECONDS,
		r->options.threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END,
		r->options.threads, MHD_OPTION_END);
	if (!r->daemon) {
		close(fd);
		receiver_stop(r);
		return -EIO;
	}
	*out = r;
	return 0;
}

void receiver_stop(struct receiver *r)
{
	MHD_socket fd = MHD_INVALID_SOCKET;

	if (!r)
		return;
	if (r->daemon)
		fd = MHD_quiesce_daemon(r->daemon);
	pthread_mutex_lock(&r->lock);
	r->stopping = true;
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
	/* No connection is suspended from here on. */
	pthread_join(r->syncer, NULL);
	if (r->daemon)
		MHD_stop_daemon(r->daemon);
	if (fd != MHD_INVALID_SOCKET)
		close(fd);
	bytes_free(&r->entry);
	pthread_cond_destroy(&r->wake);
	pthread_mutex_destroy(&r->lock);
	pthread_mutex_destroy(&r->appending);
	free(r);
}
