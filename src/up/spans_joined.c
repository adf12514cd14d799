/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of received spans: their threads, and what these did. */
#include "up/spans_internal.h"

#define ATTRIBUTES_MAX 12 /* beside the split and the kernel spans */

static int attributes_make(struct spans *s, const struct joined_span *joined,
			   const struct handed_span *handed, struct received_list *to)
{
	struct list list;
	int err = list_make(s, &list, ATTRIBUTES_MAX + SPLIT_PARTS_COUNT);

	if (err)
		return err;
	list_number(&list, "fathom.version", joined->version);
	list_text(&list, "fathom.kind", "context");
	list_text(&list, "fathom.join", joined_name(joined->joined));
	if (joined->pid)
		list_number(&list, "fathom.pid", joined->pid);
	if (joined->tid)
		list_number(&list, "fathom.tid", joined->tid);
	split_add_to(&list, &joined->split);
	if (handed->children_count)
		err = kernel_rows_add(s, handed, &list);
	*to = list_view(&list);
	return err;
}

/* Claims of one program share a resource while they follow each other. */
static const struct received_resource *resource_make(struct spans *s, const char *service)
{
	const struct received_resource *last = s->batch.count
						       ? s->batch.data[s->batch.count - 1].resource
						       : NULL;
	struct received_resource *resource;

	if (last && strcmp(last->service, service) == 0)
		return last;
	resource = pool_alloc(&s->pool, 1, sizeof(*resource));
	if (!resource)
		return NULL;
	resource->service = text_keep(s, service);
	return resource->service ? resource : NULL;
}

int spans_add_joined(struct spans *s, const struct joined_span *joined)
{
	const struct claim *claim = joined->claim;
	const struct handed_span handed = {.partial = joined->partial,
					   .running = joined->partial,
					   .children = joined->children,
					   .children_count = joined->children_count,
					   .more_count = joined->more_count,
					   .more_ns = joined->more_ns};
	struct received_span to = {.trace = claim->trace,
				   .span_id = claim->span_id,
				   .parent_id = claim->parent_id,
				   .begin_ns = claim->begin_ns,
				   .end_ns = claim->end_ns,
				   .name = text_keep(s, claim->name),
				   .trace_state = "",
				   .status_text = "",
				   .kind = claim->kind,
				   .status = claim->flags & CLAIM_IS_ERROR ? RECEIVED_ERROR
									   : RECEIVED_UNSET,
				   .scope = &span_scope};
	int err = trace_begin(s, to.trace);

	if (err)
		return err;
	to.resource = resource_make(s, claim->service);
	if (!to.name || !to.resource)
		return -ENOMEM;
	err = attributes_make(s, joined, &handed, &to.attributes);
	err = err ? err : vec_push(&s->batch, to);
	return err || !s->chooser || joined->joined > JOINED_CONNECTION
		       ? err
		       : children_wait(s, &handed, joined->pid);
}
