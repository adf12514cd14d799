/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/filter.h"
#include "answer/span_stack.h"
#include "base/bytes.h"
#include "map/fact/query.h"

#define NAME_BYTES 1280
#define DEPTH_MAX 512
#define PARENTS_MAX 256 /* spans above a span: more are a circle */

/* ---- names ---- */

static enum profile_kind kind_of(const struct frame *frame)
{
	if (!frame->function)
		return PROFILE_UNNAMED;
	if (frame->kernel)
		return PROFILE_KERNEL;
	return strcmp(frame->file, RECORD_MAPPING_JIT) ? PROFILE_USER : PROFILE_JIT;
}

static void name_of(const struct frame *frame, char name[NAME_BYTES])
{
	const char *slash = frame->file ? strrchr(frame->file, '/') : NULL;

	if (frame->function)
		snprintf(name, NAME_BYTES, "%s", frame->function);
	else if (frame->file && frame->file[0] == '[')
		snprintf(name, NAME_BYTES, "%s", frame->file);
	else if (frame->file)
		snprintf(name, NAME_BYTES, "[%s]", slash ? slash + 1 : frame->file);
	else
		snprintf(name, NAME_BYTES, "[unknown]");
}

static int function_number(struct profile *f, const char *name, enum profile_kind kind, u32 *number)
{
	struct profile_function function = {.kind = kind};
	char key[NAME_BYTES + 1];
	size_t bytes = (size_t)snprintf(key, sizeof(key), "%c%s", 'a' + (int)kind, name), found;

	found = (size_t)bytes_map_get(&f->by_name, key, bytes);
	if (found) {
		*number = (u32)found - 1;
		return 0;
	}
	function.name = strdup(name);
	if (!function.name || vec_push(&f->functions, function)) {
		free(function.name);
		return -ENOMEM;
	}
	*number = (u32)f->functions.count - 1;
	return bytes_map_put(&f->by_name, key, bytes, (void *)f->functions.count);
}

/* A copy of the name of a process that lives as long as the profile. NULL: there is no memory. */
static const char *process_text(struct profile *f, const char *host, const char *comm)
{
	char text[320], *copy;
	size_t bytes = (size_t)snprintf(text, sizeof(text), "%.256s%s%s", host ? host : "",
					host ? ":" : "", comm ? comm : "?");

	copy = bytes_map_get(&f->by_process, text, bytes);
	if (copy)
		return copy;
	copy = strdup(text);
	if (!copy || vec_push(&f->processes, copy)) {
		free(copy);
		return NULL;
	}
	return bytes_map_put(&f->by_process, text, bytes, copy) ? NULL : copy;
}

/* ---- stacks ---- */

/* Where a stack comes from, and what it stands for. */
struct origin {
	const char *host;
	u32 pid, tid, part;
	bool waits;
	u64 time_ns, ns, times;
	const struct context *ctx;
};

struct stack_key {
	const char *process;
	u64 part;
	u32 functions[DEPTH_MAX];
};

static int stack_add(struct profile *f, const struct stack_key *key, size_t count,
		     const struct origin *o)
{
	size_t bytes = offsetof(struct stack_key, functions) + count * sizeof(key->functions[0]);
	size_t number = (size_t)bytes_map_get(&f->by_stack, key, bytes);
	struct profile_stack *known,
		stack = {.process = key->process, .part = (u32)key->part, .count = count};

	if (!number) {
		stack.functions = malloc((count + 1) * sizeof(*stack.functions));
		if (!stack.functions)
			return -ENOMEM;
		memcpy(stack.functions, key->functions, count * sizeof(*stack.functions));
		if (vec_push(&f->stacks, stack)) {
			free(stack.functions);
			return -ENOMEM;
		}
		number = f->stacks.count;
		if (bytes_map_put(&f->by_stack, key, bytes, (void *)number))
			return -ENOMEM;
	}
	known = &f->stacks.data[number - 1];
	known->ns += o->ns;
	known->times += o->times;
	return 0;
}

/* Puts the frames into the key, outermost first. */
static int key_fill(struct profile *f, const struct stack_frames *frames, struct stack_key *key,
		    size_t *count)
{
	char name[NAME_BYTES];
	int err = 0;

	*count = 0;
	if (frames->cut || frames->count > DEPTH_MAX - 2)
		err = function_number(f, "…", PROFILE_MORE, &key->functions[(*count)++]);
	for (size_t i = frames->count; i-- > 0 && !err;) {
		if (i >= DEPTH_MAX - 2)
			continue;
		name_of(&frames->list[i], name);
		err = function_number(f, name, kind_of(&frames->list[i]),
				      &key->functions[(*count)++]);
	}
	return err;
}

