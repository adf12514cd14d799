/* SPDX-License-Identifier: Apache-2.0 */
/* Resources of OpenTelemetry that processes have: the name of a service, and more. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "map/fact/kind.h"
#include "map/fact/tenures.h"
#include "map/partial.h"

static int service_add(struct facts *f, const struct record_head *head)
{
	const struct record_service *r = (const void *)head;
	struct fact_service s = {
		.time_ns = r->head.time_ns, .pid = r->head.pid, .bytes = r->resource_len};
	int err;

	s.resource = text_copy(r->resource, r->resource_len);
	if (!s.resource)
		return -ENOMEM;
	err = vec_push(&f->services, s);
	if (err)
		free(s.resource);
	return err;
}

static int service_compare(const void *a, const void *b)
{
	const struct fact_service *x = a, *y = b;

	COMPARE(x->pid, y->pid);
	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->bytes, y->bytes);
	return memcmp(x->resource, y->resource, x->bytes);
}

static void service_release(void *fact)
{
	free(((struct fact_service *)fact)->resource);
}

static void service_archive(struct archive *a, void *fact)
{
	struct fact_service *f = fact;

	archive_time(a, &f->time_ns);
	archive_u32(a, &f->pid);
	archive_text(a, &f->resource, &f->bytes);
	if (!f->resource)
		archive_fail(a, -EBADMSG);
}

static int services_keep(struct partial *p, struct living *l)
{
	struct facts *f = &p->facts;

	KEEP_LAST(&f->services, e, pid,
		  map_get(&l->pids, e->pid) && e->time_ns >= tenure_at(f, e->pid, p->to_ns).from_ns,
		  free(e->resource));
	return 0;
}

const struct fact_kind fact_kind_service = {.add = service_add,
					    .compare = service_compare,
					    .release = service_release,
					    .archive = service_archive,
					    .keep = services_keep};
