/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads of a span did in the kernel: rows of it, and kernel spans. */
#include <stdio.h>
#include <stdlib.h>

#include "map/tree/tree.h"
#include "model/syscall_format.h"
#include "model/uring.h"
#include "up/spans_internal.h"

#define ROWS_MAX 16
#define ROWS_TOLD_APART 128
#define CHILD_ATTRIBUTES 18 /* at most, beside the split */

/* ---- rows ---- */

struct kernel_row {
	const char *kind, *name; /* static */
	u64 count, total_ns;
};

struct kernel_rows {
	struct kernel_row rows[ROWS_TOLD_APART];
	size_t count;
	u64 more_count, more_ns;
};

static void kspan_name(const struct kspan *k, struct kernel_row *row)
{
	static const char *const kinds[] = {[KSPAN_SYSCALL] = "syscall",
					    [KSPAN_FAULT] = "fault",
					    [KSPAN_WAIT] = "wait",
					    [KSPAN_URING] = "io_uring",
					    [KSPAN_BLOCK] = "block"};
	const char *name = NULL;

	row->kind = k->kind <= KSPAN_BLOCK ? kinds[k->kind] : "?";
	if (k->kind == KSPAN_SYSCALL)
		name = syscall_name(k->mode & SYSCALL_COMPAT, k->nr);
	else if (k->kind == KSPAN_WAIT)
		name = split_part_name(k->part);
	else if (k->kind == KSPAN_URING)
		name = uring_name((u8)k->nr);
	else
		name = row->kind;
	row->name = name ? name : "?";
}

static void rows_take(struct kernel_rows *rows, const struct kspan *k)
{
	struct kernel_row row = {.count = 1, .total_ns = k->end_ns - k->begin_ns};
	size_t i = 0;

	kspan_name(k, &row);
	while (i < rows->count && (strcmp(rows->rows[i].name, row.name) != 0 ||
				   strcmp(rows->rows[i].kind, row.kind) != 0))
		i++;
	if (i == ROWS_TOLD_APART) {
		rows->more_count++;
		rows->more_ns += row.total_ns;
	} else if (i == rows->count) {
		rows->rows[rows->count++] = row;
	} else {
		rows->rows[i].count++;
		rows->rows[i].total_ns += row.total_ns;
	}
}

static int row_compare(const void *a, const void *b)
{
	const struct kernel_row *x = a, *y = b;
	int order = strcmp(x->kind, y->kind);

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return order ? order : strcmp(x->name, y->name);
}

static int row_write(struct spans *s, const struct kernel_row *row, struct attribute *to)
{
	struct list list;

	if (list_make(s, &list, 4))
		return -ENOMEM;
	list_text(&list, "kind", row->kind);
	list_text(&list, "name", row->name);
	list_number(&list, "count", row->count);
	list_number(&list, "total_ns", row->total_ns);
	*to = (struct attribute){.type = VALUE_MAP, .items = list.data, .count = list.count};
	return 0;
}

int kernel_rows_add(struct spans *s, const struct handed_span *handed, struct list *to)
{
	struct kernel_rows rows = {.more_count = handed->more_count, .more_ns = handed->more_ns};
	struct attribute *items = pool_alloc(&s->pool, ROWS_MAX, sizeof(*items));
	size_t kept;
	int err = items ? 0 : -ENOMEM;

	for (size_t i = 0; i < handed->children_count; i++)
		rows_take(&rows, &handed->children[i]);
	if (rows.count)
		qsort(rows.rows, rows.count, sizeof(*rows.rows), row_compare);
	kept = rows.count < ROWS_MAX ? rows.count : ROWS_MAX;
	for (size_t i = 0; i < kept && !err; i++)
		err = row_write(s, &rows.rows[i], &items[i]);
	for (size_t i = kept; i < rows.count; i++) {
		rows.more_count += rows.rows[i].count;
		rows.more_ns += rows.rows[i].total_ns;
	}
	if (kept)
		list_add(to, &(struct attribute){.key = "fathom.kernel",
						 .type = VALUE_ARRAY,
						 .items = items,
						 .count = kept});
	if (rows.more_count) {
		list_number(to, "fathom.kernel.more_count", rows.more_count);
		list_number(to, "fathom.kernel.more_ns", rows.more_ns);
	}
	return err;
}

static const char *const split_keys[SPLIT_PARTS_COUNT] = {
#define P(part, value, what) [value] = "fathom.time." #part "_ns",
	SPLIT_PARTS(P)
#undef P
};

void split_add_to(struct list *list, const struct split *split)
{
	for (int part = 0; part < SPLIT_PARTS_COUNT; part++) {
		if (split->ns[part])
			list_number(list, split_keys[part], (uint64_t)split->ns[part]);
	}
}

/* ---- kernel spans ---- */

/* Attributes as `fathom trace` names them. */

