// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Tracepoints that the user chose, with the payload in the layout for perf, which the tracepoint's
 * format describes. One program serves all of them; its cookie tells which one fired.
 *
 * The payload begins with 8 bytes: type, flags, preempt count and pid. For programs the kernel
 * replaces them by a pointer, so type and pid are set again.
 */
#include "bpf/event.h"
#include "bpf/context.h"
#include "bpf/interrupt.h"
#include "bpf/named.h"
#include "bpf/ring.h"

char LICENSE[] SEC("license") = "GPL";

/* Capture sets max_entries and fills it in. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct event_config);
} event_configs SEC(".maps");

/* The kernel runs one such program at a time on a CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rare_scratch);
} event_scratches SEC(".maps");

struct event_common {
	u16 type;
	u8 flags, preempt_count;
	u32 pid;
};

/* Fills in the running thread, none on an idle CPU, and its active span. False: out of scope. */
static __always_inline bool event_of_running(struct record_event *r, struct task_struct *task,
					     const struct event_config *config)
{
	struct thread_state *state = task->pid ? state_of(task) : NULL;
	/* with other users of perf, this runs before the program that puts the command in scope */
	bool begins = state && (config->flags & EVENT_IS_EXEC) && (state->flags & STATE_PENDING);

	if (task->pid ? !state_in(state) && !begins : !scope_host)
		return false;
	r->head.tid = tid_of(task, state);
	r->head.pid = task->tgid;
	if (!state)
		return true;
	context_now(state, task);
	r->ctx = state->ctx;
	return true;
}

/* What an interrupt does above a thread of capture's is the host's: of no thread, as on an idle
 * CPU. */
static __always_inline bool event_of_host(const struct event_config *config)
{
	return scope_host && *(volatile u32 *)&recording & RECORDING_ALL &&
	       ((config->flags & EVENT_IN_INTERRUPT) || interrupt_is_above());
}

static __always_inline bool event_of_current(struct record_event *r, struct task_struct *task,
					     const struct event_config *config)
{
	return event_of_running(r, task, config) || event_of_host(config);
}

static __always_inline bool event_of_named(struct record_event *r, u32 tid)
{
	struct named_thread *named = named_find(tid), copy = {};

	if (named)
		copy = *named;
	if (copy.tid != tid) { /* the thread is not known, or its entry was just replaced */
		if (!scope_host)
			return false;
		if (tid)
			ring_count_incomplete();
		r->head.tid = tid;
		return true;
	}
	r->head.tid = tid;
	r->head.pid = copy.pid;
	r->ctx = copy.ctx;
	return copy.in;
}

static __always_inline bool event_owner(struct record_event *r, const struct event_config *config,
					void *payload)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 tid = 0;

	__builtin_memset(&r->head, 0, sizeof(r->head));
	__builtin_memset(&r->ctx, 0, sizeof(r->ctx));
	if (!config->thread_at)
		return event_of_current(r, task, config);
	bpf_probe_read_kernel(&tid, sizeof(tid), payload + config->thread_at);
	if (tid == (u32)task->pid)
		return event_of_running(r, task, config);
	if (event_of_named(r, tid))
		return true;
	/* an event that a thread in scope causes for one outside belongs to the first */
	if (scope_host || interrupt_is_above())
		return false;
	__builtin_memset(&r->ctx, 0, sizeof(r->ctx));
	return event_of_running(r, task, config);
}

/* The bytes up to the end of the last string. */
static __always_inline u32 event_bytes(const struct event_config *config, void *payload)
{
	u32 bytes = config->fixed;

#pragma unroll
	for (int i = 0; i < EVENT_LOCATIONS; i++) {
		u32 location = 0, at = config->location_at[i], end;

		if (i >= config->location_count)
			break;
		bpf_probe_read_kernel(&location, sizeof(location), payload + at);
		end = (location & 0xffff) + (location >> 16);
		if (config->relative >> i & 1)
			end += at + 4;
		if (end > bytes)
			bytes = end;
	}
	return bytes;
}

static __always_inline void event_record(void *payload)
{
	u32 index = bpf_get_attach_cookie(payload), zero = 0, bytes;
	struct event_config *config = bpf_map_lookup_elem(&event_configs, &index);
	struct record_event *r = bpf_map_lookup_elem(&event_scratches, &zero);
	struct event_common common = {};

	if (!config || !r || !event_owner(r, config, payload))
		return;
	if (spans_only && !context_is_set(&r->ctx))
		return;
	bytes = event_bytes(config, payload);
	if (bytes > EVENT_PAYLOAD_MAX) {
		bytes = EVENT_PAYLOAD_MAX;
		ring_count_incomplete();
	}
	BOUND(bytes, 0xfff);
	if (bytes > EVENT_PAYLOAD_MAX || bpf_probe_read_kernel(r->payload, bytes, payload)) {
		ring_count_lost(RECORD_event);
		return;
	}
	common.type = config->type;
	common.pid = bpf_get_current_pid_tgid();
	__builtin_memcpy(r->payload, &common, sizeof(common));
	r->head.kind = RECORD_event;
	r->format = config->format;
	r->payload_len = bytes;
	rare_emit(&r->head, __builtin_offsetof(struct record_event, payload) + bytes);
}

/*
 * Notes interrupts between CPUs, for events only. Loaded only if events were chosen for the whole
 * host.
 */
#define EVENT_VECTOR(name, bit)                                                                    \
	SEC("tp_btf/" #name "_entry")                                                              \
	int BPF_PROG(name##_entry, int vector)                                                     \
	{                                                                                          \
		struct interrupt_state *interrupt = interrupt_here();                              \
                                                                                                   \
		if (interrupt)                                                                     \
			interrupt->vectors |= 1u << (bit);                                         \
		return 0;                                                                          \
	}                                                                                          \
	SEC("tp_btf/" #name "_exit")                                                               \
	int BPF_PROG(name##_exit, int vector)                                                      \
	{                                                                                          \
		struct interrupt_state *interrupt = interrupt_here();                              \
                                                                                                   \
		if (interrupt)                                                                     \
			interrupt->vectors &= ~(1u << (bit));                                      \
		return 0;                                                                          \
	}

EVENT_VECTOR(reschedule, 0)
EVENT_VECTOR(call_function, 1)
EVENT_VECTOR(call_function_single, 2)

/* Returns 1: 0 would keep the event from other users of perf. */
SEC("tracepoint")
int event_fired(void *payload)
{
	event_record(payload);
	return 1;
}
