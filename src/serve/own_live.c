/* SPDX-License-Identifier: Apache-2.0 */
/* New spans as they are stored: /api/v1/live. */
#include <string.h>

#include "base/units.h"
#include "serve/answer.h"
#include "serve/live.h"
#include "serve/own.h"

int own_live(struct query *q)
{
	struct live_filter filter = {.service = query_value(q, "service"),
				     .operation = query_value(q, "operation"),
				     .kind = -1};
	const char *kind = query_value(q, "kind"), *error = query_value(q, "error");
	const char *least = query_value(q, "min_duration");

	if (kind && (filter.kind = received_kind_parse(kind)) < 0)
		return own_error(q, MHD_HTTP_BAD_REQUEST,
				 "kind is internal, server, client, producer or consumer");
	if (error && strcmp(error, "true") != 0)
		return own_error(q, MHD_HTTP_BAD_REQUEST, "error may only be true");
	filter.is_error = error != NULL;
	if (least && units_parse_duration(least, &filter.duration_from_ns))
		return own_error(q, MHD_HTTP_BAD_REQUEST, "min_duration is a time such as 5ms");
	q->response = live_listen(q->source->live, q->connection, &filter);
	if (!q->response)
		return own_error(q, MHD_HTTP_SERVICE_UNAVAILABLE, "too many clients listen");
	MHD_add_response_header(q->response, "Content-Type", "text/event-stream");
	MHD_add_response_header(q->response, "Cache-Control", "no-store");
	return MHD_HTTP_OK;
}
