/* SPDX-License-Identifier: Apache-2.0 */
/* Records about a thread: spans, events, files, requests, bytes, the cgroup of its process. */
#include "simulate_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

void does_span(struct actor *a)
{
	u64 id = hash_u64(a->now * 4096 + a->thread->tid);

	a->on_since = a->now;
	if (a->depth < 8 && simulation_random(a->s, 2)) {
		struct record_span_begin r = {
			.head = head_of(a), .flags = 1, .name_len = 4, .name = "span"};
		r.parent = a->depth ? a->spans[a->depth - 1] : 0;
		memcpy(r.ctx.span, &id, 8);
		a->spans[a->depth++] = id;
		actor_emit(a, &r, sizeof(r), RECORD_span_begin, a->now);
	} else if (a->depth) {
		struct record_span_end r = {.head = head_of(a), .flags = 1};

		memcpy(r.ctx.span, &a->spans[--a->depth], 8);
		if (a->depth)
			memcpy(r.next.span, &a->spans[a->depth - 1], 8);
		actor_emit(a, &r, sizeof(r), RECORD_span_end, a->now);
	}
}

static void tells(struct actor *a, const struct context *ctx, u8 of_event)
{
	struct record_span_attribute r = {
		.head = head_of(a), .type = ATTRIBUTE_integer, .of_event = of_event, .ctx = *ctx};

	r.value = a->now;
	r.key_len = r.text_len = (u16)snprintf(r.text, sizeof(r.text), "by %u", a->thread->tid);
	actor_emit(a, &r, sizeof(r), RECORD_span_attribute, a->now);
	a->on_since = a->now;
}

/* Says something about its own span, or about one that all threads have. */
void does_tell(struct actor *a)
{
	struct context ctx = {.span = {0xee}};
	struct record_span_event r = {.head = head_of(a), .level = 6};

	if (a->depth && simulation_random(a->s, 2))
		memcpy(ctx.span, &a->spans[a->depth - 1], 8);
	r.ctx = ctx;
	r.name_len = (u16)snprintf(r.name, sizeof(r.name), "event of %u", a->thread->tid);
	actor_emit(a, &r, sizeof(r), RECORD_span_event, a->now);
	a->on_since = a->now;
	for (u64 n = simulation_random(a->s, 4); n > 0; n--) {
		actor_run(a, SPLIT_user, some(a, 2000)); /* others come in between */
		tells(a, &ctx, 1);
	}
	if (simulation_random(a->s, 2))
		tells(a, &ctx, 0);
}

/* A tracepoint; now and then, as at the begin of a chunk, how to read it. */
void does_event(struct actor *a)
{
	struct record_event r = {.head = head_of(a), .format = 1 + (u32)simulation_random(a->s, 3)};
	struct record_format f = {.format = r.format};

	if (simulation_random(a->s, 4) == 0) {
		f.text_len = 13 + (u16)simulation_random(a->s, 2); /* now and then another one */
		memcpy(f.text, "sim:tick\0line\n", f.text_len);
		actor_emit(a, &f, sizeof(f), RECORD_format, a->now);
	}
	r.payload_len = 4 + (u16)simulation_random(a->s, 9);
	memset(r.payload, (int)simulation_random(a->s, 256), r.payload_len);
	if (a->depth)
		memcpy(r.ctx.span, &a->spans[a->depth - 1], 8);
	else if (simulation_random(a->s, 4) == 0)
		r.ctx.span[0] = 1; /* a span that nothing else tells of */
	actor_emit(a, &r, sizeof(r), RECORD_event, a->now);
}

/* A file of the process that only a slot of its io_uring holds. */
static u64 slot_file(struct actor *a)
{
	return SIMULATED_SLOTS + 8 * a->thread->pid + simulation_random(a->s, 4);
}

/* A slot is recorded at its first use, and again now and then. */
static void tells_slot(struct actor *a)
{
	struct record_fd r = {.head = head_of(a), .fd = -1, .from = -1, .op = FD_open};

	r.file.kind = FILE_KIND_regular;
	r.file.key = slot_file(a);
	r.path_len = (u16)snprintf(r.path, sizeof(r.path), "/slot/%llu by %u",
				   (unsigned long long)r.file.key, a->thread->tid);
	actor_emit(a, &r, sizeof(r), RECORD_fd, a->now);
}

