/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <microhttpd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "serve/grpc_internal.h"

#define EXPORT_PATH "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
#define CONTENT_TYPE "application/grpc"

/* Headers borrow their texts: the session copies them. */
#define HEADER(name, value)                                                                        \
	((nghttp2_nv){(uint8_t *)(name), (uint8_t *)(value), sizeof(name) - 1, strlen(value),      \
		      NGHTTP2_NV_FLAG_NONE})

static void call_free(struct grpc_call *call)
{
	size_t bytes = sizeof(*call);

	delivery_drop(&call->delivery);
	bytes_free(&call->answer);
	atomic_fetch_sub(call->server->inbox.to.pending_bytes, bytes);
	free(call);
}

static void call_unlink(struct grpc_call *call)
{
	struct grpc_connection *c = call->connection;

	if (call->before)
		call->before->next = call->next;
	else
		c->calls = call->next;
	if (call->next)
		call->next->before = call->before;
	call->connection = NULL;
	c->since_ns = clock_now_ns();
}

void grpc_call_drop(struct grpc_call *call)
{
	call_unlink(call);
	if (!call->is_syncing)
		call_free(call);
}

static struct grpc_call *call_add(struct grpc_connection *c, int32_t stream)
{
	const struct destination *to = &c->server->inbox.to;
	struct grpc_call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	call->server = c->server;
	call->connection = c;
	call->stream = stream;
	call->begun_ns = clock_now_ns();
	call->is_encoding_known = true;
	call->next = c->calls;
	if (c->calls)
		c->calls->before = call;
	c->calls = call;
	c->had_call = true;
	atomic_fetch_add(to->pending_bytes, sizeof(*call));
	return call;
}

static struct grpc_call *call_of(nghttp2_session *session, int32_t stream)
{
	return nghttp2_session_get_stream_user_data(session, stream);
}

