/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/claim.h"

#include <string.h>

static void text_put(struct bytes *to, const char *text)
{
	size_t bytes = strnlen(text, CLAIM_TEXT_BYTES);

	while (bytes && text[bytes] && ((unsigned char)text[bytes] & 0xc0) == 0x80)
		bytes--; /* not within a letter */
	bytes_put_u8(to, (uint8_t)bytes);
	bytes_put(to, text, bytes);
	bytes_put_u8(to, 0);
}

static const char *text_get(struct bytes_reader *r)
{
	size_t bytes = bytes_get_u8(r);
	const char *text = bytes_get(r, bytes + 1);

	if (text && (text[bytes] || strlen(text) != bytes))
		r->failed = true;
	return text ? text : "";
}

void claim_put(struct bytes *to, const struct claim *c)
{
	bytes_put_u64(to, c->trace.high);
	bytes_put_u64(to, c->trace.low);
	bytes_put_u64(to, c->span_id);
	bytes_put_u64(to, c->parent_id);
	bytes_put_u64(to, c->begin_ns);
	bytes_put_u64(to, c->end_ns);
	bytes_put_u32(to, c->pid);
	bytes_put_u32(to, c->tid);
	bytes_put_u8(to, c->kind);
	bytes_put_u8(to, c->flags);
	text_put(to, c->service);
	text_put(to, c->name);
	text_put(to, c->thread);
}

bool claim_get(struct bytes_reader *r, struct claim *c)
{
	if (r->failed || r->at == r->end)
		return false;
	*c = (struct claim){.trace = {bytes_get_u64(r), 0}};
	c->trace.low = bytes_get_u64(r);
	c->span_id = bytes_get_u64(r);
	c->parent_id = bytes_get_u64(r);
	c->begin_ns = bytes_get_u64(r);
	c->end_ns = bytes_get_u64(r);
	c->pid = bytes_get_u32(r);
	c->tid = bytes_get_u32(r);
	c->kind = bytes_get_u8(r);
	c->flags = bytes_get_u8(r);
	c->service = text_get(r);
	c->name = text_get(r);
	c->thread = text_get(r);
	return !r->failed;
}