static int frames_add(struct profile *f, const struct partial *p, const struct stack_frames *frames,
		      const struct origin *o)
{
	struct stack_key key;
	char cause[64];
	size_t count;
	int err = key_fill(f, frames, &key, &count);

	key.process = process_text(f, o->host, query_comm(p, o->pid, o->time_ns));
	key.part = o->part;
	if (!key.process)
		return -ENOMEM;
	if (!err && o->waits) {
		snprintf(cause, sizeof(cause), "[%s]", split_part_name(o->part));
		err = function_number(f, cause, PROFILE_CAUSE, &key.functions[count++]);
	}
	f->times += o->times;
	f->cut += frames->cut ? o->times : 0;
	return err ? err : stack_add(f, &key, count, o);
}

/* ---- what is wanted ---- */

struct adding {
	struct profile *f;
	const struct partial *p;
	const struct profile_choice *choice;
	const char *host;
	struct filter_use use; /* with a filter */
	struct symbolizer *symbolizer;
};

/* Whether the span, or one above it, has a name that matches. */
static bool span_matches(const struct partial *p, const struct context *ctx, const char *glob)
{
	const struct app_span *span = bytes_map_get(&p->span_index, ctx, sizeof(*ctx));

	for (int i = 0; span && i < PARENTS_MAX; i++) {
		if (span->name && filter_fits(glob, span->name))
			return true;
		span = span_parent(p, span);
	}
	return false;
}

static bool origin_wanted(struct adding *a, const struct origin *o)
{
	const struct filter *filter = a->choice->filter;
	const struct subject of = {.p = a->p,
				   .host = a->host,
				   .kind = OF_FUNCTION,
				   .pid = o->pid,
				   .tid = o->tid,
				   .time_ns = query_held_until(a->p, o->pid, o->time_ns),
				   .at_ns = o->time_ns,
				   .part = -1};
	const char *service;

	if (!filter)
		return true;
	if ((filter->tid && filter->tid != o->tid) || !filter_takes_process(&a->use, &of))
		return false;
	if (filter->service) {
		service = query_resource(a->p, o->pid, o->time_ns, "service.name");
		if (!service || !filter_fits(filter->service, service))
			return false;
	}
	return !filter->name || span_matches(a->p, o->ctx, filter->name);
}

/* ---- samples and waits ---- */

static int sample_add(struct adding *a, const struct sample_sum *sample)
{
	struct origin o = {.host = a->host,
			   .pid = sample->key.pid,
			   .tid = sample->key.tid,
			   .part = sample->key.kernel ? SPLIT_kernel : SPLIT_user,
			   .time_ns = sample->last_ns,
			   .ns = sample->ns,
			   .times = sample->count,
			   .ctx = &sample->key.ctx};
	struct stack_frames frames;
	int err;

	if (!origin_wanted(a, &o))
		return 0;
	err = frames_of_sample(a->p, a->symbolizer, sample, &frames);
	err = err ? err : frames_add(a->f, a->p, &frames, &o);
	stack_frames_free(&frames);
	return err;
}

static int wait_add(struct adding *a, const struct kspan *wait)
{
	struct origin o = {.host = a->host,
			   .pid = wait->pid,
			   .tid = wait->tid,
			   .part = wait->part,
			   .waits = true,
			   .time_ns = wait->end_ns,
			   .ns = (u64)wait->split.ns[wait->part],
			   .times = 1,
			   .ctx = &wait->ctx};
	struct stack_frames frames;
	int err;

	if (!(a->choice->parts >> wait->part & 1) || !origin_wanted(a, &o))
		return 0;
	err = frames_make(a->p, a->symbolizer, wait, &frames);
	if (!err && frames.count) /* a wait that was too short has none */
		err = frames_add(a->f, a->p, &frames, &o);
	stack_frames_free(&frames);
	return err;
}

static int waits_add(struct adding *a)
{
	int err = 0;

	for (size_t i = 0; i < kspans_count(&a->p->kspans) && !err; i++) {
		struct kspan k;

		kspans_get(&a->p->kspans, i, &k);
		if (k.kind == KSPAN_WAIT)
			err = wait_add(a, &k);
	}
	return err;
}

int profile_add(struct profile *out, const struct partial *p, const struct profile_choice *choice,
		const char *host)
{
	struct adding a = {.f = out,
			   .p = p,
			   .choice = choice,
			   .host = host,
			   .use = {.filter = choice->filter}};
	int err = 0;

	a.symbolizer = symbolizer_new();
	if (!a.symbolizer)
		return -ENOMEM;
	if (choice->parts && p->facts.stacks.count)
		err = waits_add(&a);
	for (size_t i = 0; i < p->samples.list.count && !choice->parts && !err; i++)
		err = sample_add(&a, &p->samples.list.data[i]);
	symbolizer_free(a.symbolizer);
	return err;
}

int profile_make(struct profile *out, const struct sources *sources,
		 const struct profile_choice *choice)
{
	int err = 0;

	*out = (struct profile){0};
	for (size_t i = 0; i < sources->list.count && !err; i++) {
		const struct source *source = sources->list.data[i];

		err = profile_add(out, source->partial, choice, sources_host(sources, source));
	}
	return err;
}

