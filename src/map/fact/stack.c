/* SPDX-License-Identifier: Apache-2.0 */
#include "map/fact/stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "map/fact/kind.h"
#include "map/partial.h"

static u64 u64_at(const char *data, size_t i)
{
	u64 value;

	memcpy(&value, data + 8 * i, sizeof(value));
	return value;
}

size_t stack_packed_bytes(const char *packed, size_t bytes, u32 words)
{
	size_t all = ((size_t)words + 63) / 64, bits = all;

	if (bits > bytes / 8)
		return SIZE_MAX;
	for (size_t i = 0; i < bits; i++)
		all += (size_t)__builtin_popcountll(u64_at(packed, i));
	return all > bytes / 8 ? SIZE_MAX : all * 8;
}

void stack_unpack(const char *packed, u32 words, u64 *to)
{
	size_t next = ((size_t)words + 63) / 64;

	for (u32 i = 0; i < words; i++) {
		bool set = u64_at(packed, i / 64) >> (i % 64) & 1;

		to[i] = set ? u64_at(packed, next++) : 0;
	}
}

/* How many frames and words a record has. False: it contradicts itself. */
static bool stack_measure(const struct record_stack *r, struct fact_stack *s)
{
	u32 count = r->frames_len / 8;

	if (!(r->flags & STACK_PACKED)) {
		s->words = r->words < count ? r->words : count;
		s->frames = count - s->words;
		return true;
	}
	s->words = r->words & 0xffff;
	s->frames = r->words >> 16;
	return s->words <= STACK_WORDS_MAX && s->frames <= count &&
	       stack_packed_bytes(r->frames + 8 * s->frames, 8ul * (count - s->frames), s->words) !=
		       SIZE_MAX;
}

static int stack_add(struct facts *f, const struct record_head *head)
{
	const struct record_stack *r = (const void *)head;
	struct fact_stack s = {.time_ns = r->head.time_ns,
			       .since_ns = r->since_ns,
			       .tid = r->head.tid,
			       .pid = r->head.pid,
			       .flags = r->flags & (STACK_KERNEL | STACK_USER),
			       .cut = r->flags & STACK_CUT};
	int err;

	if (!stack_measure(r, &s))
		return 0;
	s.addresses = malloc(((size_t)s.frames + s.words) * 8 + 1);
	if (!s.addresses)
		return -ENOMEM;
	if (r->flags & STACK_PACKED) {
		memcpy(s.addresses, r->frames, s.frames * 8ul);
		stack_unpack(r->frames + 8 * s.frames, s.words, s.addresses + s.frames);
	} else {
		memcpy(s.addresses, r->frames, ((size_t)s.frames + s.words) * 8);
	}
	err = vec_push(&f->stacks, s);
	if (err)
		free(s.addresses);
	return err;
}

static int stack_compare(const void *a, const void *b)
{
	const struct fact_stack *x = a, *y = b;

	COMPARE(x->tid, y->tid);
	COMPARE(x->flags, y->flags);
	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->since_ns, y->since_ns);
	COMPARE(x->pid, y->pid);
	COMPARE(x->frames, y->frames);
	COMPARE(x->words, y->words);
	COMPARE(x->cut, y->cut);
	return memcmp(x->addresses, y->addresses, (x->frames + x->words) * 8);
}

int stack_moment_compare(const void *a, const void *b)
{
	const struct fact_stack *x = a, *y = b;

	COMPARE(x->pid, y->pid);
	COMPARE(x->time_ns, y->time_ns);
	return stack_compare(a, b);
}

static void stack_release(void *fact)
{
	free(((struct fact_stack *)fact)->addresses);
}

static void stack_archive(struct archive *a, void *fact)
{
	struct fact_stack *f = fact;
	u32 bytes = (f->frames + f->words) * 8;
	char *addresses = (char *)f->addresses;

	archive_time(a, &f->time_ns);
	archive_u64(a, &f->since_ns);
	archive_u32(a, &f->tid);
	archive_u32(a, &f->pid);
	archive_u32(a, &f->flags);
	archive_u32(a, &f->frames);
	archive_u32(a, &f->words);
	archive_bool(a, &f->cut);
	archive_text(a, &addresses, &bytes);
	f->addresses = (u64 *)addresses;
	if (!addresses || bytes / 8 < f->frames || bytes / 8 - f->frames != f->words)
		archive_fail(a, -EBADMSG);
}

/* Leaves the last stacks of each thread: those of a wait that goes on were told last. */
static int stacks_keep(struct partial *p, struct living *l)
{
	struct facts *f = &p->facts;
	size_t kept = 0;

	for (size_t i = 0; i < f->stacks.count; i++) {
		const struct fact_stack *s = &f->stacks.data[i];
		bool last = i + 1 == f->stacks.count || s->tid != s[1].tid ||
			    s->flags != s[1].flags;

		if (last && map_get(&l->tids, s->tid))
			f->stacks.data[kept++] = *s;
		else
			free(s->addresses);
	}
	f->stacks.count = kept;
	return 0;
}

const struct fact_kind fact_kind_stack = {.add = stack_add,
					  .compare = stack_compare,
					  .release = stack_release,
					  .archive = stack_archive,
					  .keep = stacks_keep};
