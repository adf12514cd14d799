/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/flight_names.h"

#include <stdlib.h>
#include <string.h>

#define LIVES_MAX 65536 /* threads; beyond it, threads that have ended have no name */
#define WAKERS_MAX                                                                                 \
	16384 /* beyond it, the half whose names are oldest goes: active wakers are named again */

struct flight_life {
	u32 tid, pid;
	u64 written_ns; /* begin of the last chunk that has it */
	u64 named_ns;	/* of a waker: time of its last name record */
	char comm[16];
	u32 comm_len;
	struct record_process *process; /* of a leader, owned; NULL: unknown */
};

static void life_free(struct flight_life *life)
{
	if (life)
		free(life->process);
	free(life);
}

static void lives_free(struct map *lives)
{
	struct map_entry entry;
	size_t at = 0;

	while (map_next(lives, &at, &entry))
		life_free(entry.value);
	map_free(lives);
}

void flight_names_free(struct flight_names *names)
{
	lives_free(&names->lives);
	lives_free(&names->wakers);
}

/* The entry of a thread, which is made if there is none. NULL: no room. */
static struct flight_life *life_in(struct map *lives, u32 max, u32 tid, u32 pid)
{
	struct flight_life *life = map_get(lives, tid);

	if (!life && lives->count < max) {
		life = calloc(1, sizeof(*life));
		if (life && map_put(lives, tid, life)) {
			free(life);
			life = NULL;
		}
	}
	if (life) {
		life->tid = tid;
		life->pid = pid;
	}
	return life;
}

static struct flight_life *life_of(struct flight_names *names, u32 tid, u32 pid)
{
	return life_in(&names->lives, LIVES_MAX, tid, pid);
}

static void life_drop(struct flight_names *names, u32 tid)
{
	life_free(map_remove(&names->lives, tid));
	life_free(map_remove(&names->wakers, tid));
}

static void comm_set(struct flight_life *life, const char *comm, size_t bytes)
{
	life->comm_len = (u32)strnlen(comm, bytes < 15 ? bytes : 15);
	memcpy(life->comm, comm, life->comm_len);
}

/* `command` begins with the name of the process. */
static void process_set(struct flight_life *life, const struct record_process *from,
			const char *command, size_t bytes)
{
	size_t size = offsetof(struct record_process, command) + bytes;
	size_t slots = (size + RECORD_SLOT_BYTES - 1) / RECORD_SLOT_BYTES;
	struct record_head head = from->head;
	u8 *process = calloc(slots, RECORD_SLOT_BYTES); /* as many slots as the command needs */
	u16 length = (u16)bytes;

	comm_set(life, command, bytes);
	if (!process)
		return;
	head.kind = RECORD_process;
	head.slots = (u8)slots;
	memcpy(process, from, offsetof(struct record_process, command));
	memcpy(process, &head, sizeof(head));
	memcpy(process + offsetof(struct record_process, command_len), &length, sizeof(length));
	memcpy(process + offsetof(struct record_process, command), command, bytes);
	free(life->process);
	life->process = (void *)process;
}

static void fork_fold(struct flight_names *names, const struct record_fork *r)
{
	struct record_process process = {
		.head = r->head, .parent_pid = r->parent_pid, .start_ns = r->start_ns};
	struct flight_life *life;
	char name[17] = {0};

	life_drop(names, r->head.tid); /* an earlier thread with the same tid */
	life = life_of(names, r->head.tid, r->head.pid);
	if (!life)
		return;
	process.cgroup = r->cgroup;
	process.files = r->head.pid;
	memcpy(name, r->comm, r->comm_len < 16 ? r->comm_len : 16);
	comm_set(life, name, strlen(name));
	if (r->head.tid == r->head.pid)
		process_set(life, &process, name, strlen(name) + 1);
}

/* A thread other than the leader that calls exec takes over the leader's tid. */
static void exec_fold(struct flight_names *names, const struct record_exec *r)
{
	struct flight_life *life = life_of(names, r->head.tid, r->head.pid);
	struct record_process process = {.head = r->head, .start_ns = r->start_ns};

	if (r->old_tid && r->old_tid != r->head.tid)
		life_drop(names, r->old_tid);
	if (!life)
		return;
	if (life->process)
		memcpy(&process, life->process, offsetof(struct record_process, command));
	process.files = r->head.pid;
	process_set(life, &process, r->command, r->command_len);
}