/* A descriptor comes, is copied, marked or goes; now and then the thread parts with its table. */
void does_files(struct actor *a)
{
	static const u8 ops[] = {FD_open,    FD_open,	     FD_open,	  FD_dup,    FD_close,
				 FD_cloexec, FD_close_range, FD_snapshot, FD_unshare};
	struct record_fd r = {.head = head_of(a), .fd = 3 + (s32)simulation_random(a->s, 6)};

	if (simulation_random(a->s, 4) == 0)
		tells_slot(a);
	r.op = ops[simulation_random(a->s, sizeof(ops))];
	r.from = -1;
	r.flags = simulation_random(a->s, 2) ? FD_CLOEXEC_SET : 0;
	if (r.op == FD_dup)
		r.from = 3 + (s32)simulation_random(a->s, 6);
	if (r.op == FD_close_range || (r.op == FD_cloexec && simulation_random(a->s, 2)))
		r.from = r.fd + (s32)simulation_random(a->s, 3);
	if (r.op == FD_unshare)
		r.fd = -1;
	if (r.op == FD_open || r.op == FD_snapshot) {
		r.file.kind = FILE_KIND_regular;
		r.file.key = 1 + simulation_random(a->s, 50);
		r.path_len = (u16)snprintf(r.path, sizeof(r.path), "/file/%llu",
					   (unsigned long long)r.file.key);
	}
	actor_emit(a, &r, sizeof(r), RECORD_fd, a->now);
}

#define WAKERS 3

u32 simulation_waker(u64 time_ns)
{
	return 1 + (u32)(hash_u64(time_ns) % WAKERS);
}

void simulation_name_wakers(struct simulation *s)
{
	size_t count = s->records.count;
	int told[WAKERS + 1] = {0};

	for (size_t i = 0; i < count; i++) {
		const struct record_waking *w = (const void *)simulation_record(s, i);
		struct actor a = {.s = s};
		struct record_name r = {0};

		if (w->head.kind != RECORD_waking || w->waker_tid > WAKERS ||
		    (told[w->waker_tid] && simulation_random(s, 8)))
			continue;
		r.head.tid = r.head.pid = w->waker_tid;
		r.comm_len = (u16)snprintf(r.comm, sizeof(r.comm), "waker %u.%d", w->waker_tid,
					   ++told[w->waker_tid]);
		actor_emit(&a, &r, sizeof(r), RECORD_name, w->head.time_ns);
	}
	simulation_sort(s);
}

void does_exec(struct actor *a)
{
	if (a->thread->tid == a->thread->pid)
		actor_execs(a, a->thread->tid);
}

/* Tells what recording cost since some time, a program or processes; now and then a step. */
static void tells_cost(struct actor *a)
{
	u64 random = hash_u64(a->now);
	struct record_cost r = {.begin_ns = a->now - 1 - random % 5000,
				.cost_ns = random % 1000,
				.runs = random % 7,
				.made = random % 3 ? RECORD_switch : RECORD_syscall,
				.flags = (u16)(random >> 20 & 3),
				.name_len = 4};
	struct record_step step = {.from = 1, .why = STEP_above, .cost_ppm = (u32)random};

	if (random >> 30 & 1)
		actor_emit(a, &step, sizeof(step), RECORD_step, a->now);
	memcpy(r.name, random & 4096 ? "some" : "more", 4);
	actor_emit(a, &r, sizeof(r), RECORD_cost, a->now);
}

/* A request that was submitted some time ago: it takes nothing from the thread. */
void does_request(struct actor *a)
{
	struct record_uring r = {.head = head_of(a), .opcode = 22 + (u8)simulation_random(a->s, 3)};

	r.duration_ns = simulation_random(a->s, a->now - a->thread->begin_ns + 1);
	r.result = simulation_random(a->s, 4) ? 4096 : -5;
	r.file.kind = FILE_KIND_regular;
	r.fd = -1;
	r.file.key = simulation_random(a->s, 2) ? 1 + simulation_random(a->s, 4) : slot_file(a);
	if (a->depth)
		memcpy(r.ctx.span, &a->spans[a->depth - 1], 8);
	actor_emit(a, &r, sizeof(r), RECORD_uring, a->now);
	tells_cost(a);
}

