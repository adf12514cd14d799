/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/receiver.h"

#include <errno.h>
#include <microhttpd.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "serve/answer.h"
#include "serve/deadline.h"
#include "serve/syncer.h"

struct request {
	struct sync_wait wait;
	struct receiver *receiver;
	struct MHD_Connection *connection;
	struct delivery delivery;
	bool finished, synced;
	bool is_query;
};

struct receiver {
	struct MHD_Daemon *daemon;
	struct receiver_options options;
	struct inbox inbox;
	struct syncer *syncer;
	struct deadline *deadline;
};

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

static uint16_t connection_number(const struct request *q)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(q->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	return info ? senders_connection(q->receiver->options.to.senders, info->connect_fd) : 0;
}

static void request_check(struct request *q, const char *url, const char *method)
{
	const struct protocol *protocol = q->receiver->options.protocol;
	struct delivery *d = &q->delivery;
	const struct intake *intake = intake_find(protocol,
						  request_header(q->connection, "Content-Type"));
	const char *encoding = request_header(q->connection, "Content-Encoding");
	bool is_gzip = encoding && strcasecmp(encoding, "gzip") == 0;
	unsigned int refused;
	const char *why;

	delivery_begin(d, &q->receiver->inbox, intake ? intake : protocol->intakes, is_gzip);
	d->connection = connection_number(q);
	refused = request_refused(q->connection, q->receiver->options.to.access, true, &why);
	if (refused)
		delivery_refuse(d, refused,
				refused == MHD_HTTP_FORBIDDEN	   ? CODE_PERMISSION_DENIED
				: refused == MHD_HTTP_UNAUTHORIZED ? CODE_UNAUTHENTICATED
								   : CODE_INVALID_ARGUMENT,
				why);
	else if (strcmp(url, protocol->path) != 0)
		delivery_refuse(d, MHD_HTTP_NOT_FOUND, CODE_UNIMPLEMENTED, protocol->wrong_path);
	else if (strcmp(method, "POST") != 0)
		delivery_refuse(d, MHD_HTTP_METHOD_NOT_ALLOWED, CODE_UNIMPLEMENTED,
				"spans come by POST");
	else if (!intake)
		delivery_refuse(d, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, CODE_INVALID_ARGUMENT,
				protocol->wrong_type);
	else if (encoding && !is_gzip && strcasecmp(encoding, "identity") != 0)
		delivery_refuse(d, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, CODE_INVALID_ARGUMENT,
				"the content encoding must be gzip or identity");
}

static enum MHD_Result request_answer(struct request *q)
{
	struct delivery *d = &q->delivery;
	struct bytes body = {0};

	delivery_answer(d, &body);
	if (body.failed)
		bytes_free(&body);
	return answer_send(q->connection, d->status ? d->status : d->intake->accepted_status,
			   d->intake->answer_type, &body);
}

static struct request *request_of(struct sync_wait *w)
{
	return (struct request *)((char *)w - offsetof(struct request, wait));
}

static void request_hold(struct sync_wait *w)
{
	MHD_suspend_connection(request_of(w)->connection);
}

static void request_done(struct sync_wait *w, int err)
{
	struct request *q = request_of(w);

	delivery_synced(&q->delivery, err);
	q->synced = true;
	MHD_resume_connection(q->connection);
}

/* Hands the connection to the syncer, which resumes it. False: it ended, so this thread synced. */
static bool sync_wait(struct receiver *r, struct request *q)
{
	q->wait = (struct sync_wait){
		.end = q->delivery.end, .hold = request_hold, .done = request_done};
	if (syncer_add(r->syncer, &q->wait))
		return true;
	delivery_synced(&q->delivery, log_sync(r->options.to.log, q->delivery.end));
	return false;
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
		q->receiver = r;
		q->connection = connection;
		q->is_query = is_query(&r->options, url, method);
		if (q->is_query)
			return MHD_YES;
		request_check(q, url, method);
		return MHD_YES;
	}
	if (*bytes) {
		if (!q->is_query)
			delivery_add(&q->delivery, data, *bytes);
		*bytes = 0;
		return MHD_YES;
	}
	deadline_end(connection);
	if (q->is_query)
		return routes_answer(&r->options.queries, connection, url, method, NULL);
	if (!q->finished)
		delivery_finish(&q->delivery);
	q->finished = true;
	if (!q->delivery.status && q->delivery.end && !q->synced && sync_wait(r, q))
		return MHD_YES;
	return request_answer(q);
}

static void request_end(void *arg, struct MHD_Connection *connection, void **state,
			enum MHD_RequestTerminationCode why)
{
	struct request *q = *state;

	deadline_begin(connection);
	if (!q)
		return;
	delivery_drop(&q->delivery);
	free(q);
	*state = NULL;
}

static struct MHD_Daemon *daemon_start(struct receiver *r, int fd)
{
	const struct receive_limits *limits = r->options.to.limits;

	return MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC, 0, NULL,
		NULL, request_take, r, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_COMPLETED,
		request_end, r, MHD_OPTION_CONNECTION_LIMIT, (unsigned int)limits->connections,
		MHD_OPTION_CONNECTION_TIMEOUT, limits_seconds(limits), MHD_OPTION_NOTIFY_CONNECTION,
		deadline_connection, r->deadline,
		r->options.threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END,
		r->options.threads, MHD_OPTION_END);
}

int receiver_start(int fd, const struct receiver_options *options, struct receiver **out)
{
	struct receiver *r = calloc(1, sizeof(*r));
	int err = r ? syncer_start(options->to.log, options->to.loader, &r->syncer) : -ENOMEM;

	if (err) {
		free(r);
		close(fd);
		return err;
	}
	r->options = *options;
	inbox_init(&r->inbox, &options->to);
	err = deadline_start(options->to.limits->request_ns, &r->deadline);
	if (!err)
		r->daemon = daemon_start(r, fd);
	if (!r->daemon) {
		close(fd);
		receiver_stop(r);
		return err ? err : -EIO;
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
	/* No connection is suspended from here on. */
	syncer_drain(r->syncer);
	if (r->daemon)
		MHD_stop_daemon(r->daemon);
	if (fd != MHD_INVALID_SOCKET)
		close(fd);
	deadline_stop(r->deadline);
	syncer_free(r->syncer);
	inbox_free(&r->inbox);
	free(r);
}
