/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/zipkin_about.h"

#include <errno.h>

#include "serve/answer.h"
#include "serve/zipkin_search.h"

int zipkin_config_answer(struct query *q)
{
	struct json j;

	json_init_bytes(&j, q->body);
	json_object_begin(&j, NULL);
	json_string(&j, "environment", "");
	json_s64(&j, "queryLimit", ZIPKIN_LIMIT_PRESET);
	json_s64(&j, "defaultLookback", 900000);
	json_bool(&j, "searchEnabled", true);
	json_null(&j, "logsUrl");
	json_null(&j, "supportUrl");
	json_null(&j, "archivePostUrl");
	json_null(&j, "archiveUrl");
	json_object_begin(&j, "dependency");
	json_bool(&j, "enabled", true);
	json_double(&j, "lowErrorRate", 0.5);
	json_double(&j, "highErrorRate", 0.75);
	json_object_end(&j);
	json_object_end(&j);
	return json_end(&j) ? -ENOMEM : MHD_HTTP_OK;
}

int zipkin_health_answer(struct query *q)
{
	struct store_counts counts;
	bool is_up = store_count(q->source->store, &counts, q->e) == 0;
	const char *status = is_up ? "UP" : "DOWN";
	struct json j;

	json_init_bytes(&j, q->body);
	json_object_begin(&j, NULL);
	json_string(&j, "status", status);
	json_object_begin(&j, "zipkin");
	json_string(&j, "status", status);
	json_object_begin(&j, "details");
	json_object_begin(&j, "store");
	json_string(&j, "status", status);
	json_object_end(&j);
	json_object_end(&j);
	json_object_end(&j);
	json_object_end(&j);
	if (json_end(&j))
		return -ENOMEM;
	return is_up ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
}

int zipkin_info_answer(struct query *q)
{
	struct json j;

	json_init_bytes(&j, q->body);
	json_object_begin(&j, NULL);
	json_object_begin(&j, "zipkin");
	json_string(&j, "version", "fathom");
	json_object_end(&j);
	json_object_end(&j);
	return json_end(&j) ? -ENOMEM : MHD_HTTP_OK;
}
