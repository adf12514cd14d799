/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/span_stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "map/fact/query.h"
#include "map/fact/stack.h"
#include "symbol/symbol_name.h"

#define NAME_MAX_SHOWN 1024
#define STEPS_MAX 64 /* maximum of frames found by the words at the top of the stack */

struct making_frames {
	const struct partial *p;
	struct symbolizer *symbolizer;
	const struct fact_stack *stack;
	VEC(struct frame) list;
	bool cut;
	int err;
};

static const char *mapping_identity(const struct fact_mapping *m)
{
	return m->path + strlen(m->path) + 1;
}

/* The place in the code. A return address can be after the end of the calling function. */
static struct symbol_place place_of(const struct fact_mapping *m, u64 address)
{
	return (struct symbol_place){.path = m->path,
				     .identity = mapping_identity(m),
				     .offset = address - m->begin + m->offset};
}

static char *text_of(const char *text)
{
	return text && text[0] ? strdup(text) : NULL;
}

/* Makes readable names of C++ and Rust, in addition to the name in the file. */
static void name_take(struct frame *view, const char *symbol)
{
	char plain[NAME_MAX_SHOWN], *own = strndup(symbol, strcspn(symbol, "@")); /* its version */

	if (own && symbol_name_plain(own, plain, sizeof(plain))) {
		view->symbol = own;
		own = strdup(plain);
	}
	view->function = own;
}

static void frame_free(const struct frame *view)
{
	free((char *)view->function);
	free((char *)view->symbol);
	free((char *)view->file);
}

static void function_find(struct making_frames *f, const struct fact_mapping *m, u64 called,
			  struct frame *view)
{
	const char *id = mapping_identity(m);
	struct symbol_place place = place_of(m, called);
	struct symbol symbol;
	int err;

	if (view->kernel || strcmp(m->path, RECORD_MAPPING_JIT) == 0) {
		view->function = text_of(id + strlen(id) + 1);
		view->offset = view->address - m->begin;
		return;
	}
	err = symbolizer_find(f->symbolizer, &place, &symbol);
	if (!err) {
		name_take(view, symbol.name);
		view->offset = symbol.offset + (view->address - called);
	}
	if (err == -ENOMEM || (!err && !view->function))
		f->err = -ENOMEM;
}

static void frame_add(struct making_frames *f, u64 address, bool innermost)
{
	u64 called = address - !innermost;
	const struct fact_mapping *m = query_mapping(f->p, f->stack, called);
	struct frame view = {.address = address, .kernel = f->stack->flags & STACK_KERNEL};

	if (m) {
		view.file = text_of(m->path);
		if (!view.kernel && strcmp(m->path, RECORD_MAPPING_JIT) != 0)
			view.file_offset = address - m->begin + m->offset;
		function_find(f, m, called, &view);
	}
	if (!f->err)
		f->err = vec_push(&f->list, view);
	if (f->err)
		frame_free(&view);
}

/* Adds the frames of the chain of frame pointers from `from` on, up to one that is not code. */
static void chain_add(struct making_frames *f, u32 from)
{
	for (u32 i = from; i < f->stack->frames && f->stack->addresses[i] && !f->err; i++)
		frame_add(f, f->stack->addresses[i], i == 0);
}

/*
 * Python's perf trampolines are code without a frame pointer and without unwind tables: one for
 * each function of Python, which calls the interpreter. On x86-64 it only aligns the stack by a
 * word.
 */
#define TRAMPOLINE_NAME "py::"
#define TRAMPOLINE_BYTES 32
#define TRAMPOLINE_FRAME 16

static bool is_trampoline(const struct fact_mapping *m)
{
	const char *id = mapping_identity(m);

	return strcmp(m->path, RECORD_MAPPING_JIT) == 0 && m->end - m->begin <= TRAMPOLINE_BYTES &&
	       strncmp(id + strlen(id) + 1, TRAMPOLINE_NAME, strlen(TRAMPOLINE_NAME)) == 0;
}

static int frame_of(struct making_frames *f, u64 address, struct symbol_frame *frame)
{
	const struct fact_mapping *m = query_mapping(f->p, f->stack, address);
	struct symbol_place place;

	if (!m)
		return -ENOENT;
	if (is_trampoline(m)) {
		*frame = (struct symbol_frame){.size = TRAMPOLINE_FRAME, .pointer_kept = true};
		return 0;
	}
	place = place_of(m, address);
	return symbolizer_frame(f->symbolizer, &place, frame);
}

