/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/context/service.h"

#include <stdlib.h>
#include <string.h>

struct attribute {
	const char *key, *value;
};

static char *text_put(char *at, const char *text)
{
	size_t bytes = strlen(text) + 1;

	memcpy(at, text, bytes);
	return at + bytes;
}

struct record_service *foreign_service_record(pid_t pid, const struct process_context *context)
{
	const struct attribute all[] = {{"service.name", context->service},
					{"service.version", context->service_version},
					{"service.instance.id", context->service_instance},
					{"telemetry.sdk.name", context->sdk},
					{"telemetry.sdk.language", context->language}};
	struct record_service *r = calloc(1, sizeof(*r) + RECORD_SLOT_BYTES);
	char *at;

	_Static_assert(sizeof(context->service) + sizeof(context->service_version) +
				       sizeof(context->service_instance) + sizeof(context->sdk) +
				       sizeof(context->language) + 128 <
			       sizeof(r->resource),
		       "all of it and its keys have room");
	if (!r)
		return NULL;
	at = r->resource;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].value[0])
			at = text_put(text_put(at, all[i].key), all[i].value);
	r->resource_len = (u16)(at - r->resource);
	r->head.kind = RECORD_service;
	r->head.tid = r->head.pid = (u32)pid;
	r->head.cpu = 0xffff;
	r->head.slots =
		(u8)(((size_t)(at - (char *)r) + RECORD_SLOT_BYTES - 1) / RECORD_SLOT_BYTES);
	return r;
}
