// SPDX-License-Identifier: Apache-2.0
#include "capture/stack/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "capture/kernel/kernel.h"
#include "capture/scope/scope.h"
#include "capture/stack/jit_names.h"
#include "capture/stack/kernel_symbols.h"
#include "capture/stack/mapping_ids.h"
#include "capture/stack/sampler.h"
#include "capture/state.h"
#include "programs.skel.h"

#define STACK_PLACES 5	  /* enum stack_at of bpf/stack.h */
#define RANGES_TOLD 16384 /* mappings that the kernel programs remember as told */
#define LAYOUTS 2048	  /* processes of which they remember the mappings, for samples */
#define WORD_BYTES 8
#define SECOND_NS 1000000000ull

static const struct capture_stream stacks_stream = {.kind = CAPTURE_STREAM_LIFE};

struct capture_stacks {
	struct kernel_symbols *symbols; /* NULL: they cannot be read */
	u8 *told;			/* for each of them: 1 if it was told */
	struct mapping_ids *ids;	/* from capture_stacks_start() on */
	struct jit_names *jit;		/* likewise */
	struct bpf_link *links[2];	/* of programs_of() */
	bool waits;			/* stacks of waits are recorded */
	struct sampler *sampler;	/* NULL: no samples are taken */
	u64 missed;			/* runs of the programs that the kernel skipped, as told */
};

/* The programs that record stacks, which are attached after all others. */
static size_t programs_of(const struct capture *c, struct bpf_program *list[2])
{
	list[0] = c->programs->progs.stack_switch;
	list[1] = c->programs->progs.stack_exit;
	return 2;
}

static int tables_size(struct capture *c, const struct capture_options *options)
{
	struct programs *p = c->programs;
	int err = bpf_map__set_max_entries(p->maps.stack_ranges, RANGES_TOLD);

	if (!err)
		err = bpf_map__set_max_entries(p->maps.stack_scratches, STACK_PLACES);
	if (!err)
		err = bpf_map__set_max_entries(p->maps.mapping_scratches, STACK_PLACES);
	if (!err && options->sample_hz)
		err = bpf_map__set_max_entries(p->maps.stack_layouts, LAYOUTS);
	return err;
}

/* Chooses the programs, and tells them what to record. */
static void programs_choose(struct capture *c, const struct capture_options *options)
{
	struct programs *p = c->programs;
	struct bpf_program *list[2];
	bool waits = options->stacks_min_ns;

	for (size_t i = programs_of(c, list); i-- > 0;)
		bpf_program__set_autoload(list[i], waits);
	bpf_program__set_autoload(p->progs.stacks_open, waits);
	bpf_program__set_autoload(p->progs.sample_take, options->sample_hz != 0);
	p->rodata->stack_min_ns = options->stacks_min_ns;
	if (options->sample_hz)
		p->rodata->sample_period_ns = SECOND_NS / options->sample_hz;
	if (options->stack_bytes)
		p->rodata->stack_words = (u32)(options->stack_bytes / WORD_BYTES);
}

static int symbols_read(struct capture_stacks *s)
{
	s->symbols = kernel_symbols_read("/proc/kallsyms");
	if (s->symbols)
		s->told = calloc(kernel_symbols_count(s->symbols), 1);
	return s->symbols && !s->told ? -ENOMEM : 0;
}

int capture_stacks_open(struct capture_stacks **out, struct capture *c,
			const struct capture_options *options, struct error *e)
{
	struct capture_stacks *s;
	int err;

	programs_choose(c, options);
	*out = NULL;
	if (!options->stacks_min_ns && !options->sample_hz)
		return 0;
	err = tables_size(c, options);
	s = err ? NULL : calloc(1, sizeof(*s));
	if (!s)
		return error_set(e, err ? err : ENOMEM, "cannot record stacks");
	s->waits = options->stacks_min_ns;
	err = symbols_read(s);
	if (!err && options->sample_hz)
		err = sampler_new(&s->sampler, (u32)c->ring_count, options->sample_hz);
	if (err) {
		capture_stacks_close(s);
		return error_set(e, ENOMEM, "cannot record stacks");
	}
	*out = s;
	return 0;
}

bool capture_stacks_of_kernel(const struct capture_stacks *s)
{
	return !s || s->symbols;
}

int capture_stacks_start(struct capture_stacks *s, struct capture *c, struct error *e)
{
	int err = s ? mapping_ids_open(&s->ids, c->drop_capabilities, e) : 0;

	return err || !s ? err : jit_names_open(&s->jit, c->drop_capabilities, e);
}

