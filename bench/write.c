/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `write DIR [MILLIONS]`: prints the CPU time, user and system, that the writer of a chunk takes
 * for a record. The records are like those of a server's CPU, in slots as capture has them, and are
 * written into files in DIR.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "chunk/chunk.h"
#include "record/ring.h"

#define SLOTS (1u << 17)
#define STEP_NS 1000u
#define FLUSH_RECORDS 200000u /* every 200 ms */
#define LATENESS_NS 100000000u
#define CONNECTIONS 64u

static struct ring_slot *slots;

static u64 cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

static void make_syscall(struct record_syscall *r, u32 i)
{
	static const u16 numbers[] = {232, 45, 257, 5, 20, 40, 3, 1};

	*r = (struct record_syscall){.nr = numbers[i % 8],
				     .duration_ns = 700 + i % 3000,
				     .result = i % 5 ? 238 : -11,
				     .arg0 = i % CONNECTIONS,
				     .arg1 = 0x55d0c0a81230 + 4096 * (i % 7),
				     .arg2 = i % 8 ? 1024 : 0};
	if (i % 8 != 2)
		r->file = (struct file_ref){.key = 70000 + i % CONNECTIONS,
					    .kind = FILE_KIND_tcp,
					    .flags = FILE_PEER_ON_HOST};
}

/* Fills one record and returns its number of slots. */
static u32 make_record(void *at, u32 i)
{
	struct record_head *head = at;
	u32 n = 2;

	if (i % 16 == 5) {
		struct record_switch *r = at;

		r->next_tid = 4711 + i % 2;
		r->nr = 232;
		r->mode = MODE_syscall;
		r->state = LEAVE_sleep;
		r->since_ns = 900 + i % 5000;
		head->kind = RECORD_switch;
		n = 1;
	} else if (i % 4 == 3) {
		struct record_bytes *r = at;

		r->from = 100000ull * i;
		r->length = 238 + i % 600;
		r->file = (struct file_ref){.key = 70000 + i % CONNECTIONS, .kind = FILE_KIND_tcp};
		head->kind = RECORD_bytes;
		n = 1;
	} else {
		make_syscall(at, i);
		head->kind = RECORD_syscall;
	}
	head->slots = (u8)n;
	head->tid = 4711 + i % 2;
	head->pid = 4711;
	return n;
}

static int write_records(struct chunk_writer *w, u32 count, u64 begin_ns)
{
	struct chunk_stream *cpu = chunk_writer_stream(w, CHUNK_STREAM_CPU, 0);
	int err = cpu ? 0 : -1;
	u32 at = 0;

	for (u32 i = 0; i < count && !err; i++) {
		struct record_head *r = (void *)&slots[at];

		r->time_ns = begin_ns + (u64)i * STEP_NS;
		err = chunk_writer_add(cpu, r);
		at += r->slots;
		if (at > SLOTS - 3 || !slots[at].bytes[offsetof(struct record_head, slots)])
			at = 0;
		if (!err && i % FLUSH_RECORDS == FLUSH_RECORDS - 1)
			err = chunk_writer_flush(w, r->time_ns - LATENESS_NS, NULL);
	}
	return err;
}

int main(int argc, char **argv)
{
	const u64 begin_ns = 1000000000000u;
	struct chunk_writer_options options = {
		.dir = argc > 1 ? argv[1] : ".", .begin_ns = begin_ns, .no_sync = true};
	u32 count = 1000000u * (argc > 2 ? (u32)atoi(argv[2]) : 4u);
	struct chunk_writer *w = NULL;
	struct error e = {0};
	u64 begin, end;
	int err = 0;

	slots = calloc(SLOTS, sizeof(*slots));
	for (u32 at = 0, i = 0; slots && at < SLOTS - 3; i++)
		at += make_record(&slots[at], i);
	err = slots ? chunk_writer_open(&w, &options, &e) : -1;
	begin = cpu_ns();
	if (!err)
		err = write_records(w, count, begin_ns);
	if (!err)
		err = chunk_writer_cut(w, begin_ns + (u64)count * STEP_NS, NULL, &e);
	end = cpu_ns();
	if (err)
		fprintf(stderr, "write: %s\n", error_is_set(&e) ? e.text : "failed");
	else
		printf("ns_per_record %.1f\nbytes_per_record %.1f\n", (double)(end - begin) / count,
		       (double)chunk_writer_bytes(w) / count);
	chunk_writer_close(w);
	free(slots);
	return err != 0;
}
