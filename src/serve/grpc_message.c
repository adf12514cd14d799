/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/grpc_message.h"

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

static void malformed(struct delivery *d, const char *why)
{
	delivery_refuse(d, MHD_HTTP_BAD_REQUEST, CODE_INVALID_ARGUMENT, why);
	delivery_drop(d);
}

/* The head is whole. */
static void head_take(struct grpc_message *m, struct delivery *d)
{
	const unsigned char *head = m->head;
	size_t limit = d->inbox->to.limits->body_bytes;

	m->left = (uint32_t)head[1] << 24 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 8 |
		  head[4];
	if (head[0] > 1)
		malformed(d, "the message begins with no flag of gRPC");
	else if (head[0] == 1 && !m->may_be_gzip)
		malformed(d, "the message is compressed, and grpc-encoding does not say how");
	else if (m->left > limit)
		delivery_too_large(d);
	else
		d->body.is_gzip = head[0] == 1;
}

void grpc_message_add(struct grpc_message *m, struct delivery *d, const void *data, size_t bytes)
{
	const unsigned char *at = data;

	while (bytes && !d->status && m->head_bytes < GRPC_HEAD_BYTES) {
		m->head[m->head_bytes++] = *at++;
		bytes--;
		if (m->head_bytes == GRPC_HEAD_BYTES)
			head_take(m, d);
	}
	if (!bytes || d->status)
		return;
	if (bytes > m->left) {
		malformed(d, "the call has more than one message");
		return;
	}
	m->left -= (uint32_t)bytes;
	delivery_add(d, at, bytes);
}

void grpc_message_finish(const struct grpc_message *m, struct delivery *d)
{
	if (!d->status && (m->head_bytes < GRPC_HEAD_BYTES || m->left))
		malformed(d, "the message is cut");
}

void grpc_head_encode(unsigned char head[GRPC_HEAD_BYTES], size_t bytes)
{
	head[0] = 0;
	head[1] = (unsigned char)(bytes >> 24);
	head[2] = (unsigned char)(bytes >> 16);
	head[3] = (unsigned char)(bytes >> 8);
	head[4] = (unsigned char)bytes;
}

void grpc_text_encode(char out[GRPC_TEXT_BYTES], const char *text)
{
	char *at = out;

	for (; *text && at < out + GRPC_TEXT_BYTES - 4; text++) {
		unsigned char c = (unsigned char)*text;

		if (c >= ' ' && c <= '~' && c != '%')
			*at++ = *text;
		else
			at += snprintf(at, 4, "%%%02X", c);
	}
	*at = '\0';
}