static void call_add(const struct kspan *k, struct list *list)
{
	const char *name;

	if (k->kind == KSPAN_SYSCALL && !k->open) {
		s64 error = syscall_error(k->mode, k->nr, k->result);

		list_add(list, &(struct attribute){.key = "result",
						   .type = VALUE_INTEGER,
						   .integer = k->result});
		name = error ? syscall_errno_name((int)-error) : NULL;
		if (error)
			list_text(list, "error.type", name ? name : "_OTHER");
	}
	/* a wait in a call that is no span */
	if (k->kind != KSPAN_WAIT || (k->mode & MODE_MASK) != MODE_syscall || k->visit_ns ||
	    k->nr == LIFE_CALL_UNKNOWN)
		return;
	name = syscall_name(k->mode & MODE_COMPAT ? SYSCALL_COMPAT : 0, k->nr);
	if (name)
		list_text(list, "syscall", name);
}

static const char *thread_text(struct spans *s, u32 tid)
{
	const char *name = map_get(&s->names, tid);
	char text[64];

	snprintf(text, sizeof(text), name && *name ? "%.32s/%u" : "%s%u", name && *name ? name : "",
		 tid);
	return text_keep(s, text);
}

/* What ended a wait: a thread, by its name, or the kernel. */
static void waker_add(struct spans *s, const struct kspan *k, struct list *list)
{
	static const char *const contexts[] = {
		[WAKE_softirq] = "softirq", [WAKE_hardirq] = "interrupt", [WAKE_timer] = "timer"};
	const struct life_wake *wake = &k->wake;
	bool is_thread = wake->context == WAKE_task || wake->context == WAKE_kernel_thread;
	const char *text = NULL;

	if (k->kind != KSPAN_WAIT || !wake->has)
		return;
	if (is_thread && wake->waker_tid)
		text = thread_text(s, wake->waker_tid);
	else if (wake->context < sizeof(contexts) / sizeof(*contexts))
		text = contexts[wake->context];
	if (text)
		list_text(list, "waker", text);
	if (text && is_thread)
		list_number(list, "waker.tid", wake->waker_tid);
}

static int child_attributes(struct spans *s, const struct kspan *k, const struct kernel_row *row,
			    struct received_list *to)
{
	struct list list;

	if (list_make(s, &list, CHILD_ATTRIBUTES + SPLIT_PARTS_COUNT))
		return -ENOMEM;
	list_text(&list, "fathom.kind", row->kind);
	list_number(&list, "fathom.version", s->chunk->seq + 1);
	list_number(&list, "thread.id", k->tid);
	if (k->kind == KSPAN_WAIT && k->reason && *k->reason)
		list_text(&list, "cause.reason", k->reason);
	call_add(k, &list);
	told_object_add(s, k, &list);
	waker_add(s, k, &list);
	if (k->kind != KSPAN_BLOCK && k->kind != KSPAN_URING)
		split_add_to(&list, &k->split);
	*to = list_view(&list);
	return 0;
}

struct parents {
	u64 boot, span;
	struct map calls; /* ids of calls and faults that are added; a set */
};

static int calls_collect(struct parents *parents, const struct kspan *children, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		enum node_kind kind;
		u64 id = tree_kspan_id(parents->boot, &children[i], children[i].tid, &kind);

		if (kind == NODE_SYSCALL || kind == NODE_FAULT)
			err = map_put(&parents->calls, id, PRESENT);
	}
	return err;
}

/* A wait lies in its call or fault, if that is added. */
static u64 parent_of(const struct parents *parents, const struct kspan *k)
{
	static const enum node_kind kinds[] = {NODE_SYSCALL, NODE_FAULT};

	for (size_t i = 0; i < 2 && k->kind == KSPAN_WAIT && k->visit_ns; i++) {
		u64 id = tree_kernel_id(parents->boot, k->tid, k->visit_ns, kinds[i]);

		if (map_get(&parents->calls, id))
			return id;
	}
	return parents->span;
}

static int child_add(struct spans *s, const struct received_span *parent,
		     const struct parents *parents, const struct kspan *k)
{
	struct kernel_row row = {0};
	enum node_kind kind;
	struct received_span to = {.trace = parent->trace,
				   .span_id = tree_kspan_id(parents->boot, k, k->tid, &kind),
				   .parent_id = parent_of(parents, k),
				   .begin_ns = unix_of(s, k->begin_ns),
				   .end_ns = unix_of(s, k->end_ns),
				   .trace_state = "",
				   .status_text = "",
				   .kind = RECEIVED_INTERNAL,
				   .resource = parent->resource,
				   .scope = &kernel_scope};
	int err;

	kspan_name(k, &row);
	to.name = row.name;
	err = child_attributes(s, k, &row, &to.attributes);
	return err ? err : vec_push(&s->batch, to);
}

int kernel_children_add(struct spans *s, const struct kspan *children, size_t count, size_t at)
{
	const char *boot = s->chunk->boot_id;
	const struct received_span parent = s->batch.data[at]; /* the batch grows */
	struct parents parents = {.boot = hash_bytes(boot, strlen(boot)), .span = parent.span_id};
	int err = calls_collect(&parents, children, count);

	for (size_t i = 0; i < count && !err; i++)
		err = child_add(s, &parent, &parents, &children[i]);
	map_free(&parents.calls);
	return err;
}
