/* SPDX-License-Identifier: Apache-2.0 */
/* Mapped files get their build ids, and those that do not answer keep none from the others. */
#include "capture/mapping_ids.h"

#include <sys/sysmacros.h>

#include "base/clock.h"
#include "capture/context_maps.h"
#include "capture/foreign_look.h"
#include "tests/unit/capture/silent.h"
#include "tests/unit/threads.h"

#define SECOND 1000000000ull

/* Room for the longest, as records have in a ring. */
union mapping {
	struct record_mapping r;
	u8 slots[32 * RECORD_SLOT_BYTES];
};

struct wanted {
	const char *name; /* the end of it */
	union mapping out;
	bool found;
};

static int mapping_note(void *arg, const struct context_map *map)
{
	struct wanted *wanted = arg;
	struct record_mapping *r = &wanted->out.r;
	size_t bytes = strlen(map->name), end = strlen(wanted->name);

	if (!map->executable || bytes < end || strcmp(map->name + bytes - end, wanted->name) != 0)
		return 0;
	r->head.kind = RECORD_mapping;
	r->begin = map->start;
	r->end = map->end;
	r->file.key = map->inode;
	r->file.dev = map->major << 20 | map->minor;
	memcpy(r->path, map->name, bytes);
	r->path_len = (u16)bytes;
	r->head.slots = (u8)((offsetof(struct record_mapping, path) + bytes + 63) / 64);
	wanted->found = true;
	return 1;
}

/* The mapping of a file whose name ends so. */
static union mapping mapping_of(pid_t pid, const char *name)
{
	static struct wanted wanted;

	memset(&wanted, 0, sizeof(wanted));
	wanted.name = name;
	CHECK(context_maps_walk(pid, mapping_note, &wanted) >= 0);
	CHECK(wanted.found);
	wanted.out.r.head.pid = (u32)pid;
	return wanted.out;
}

static size_t id_bytes(const struct record_mapping *r)
{
	size_t path = strnlen(r->path, r->path_len);

	return path < r->path_len ? r->path_len - path - 1 : 0;
}

/* The next that is complete: how many digits its id has; -1: none came in time. */
static int id_await(struct mapping_ids *ids)
{
	u64 until = clock_now_ns() + 30 * SECOND;

	while (clock_now_ns() < until) {
		struct record_mapping *r = mapping_ids_take(ids);
		int digits;

		if (!r) {
			usleep(1000);
			continue;
		}
		digits = (int)id_bytes(r);
		free(r);
		return digits;
	}
	return -1;
}

TEST(a_file_gets_its_id)
{
	union mapping own = mapping_of(getpid(), "test-capture-mapping_ids");
	struct mapping_ids *ids;

	CHECK_EQ(mapping_ids_open(&ids, false, NULL), 0);
	CHECK(mapping_ids_put(ids, &own.r));
	CHECK_EQ(id_await(ids), 40);
	own.r.head.pid = 0x7fffffff; /* a process that is gone: by its name */
	CHECK(mapping_ids_put(ids, &own.r));
	CHECK_EQ(id_await(ids), 40);
	own.r.file.key++; /* another file is there now */
	CHECK(mapping_ids_put(ids, &own.r));
	CHECK_EQ(id_await(ids), 0);
	CHECK_EQ(mapping_ids_missed(ids), 0);
	mapping_ids_close(ids);
	CHECK_EQ(threads_await(1), 1);
}

TEST(a_file_that_does_not_answer_keeps_none_from_the_others)
{
	const struct silent_file library = {"library.so", PROT_READ | PROT_EXEC, MAP_PRIVATE};
	struct silent silent = silent_start(&library);
	union mapping own = mapping_of(getpid(), "test-capture-mapping_ids");
	union mapping hung = mapping_of(silent.mapper, "library.so");
	struct mapping_ids *ids;
	u64 begin;

	CHECK_EQ(mapping_ids_open(&ids, false, NULL), 0);
	for (int i = 0; i < 3; i++) {
		CHECK(mapping_ids_put(ids, &hung.r));
		CHECK(mapping_ids_put(ids, &own.r));
	}
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(id_await(ids), 0);
		CHECK_EQ(id_await(ids), 40);
	}
	CHECK_EQ(threads_count(), 3); /* one is stuck, and only one */
	CHECK_EQ(mapping_ids_missed(ids), 3);
	CHECK(mapping_ids_put(ids, &hung.r));
	CHECK(mapping_ids_put(ids, &own.r));
	begin = clock_now_ns();
	mapping_ids_wait(ids, begin + 20 * SECOND);
	CHECK(clock_now_ns() - begin < 10 * SECOND); /* a cut waits for it no more */
	CHECK_EQ(id_await(ids), 0);
	CHECK_EQ(id_await(ids), 40);
	mapping_ids_close(ids);
	silent_end(&silent);
	CHECK_EQ(threads_await(1), 1);
}

/* The end of a recording comes in the middle of a look. */
TEST(closed_while_a_file_does_not_answer)
{
	const struct silent_file library = {"library.so", PROT_READ | PROT_EXEC, MAP_PRIVATE};
	struct silent silent = silent_start(&library);
	union mapping hung = mapping_of(silent.mapper, "library.so");
	struct mapping_ids *ids;

	CHECK_EQ(mapping_ids_open(&ids, false, NULL), 0);
	CHECK(mapping_ids_put(ids, &hung.r));
	mapping_ids_wait(ids, clock_now_ns() + SECOND / 10);
	CHECK_EQ(id_await(ids), 0); /* handed out as it is */
	CHECK_EQ(mapping_ids_missed(ids), 1);
	CHECK_EQ(mapping_ids_missed(ids), 0);
	mapping_ids_close(ids);
	silent_end(&silent);
	CHECK_EQ(threads_await(1), 1);
}

TEST_MAIN()
