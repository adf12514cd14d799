/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/delivery.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

/* Decoded, a small span takes ten times as much memory as in its request. */
#define SPANS_MAX 131072

void inbox_init(struct inbox *inbox, const struct destination *to)
{
	*inbox = (struct inbox){.to = *to};
	pthread_mutex_init(&inbox->appending, NULL);
}

void inbox_free(struct inbox *inbox)
{
	bytes_free(&inbox->entry);
	pthread_mutex_destroy(&inbox->appending);
}

void delivery_begin(struct delivery *d, struct inbox *inbox, const struct intake *intake,
		    bool is_gzip)
{
	d->inbox = inbox;
	d->intake = intake;
	body_begin(&d->body, inbox->to.limits->body_bytes, is_gzip);
}

void delivery_refuse(struct delivery *d, unsigned int status, int code, const char *why)
{
	if (d->status)
		return;
	d->status = status;
	d->code = code;
	snprintf(d->why, sizeof(d->why), "%s", why);
}

/* Counts the memory of a body: the limit is for all requests under way. */
static void pending_count(struct delivery *d)
{
	const struct destination *to = &d->inbox->to;
	size_t memory = body_memory(&d->body), more = memory - d->counted;

	d->counted = memory;
	if (atomic_fetch_add(to->pending_bytes, more) + more > to->limits->pending_bytes)
		delivery_refuse(d, MHD_HTTP_TOO_MANY_REQUESTS, CODE_UNAVAILABLE,
				"too many requests are under way");
}

void delivery_too_large(struct delivery *d)
{
	size_t limit = d->inbox->to.limits->body_bytes;
	char why[sizeof(d->why)];

	if (limit >= 1 << 20)
		snprintf(why, sizeof(why), "the request has more than %zu MB after decompression",
			 limit >> 20);
	else
		snprintf(why, sizeof(why), "the request has more than %zu B after decompression",
			 limit);
	delivery_refuse(d, MHD_HTTP_CONTENT_TOO_LARGE, CODE_RESOURCE_EXHAUSTED, why);
}

void delivery_add(struct delivery *d, const void *data, size_t bytes)
{
	int err;

	if (d->status)
		return;
	err = body_add(&d->body, data, bytes);
	if (err == -EFBIG)
		delivery_too_large(d);
	else if (err == -EBADMSG)
		delivery_refuse(d, MHD_HTTP_BAD_REQUEST, CODE_INVALID_ARGUMENT,
				"the body is no gzip");
	else if (err)
		delivery_refuse(d, MHD_HTTP_SERVICE_UNAVAILABLE, CODE_UNAVAILABLE, "out of memory");
	pending_count(d);
	if (d->status)
		delivery_drop(d);
}

static void append_refuse(struct delivery *d, int err)
{
	if (err == -ENOSPC || err == -EDQUOT)
		delivery_refuse(d, MHD_HTTP_TOO_MANY_REQUESTS, CODE_UNAVAILABLE,
				"the disk is full");
	else
		delivery_refuse(d, MHD_HTTP_SERVICE_UNAVAILABLE, CODE_UNAVAILABLE,
				"the log cannot be written");
}

static void entry_append(struct delivery *d)
{
	const struct bytes *body = &d->body.bytes;
	struct inbox *inbox = d->inbox;
	struct log_part part;
	int err;

	if (atomic_load(&inbox->to.counts->is_full)) {
		append_refuse(d, -ENOSPC);
		return;
	}
	pthread_mutex_lock(&inbox->appending);
	err = entry_encode(&inbox->entry, d->intake->kind, body->data, body->count);
	entry_connection_set(&inbox->entry, d->connection);
	part = (struct log_part){inbox->entry.data, inbox->entry.count};
	err = err ? err : log_append(inbox->to.log, &part, 1, &d->end);
	pthread_mutex_unlock(&inbox->appending);
	if (err)
		append_refuse(d, err);
}

void delivery_finish(struct delivery *d)
{
	struct error e = {0};
	int err = 0;

	if (!d->status && body_finish(&d->body))
		delivery_refuse(d, MHD_HTTP_BAD_REQUEST, CODE_INVALID_ARGUMENT, "the gzip is cut");
	if (!d->status)
		err = d->intake->check(&d->body.bytes, &d->spans, &e);
	if (err == -ENOMEM)
		delivery_refuse(d, MHD_HTTP_SERVICE_UNAVAILABLE, CODE_UNAVAILABLE, "out of memory");
	else if (err)
		delivery_refuse(d, MHD_HTTP_BAD_REQUEST, CODE_INVALID_ARGUMENT, e.text);
	if (!d->status && d->spans.spans > SPANS_MAX)
		delivery_refuse(d, MHD_HTTP_CONTENT_TOO_LARGE, CODE_RESOURCE_EXHAUSTED,
				"the request has more than 131072 spans");
	if (!d->status && d->spans.spans > d->spans.rejected)
		entry_append(d);
	if (d->end)
		senders_hold(d->inbox->to.senders, d->connection);
	delivery_drop(d);
}

void delivery_synced(struct delivery *d, int err)
{
	if (err)
		append_refuse(d, err);
}

void delivery_answer(struct delivery *d, struct bytes *body)
{
	struct counts *counts = d->inbox->to.counts;
	const struct sender_request request = {
		.is_refused = d->status,
		.spans = d->status ? 0 : d->spans.spans - d->spans.rejected,
		.rejected = d->status ? 0 : d->spans.rejected};

	senders_request(d->inbox->to.senders, d->connection, &request);
	if (d->status) {
		d->intake->refused(body, d->code, d->why);
		atomic_fetch_add(&counts->requests_refused, 1);
		return;
	}
	d->intake->accepted(body, &d->spans);
	atomic_fetch_add(&counts->requests_accepted, 1);
	atomic_fetch_add(&counts->spans_accepted, d->spans.spans - d->spans.rejected);
	atomic_fetch_add(&counts->spans_rejected, d->spans.rejected);
}

void delivery_drop(struct delivery *d)
{
	if (!d->inbox)
		return;
	atomic_fetch_sub(d->inbox->to.pending_bytes, d->counted);
	d->counted = 0;
	body_free(&d->body);
}
