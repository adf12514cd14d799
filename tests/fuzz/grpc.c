/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a call of gRPC: what it comes to does not depend on the pieces in which it comes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "serve/grpc_message.h"

#define LIMIT_BYTES 10000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static atomic_size_t pending;
static const struct receive_limits limits = {.body_bytes = LIMIT_BYTES, .pending_bytes = 1 << 20};
static struct inbox inbox;

static void take(struct delivery *d, const uint8_t *call, size_t bytes, size_t piece,
		 bool may_be_gzip)
{
	struct grpc_message m = {.may_be_gzip = may_be_gzip};

	delivery_begin(d, &inbox, protocol_otlp.intakes, false);
	for (size_t at = 0; at < bytes; at += piece)
		grpc_message_add(&m, d, call + at, bytes - at < piece ? bytes - at : piece);
	grpc_message_finish(&m, d);
}

static void text_check(const struct delivery *d)
{
	char text[GRPC_TEXT_BYTES];

	grpc_text_encode(text, d->why);
	for (const char *at = text; *at; at++) {
		if (*at < ' ' || *at > '~')
			abort();
	}
}

/* The first byte says whether there may be gzip, and how long the pieces are. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct destination to = {.limits = &limits, .pending_bytes = &pending};
	struct delivery whole = {0}, parts = {0};

	if (!size)
		return 0;
	if (!inbox.to.limits)
		inbox_init(&inbox, &to);
	take(&whole, data + 1, size - 1, size, *data & 1);
	take(&parts, data + 1, size - 1, (*data >> 1) + 1u, *data & 1);
	if (!whole.status != !parts.status || whole.body.bytes.count > LIMIT_BYTES)
		abort();
	if (!whole.status &&
	    (whole.body.bytes.count != parts.body.bytes.count ||
	     (whole.body.bytes.count &&
	      memcmp(whole.body.bytes.data, parts.body.bytes.data, whole.body.bytes.count) != 0)))
		abort();
	text_check(&whole);
	delivery_drop(&whole);
	delivery_drop(&parts);
	if (pending)
		abort();
	return 0;
}
