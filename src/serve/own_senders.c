/* SPDX-License-Identifier: Apache-2.0 */
/* Who sends spans, as fathom's own API shows it. */
#include <errno.h>

#include "serve/answer.h"
#include "serve/own.h"

int own_senders(struct query *q)
{
	sender_list list = {0};
	struct json j;
	int err = senders_read(q->source->senders, &list);

	json_init_bytes(&j, q->body);
	json_object_begin(&j, NULL);
	json_u64(&j, "version", 1);
	json_array_begin_lines(&j, "senders");
	for (size_t i = 0; i < list.count; i++)
		sender_info_write(&j, &list.data[i]);
	json_array_end(&j);
	json_object_end(&j);
	vec_free(&list);
	return json_end(&j) || err ? -ENOMEM : MHD_HTTP_OK;
}