void profile_free(struct profile *profile)
{
	for (size_t i = 0; i < profile->functions.count; i++)
		free(profile->functions.data[i].name);
	for (size_t i = 0; i < profile->stacks.count; i++)
		free(profile->stacks.data[i].functions);
	for (size_t i = 0; i < profile->processes.count; i++)
		free(profile->processes.data[i]);
	vec_free(&profile->functions);
	vec_free(&profile->stacks);
	vec_free(&profile->processes);
	bytes_map_free(&profile->by_name);
	bytes_map_free(&profile->by_stack);
	bytes_map_free(&profile->by_process);
}

/* ---- parts ---- */

#define PARTS_ON_CPU (1u << SPLIT_user | 1u << SPLIT_kernel | 1u << SPLIT_cpu)
#define PARTS_OF_NOBODY (1u << SPLIT_off_thread | 1u << SPLIT_unknown)

static u32 word_parts(const char *word, size_t length)
{
	u32 waits = ((1u << SPLIT_PARTS_COUNT) - 1) & ~(PARTS_ON_CPU | PARTS_OF_NOBODY);

	if (length == 5 && strncmp(word, "waits", length) == 0)
		return waits;
	for (unsigned int part = 0; part < SPLIT_PARTS_COUNT; part++) {
		const char *name = split_part_name(part);

		if (strlen(name) == length && strncmp(word, name, length) == 0)
			return waits & 1u << part;
	}
	return 0;
}

int profile_parts(const char *list, u32 *parts)
{
	u32 all = 0;

	if (strcmp(list, "cpu") == 0) {
		*parts = 0;
		return 0;
	}
	for (;;) {
		size_t length = strcspn(list, ",");
		u32 more = word_parts(list, length);

		if (!more)
			return -EINVAL;
		all |= more;
		if (!list[length])
			break;
		list += length + 1;
	}
	*parts = all;
	return 0;
}

/* ---- what is made of it ---- */

s64 profile_self(const struct profile *profile, const struct profile_stack *stack)
{
	bool waits = stack->count &&
		     profile->functions.data[stack->functions[stack->count - 1]].kind ==
			     PROFILE_CAUSE;
	s64 kernel = -1;

	for (size_t i = stack->count; i-- > 0;) {
		u32 number = stack->functions[i];
		enum profile_kind kind = profile->functions.data[number].kind;

		if (kind == PROFILE_CAUSE || kind == PROFILE_MORE)
			continue;
		if (!waits || kind != PROFILE_KERNEL)
			return number;
		kernel = number; /* the outermost one, if there is none of a program */
	}
	return kernel;
}

/* A text in which nothing parts frames or lines. */
static void folded_put(struct bytes *out, const char *text)
{
	for (; *text; text++) {
		char c = *text == ';' ? ':' : *text;

		bytes_put_u8(out, (u8)((unsigned char)c < ' ' || c == 127 ? '?' : c));
	}
}

static void folded_line(const struct profile *profile, const struct profile_stack *stack,
			struct bytes *out)
{
	char value[32];

	folded_put(out, stack->process);
	for (size_t i = 0; i < stack->count; i++) {
		const struct profile_function *f = &profile->functions.data[stack->functions[i]];

		bytes_put_u8(out, ';');
		folded_put(out, f->name);
		if (f->kind == PROFILE_KERNEL)
			bytes_put(out, "_[k]", 4);
		else if (f->kind == PROFILE_JIT)
			bytes_put(out, "_[j]", 4);
	}
	bytes_put(out, value, (size_t)snprintf(value, sizeof(value), " %" PRIu64 "\n", stack->ns));
}

struct line {
	const char *at;
	size_t bytes;
};

static int line_compare(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int order = memcmp(x->at, y->at, x->bytes < y->bytes ? x->bytes : y->bytes);

	return order ? order : x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

int profile_write_folded(const struct profile *profile, struct bytes *out)
{
	struct bytes text = {0};
	VEC(struct line) lines = {0};
	int err = 0;

	for (size_t i = 0; i < profile->stacks.count; i++)
		folded_line(profile, &profile->stacks.data[i], &text);
	for (size_t at = 0; at < text.count && !text.failed && !err;) {
		const char *begin = (const char *)text.data + at;
		size_t bytes =
			(size_t)((const char *)memchr(begin, '\n', text.count - at) - begin) + 1;

		err = vec_push(&lines, ((struct line){begin, bytes}));
		at += bytes;
	}
	if (lines.count)
		qsort(lines.data, lines.count, sizeof(*lines.data), line_compare);
	for (size_t i = 0; i < lines.count; i++)
		bytes_put(out, lines.data[i].at, lines.data[i].bytes);
	err = text.failed || out->failed ? -ENOMEM : err;
	vec_free(&lines);
	bytes_free(&text);
	return err;
}
