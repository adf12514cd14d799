/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `analyses CHUNK DIR COUNT`: writes the first COUNT system calls, switches and wakings of a chunk
 * into DIR in the form of LTTng's kernel tracer, with two events for each call, and prints their
 * number. lttng-analyses reads nothing else. That tracer itself is a module for another
 * kernel. Chunks cannot be read directly: babeltrace 1, its reader, fails at thread ids of 24 bits.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/vec.h"
#include "chunk/chunk.h"
#include "record/record.h"

#define CPUS_MAX 1024
#define PATH_BYTES 4096
#define CTF_MAGIC 0xc1fc1fc1u
#define PRIORITY 20

enum { ENTRY = 1, EXIT, SWITCH, WAKING };

static const char metadata[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 8; align = 8; } := u8;\n"
	"typealias integer { size = 32; align = 8; } := u32;\n"
	"typealias integer { size = 64; align = 8; } := u64;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := s32;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := s64;\n"
	"typealias integer { size = 8; align = 8; encoding = UTF8; } := text;\n"
	"trace { major = 1; minor = 8; byte_order = le;\n"
	"	packet.header := struct { u32 magic; u32 stream_id; }; };\n"
	"env { domain = \"kernel\"; tracer_name = \"lttng-modules\"; tracer_major = 2;\n"
	"	tracer_minor = 13; tracer_patchlevel = 0; };\n"
	"clock { name = monotonic; freq = 1000000000; };\n"
	"typealias integer { size = 64; align = 8; map = clock.monotonic.value; } := time;\n"
	"stream { id = 0; event.header := struct { u8 id; time timestamp; };\n"
	"	packet.context := struct { time timestamp_begin; time timestamp_end;\n"
	"		u64 content_size; u64 packet_size; u32 cpu_id; }; };\n"
	"event { id = 1; stream_id = 0; name = \"syscall_entry_unknown\";\n"
	"	fields := struct { s32 id; }; };\n"
	"event { id = 2; stream_id = 0; name = \"syscall_exit_unknown\";\n"
	"	fields := struct { s64 ret; }; };\n"
	"event { id = 3; stream_id = 0; name = \"sched_switch\";\n"
	"	fields := struct { text prev_comm[16]; s32 prev_tid; s32 prev_prio; s64 "
	"prev_state;\n"
	"		text next_comm[16]; s32 next_tid; s32 next_prio; }; };\n"
	"event { id = 4; stream_id = 0; name = \"sched_waking\";\n"
	"	fields := struct { text comm[16]; s32 tid; s32 prio; s32 target_cpu; }; };\n";

struct packet {
	u32 magic, stream_id;
	u64 begin_ns, end_ns, content_bits, packet_bits;
	u32 cpu;
} __attribute__((packed));

struct event {
	u8 id;
	u64 time_ns;
	union {
		s32 nr;
		s64 result;
		struct {
			char from_comm[16];
			s32 from, from_priority;
			s64 state;
			char to_comm[16];
			s32 to, to_priority;
		} __attribute__((packed)) run;
		struct {
			char comm[16];
			s32 tid, priority, cpu;
		} __attribute__((packed)) woken;
	};
} __attribute__((packed));

#define HEAD_BYTES (sizeof(u8) + sizeof(u64))
#define BYTES_OF(field) (HEAD_BYTES + sizeof(((struct event *)0)->field))

static const size_t event_bytes[] = {
	[ENTRY] = BYTES_OF(nr),
	[EXIT] = BYTES_OF(result),
	[SWITCH] = BYTES_OF(run),
	[WAKING] = BYTES_OF(woken),
};

struct cpu { /* a VEC */
	struct event *data;
	size_t count, capacity;
};

static int syscall_add(struct cpu *c, const struct record_syscall *r)
{
	struct event entry = {
		.id = ENTRY, .time_ns = r->head.time_ns - r->duration_ns, .nr = r->nr};
	struct event exit = {.id = EXIT, .time_ns = r->head.time_ns, .result = (s64)r->result};
	int err = r->flags & SYSCALL_BEGIN_UNKNOWN ? 0 : vec_push(c, entry);

	return err ? err : vec_push(c, exit);
}

