/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2e-traps-ring stopped|hostile|flood [NUMBER]: a program that writes its ring
 * (src/lib/app_ring.h) by itself, and not as libfathom would.
 */
#include <stddef.h>

#include "lib/app_ring.h"
#include "traps.h"

#define SPANS 50

static struct app_ring *ring;
static int ring_fd;

static u64 now(void)
{
	return (u64)truth_now();
}

/* A ring as the library makes it, of this process. */
static void ring_make(void)
{
	ring_fd = memfd_create(APP_RING_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	TRUTH_TRY(ring_fd);
	TRUTH_TRY(ftruncate(ring_fd, APP_RING_BYTES));
	ring = mmap(NULL, APP_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, ring_fd, 0);
	if (ring == MAP_FAILED)
		exit(1);
	ring->version = APP_RING_VERSION;
	ring->header_bytes = offsetof(struct app_ring, lane);
	ring->lanes = APP_RING_LANES;
	ring->lane_bytes = sizeof(struct app_lane);
	ring->slots = APP_RING_SLOTS;
	ring->pid = (u32)getpid();
	ring->start_ns = now();
	ring->lanes_used = 1;
	ring->listening = APP_RING_GRACE; /* else it had gone unheard before it was reached */
	ring->table[0].state = APP_LANE_USED;
	ring->table[0].tid = (u32)syscall(SYS_gettid);
	ring->magic = APP_RING_MAGIC;
	TRUTH_TRY(fcntl(ring_fd, F_ADD_SEALS, APP_RING_SEALS));
}

static bool listener_await(void)
{
	for (int i = 0; i < 10000; i++) {
		u32 listening = __atomic_load_n(&ring->listening, __ATOMIC_ACQUIRE);

		if (listening && listening != APP_RING_GRACE)
			return true;
		sleep_until(truth_now() + 1 * MS);
	}
	fprintf(stderr, "nobody listens\n");
	return false;
}

/* The positions of `slots` slots are this program's from now on. */
static u64 slots_reserve(u32 slots)
{
	return __atomic_fetch_add(&ring->lane[0].control.head, slots, __ATOMIC_ACQ_REL);
}

/* Writes a record of two slots, and lets it be seen. */
static void record_publish(u64 at, const void *record)
{
	struct ring_slot *slots = ring->lane[0].slots;
	const u8 *from = record;
	u8 *to = slots[at % APP_RING_SLOTS].bytes;

	memcpy(slots[(at + 1) % APP_RING_SLOTS].bytes, from + RECORD_SLOT_BYTES, RECORD_SLOT_BYTES);
	memcpy(to + 4, from + 4, RECORD_SLOT_BYTES - 4);
	__atomic_store_n((u32 *)to, (u32)(at + 1), __ATOMIC_RELEASE);
}

/* Begin or end of the span with this number. */
static void span_fill(void *record, u8 kind, u64 time_ns, u32 number)
{
	union {
		struct record_head head;
		struct record_span_begin begin;
		struct record_span_end end;
		u8 slots[2 * RECORD_SLOT_BYTES];
	} r;
	struct context ctx = {.trace = {1, 2, 3}, .span = {9, (u8)(number >> 8), (u8)number}};

	memset(&r, 0, sizeof(r));
	r.head.kind = kind;
	r.head.slots = 2;
	r.head.cpu = 0xffff;
	r.head.time_ns = time_ns;
	r.head.tid = (u32)syscall(SYS_gettid);
	r.head.pid = (u32)getpid();
	if (kind == RECORD_span_begin) {
		r.begin.ctx = ctx;
		r.begin.level = 6;
		r.begin.flags = 1;
		r.begin.name_len = 4;
		memcpy(r.begin.name, "trap", 4);
	} else {
		r.end.ctx = ctx;
		r.end.flags = 1;
	}
	memcpy(record, r.slots, sizeof(r.slots));
}

static void span_write(u32 number)
{
	u8 record[2 * RECORD_SLOT_BYTES];
	u64 at = slots_reserve(2);

	span_fill(record, RECORD_span_begin, now(), number);
	record_publish(at, record);
	sleep_until(truth_now() + 1 * MS);
	at = slots_reserve(2);
	span_fill(record, RECORD_span_end, now(), number);
	record_publish(at, record);
}

/* Stops itself between reserving and publishing; whoever watches continues it. Says when. */
static int stopped_run(void)
{
	u8 record[2 * RECORD_SLOT_BYTES];
	u64 at, begin_ns;

	for (u32 i = 1; i <= SPANS; i++)
		span_write(i);
	at = slots_reserve(2);
	begin_ns = now();
	raise(SIGSTOP);
	span_fill(record, RECORD_span_begin, begin_ns, 1000);
	record_publish(at, record);
	at = slots_reserve(2);
	span_fill(record, RECORD_span_end, now(), 1000);
	record_publish(at, record);
	for (u32 i = SPANS + 1; i <= 2 * SPANS; i++)
		span_write(i);
	printf("%llu\n", (unsigned long long)begin_ns);
	return 0;
}

/* Tries to take the memory away, then fills it with nonsense for half a second. */
static int hostile_run(void)
{
	unsigned int seed = 12345;
	int64_t until = truth_now() + 500 * MS;
	u32 *words = (u32 *)ring;

	if (ftruncate(ring_fd, 0) == 0 || ftruncate(ring_fd, 4096) == 0) {
		fprintf(stderr, "a sealed file shrank\n");
		return 1;
	}
	while (truth_now() < until) {
		for (int i = 0; i < 1000; i++) {
			size_t where = (size_t)rand_r(&seed) << 8 ^ (size_t)rand_r(&seed);

			/* the first four lanes and all that is before them */
			where %= offsetof(struct app_ring, lane[4]) / sizeof(u32);
			words[where] = (u32)rand_r(&seed) ^ (u32)rand_r(&seed) << 16;
		}
		ring->lanes_used = (u32)rand_r(&seed);
		ring->lane[0].control.head += (u64)rand_r(&seed);
	}
	return 0;
}

/* Stops the recorder, which is its parent, makes so many calls, and lets it go on. */
static int flood_run(long calls)
{
	pid_t recorder = (pid_t)syscall(SYS_getppid);

	TRUTH_TRY(kill(recorder, SIGSTOP));
	for (long i = 1; i < calls; i++)
		syscall(SYS_getppid);
	TRUTH_TRY(kill(recorder, SIGCONT));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "flood") == 0)
		return flood_run(atol(argv[2]));
	ring_make();
	if (argc < 2 || !listener_await())
		return 1;
	return strcmp(argv[1], "stopped") == 0 ? stopped_run() : hostile_run();
}