static int sampler_begin(struct capture_stacks *s, struct capture *c, struct error *e)
{
	int err = sampler_attach(s->sampler, c->programs->progs.sample_take);

	if (err == -EACCES || err == -EPERM)
		return error_say(
			e, EPERM,
			"cannot take samples: the kernel allows it with CAP_PERFMON, and on "
			"some with kernel.perf_event_paranoid below 3");
	return err ? capture_messages_fail(e, -err, "cannot take samples") : 0;
}

int capture_stacks_attach(struct capture_stacks *s, struct capture *c, struct error *e)
{
	struct bpf_program *list[2];
	size_t count = s && s->waits ? programs_of(c, list) : 0;

	for (size_t i = 0; i < count; i++) {
		s->links[i] = bpf_program__attach(list[i]);
		if (!s->links[i])
			return capture_messages_fail(e, errno, "cannot attach what records stacks");
	}
	return s && s->sampler ? sampler_begin(s, c, e) : 0;
}

void capture_stacks_detach(struct capture_stacks *s)
{
	for (size_t i = 0; s && i < 2; i++) {
		bpf_link__destroy(s->links[i]);
		s->links[i] = NULL;
	}
	if (s)
		sampler_detach(s->sampler);
}

void capture_stacks_cpus(struct capture_stacks *s, struct capture *c)
{
	if (s && s->sampler)
		(void)sampler_attach(s->sampler, c->programs->progs.sample_take);
}

bool capture_stacks_await_cpus(const struct capture_stacks *s)
{
	return s && s->sampler;
}

u64 capture_stacks_missed(struct capture_stacks *s, struct capture *c)
{
	struct bpf_program *list[2];
	size_t count = s && s->waits ? programs_of(c, list) : 0;
	u64 missed = 0, before = s ? s->missed : 0;

	for (size_t i = 0; i < count; i++) {
		struct bpf_prog_info info = {0};
		u32 size = sizeof(info);

		if (!bpf_obj_get_info_by_fd(bpf_program__fd(list[i]), &info, &size))
			missed += info.recursion_misses;
	}
	if (missed <= before)
		return 0;
	s->missed = missed;
	return missed - before;
}

void capture_stacks_close(struct capture_stacks *s)
{
	if (!s)
		return;
	capture_stacks_detach(s);
	sampler_free(s->sampler);
	mapping_ids_close(s->ids);
	jit_names_close(s->jit);
	kernel_symbols_free(s->symbols);
	free(s->told);
	free(s);
}

/* ---- the kernel's part ---- */

/* The frames of the kernel in a record. */
struct kernel_frames {
	char *at; /* u64 each, not aligned */
	size_t count;
};

static struct kernel_frames frames_of(struct record_head *head)
{
	struct record_stack *stack = (void *)head;
	struct record_sample *sample = (void *)head;

	if (head->kind == RECORD_sample)
		return (struct kernel_frames){sample->frames, sample->kernel};
	return (struct kernel_frames){stack->frames,
				      stack->flags & STACK_KERNEL ? stack->frames_len / 8u : 0};
}

static u64 frame_of(const struct kernel_frames *frames, size_t i)
{
	u64 address;

	memcpy(&address, frames->at + 8 * i, sizeof(address));
	return address;
}

/* Tells a function as a mapping of the kernel, which is process 0. */
static int function_tell(struct capture *c, const struct capture_sink *sink,
			 const struct kernel_function *f, u64 time_ns)
{
	union {
		struct record_mapping r;
		u8 slots[(sizeof(struct record_mapping) / RECORD_SLOT_BYTES + 1) *
			 RECORD_SLOT_BYTES];
	} out = {.r = {.begin = f->begin, .end = f->end}};
	struct record_mapping *r = &out.r;
	size_t module = strlen(f->module), name = strlen(f->name);

	if (module + name + 2 > sizeof(r->path))
		return 0;
	r->head.kind = RECORD_mapping;
	r->head.time_ns = time_ns;
	memcpy(r->path, f->module, module);
	memcpy(r->path + module + 2, f->name, name);
	r->path_len = (u16)(module + 2 + name);
	r->head.slots =
		(offsetof(struct record_mapping, path) + r->path_len + RECORD_SLOT_BYTES - 1) /
		RECORD_SLOT_BYTES;
	return sink->record(sink->arg, &stacks_stream, &r->head);
}

