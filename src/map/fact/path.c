/* SPDX-License-Identifier: Apache-2.0 */
#include "map/fact/path.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/order.h"
#include "map/fact/kind.h"
#include "map/fact/mounts.h"
#include "model/file_name.h"

/* Most paths are folded already. */
static const char *path_folded(struct texts *texts, const char *path, size_t bytes)
{
	char folded[sizeof(((struct record_path *)NULL)->path) + 1];

	if (!file_path_may_fold(path))
		return path;
	memcpy(folded, path, bytes);
	folded[bytes] = '\0';
	file_path_fold(folded);
	return texts_keep(texts, folded, strlen(folded));
}

const char *path_text(struct texts *texts, const struct record_path *r, u32 *mounts)
{
	u16 bytes = r->path_len;
	const char *told;

	*mounts = r->flags & PATH_MOUNTS ? mounts_take(r->path, &bytes) : 0;
	told = texts_keep(texts, r->path, bytes);
	return told ? path_folded(texts, told, bytes) : NULL;
}

static int path_add(struct facts *f, const struct record_head *head)
{
	const struct record_path *r = (const void *)head;
	struct fact_path p = {.call_ns = r->call_ns,
			      .time_ns = r->head.time_ns,
			      .tid = r->head.tid,
			      .nr = r->nr,
			      .flags = r->flags & ~PATH_MOUNTS};
	u16 bytes = r->path_len;
	struct fact_path *to;
	const char *told;

	if (r->flags & PATH_MOUNTS) /* a trace shows the path alone */
		mounts_take(r->path, &bytes);
	told = texts_keep(&f->texts, r->path, bytes);
	if (!told)
		return -ENOMEM;
	p.path = path_folded(&f->texts, told, bytes);
	p.asked = told + (r->asked < bytes ? r->asked : 0);
	if (!p.path)
		return -ENOMEM;
	to = thread_facts_add(&f->paths, sizeof(*to), p.tid, p.call_ns);
	if (!to)
		return -ENOMEM;
	*to = p;
	return 0;
}

static int path_compare(const void *a, const void *b)
{
	const struct fact_path *x = a, *y = b;

	COMPARE(x->tid, y->tid);
	COMPARE(x->call_ns, y->call_ns);
	COMPARE(x->nr, y->nr);
	COMPARE(x->flags & PATH_SECOND, y->flags & PATH_SECOND);
	COMPARE(x->flags, y->flags);
	COMPARE(x->time_ns, y->time_ns);
	if (strcmp(x->path, y->path) != 0)
		return strcmp(x->path, y->path);
	return strcmp(x->asked, y->asked);
}

const struct thread_order path_order = {sizeof(struct fact_path), offsetof(struct fact_path, tid),
					offsetof(struct fact_path, call_ns), path_compare};

static void path_archive(struct archive *a, void *fact)
{
	struct fact_path *f = fact;

	archive_u64(a, &f->call_ns);
	archive_time(a, &f->time_ns);
	archive_u32(a, &f->tid);
	archive_u16(a, &f->nr);
	archive_u16(a, &f->flags);
	archive_shared_path(a, &f->path);
	archive_shared_path(a, &f->asked);
	if (!f->path || !f->asked)
		archive_fail(a, -EBADMSG);
}

const struct fact_kind fact_kind_path = {
	.add = path_add, .compare = path_compare, .archive = path_archive};