/* Returns 1 if the record was taken, 0 if not, or a negative errno. */
static int record_add(struct cpu *cpus, const struct record_head *head)
{
	struct event event = {.time_ns = head->time_ns};
	struct cpu *c = &cpus[head->cpu % CPUS_MAX];
	int err = 0;

	if (head->kind == RECORD_syscall) {
		err = syscall_add(c, (const struct record_syscall *)head);
	} else if (head->kind == RECORD_switch) {
		const struct record_switch *r = (const struct record_switch *)head;

		event.id = SWITCH;
		event.run.from = (s32)head->tid;
		event.run.state = r->state;
		event.run.to = (s32)r->next_tid;
		event.run.from_priority = event.run.to_priority = PRIORITY;
		err = vec_push(c, event);
	} else if (head->kind == RECORD_waking) {
		event.id = WAKING;
		event.woken.tid = (s32)head->tid;
		event.woken.priority = PRIORITY;
		event.woken.cpu = head->cpu;
		err = vec_push(c, event);
	} else {
		return 0;
	}
	return err ? err : 1;
}

static int by_time(const void *a, const void *b)
{
	u64 x = ((const struct event *)a)->time_ns, y = ((const struct event *)b)->time_ns;

	return (x > y) - (x < y);
}

/* Also reports an earlier failure. */
static int file_close(FILE *file)
{
	bool failed = ferror(file);

	return fclose(file) || failed ? -EIO : 0;
}

static FILE *file_open(const char *dir, const char *name)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return fopen(path, "w");
}

static int stream_write(struct cpu *c, u32 number, const char *dir)
{
	struct packet packet = {.magic = CTF_MAGIC, .cpu = number};
	u64 bytes = sizeof(packet);
	char name[32];
	FILE *file;

	qsort(c->data, c->count, sizeof(*c->data), by_time);
	for (size_t i = 0; i < c->count; i++)
		bytes += event_bytes[c->data[i].id];
	packet.begin_ns = c->data[0].time_ns;
	packet.end_ns = c->data[c->count - 1].time_ns;
	packet.content_bits = packet.packet_bits = 8 * bytes;
	snprintf(name, sizeof(name), "channel_%u", number);
	file = file_open(dir, name);
	if (!file)
		return -errno;
	fwrite(&packet, sizeof(packet), 1, file);
	for (size_t i = 0; i < c->count; i++)
		fwrite(&c->data[i], event_bytes[c->data[i].id], 1, file);
	return file_close(file);
}

static int trace_write(struct cpu *cpus, const char *dir)
{
	FILE *file = file_open(dir, "metadata");
	int err;

	if (!file)
		return -errno;
	fputs(metadata, file);
	err = file_close(file);
	for (u32 i = 0; i < CPUS_MAX && !err; i++)
		if (cpus[i].count)
			err = stream_write(&cpus[i], i, dir);
	return err;
}

int main(int argc, char **argv)
{
	static struct cpu cpus[CPUS_MAX];
	struct chunk_reader *reader = NULL;
	const struct record_head *record;
	u64 wanted = argc == 4 ? strtoull(argv[3], NULL, 10) : 0, taken = 0;
	struct error e = {0};
	int got = wanted ? chunk_reader_open(&reader, argv[1], &e) : -EINVAL;

	while (got >= 0 && taken < wanted && (got = chunk_reader_next(reader, &record, &e)) > 0) {
		got = record_add(cpus, record);
		taken += got > 0;
	}
	if (got >= 0)
		got = trace_write(cpus, argv[2]);
	if (!wanted)
		fputs("usage: analyses CHUNK DIR COUNT\n", stderr);
	else if (got < 0)
		fprintf(stderr, "analyses: %s\n", error_is_set(&e) ? e.text : strerror(-got));
	else
		printf("records %llu\n", (unsigned long long)taken);
	for (u32 i = 0; i < CPUS_MAX; i++)
		vec_free(&cpus[i]);
	chunk_reader_close(reader);
	return got < 0;
}