int capture_stacks_names(struct capture_stacks *s, struct capture *c,
			 const struct capture_sink *sink, const struct record_head *head)
{
	struct kernel_frames frames = frames_of((struct record_head *)head);
	struct kernel_function f;
	int err = 0;

	if (s && s->jit)
		jit_names_ask(s->jit, head);
	if (!s || !frames.count)
		return 0;
	if (!s->symbols) {
		c->counts.incomplete++;
		return head->kind == RECORD_stack;
	}
	for (size_t i = 0; i < frames.count && !err; i++) {
		/* a return address can be behind its function, if that ends with the call */
		if (kernel_symbols_find(s->symbols, frame_of(&frames, i) - (i > 0), &f) ||
		    s->told[f.number])
			continue;
		s->told[f.number] = 1;
		err = function_tell(c, sink, &f, head->time_ns);
	}
	return err;
}

/* Leaves out the frames of the kernel, whose functions are not known. */
static void kernel_leave_out(struct record_sample *r)
{
	size_t bytes = (size_t)r->kernel * 8;

	memmove(r->frames, r->frames + bytes, r->frames_len - bytes);
	r->frames_len -= (u16)bytes;
	r->kernel = 0;
}

int capture_stacks_record(struct capture_stacks *s, const struct capture_sink *sink,
			  const struct capture_stream *stream, const struct record_head *head)
{
	union {
		struct record_head head;
		struct record_sample sample;
		u8 slots[RECORD_MAX_SLOTS * RECORD_SLOT_BYTES];
	} copy;
	struct kernel_frames frames;

	if (!s || !frames_of((struct record_head *)head).count)
		return sink->record(sink->arg, stream, head);
	memcpy(&copy, head, (size_t)head->slots * RECORD_SLOT_BYTES);
	frames = frames_of(&copy.head);
	if (!s->symbols)
		kernel_leave_out(&copy.sample);
	for (size_t i = 0; i < frames.count && s->symbols; i++) {
		u64 linked = kernel_symbols_linked(s->symbols, frame_of(&frames, i));

		memcpy(frames.at + 8 * i, &linked, sizeof(linked));
	}
	return sink->record(sink->arg, stream, &copy.head);
}

/* ---- mapped files ---- */

void capture_stacks_life(struct capture_stacks *s, const struct record_head *r)
{
	bool is_new = r->kind == RECORD_fork &&
		      !(((const struct record_fork *)r)->flags & THREAD_IS_THREAD);

	if (s && s->jit && (is_new || r->kind == RECORD_exec))
		jit_names_forget(s->jit, r->pid);
}

bool capture_stacks_mapping(struct capture_stacks *s, const struct record_head *head)
{
	const struct record_mapping *r = (const void *)head;

	if (!s || !s->ids || !s->jit)
		return false;
	if (r->file.kind != FILE_KIND_none)
		return mapping_ids_put(s->ids, r);
	if (r->path_len) /* it has a name, and no file */
		return false;
	jit_names_mapped(s->jit, r);
	return true;
}

/* Hands over mappings that `take` gives. */
static int mappings_give(struct record_mapping *(*take)(struct capture_stacks *s),
			 struct capture_stacks *s, const struct capture_sink *sink, u64 time_ns)
{
	struct record_mapping *r;
	int err = 0;

	while (!err && (r = take(s))) {
		r->head.time_ns = time_ns;
		err = sink->record(sink->arg, &stacks_stream, &r->head);
		free(r);
	}
	return err;
}

static struct record_mapping *mapped_take(struct capture_stacks *s)
{
	return mapping_ids_take(s->ids);
}

static struct record_mapping *jit_take(struct capture_stacks *s)
{
	return jit_names_take(s->jit);
}

int capture_stacks_collect(struct capture_stacks *s, struct capture *c,
			   const struct capture_sink *sink, u64 time_ns)
{
	int err;

	if (!s || !s->ids || !s->jit)
		return 0;
	jit_names_poll(s->jit);
	err = mappings_give(mapped_take, s, sink, time_ns);
	err = err ? err : mappings_give(jit_take, s, sink, time_ns);
	c->counts.incomplete += mapping_ids_missed(s->ids) + jit_names_missed(s->jit);
	return err;
}

int capture_stacks_settle(struct capture_stacks *s, struct capture *c,
			  const struct capture_sink *sink, u64 cut_ns)
{
	u64 until_ns = clock_now_ns() + CAPTURE_CUT_WAIT_NS;

	if (!s || !s->ids || !s->jit)
		return 0;
	mapping_ids_wait(s->ids, until_ns);
	jit_names_wait(s->jit, until_ns);
	return capture_stacks_collect(s, c, sink, cut_ns);
}

/* ---- waits that go on ---- */

int capture_stacks_open_waits(struct capture_stacks *s, struct capture *c,
			      const struct capture_sink *sink)
{
	int err = s && s->waits ? capture_iterator_run(c, sink, c->programs->progs.stacks_open, 0)
				: 0;

	return err > 0 ? 0 : err;
}
