/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts on the wire: W3C Trace Context (level 1 and 2), B3, and our binary form.
 *
 * No input is trusted. A parser reads a byte only after it has seen that the one before is not the
 * NUL. It fills a local context, which is copied to the caller at the end.
 */
#include <errno.h>
#include <fathom/fathom.h>
#include <string.h>

#define WIRE_FLAGS (FATHOM_SAMPLED | FATHOM_RANDOM)

static const char digits[] = "0123456789abcdef";

static char *hex_write(char *out, const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		*out++ = digits[bytes[i] >> 4];
		*out++ = digits[bytes[i] & 15];
	}
	return out;
}

/* The value of a digit, -1: it is none. W3C allows small letters only; B3 is used with both. */
static int hex_digit(char c, bool capitals)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (capitals && c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Reads 2 * count digits. Returns the place behind them, NULL if one is no digit. */
static const char *hex_read(const char *text, uint8_t *out, size_t count, bool capitals)
{
	for (size_t i = 0; i < count; i++) {
		int high = hex_digit(text[0], capitals), low;

		if (high < 0)
			return NULL;
		low = hex_digit(text[1], capitals);
		if (low < 0)
			return NULL;
		out[i] = (uint8_t)(high << 4 | low);
		text += 2;
	}
	return text;
}

static bool is_zero(const uint8_t *bytes, size_t count)
{
	uint8_t any = 0;

	for (size_t i = 0; i < count; i++)
		any |= bytes[i];
	return any == 0;
}

static bool has_ids(const struct fathom_context *c)
{
	return c && !is_zero(c->trace_id, 16) && !is_zero(c->span_id, 8);
}

int fathom_inject_traceparent(const struct fathom_context *context,
			      char out[FATHOM_TRACEPARENT_BYTES])
{
	uint8_t flags;

	if (!has_ids(context) || !out)
		return -EINVAL;
	flags = context->flags & WIRE_FLAGS;
	memcpy(out, "00-", 3);
	out = hex_write(out + 3, context->trace_id, 16);
	*out++ = '-';
	out = hex_write(out, context->span_id, 8);
	*out++ = '-';
	out = hex_write(out, &flags, 1);
	*out = '\0';
	return 0;
}

int fathom_extract_traceparent(const char *text, struct fathom_context *out)
{
	struct fathom_context c = {0};
	uint8_t version, flags;

	if (!text || !out)
		return -EINVAL;
	text = hex_read(text, &version, 1, false);
	if (!text || version == 0xff || *text++ != '-')
		return -EINVAL;
	text = hex_read(text, c.trace_id, 16, false);
	if (!text || *text++ != '-')
		return -EINVAL;
	text = hex_read(text, c.span_id, 8, false);
	if (!text || *text++ != '-')
		return -EINVAL;
	text = hex_read(text, &flags, 1, false);
	/* later versions may have more fields behind another dash */
	if (!text || (*text && (version == 0 || *text != '-')) || !has_ids(&c))
		return -EINVAL;
	c.flags = flags & WIRE_FLAGS;
	*out = c;
	return 0;
}

/* Converts '1', '0' and 'd' to flags; -1 for other characters. */
static int b3_decision(char c)
{
	switch (c) {
	case '1':
		return FATHOM_SAMPLED;
	case '0':
		return 0;
	case 'd':
		return FATHOM_SAMPLED | FATHOM_DEBUG_TRACE;
	}
	return -1;
}

/* Reads a trace id of 16 or 32 digits; a short one is in the last bytes. The place behind, or NULL.
 */
static const char *b3_trace_read(const char *text, uint8_t trace[16])
{
	const char *half = hex_read(text, trace + 8, 8, true);

	if (!half || hex_digit(*half, true) < 0)
		return half;
	memcpy(trace, trace + 8, 8);
	return hex_read(half, trace + 8, 8, true);
}

int fathom_inject_b3(const struct fathom_context *context, char out[FATHOM_B3_BYTES])
{
	if (!has_ids(context) || !out)
		return -EINVAL;
	out = hex_write(out, context->trace_id, 16);
	*out++ = '-';
	out = hex_write(out, context->span_id, 8);
	if (!(context->flags & FATHOM_DEFERRED)) {
		*out++ = '-';
		*out++ = context->flags & FATHOM_DEBUG_TRACE ? 'd'
			 : context->flags & FATHOM_SAMPLED   ? '1'
							     : '0';
		if (!is_zero(context->parent_id, 8)) {
			*out++ = '-';
			out = hex_write(out, context->parent_id, 8);
		}
	}
	*out = '\0';
	return 0;
}

/* Reads the rest behind the span id: nothing, "-decision", or "-decision-parent". */
static int b3_tail_read(const char *text, struct fathom_context *c)
{
	int decision;

	if (*text == '\0') {
		c->flags = FATHOM_DEFERRED;
		return 0;
	}
	if (*text++ != '-')
		return -EINVAL;
	decision = b3_decision(*text);
	if (decision < 0)
		return -EINVAL;
	c->flags = (uint8_t)decision;
	text++;
	if (*text == '\0')
		return 0;
	if (*text++ != '-')
		return -EINVAL;
	text = hex_read(text, c->parent_id, 8, true);
	return text && *text == '\0' ? 0 : -EINVAL;
}

/* A decision without ids: FATHOM_RANDOM keeps "0" apart from no context at all. */
static struct fathom_context b3_decision_only(int decision)
{
	struct fathom_context c = {.flags = (uint8_t)(decision | FATHOM_RANDOM)};

	return c;
}

int fathom_extract_b3(const char *text, struct fathom_context *out)
{
	struct fathom_context c = {0};

	if (!text || !out || *text == '\0')
		return -EINVAL;
	if (text[1] == '\0') {
		if (b3_decision(*text) < 0)
			return -EINVAL;
		*out = b3_decision_only(b3_decision(*text));
		return 0;
	}
	text = b3_trace_read(text, c.trace_id);
	if (!text || *text++ != '-')
		return -EINVAL;
	text = hex_read(text, c.span_id, 8, true);
	if (!text || b3_tail_read(text, &c) < 0 || !has_ids(&c))
		return -EINVAL;
	*out = c;
	return 0;
}

int fathom_inject_b3_headers(const struct fathom_context *context, struct fathom_b3_headers *out)
{
	if (!has_ids(context) || !out)
		return -EINVAL;
	memset(out, 0, sizeof(*out));
	hex_write(out->trace_id, context->trace_id, 16);
	hex_write(out->span_id, context->span_id, 8);
	if (!is_zero(context->parent_id, 8))
		hex_write(out->parent_id, context->parent_id, 8);
	if (context->flags & FATHOM_DEBUG_TRACE)
		out->flags[0] = '1';
	else if (!(context->flags & FATHOM_DEFERRED))
		out->sampled[0] = context->flags & FATHOM_SAMPLED ? '1' : '0';
	return 0;
}

/* The decision of the headers, as flags; -1 if they are not well formed. */
static int b3_headers_decision(const struct fathom_b3_received *h)
{
	if (h->flags && strcmp(h->flags, "1") == 0)
		return FATHOM_SAMPLED | FATHOM_DEBUG_TRACE;
	if (!h->sampled)
		return FATHOM_DEFERRED;
	if (strcmp(h->sampled, "1") == 0 || strcmp(h->sampled, "true") == 0)
		return FATHOM_SAMPLED;
	if (strcmp(h->sampled, "0") == 0 || strcmp(h->sampled, "false") == 0)
		return 0;
	return -1;
}

int fathom_extract_b3_headers(const struct fathom_b3_received *headers, struct fathom_context *out)
{
	struct fathom_context c = {0};
	const char *end;
	int decision;

	if (!headers || !out)
		return -EINVAL;
	decision = b3_headers_decision(headers);
	if (decision < 0)
		return -EINVAL;
	if (!headers->trace_id && !headers->span_id && !headers->parent_id &&
	    decision != FATHOM_DEFERRED) {
		*out = b3_decision_only(decision);
		return 0;
	}
	if (!headers->trace_id || !headers->span_id)
		return -EINVAL;
	end = b3_trace_read(headers->trace_id, c.trace_id);
	if (!end || *end)
		return -EINVAL;
	end = hex_read(headers->span_id, c.span_id, 8, true);
	if (!end || *end || !has_ids(&c))
		return -EINVAL;
	if (headers->parent_id) {
		end = hex_read(headers->parent_id, c.parent_id, 8, true);
		if (!end || *end)
			return -EINVAL;
	}
	c.flags = (uint8_t)decision;
	*out = c;
	return 0;
}

int fathom_inject_binary(const struct fathom_context *context, uint8_t out[FATHOM_BINARY_BYTES])
{
	if (!has_ids(context) || !out)
		return -EINVAL;
	out[0] = 0;
	memcpy(out + 1, context->trace_id, 16);
	memcpy(out + 17, context->span_id, 8);
	memcpy(out + 25, context->parent_id, 8);
	out[33] = context->flags;
	return 0;
}

int fathom_extract_binary(const void *data, size_t bytes, struct fathom_context *out)
{
	const uint8_t *in = data;
	struct fathom_context c = {0};

	/* a later version may be longer, but begins with the same fields */
	if (!in || !out || bytes < FATHOM_BINARY_BYTES ||
	    (in[0] == 0 && bytes != FATHOM_BINARY_BYTES) || in[0] == 0xff)
		return -EINVAL;
	memcpy(c.trace_id, in + 1, 16);
	memcpy(c.span_id, in + 17, 8);
	memcpy(c.parent_id, in + 25, 8);
	c.flags = in[33] & (WIRE_FLAGS | FATHOM_DEFERRED | FATHOM_DEBUG_TRACE);
	if (!has_ids(&c))
		return -EINVAL;
	*out = c;
	return 0;
}
