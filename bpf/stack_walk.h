/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * User stacks, by frame pointers. Such a walk skips code without frame pointers. So the words at
 * the top of the stack that are addresses of code are recorded, too: with the unwind tables of the
 * files, which are read when the stack is shown, they give the missing frames.
 */
#ifndef BPF_STACK_WALK_H
#define BPF_STACK_WALK_H

#include "bpf/mapping.h"

struct stack_walk {
	struct stack_scratch *s;
	struct task_struct *task;
	struct stack_layout *layout; /* in an interrupt; else NULL */
	u32 at;
};

/* Finds the mapping at an address. False: there is none, or mappings are being changed. */
static __always_inline bool stack_look(struct stack_walk *w, u64 address, struct vma_seen *seen)
{
	long err = bpf_find_vma(w->task, address, vma_look, seen, 0);

	if (err == -EBUSY)
		w->s->lost = 1;
	return !err;
}

/* Looks up the mapping at an address, and tells it if it is one of code. Whether it is. */
static __always_inline bool stack_look_code(struct stack_walk *w, u64 address)
{
	struct stack_layout *layout = w->layout ? w->layout : layout_of(w->task);
	struct vma_seen seen = {};

	if (!stack_look(w, address, &seen)) {
		/* a number that is no address: it must not take the look-up of each sample */
		if (w->layout && !w->s->lost) {
			seen.begin = address & ~((1ull << PAGE_BITS) - 1);
			seen.end = seen.begin + (1ull << PAGE_BITS);
			layout_put(w->layout, &seen);
		}
		return false;
	}
	if (layout && (w->layout || layout_find(layout, address) == LAYOUT_UNKNOWN))
		layout_put(layout, &seen);
	if (!seen.code) {
		w->s->data_begin = seen.begin;
		w->s->data_bytes = seen.end - seen.begin;
		return false;
	}
	w->s->code_begin = seen.begin;
	w->s->code_bytes = seen.end - seen.begin;
	mapping_tell(w->task, &seen, w->at);
	return true;
}

/* Whether an address is one of code. If so, its mapping is told. */
static __always_inline bool stack_is_code(struct stack_walk *w, u64 address)
{
	struct stack_scratch *s = w->s;

	if (address < 1 << PAGE_BITS || address >= USER_END)
		return false;
	if (address - s->code_begin < s->code_bytes)
		return true;
	if (address - s->data_begin < s->data_bytes)
		return false;
	if (w->layout) {
		enum layout_found found = layout_find(w->layout, address);

		if (found != LAYOUT_UNKNOWN)
			return found == LAYOUT_CODE;
		if (s->looked || s->skip) {
			if (s->skip)
				s->skip--;
			s->unknown = 1;
			return false;
		}
		s->looked = 1;
	}
	return stack_look_code(w, address);
}

static __always_inline void frame_put(struct stack_scratch *s, u64 address)
{
	u64 at = s->count;

	if (at >= STACK_ROOM || at >= s->room)
		return;
	s->frames[at] = address;
	s->count = at + 1;
}

/* Goes to the frame of the caller. 1: there is none. */
static __always_inline long frame_step(struct stack_scratch *s, const u64 frame[2])
{
	if (frame[1] < 1 << PAGE_BITS || frame[1] >= USER_END)
		return 1;
	frame_put(s, frame[1]);
	if (frame[0] <= s->fp)
		return 1; /* stacks grow downwards */
	s->fp = frame[0];
	return 0;
}

/* Begins behind the frames of the kernel, `kernel` of them, if they go into the same record. */
static __always_inline void walk_begin(struct stack_scratch *s, struct task_struct *task,
				       u32 kernel, u32 room)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	s->sp = BPF_CORE_READ(regs, sp);
	s->fp = BPF_CORE_READ(regs, bp);
	s->first = kernel;
	s->count = kernel;
	s->room = room;
	s->lost = 0;
	s->cut = 0;
	s->looked = 0;
	s->skip = 0;
	s->unknown = 0;
	s->code_bytes = 0;
	s->data_bytes = 0;
	frame_put(s, BPF_CORE_READ(regs, ip));
}

