/* SPDX-License-Identifier: Apache-2.0 */
/* Pins (up/pins.h): what is kept of the recording when the rest is deleted. */
#include <errno.h>
#include <string.h>

#include "serve/answer.h"
#include "serve/own.h"

static int answer_end(struct query *q, struct json *j, int err, int status)
{
	json_object_end(j);
	if (json_end(j) || err == -ENOMEM)
		return -ENOMEM;
	if (!err)
		return status;
	q->body->count = 0;
	return own_error(q,
			 err == -ENOENT	 ? MHD_HTTP_NOT_FOUND
			 : err == -E2BIG ? MHD_HTTP_BAD_REQUEST
					 : MHD_HTTP_INTERNAL_SERVER_ERROR,
			 q->e->text);
}

static void answer_begin(struct query *q, struct json *j)
{
	json_init_bytes(j, q->body);
	json_object_begin(j, NULL);
	json_u64(j, "version", 1);
}

static int pins_list(struct query *q, const struct serve_pins *pins)
{
	struct json j;
	int err = 0;

	answer_begin(q, &j);
	json_array_begin_lines(&j, "pins");
	if (pins)
		err = pins->list(pins->arg, &j, q->e);
	json_array_end(&j);
	return answer_end(q, &j, err, MHD_HTTP_OK);
}

/* The time of a trace. -ENOENT: it has no span. */
static int trace_range(struct query *q, struct trace_id id, struct pin_request *request)
{
	const struct store_ids ids = {&id, 1, 1};
	struct received_batch batch = {0};
	int err = traces_joined(q, &ids, &batch);

	for (size_t i = 0; i < batch.count && !err; i++) {
		const struct received_span *span = &batch.data[i];

		if (!request->from_ns || span->begin_ns < request->from_ns)
			request->from_ns = span->begin_ns;
		if (span->end_ns > request->to_ns)
			request->to_ns = span->end_ns;
	}
	if (!err && !batch.count)
		err = -ENOENT;
	vec_free(&batch);
	return err;
}

static int pin_add(struct query *q, const struct serve_pins *pins)
{
	const char *trace = query_value(q, "trace");
	char text[TRACE_ID_BYTES] = "";
	struct pin_request request = {.trace = text, .why = PIN_ASKED};
	struct trace_id id;
	struct json j;
	int err = 0;

	if (trace && !trace_id_parse(trace, &id))
		return own_error(q, MHD_HTTP_BAD_REQUEST, "a trace id has 1 to 32 hex digits");
	if (trace) {
		trace_id_text(text, id);
		err = trace_range(q, id, &request);
	} else {
		request.to_ns = own_now_ns();
		if (!own_range(q, &request.from_ns, &request.to_ns))
			return own_error(q, MHD_HTTP_BAD_REQUEST, OWN_RANGE_WHY);
		if (!request.from_ns || request.from_ns >= request.to_ns)
			return own_error(q, MHD_HTTP_BAD_REQUEST,
					 "trace=ID or a range from=T&to=T says what to pin");
	}
	if (err == -ENOENT)
		return own_error(q, MHD_HTTP_NOT_FOUND, "no span has this trace id");
	if (err)
		return err;
	answer_begin(q, &j);
	err = pins->make(pins->arg, &request, &j, q->e);
	return answer_end(q, &j, err, MHD_HTTP_CREATED);
}

static int pin_delete(struct query *q, const struct serve_pins *pins)
{
	const char *name = query_value(q, "name");
	struct json j;

	if (!name)
		return own_error(q, MHD_HTTP_BAD_REQUEST, "name=NAME says which pin");
	answer_begin(q, &j);
	json_string(&j, "removed", name);
	return answer_end(q, &j, pins->remove(pins->arg, name, q->e), MHD_HTTP_OK);
}

int own_pins(struct query *q)
{
	const struct serve_pins *pins = q->source->more ? q->source->more->pins : NULL;

	if (strcmp(q->method, "GET") == 0 || strcmp(q->method, "HEAD") == 0)
		return pins_list(q, pins);
	if (!pins)
		return own_error(q, MHD_HTTP_NOT_FOUND,
				 "nothing is recorded here: only 'fathom up' has chunks to pin");
	if (strcmp(q->method, "POST") == 0)
		return pin_add(q, pins);
	if (strcmp(q->method, "DELETE") == 0)
		return pin_delete(q, pins);
	return own_error(q, MHD_HTTP_METHOD_NOT_ALLOWED, "GET, POST and DELETE are answered here");
}