static ssize_t answer_read(nghttp2_session *session, int32_t stream, uint8_t *to, size_t room,
			   uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	struct grpc_call *call = source->ptr;
	size_t left = call->answer.count - call->sent, n = left < room ? left : room;
	const nghttp2_nv trailers[] = {HEADER("grpc-status", "0")};

	if (n)
		memcpy(to, call->answer.data + call->sent, n);
	call->sent += n;
	if (n == left) {
		*flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
		if (nghttp2_submit_trailer(session, stream, trailers, 1))
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	return (ssize_t)n;
}

/* Acknowledges a call: a message, then the status. */
static int call_accept(struct grpc_call *call)
{
	const nghttp2_nv headers[] = {HEADER(":status", "200"),
				      HEADER("content-type", CONTENT_TYPE)};
	const nghttp2_data_provider provider = {{.ptr = call}, answer_read};

	return nghttp2_submit_response(call->connection->session, call->stream, headers, 2,
				       &provider);
}

/* A status without a message. What the call still brings is not wanted: on_sent() says so. */
static int call_refuse(struct grpc_call *call)
{
	nghttp2_nv headers[5] = {HEADER(":status", "200"), HEADER("content-type", CONTENT_TYPE)};

	headers[2] = HEADER("grpc-status", call->code);
	headers[3] = HEADER("grpc-message", call->text);
	headers[4] = HEADER("grpc-accept-encoding", "identity, gzip");
	if (!call->is_grpc)
		headers[0] = HEADER(":status", "415");
	return nghttp2_submit_response(call->connection->session, call->stream, headers, 5, NULL);
}

static void call_answer(struct grpc_call *call)
{
	struct delivery *d = &call->delivery;
	unsigned char head[GRPC_HEAD_BYTES] = {0};
	struct bytes body = {0};
	int err;

	call->is_whole = true;
	delivery_answer(d, &body);
	if (d->status) {
		snprintf(call->code, sizeof(call->code), "%d", d->code);
		grpc_text_encode(call->text, d->why);
		err = call_refuse(call);
	} else {
		grpc_head_encode(head, body.count);
		bytes_put(&call->answer, head, sizeof(head));
		bytes_put(&call->answer, body.data, body.count);
		err = body.failed || call->answer.failed ? -ENOMEM : call_accept(call);
	}
	bytes_free(&body);
	if (err)
		nghttp2_submit_rst_stream(call->connection->session, NGHTTP2_FLAG_NONE,
					  call->stream, NGHTTP2_INTERNAL_ERROR);
}

static struct grpc_call *waiting_call(struct sync_wait *w)
{
	return (struct grpc_call *)((char *)w - offsetof(struct grpc_call, wait));
}

static void call_done(struct sync_wait *w, int err)
{
	struct grpc_call *call = waiting_call(w);

	delivery_synced(&call->delivery, err);
	grpc_done(call->server, call);
}

void grpc_call_synced(struct grpc_call *call)
{
	call->is_syncing = false;
	if (call->connection)
		call_answer(call);
	else
		call_free(call);
}

/* Everything came. */
static void call_finish(struct grpc_call *call)
{
	struct delivery *d = &call->delivery;

	if (call->is_whole)
		return;
	call->is_whole = true;
	grpc_message_finish(&call->message, d);
	delivery_finish(d);
	if (d->status || !d->end) {
		call_answer(call);
		return;
	}
	call->wait = (struct sync_wait){.end = d->end, .done = call_done};
	call->is_syncing = syncer_add(call->server->syncer, &call->wait);
	if (call->is_syncing)
		return;
	delivery_synced(d, log_sync(call->server->inbox.to.log, d->end));
	call_answer(call);
}

bool grpc_call_expire(struct grpc_call *call)
{
	if (!call->is_open || call->is_whole)
		return false;
	delivery_refuse(&call->delivery, MHD_HTTP_REQUEST_TIMEOUT, CODE_DEADLINE_EXCEEDED,
			"the call took too long");
	delivery_drop(&call->delivery);
	call_answer(call);
	return true;
}

static bool is_text(const uint8_t *value, size_t bytes, const char *text)
{
	return bytes == strlen(text) && memcmp(value, text, bytes) == 0;
}

/* "application/grpc", or that with "+proto" or parameters. */
static bool is_grpc_type(const uint8_t *value, size_t bytes)
{
	const size_t n = strlen(CONTENT_TYPE);

	if (bytes < n || strncasecmp((const char *)value, CONTENT_TYPE, n) != 0)
		return false;
	return bytes == n || value[n] == ';' ||
	       (bytes >= n + 6 && strncasecmp((const char *)value + n, "+proto", 6) == 0);
}

/* There may be two of them, which must both be names of this host. */
static void authority_take(struct grpc_call *call, const char *name)
{
	bool is_local = access_host(call->server->inbox.to.access, name);

	call->is_local |= is_local;
	call->is_foreign |= !is_local;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_bytes, const uint8_t *value, size_t bytes, uint8_t flags,
		     void *arg)
{
	struct grpc_call *call = call_of(session, frame->hd.stream_id);

	if (!call || call->is_open)
		return 0; /* trailers: they say nothing */
	if (is_text(name, name_bytes, ":method"))
		call->is_post = is_text(value, bytes, "POST");
	else if (is_text(name, name_bytes, ":path"))
		call->is_export = is_text(value, bytes, EXPORT_PATH);
	else if (is_text(name, name_bytes, ":authority") || is_text(name, name_bytes, "host"))
		authority_take(call, (const char *)value); /* it ends with a NUL */
	else if (is_text(name, name_bytes, "authorization"))
		call->has_token = access_token(call->server->inbox.to.access, (const char *)value);
	else if (is_text(name, name_bytes, "origin"))
		call->is_foreign |= !access_origin(call->server->inbox.to.access,
						   (const char *)value);
	else if (is_text(name, name_bytes, "content-type"))
		call->is_grpc = is_grpc_type(value, bytes);
	else if (is_text(name, name_bytes, "grpc-encoding")) {
		call->message.may_be_gzip = is_text(value, bytes, "gzip");
		call->is_encoding_known = call->message.may_be_gzip ||
					  is_text(value, bytes, "identity");
	}
	return 0;
}

static bool pending_is_full(const struct destination *to)
{
	return atomic_load(to->pending_bytes) > to->limits->pending_bytes;
}

/* The headers are whole. */
static void call_open(struct grpc_call *call)
{
	struct delivery *d = &call->delivery;

	call->is_open = true;
	delivery_begin(d, &call->server->inbox, protocol_otlp.intakes, false);
	d->connection = senders_connection(call->server->inbox.to.senders, call->connection->fd);
	if (!call->is_local || call->is_foreign)
		delivery_refuse(d, MHD_HTTP_FORBIDDEN, CODE_PERMISSION_DENIED, ACCESS_FOREIGN);
	else if (call->connection->needs_token && !call->has_token)
		delivery_refuse(d, MHD_HTTP_UNAUTHORIZED, CODE_UNAUTHENTICATED, ACCESS_TOKENLESS);
	else if (!call->is_grpc || !call->is_post)
		delivery_refuse(d, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, CODE_INVALID_ARGUMENT,
				"only gRPC is spoken here");
	else if (!call->is_export)
		delivery_refuse(d, MHD_HTTP_NOT_FOUND, CODE_UNIMPLEMENTED,
				"only spans are received, by TraceService/Export");
	else if (!call->is_encoding_known)
		delivery_refuse(d, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, CODE_UNIMPLEMENTED,
				"grpc-encoding must be gzip or identity");
	else if (pending_is_full(&call->server->inbox.to))
		delivery_refuse(d, MHD_HTTP_TOO_MANY_REQUESTS, CODE_UNAVAILABLE,
				"too many requests are under way");
	if (d->status)
		call_answer(call);
}

static int on_begin(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct grpc_call *call;

	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	call = call_add(arg, frame->hd.stream_id);
	if (!call)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, call);
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	bool is_headers = frame->hd.type == NGHTTP2_HEADERS;
	struct grpc_call *call;

	if (!is_headers && frame->hd.type != NGHTTP2_DATA)
		return 0;
	call = call_of(session, frame->hd.stream_id);
	if (!call)
		return 0;
	if (is_headers && !call->is_open)
		call_open(call);
	if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		call_finish(call);
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data,
		   size_t bytes, void *arg)
{
	struct grpc_call *call = call_of(session, stream);

	if (!call || !call->is_open || call->is_whole)
		return 0;
	grpc_message_add(&call->message, &call->delivery, data, bytes);
	if (call->delivery.status)
		call_answer(call);
	return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t code, void *arg)
{
	struct grpc_call *call = call_of(session, stream);

	if (call)
		grpc_call_drop(call);
	return 0;
}

/* A call that was answered before it was whole sends no more. */
static int on_sent(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	int32_t stream = frame->hd.stream_id;

	if (frame->hd.type == NGHTTP2_HEADERS && frame->hd.flags & NGHTTP2_FLAG_END_STREAM &&
	    nghttp2_session_get_stream_remote_close(session, stream) == 0)
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream, NGHTTP2_NO_ERROR);
	return 0;
}

int grpc_callbacks_make(nghttp2_session_callbacks **out)
{
	nghttp2_session_callbacks *callbacks;

	if (nghttp2_session_callbacks_new(&callbacks))
		return -ENOMEM;
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
	nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_sent);
	*out = callbacks;
	return 0;
}