/*
 * Adds a user stack. Functions without a frame pointer are found by the unwind tables of
 * their files and the words at the top of the stack. The chain of frame pointers begins
 * with the first function that keeps one. If a function before it uses that register for
 * something else, the chain is meaningless.
 */
static void user_add(struct making_frames *f)
{
	const struct fact_stack *s = f->stack;
	u64 address = s->frames ? s->addresses[0] : 0, top = 0;
	bool chained = true;

	if (address)
		frame_add(f, address, true);
	for (int step = 0; step < STEPS_MAX && address && !f->err; step++) {
		struct symbol_frame frame;
		int err = s->words ? frame_of(f, address - (step > 0), &frame) : -ENOENT;

		if (!err && frame.outermost)
			return;
		if (err || frame.by_pointer || frame.size < 8 || frame.size % 8)
			break;
		chained = chained && frame.pointer_kept;
		top += (u64)frame.size;
		f->cut = top / 8 > s->words;
		if (f->cut)
			break;
		address = s->addresses[s->frames + top / 8 - 1];
		if (address)
			frame_add(f, address, false);
		else
			f->cut = s->unsure;
	}
	f->cut |= s->cut;
	if (chained)
		chain_add(f, 1);
}

static void stack_add(struct making_frames *f, const struct fact_stack *stack)
{
	f->stack = stack;
	if (!stack)
		return;
	if (stack->flags & STACK_KERNEL)
		chain_add(f, 0);
	else
		user_add(f);
}

static bool has_kernel_stacks(const struct partial *p)
{
	return p->facts.mappings.count && p->facts.mappings.data[0].pid == 0;
}

static int frames_take(struct making_frames *f, struct stack_frames *out)
{
	*out = (struct stack_frames){f->list.data, f->list.count, f->cut};
	if (f->err)
		stack_frames_free(out);
	return f->err ? -ENOMEM : 0;
}

int frames_make(const struct partial *p, struct symbolizer *symbolizer, const struct kspan *wait,
		struct stack_frames *out)
{
	struct making_frames f = {.p = p, .symbolizer = symbolizer};
	const struct fact_stack *kernel = query_stack(p, STACK_KERNEL, wait->tid, wait->begin_ns,
						      wait->end_ns);

	*out = (struct stack_frames){0};
	/* a short wait in a call that also has a long one */
	if (!kernel && has_kernel_stacks(p))
		return 0;
	stack_add(&f, kernel);
	stack_add(&f, query_stack(p, STACK_USER, wait->tid, wait->begin_ns, wait->end_ns));
	return frames_take(&f, out);
}

int frames_of_sample(const struct partial *p, struct symbolizer *symbolizer,
		     const struct sample_sum *sample, struct stack_frames *out)
{
	const struct sample_key *key = &sample->key;
	u64 addresses[UINT16_MAX / 8 + STACK_WORDS_MAX];
	size_t plain = ((size_t)key->kernel + key->user) * 8;
	struct making_frames f = {.p = p, .symbolizer = symbolizer};
	struct fact_stack stack = {.time_ns = sample->last_ns,
				   .tid = key->tid,
				   .pid = key->pid,
				   .flags = STACK_KERNEL,
				   .frames = key->kernel,
				   .addresses = addresses};

	memcpy(addresses, key->frames, plain);
	stack_unpack(key->frames + plain, key->words, addresses + plain / 8);
	stack_add(&f, &stack);
	stack.flags = STACK_USER;
	stack.cut = key->flags & STACK_CUT;
	stack.unsure = key->flags & STACK_UNSURE;
	stack.frames = key->user;
	stack.words = key->words;
	stack.addresses = addresses + key->kernel;
	stack_add(&f, &stack);
	return frames_take(&f, out);
}

int frames_count_cut(const struct partial *p, u64 *cut)
{
	struct symbolizer *symbolizer = p->wait_stacks.list.count ? symbolizer_new() : NULL;
	int err = p->wait_stacks.list.count && !symbolizer ? -ENOMEM : 0;

	*cut = 0;
	for (size_t i = 0; i < p->wait_stacks.list.count && !err; i++) {
		const struct sample_sum *stack = &p->wait_stacks.list.data[i];
		struct stack_frames frames;

		err = frames_of_sample(p, symbolizer, stack, &frames);
		*cut += frames.cut ? stack->count : 0;
		stack_frames_free(&frames);
	}
	symbolizer_free(symbolizer);
	return err;
}

void stack_frames_free(struct stack_frames *frames)
{
	for (size_t i = 0; i < frames->count; i++)
		frame_free(&frames->list[i]);
	free(frames->list);
	*frames = (struct stack_frames){0};
}
