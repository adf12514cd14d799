/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/page_first.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "serve/page.h"

#define BLOCK_BYTES 65536
#define BODY_END "</body>"
#define LAST_USUAL "5m" /* as the page has it */

struct first {
	const struct api_source *source;
	const struct route *overview;
	struct MHD_Connection *connection;
	char last[8];
	struct bytes text, tail; /* to send, and the end of the page */
	size_t sent;
	size_t taken; /* of the memory of answers */
	z_stream gzip;
	bool is_packed, is_asked;
};

static void text_put(struct bytes *to, const char *text)
{
	bytes_put(to, text, strlen(text));
}

/* JSON has this sign in texts alone, and without it no text ends the block. */
static void block_put(struct bytes *to, const struct bytes *json)
{
	const unsigned char *at = json->data, *end = at + json->count, *sign;

	for (; (sign = memchr(at, '<', (size_t)(end - at))); at = sign + 1) {
		bytes_put(to, at, (size_t)(sign - at));
		text_put(to, "\\u003c");
	}
	bytes_put(to, at, (size_t)(end - at));
}

/* Compresses the text, for a client that reads such; all of it can be read then. */
static void pack(struct first *f, int flush)
{
	unsigned char piece[16384];
	struct bytes plain = f->text;

	if (!f->is_packed)
		return;
	f->text = (struct bytes){.failed = plain.failed};
	f->gzip.next_in = plain.data;
	f->gzip.avail_in = (uInt)plain.count;
	do {
		f->gzip.next_out = piece;
		f->gzip.avail_out = sizeof(piece);
		deflate(&f->gzip, flush);
		bytes_put(&f->text, piece, sizeof(piece) - f->gzip.avail_out);
	} while (!f->gzip.avail_out);
	bytes_free(&plain);
}

/* Makes the answer, and the rest of the page. */
static void rest_make(struct first *f)
{
	struct pool pool = {.limit_bytes = ANSWER_BYTES_MAX, .quota = f->source->spans};
	struct bytes body = {0};
	struct error e = {0};
	struct query q = {.connection = f->connection,
			  .source = f->source,
			  .word = f->last,
			  .method = "GET",
			  .pool = &pool,
			  .body = &body,
			  .e = &e};
	int status = f->overview->answer(&q);

	f->text.count = f->sent = 0;
	if (status == MHD_HTTP_OK && !body.failed &&
	    quota_take(f->source->answers, 2 * body.capacity)) {
		f->taken = 2 * body.capacity;
		block_put(&f->text, &body);
	}
	bytes_put(&f->text, f->tail.data, f->tail.count);
	pack(f, Z_FINISH);
	bytes_free(&body);
	pool_free(&pool);
}

static ssize_t first_read(void *arg, uint64_t position, char *to, size_t most)
{
	struct first *f = arg;
	size_t n;

	if (f->sent == f->text.count && !f->is_asked) {
		f->is_asked = true;
		rest_make(f);
	}
	if (f->text.failed)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	n = f->text.count - f->sent;
	if (!n)
		return MHD_CONTENT_READER_END_OF_STREAM;
	n = n < most ? n : most;
	memcpy(to, f->text.data + f->sent, n);
	f->sent += n;
	return (ssize_t)n;
}

static void first_free(void *arg)
{
	struct first *f = arg;

	quota_give(f->source->answers, f->taken);
	if (f->is_packed)
		deflateEnd(&f->gzip);
	bytes_free(&f->text);
	bytes_free(&f->tail);
	free(f);
}

/* Cuts the text of the page where the block stands, which it begins. False: there is no such place.
 */
static bool page_cut(struct first *f)
{
	char begin[160];
	unsigned char *end;

	bytes_put_u8(&f->text, '\0');
	end = f->text.failed ? NULL : (unsigned char *)strstr((char *)f->text.data, BODY_END);
	if (!end)
		return false;
	text_put(&f->tail, "</script>\n");
	text_put(&f->tail, (const char *)end);
	f->text.count = (size_t)(end - f->text.data);
	snprintf(begin, sizeof(begin),
		 "<script type=\"application/json\" id=\"answer\" "
		 "data-path=\"/api/v1/overview?from=%s\">",
		 f->last);
	text_put(&f->text, begin);
	pack(f, Z_SYNC_FLUSH);
	return !f->text.failed && !f->tail.failed;
}

/* The time that the overview shows: a short one such as 15m. False: its answer is another one. */
static bool last_read(struct MHD_Connection *connection, char last[8])
{
	const char *asked = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "last");
	const char *text = asked && *asked ? asked : LAST_USUAL;
	size_t digits = strspn(text, "0123456789");

	if (MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "from") || !digits ||
	    digits > 4 || !strchr("smhd", text[digits]) || strlen(text) != digits + 1)
		return false;
	snprintf(last, 8, "%s", text);
	return true;
}

bool page_first_answer(const struct page *page, struct MHD_Connection *connection,
		       const struct api_source *source, const struct route *overview)
{
	struct first *f = calloc(1, sizeof(*f));
	struct MHD_Response *response = NULL;
	bool queued;

	if (!f)
		return false;
	*f = (struct first){.source = source, .overview = overview, .connection = connection};
	f->is_packed = page_takes_gzip(connection) &&
		       deflateInit2(&f->gzip, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + 16,
				    MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK;
	if (overview && last_read(connection, f->last) && page_index(page, &f->text) == 0 &&
	    page_cut(f))
		response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES,
							     first_read, f, first_free);
	if (!response) {
		first_free(f);
		return false;
	}
	page_headers_add(response, f->is_packed);
	queued = MHD_queue_response(connection, MHD_HTTP_OK, response) == MHD_YES;
	MHD_destroy_response(response);
	return queued;
}