/* Whether a frame can follow: its pointer is aligned and above the top of the stack. */
static __always_inline bool walk_goes_on(const struct stack_scratch *s)
{
	return s->fp >= s->sp && !(s->fp & 7) && s->fp < USER_END;
}

/* Behind the last step by frame pointers: notes whether there may be more, `most` were allowed. */
static __always_inline void walk_note(struct stack_scratch *s, u32 most)
{
	if (s->count - s->first > most && walk_goes_on(s))
		s->cut = 1;
}

/* Ends the chain at an address that is not in code. The innermost one is replaced by 0. */
static long place_check(u32 index, void *arg)
{
	struct stack_walk *w = arg;
	struct stack_scratch *s = w->s;
	u64 at = s->first + index;

	if (at >= STACK_ROOM || at >= s->count)
		return 1;
	if (stack_is_code(w, s->frames[at]))
		return 0;
	if (s->unknown)
		s->cut = 1;
	if (index) {
		s->count = at;
		return 1;
	}
	s->frames[at] = 0;
	return 0;
}

/* Makes room for the bits of the words. 0: there is none. */
static __always_inline u32 words_begin(struct stack_scratch *s)
{
	u32 bits = (stack_words + 63) / 64;

	s->bitmap_at = s->count;
	if (s->count + bits > s->room || bits > STACK_WORDS_MAX / 64)
		return 0;
	for (u32 i = 0; i < STACK_WORDS_MAX / 64; i++) {
		if (i < bits)
			frame_put(s, 0);
	}
	return stack_words;
}

/* Adds a word if it is an address of code. 1: there is no room for more. */
static __always_inline long word_put(struct stack_walk *w, u32 index, u64 word)
{
	struct stack_scratch *s = w->s;
	u64 at = s->bitmap_at + index / 64;

	if (!stack_is_code(w, word))
		return 0;
	if (s->count >= s->room || at >= STACK_ROOM) {
		s->cut = 1;
		return 1;
	}
	s->frames[at] |= 1ull << (index & 63);
	frame_put(s, word);
	return 0;
}

/*
 * How many unknown words are passed over before the look-up of a sample, so that each of them gets
 * its turn: numbers that differ from sample to sample may stand before an address of code.
 */
static __always_inline u32 stack_skip(u32 random)
{
	return random & 1 ? 0 : random >> 1 & 31;
}

/* ---- of the running thread ---- */

static long current_step(u32 index, void *arg)
{
	struct stack_walk *w = arg;
	u64 frame[2];

	if (!walk_goes_on(w->s) || bpf_probe_read_user(frame, sizeof(frame), (void *)w->s->fp))
		return 1;
	return frame_step(w->s, frame);
}

static long current_word(u32 index, void *arg)
{
	struct stack_walk *w = arg;
	struct stack_scratch *s = w->s;
	u32 in_chunk = index & (STACK_CHUNK - 1);

	if (!in_chunk &&
	    bpf_probe_read_user(s->chunk, sizeof(s->chunk), (void *)(s->sp + 8 * (u64)index)))
		return 1;
	return word_put(w, index, s->chunk[in_chunk]);
}

/* Walks the stack, and adds the words at its top. How many words; 0: there was no room. */
static __always_inline u32 current_walk(struct stack_walk *w, u32 most)
{
	u32 words;

	bpf_loop(most, current_step, w, 0);
	walk_note(w->s, most);
	bpf_loop(most + 1, place_check, w, 0);
	w->s->unknown = 0;
	words = words_begin(w->s);
	if (w->layout)
		w->s->skip = stack_skip(bpf_get_prandom_u32());
	bpf_loop(words, current_word, w, 0);
	return words;
}

#endif