static int waker_compare(const void *a, const void *b)
{
	const struct flight_life *x = *(struct flight_life *const *)a;
	const struct flight_life *y = *(struct flight_life *const *)b;

	if (x->named_ns != y->named_ns)
		return x->named_ns < y->named_ns ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void wakers_halve(struct flight_names *names)
{
	struct flight_life **all = calloc(names->wakers.count, sizeof(struct flight_life *));
	size_t at = 0, count = 0;
	struct map_entry entry;

	while (all && map_next(&names->wakers, &at, &entry))
		all[count++] = entry.value;
	if (all)
		qsort(all, count, sizeof(struct flight_life *), waker_compare);
	for (size_t i = 0; i < count / 2; i++)
		life_free(map_remove(&names->wakers, all[i]->tid));
	free(all);
}

static void name_fold(struct flight_names *names, const struct record_name *r)
{
	struct flight_life *life = map_get(&names->lives, r->head.tid);

	if (!life && names->wakers.count >= WAKERS_MAX)
		wakers_halve(names);
	if (!life)
		life = life_in(&names->wakers, WAKERS_MAX, r->head.tid, r->head.pid);
	if (!life)
		return;
	life->named_ns = r->head.time_ns;
	comm_set(life, r->comm, r->comm_len);
}

void flight_names_fold(struct flight_names *names, const struct record_head *r)
{
	const struct record_process *process = (const void *)r;
	const struct record_thread *thread = (const void *)r;
	struct flight_life *life;

	switch (r->kind) {
	case RECORD_fork:
		fork_fold(names, (const void *)r);
		break;
	case RECORD_exec:
		exec_fold(names, (const void *)r);
		break;
	case RECORD_exit:
		life_drop(names, r->tid);
		break;
	case RECORD_process:
		life = life_of(names, r->tid, r->pid);
		if (life)
			process_set(life, process, process->command, process->command_len);
		break;
	case RECORD_thread:
		life = life_of(names, r->tid, r->pid);
		if (life)
			comm_set(life, thread->comm, thread->comm_len);
		break;
	case RECORD_name:
		name_fold(names, (const void *)r);
		break;
	}
}

static int name_write(const struct flight_life *life, u64 from_ns, const struct capture_sink *to)
{
	static const struct capture_stream stream = {.kind = CAPTURE_STREAM_LIFE};
	union {
		struct record_name r;
		u8 slots[2 * RECORD_SLOT_BYTES];
	} out = {.r.head = {.kind = RECORD_name,
			    .slots = (offsetof(struct record_name, comm) + 16 + RECORD_SLOT_BYTES -
				      1) /
				     RECORD_SLOT_BYTES,
			    .time_ns = from_ns,
			    .tid = life->tid,
			    .pid = life->pid}};

	memcpy(out.r.comm, life->comm, life->comm_len);
	out.r.comm_len = (u16)life->comm_len;
	return to->record(to->arg, &stream, &out.r.head);
}

int flight_names_write(struct flight_names *names, const struct record_head *exit, u64 from_ns,
		       const struct capture_sink *to)
{
	static const struct capture_stream stream = {.kind = CAPTURE_STREAM_LIFE};
	struct flight_life *life = map_get(&names->lives, exit->tid);
	int err = 0;

	if (!life) /* the record of its begin was lost */
		return flight_names_write_waker(names, exit->tid, from_ns, to);
	if (life->written_ns == from_ns)
		return 0; /* a second end of this tid: that thread began later, with its own fork */
	life->written_ns = from_ns;
	if (life->process) {
		life->process->head.time_ns = from_ns;
		err = to->record(to->arg, &stream, &life->process->head);
	}
	return err || !life->comm_len ? err : name_write(life, from_ns, to);
}

int flight_names_write_waker(struct flight_names *names, u32 tid, u64 from_ns,
			     const struct capture_sink *to)
{
	struct flight_life *life = map_get(&names->wakers, tid);

	if (!life || life->written_ns == from_ns)
		return 0;
	life->written_ns = from_ns;
	return name_write(life, from_ns, to);
}
