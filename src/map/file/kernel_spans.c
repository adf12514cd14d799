/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel spans, in their order. A span is a byte of PART_*, its fields, then the parts that the
 * byte names. Its begin is relative to the begin of the span before it. The causes of waits are
 * texts of a list that is before all spans.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "map/file/internal.h"
#include "map/partial.h"

enum {
	PART_file = 1,
	PART_context = 2,
	PART_wait = 4,	  /* what only waits have */
	PART_waking = 8,  /* what ended the wait */
	PART_split = 16,  /* without it, all of the time was in the kernel */
	PART_args = 32,	  /* the last three of its arguments */
	PART_result = 64, /* it has one, or another than 0 */
	PARTS_ALL = 127
};

/* ---- why threads waited ---- */

#define REASON_BYTES_MAX 256
#define REASONS_MAX 1024

struct reasons {
	VEC(const char *) list;
	struct bytes_map numbers; /* text -> number in the list + 1 */
};

static int reason_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int reason_add(struct reasons *r, const char *text)
{
	if (!text || bytes_map_get(&r->numbers, text, strlen(text)))
		return 0;
	return bytes_map_put(&r->numbers, text, strlen(text), PRESENT) ? -ENOMEM
								       : vec_push(&r->list, text);
}

/* The fields of a span, in the order of the file. */
static int reasons_find(struct reasons *r, const struct kspans *spans)
{
	struct kspan k;
	int err = 0;

	for (size_t i = 0; i < kspans_count(spans) && !err; i++) {
		kspans_get(spans, i, &k);
		err = reason_add(r, k.reason);
	}
	if (r->list.count)
		qsort(r->list.data, r->list.count, sizeof(*r->list.data), reason_compare);
	for (size_t i = 0; i < r->list.count && !err; i++)
		err = bytes_map_put(&r->numbers, r->list.data[i], strlen(r->list.data[i]),
				    (void *)(i + 1));
	return err;
}

/* A cause is printed unchanged, so it must be text. */
static void reason_check(struct archive *a, const char *text)
{
	size_t bytes = text ? strlen(text) : 0;

	if (!text || bytes > REASON_BYTES_MAX)
		archive_fail(a, -EBADMSG);
	for (size_t i = 0; i < bytes; i++)
		if (text[i] < ' ' || text[i] > '~')
			archive_fail(a, -EBADMSG);
}

static void archive_reason(struct archive *a, const char **text)
{
	archive_shared_path(a, text);
	if (!a->err)
		reason_check(a, *text);
}

static void archive_reasons(struct archive *a, struct reasons *r, struct partial *p)
{
	if (!archive_reads(a) && reasons_find(r, &p->kspans))
		archive_fail(a, -ENOMEM);
	archive_list(a, &r->list, archive_reason);
	if (r->list.count > REASONS_MAX)
		archive_fail(a, -EBADMSG);
}

static void archive_reason_of(struct archive *a, struct reasons *r, struct kspan *k)
{
	u32 number = 0;

	if (!archive_reads(a) && k->reason)
		number = (u32)(size_t)bytes_map_get(&r->numbers, k->reason, strlen(k->reason));
	archive_u32(a, &number);
	if (number > r->list.count)
		archive_fail(a, -EBADMSG);
	else if (archive_reads(a) && number)
		k->reason = r->list.data[number - 1];
}

/* ---- one span ---- */

static bool is_all_kernel(const struct kspan *k)
{
	struct split all = {.ns = {[SPLIT_kernel] = (s64)(k->end_ns - k->begin_ns)}};

	return memcmp(&all, &k->split, sizeof(all)) == 0;
}

static bool has_wait(const struct kspan *k)
{
	return k->part || k->state || k->open || k->visit_ns || k->reason || k->work;
}

static u8 parts_of(const struct kspan *k)
{
	static const struct file_ref no_file;
	u8 parts = 0;

	parts |= memcmp(&k->file, &no_file, sizeof(no_file)) ? PART_file : 0;
	parts |= context_is_none(&k->ctx) ? 0 : PART_context;
	parts |= has_wait(k) ? PART_wait : 0;
	parts |= k->wake.has ? PART_waking : 0;
	parts |= is_all_kernel(k) ? 0 : PART_split;
	parts |= k->args[3] | k->args[4] | k->args[5] ? PART_args : 0;
	parts |= k->result ? PART_result : 0;
	return parts;
}

