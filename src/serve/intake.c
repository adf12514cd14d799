/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/intake.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "serve/answer.h"
#include "wire/otlp.h"
#include "wire/otlp_json.h"
#include "wire/zipkin.h"

static const char ids_missing[] = "spans need a trace id and a span id that are not zero";

static int protobuf_check(struct bytes *body, struct intake_counts *counts, struct error *e)
{
	struct otlp_walk walk;
	int err = otlp_walk(body->data, body->count, &walk, e);

	counts->spans = walk.spans;
	counts->rejected = walk.rejected.count;
	otlp_walk_free(&walk);
	return err;
}

static int json_check(struct bytes *body, struct intake_counts *counts, struct error *e)
{
	struct bytes converted = {0};
	int err = otlp_from_json(body->data, body->count, &converted, e);

	if (err) {
		bytes_free(&converted);
		return err;
	}
	bytes_free(body);
	*body = converted;
	return protobuf_check(body, counts, e);
}

static void bytes_field(struct bytes *b, unsigned int number, const void *data, size_t bytes)
{
	bytes_put_varint(b, number << 3 | 2);
	bytes_put_varint(b, bytes);
	bytes_put(b, data, bytes);
}

static void number_field(struct bytes *b, unsigned int number, uint64_t value)
{
	bytes_put_varint(b, number << 3);
	bytes_put_varint(b, value);
}

/* ExportTraceServiceResponse */
static void protobuf_accepted(struct bytes *body, const struct intake_counts *counts)
{
	struct bytes partial = {0};

	if (!counts->rejected)
		return;
	number_field(&partial, 1, counts->rejected);
	bytes_field(&partial, 2, ids_missing, strlen(ids_missing));
	bytes_field(body, 1, partial.data, partial.count);
	bytes_free(&partial);
}

/* Status */
static void protobuf_refused(struct bytes *body, int code, const char *why)
{
	number_field(body, 1, (uint64_t)code);
	bytes_field(body, 2, why, strlen(why));
}

static void json_accepted(struct bytes *body, const struct intake_counts *counts)
{
	char number[24];
	struct json j;

	json_init_bytes(&j, body);
	json_object_begin(&j, NULL);
	if (counts->rejected) {
		/* numbers of 64 bits are texts in the JSON of protobuf */
		snprintf(number, sizeof(number), "%llu", (unsigned long long)counts->rejected);
		json_object_begin(&j, "partialSuccess");
		json_string(&j, "rejectedSpans", number);
		json_string(&j, "errorMessage", ids_missing);
		json_object_end(&j);
	}
	json_object_end(&j);
	json_end(&j);
}

static void json_refused(struct bytes *body, int code, const char *why)
{
	struct json j;

	json_init_bytes(&j, body);
	json_object_begin(&j, NULL);
	json_s64(&j, "code", code);
	json_string(&j, "message", why);
	json_object_end(&j);
	json_end(&j);
}

static const struct intake otlp_intakes[] = {{.type = "application/x-protobuf",
					      .kind = ENTRY_OTLP_PROTOBUF,
					      .check = protobuf_check,
					      .accepted_status = MHD_HTTP_OK,
					      .answer_type = "application/x-protobuf",
					      .accepted = protobuf_accepted,
					      .refused = protobuf_refused},
					     {.type = "application/json",
					      .kind = ENTRY_OTLP_PROTOBUF,
					      .check = json_check,
					      .accepted_status = MHD_HTTP_OK,
					      .answer_type = "application/json",
					      .accepted = json_accepted,
					      .refused = json_refused},
					     {0}};

const struct protocol protocol_otlp = {
	"/v1/traces", otlp_intakes, "only spans are received, at /v1/traces",
	"the content type must be application/x-protobuf or application/json"};

static int zipkin_check(struct bytes *body, struct intake_counts *counts, struct error *e)
{
	return zipkin_walk(body->data, body->count, &counts->spans, e);
}

static void zipkin_accepted(struct bytes *body, const struct intake_counts *counts)
{
}

static void zipkin_refused(struct bytes *body, int code, const char *why)
{
	bytes_put(body, why, strlen(why));
	bytes_put_u8(body, '\n');
}

static const struct intake zipkin_intakes[] = {{.type = "application/json",
						.kind = ENTRY_ZIPKIN_JSON,
						.check = zipkin_check,
						.accepted_status = MHD_HTTP_ACCEPTED,
						.answer_type = "text/plain; charset=utf-8",
						.accepted = zipkin_accepted,
						.refused = zipkin_refused},
					       {0}};

const struct protocol protocol_zipkin = {"/api/v2/spans", zipkin_intakes,
					 "spans are received at /api/v2/spans",
					 "the content type must be application/json"};
