/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that make spans of the store share. */
#ifndef UP_SPANS_INTERNAL_H
#define UP_SPANS_INTERNAL_H

#include <errno.h>
#include <string.h>

#include "up/spans.h"

static inline const char *text_take(struct spans *s, const char *text, size_t bytes)
{
	char *copy = pool_alloc(&s->pool, bytes + 1, 1);

	if (copy && bytes)
		memcpy(copy, text, bytes);
	return copy;
}

static inline const char *text_keep(struct spans *s, const char *text)
{
	return text ? text_take(s, text, strlen(text)) : "";
}

static inline uint64_t unix_of(const struct spans *s, u64 time_ns)
{
	const struct chunk_clock *clock = &s->chunk->clock;

	return clock->unix_ns + (time_ns - clock->monotonic_ns);
}

/* A list of attributes in the pool, with room for `room`; texts are the pool's, or static. */
struct list {
	struct attribute *data;
	size_t count, room;
};

static inline void list_add(struct list *l, const struct attribute *a)
{
	if (l->count < l->room)
		l->data[l->count++] = *a;
}

static inline void list_text(struct list *l, const char *key, const char *text)
{
	list_add(l, &(struct attribute){.key = key, .type = VALUE_STRING, .string = text});
}

static inline void list_number(struct list *l, const char *key, uint64_t number)
{
	list_add(l, &(struct attribute){
			    .key = key, .type = VALUE_INTEGER, .integer = (int64_t)number});
}

static inline int list_make(struct spans *s, struct list *l, size_t room)
{
	*l = (struct list){.data = pool_alloc(&s->pool, room + 1, sizeof(*l->data)), .room = room};
	return l->data ? 0 : -ENOMEM;
}

static inline struct received_list list_view(const struct list *l)
{
	return (struct received_list){.data = l->data, .count = l->count};
}

extern const struct received_scope kernel_scope; /* of kernel spans */
extern const struct received_scope span_scope;	 /* of the others */

/* Begins another trace, unless it is that of the last span of the batch. 0 or -ENOMEM. */
int trace_begin(struct spans *s, struct trace_id trace);

/*
 * Keeps the kernel spans of the last span of the batch, of that process, until the trace is
 * complete. Its attributes have room for one more. 0 or -ENOMEM.
 */
int children_wait(struct spans *s, const struct handed_span *handed, u32 pid);

/*
 * Whether the kernel spans of the last span of the batch, of that process, are stored. With a
 * chooser.
 */
enum chosen span_choose(struct spans *s, u32 pid, u32 times, bool has_children);

/* Keeps what is told of kernel spans while their partials are there. 0 or -ENOMEM. */
int children_know(struct spans *s, const struct handed_span *handed);

/*
 * Adds the kernel spans of a chosen span, the longest of which are first, as far as the limits
 * allow, and counts the others. 0 or -ENOMEM.
 */
int chosen_children_add(struct spans *s, const struct spans_waiting *w,
			const struct kspan *children);

/* spans_objects.c */

/* Keeps what the kernel spans of a span worked on: the partials that know it go. 0 or -ENOMEM. */
int told_objects_keep(struct spans *s, const struct handed_span *handed);

/* Adds attributes of what a kernel span worked on, or waited for. */
void told_object_add(struct spans *s, const struct kspan *k, struct list *list);

/* Adds the parts of a split that have time. */
void split_add_to(struct list *list, const struct split *split);

/* Adds rows of what the threads of a span did in the kernel. 0 or -ENOMEM. */
int kernel_rows_add(struct spans *s, const struct handed_span *handed, struct list *to);

/*
 * Adds kernel spans of the span at `at` of the batch, as its children or as those of a call that is
 * added, too. 0 or -ENOMEM.
 */
int kernel_children_add(struct spans *s, const struct kspan *children, size_t count, size_t at);

#endif