static void archive_waking(struct archive *a, struct life_wake *wake)
{
	wake->has = true;
	archive_time(a, &wake->time_ns);
	archive_u32(a, &wake->waker_tid);
	archive_u8(a, &wake->context);
	archive_u8(a, &wake->vector);
	archive_u16(a, &wake->irq);
	archive_file(a, &wake->file);
	archive_u64(a, &wake->block);
	archive_bool(a, &wake->own);
	archive_u32(a, &wake->fd);
}

static void archive_wait(struct archive *a, struct reasons *r, struct kspan *k)
{
	archive_u8(a, &k->part);
	archive_u8(a, &k->state);
	archive_u8(a, &k->open);
	archive_u8(a, &k->work);
	archive_u64(a, &k->visit_ns);
	archive_reason_of(a, r, k);
	archive_work(a, &k->idle);
	if (k->part >= SPLIT_PARTS_COUNT || k->work >= WORK_VALUES_COUNT)
		archive_fail(a, -EBADMSG);
}

static void archive_parts(struct archive *a, struct reasons *r, struct kspan *k, u8 parts)
{
	if (parts & PART_file)
		archive_file(a, &k->file);
	if (parts & PART_context)
		archive_context(a, &k->ctx);
	if (parts & PART_wait)
		archive_wait(a, r, k);
	if (parts & PART_waking)
		archive_waking(a, &k->wake);
	if (parts & PART_split)
		archive_split(a, &k->split);
	else if (archive_reads(a))
		k->split.ns[SPLIT_kernel] = (s64)(k->end_ns - k->begin_ns);
	for (int i = 3; i < 6 && parts & PART_args; i++)
		archive_u64(a, &k->args[i]);
	if (parts & PART_result)
		archive_s64(a, &k->result);
	if (parts & ~PARTS_ALL)
		archive_fail(a, -EBADMSG);
}

static void archive_kspan(struct archive *a, struct reasons *r, struct kspan *k, u64 before_ns)
{
	u64 since_ns = k->begin_ns - before_ns, duration_ns = k->end_ns - k->begin_ns;
	u8 parts = archive_reads(a) ? 0 : parts_of(k);

	archive_u8(a, &parts);
	archive_time(a, &since_ns);
	archive_time(a, &duration_ns);
	k->begin_ns = before_ns + since_ns;
	k->end_ns = k->begin_ns + duration_ns;
	if (k->begin_ns > RECORD_TIME_END_NS || k->end_ns > RECORD_TIME_END_NS)
		archive_fail(a, -EBADMSG);
	archive_u8(a, &k->kind);
	archive_u8(a, &k->mode);
	archive_u16(a, &k->nr);
	archive_u32(a, &k->tid);
	archive_u32(a, &k->pid);
	for (int i = 0; i < 3; i++)
		archive_u64(a, &k->args[i]);
	archive_parts(a, r, k, parts);
	if (k->kind > KSPAN_BLOCK)
		archive_fail(a, -EBADMSG);
}

void whole_kernel_spans(struct archive *a, struct partial *p)
{
	struct reasons reasons = {0};
	size_t count;
	u64 before_ns = 0;

	if (!archive_reads(a) && kspans_sort(&p->kspans))
		archive_fail(a, -ENOMEM);
	archive_reasons(a, &reasons, p);
	count = archive_count(a, kspans_count(&p->kspans));
	for (size_t i = 0; i < count && !a->err; i++) {
		struct kspan k = {0};

		if (!archive_reads(a))
			kspans_get(&p->kspans, i, &k);
		archive_kspan(a, &reasons, &k, before_ns);
		before_ns = k.begin_ns;
		if (archive_reads(a) && !a->err && p->options.spans && kspans_add(&p->kspans, &k))
			archive_fail(a, -ENOMEM);
	}
	vec_free(&reasons.list);
	bytes_map_free(&reasons.numbers);
}
