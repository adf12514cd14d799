/* SPDX-License-Identifier: Apache-2.0 */
/* Names of block devices. */
#include <errno.h>
#include <string.h>

#include "base/order.h"
#include "map/fact/kind.h"
#include "map/fact/query.h"
#include "map/partial.h"

static int device_add(struct facts *f, const struct record_head *head)
{
	const struct record_device *r = (const void *)head;
	struct fact_device d = {.dev = r->dev, .name_bytes = r->name_len};

	d.name = texts_keep(&f->texts, r->name, r->name_len);
	return d.name ? vec_push(&f->devices, d) : -ENOMEM;
}

static int device_compare(const void *a, const void *b)
{
	const struct fact_device *x = a, *y = b;

	COMPARE(x->dev, y->dev);
	COMPARE(x->name_bytes, y->name_bytes);
	return strcmp(x->name, y->name);
}

/* Leaves each name of a device once: each snapshot tells all. */
static int devices_index(struct facts *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->devices.count; i++) {
		if (!n || device_compare(&f->devices.data[n - 1], &f->devices.data[i]))
			f->devices.data[n++] = f->devices.data[i];
	}
	f->devices.count = n;
	return 0;
}

static void device_archive(struct archive *a, void *fact)
{
	struct fact_device *f = fact;

	archive_u32(a, &f->dev);
	archive_u32(a, &f->name_bytes);
	archive_shared_path(a, &f->name);
	if (!f->name)
		archive_fail(a, -EBADMSG);
}

/* All of them: a host has few. */
static int devices_keep(struct partial *p, struct living *l)
{
	(void)p;
	(void)l;
	return 0;
}

const char *query_device_name(const struct partial *p, u32 dev)
{
	for (size_t i = 0; i < p->facts.devices.count; i++) {
		if (p->facts.devices.data[i].dev == dev)
			return p->facts.devices.data[i].name;
	}
	return NULL;
}

const struct fact_kind fact_kind_device = {.add = device_add,
					   .compare = device_compare,
					   .index = devices_index,
					   .archive = device_archive,
					   .keep = devices_keep};