/* A request to a disk that this thread submitted some time ago; likewise. */
void does_block(struct actor *a)
{
	struct record_block r = {.head = head_of(a), .dev = 8 << 20, .bytes = 4096};
	u64 since = simulation_random(a->s, a->now - a->thread->begin_ns + 1);

	r.queued_ns = simulation_random(a->s, since + 1);
	r.duration_ns = since - r.queued_ns;
	r.sector = simulation_random(a->s, 1000);
	r.flags = (u32)simulation_random(a->s, 64);
	if (a->depth)
		memcpy(r.ctx.span, &a->spans[a->depth - 1], 8);
	actor_emit(a, &r, sizeof(r), RECORD_block, a->now);
}

/*
 * A call that sends or receives once or twice on a connection, the streams of
 * which the simulation counts; now and then the addresses are told.
 */
void does_bytes(struct actor *a)
{
	struct record_bytes b = {.head = head_of(a),
				 .direction = (u8)simulation_random(a->s, 2),
				 .file.kind = FILE_KIND_tcp};
	struct record_socket n = {.head = head_of(a), .family = 2, .remote_port = 80};
	struct record_syscall r = {.head = head_of(a), .nr = b.direction == BYTES_SENT ? 44 : 45};
	u64 begin = a->now, connection = simulation_random(a->s, SIMULATED_CONNECTIONS);

	if (a->now & 1) {
		b.light = 1 + a->now % 50;
		b.light_maker = a->now % 47;
	}
	b.file.key = SIMULATED_SOCKET + connection;
	n.file = r.file = b.file;
	for (u64 times = some(a, 2); times > 0; times--) {
		actor_run(a, SPLIT_kernel, some(a, 200));
		b.from = a->s->streams[connection][b.direction];
		b.length = some(a, 3000);
		a->s->streams[connection][b.direction] += b.length;
		actor_emit(a, &b, sizeof(b), RECORD_bytes, a->now);
	}
	actor_run(a, SPLIT_kernel, some(a, 100));
	r.duration_ns = a->now - begin;
	r.result = (s64)b.length;
	actor_emit(a, &r, sizeof(r), RECORD_syscall, a->now);
	a->on_since = a->now;
	if (simulation_random(a->s, 3) == 0) {
		n.peer = simulation_random(a->s, 2) ? b.file.key ^ 1 : 0;
		actor_emit(a, &n, sizeof(n), RECORD_socket, a->now);
	}
}

/* Its process moves in one of two hierarchies, or is found there; now and then with the name. */
void does_move(struct actor *a)
{
	struct record_cgroup_attach r = {.head = {.tid = a->thread->pid, .pid = a->thread->pid}};
	struct record_cgroup name = {.id = 1 + simulation_random(a->s, 4)};

	name.hierarchy = r.hierarchy = (u32)simulation_random(a->s, 2);
	r.cgroup = name.id;
	/* nobody looks for one that was born here */
	r.flags = a->thread->pid == a->thread->tid && a->thread->born ? 0 : CGROUP_FOUND;
	if (simulation_random(a->s, 3))
		r.flags = 0;
	name.path_len = (u16)snprintf(name.path, sizeof(name.path), "%s/%064llu",
				      name.hierarchy ? "/longer" : "",
				      (unsigned long long)(10 * name.id + name.hierarchy));
	if (name.id > 1 && simulation_random(a->s, 3) == 0) {
		struct record_device device = {.dev = (u32)name.id, .name_len = 3, .name = "vda"};

		actor_emit(a, &name, sizeof(name), RECORD_cgroup, a->now);
		actor_emit(a, &device, sizeof(device), RECORD_device, a->now);
	}
	actor_emit(a, &r, sizeof(r), RECORD_cgroup_attach, a->now);
}
