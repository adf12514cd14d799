/* SPDX-License-Identifier: Apache-2.0 */
/* Mapped files get their build ids, and those that do not answer keep none from the others. */
#include "capture/stack/mapping_ids.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/clock.h"
#include "base/host_clock.h"
#include "elf/identity.h"
#include "proc/look.h"
#include "proc/maps.h"
#include "tests/unit/proc/silent.h"
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
	wanted.out.r.since_ns = host_clock_now_ns();
	return wanted.out;
}

/* Copies the identity of the file out of a record; "": it has none. */
static void id_copy(const struct record_mapping *r, char text[FILE_IDENTITY_TEXT])
{
	size_t path = strnlen(r->path, r->path_len), bytes = r->path_len - path;

	CHECK(bytes <= FILE_IDENTITY_TEXT);
	memset(text, 0, FILE_IDENTITY_TEXT);
	if (bytes > 1)
		memcpy(text, r->path + path + 1, bytes - 1);
	CHECK_EQ(strlen(text), bytes > 0 ? bytes - 1 : 0);
	CHECK(offsetof(struct record_mapping, path) + r->path_len <=
	      (size_t)r->head.slots * RECORD_SLOT_BYTES);
}

/* The identity of the next that is complete; false: none came in time. */
static bool text_await(struct mapping_ids *ids, char text[FILE_IDENTITY_TEXT])
{
	u64 until = clock_now_ns() + 30 * SECOND;

	while (clock_now_ns() < until) {
		struct record_mapping *r = mapping_ids_take(ids);

		if (!r) {
			usleep(1000);
			continue;
		}
		id_copy(r, text);
		free(r);
		return true;
	}
	return false;
}

/* How many characters it has; -1: none came in time. */
static int id_await(struct mapping_ids *ids)
{
	char text[FILE_IDENTITY_TEXT];

	return text_await(ids, text) ? (int)strlen(text) : -1;
}

TEST(a_file_gets_its_id)
{
	union mapping own = mapping_of(getpid(), "test-capture-stack_mapping_ids");
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

/* A file without a build id, mapped as code. */
struct bare_file {
	char path[PATH_MAX];
	int fd;
	void *at;
};

static struct bare_file bare_make(const char *path)
{
	struct bare_file f = {.fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700)};

	CHECK(f.fd >= 0);
	snprintf(f.path, sizeof(f.path), "%s", path);
	CHECK_EQ(write(f.fd, "no build id", 11), 11);
	f.at = mmap(NULL, 11, PROT_READ | PROT_EXEC, MAP_PRIVATE, f.fd, 0);
	CHECK(f.at != MAP_FAILED);
	return f;
}

static void bare_end(struct bare_file *f)
{
	munmap(f->at, 11);
	close(f->fd);
	unlink(f->path);
}

static bool is_that(const struct bare_file *f, const char *text)
{
	struct stat info;

	CHECK_EQ(fstat(f->fd, &info), 0);
	return file_identity_is_bare(text) && file_identity_is(f->fd, &info, text);
}

static bool put_and_await(struct mapping_ids *ids, const union mapping *m,
			  char text[FILE_IDENTITY_TEXT])
{
	return mapping_ids_put(ids, &m->r) && text_await(ids, text);
}

TEST(a_file_without_a_build_id_is_known_otherwise)
{
	char folder[] = "/tmp/fathom-mapping-XXXXXX", path[64], text[FILE_IDENTITY_TEXT];
	struct bare_file f;
	union mapping m;
	struct mapping_ids *ids;

	CHECK(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/bare", folder);
	f = bare_make(path);
	m = mapping_of(getpid(), path);
	CHECK_EQ(mapping_ids_open(&ids, false, NULL), 0);
	CHECK(put_and_await(ids, &m, text));
	CHECK(is_that(&f, text));
	m.r.head.pid = 0x7fffffff; /* a process that is gone */
	CHECK(put_and_await(ids, &m, text));
	CHECK(is_that(&f, text));

	usleep(50000); /* the clock of files has gone on */
	CHECK_EQ(pwrite(f.fd, "NO", 2, 0), 2);
	CHECK(!is_that(&f, text));
	CHECK(put_and_await(ids, &m, text));
	CHECK_STR(text, ""); /* what was mapped was not this */
	m.r.head.pid = (u32)getpid();
	CHECK(put_and_await(ids, &m, text));
	CHECK_STR(text, "");
	usleep(50000);
	m.r.since_ns = host_clock_now_ns();
	CHECK(put_and_await(ids, &m, text));
	CHECK(is_that(&f, text));
	CHECK_EQ(mapping_ids_missed(ids), 0);
	mapping_ids_close(ids);
	bare_end(&f);
	CHECK_EQ(rmdir(folder), 0);
}

/* As long as the kernel's part tells one, and one longer. */
TEST(an_identity_fits_behind_the_longest_path)
{
	char path[RECORD_MAPPING_PATH + 2] = "/tmp/fathom-mapping-XXXXXX", text[FILE_IDENTITY_TEXT];
	size_t folder = strlen(path), ends[4];
	struct mapping_ids *ids;

	CHECK(mkdtemp(path));
	for (int i = 0; i < 4; i++) {
		size_t at = i ? ends[i - 1] : folder;

		ends[i] = at + 201;
		path[at] = '/';
		memset(path + at + 1, 'a', 200);
		CHECK_EQ(mkdir(path, 0700), 0);
	}
	CHECK_EQ(mapping_ids_open(&ids, false, NULL), 0);
	for (size_t length = RECORD_MAPPING_PATH; length <= RECORD_MAPPING_PATH + 1; length++) {
		struct bare_file f;
		union mapping m;

		path[ends[3]] = '/';
		memset(path + ends[3] + 1, 'b', length - ends[3] - 1);
		path[length] = '\0';
		f = bare_make(path);
		m = mapping_of(getpid(), path);
		CHECK(put_and_await(ids, &m, text));
		CHECK(length > RECORD_MAPPING_PATH ? !text[0] : is_that(&f, text));
		bare_end(&f);
	}
	mapping_ids_close(ids);
	for (int i = 3; i >= 0; i--) {
		path[ends[i]] = '\0';
		CHECK_EQ(rmdir(path), 0);
	}
	path[folder] = '\0';
	CHECK_EQ(rmdir(path), 0);
}

TEST(a_file_that_does_not_answer_keeps_none_from_the_others)
{
	const struct silent_file library = {"library.so", PROT_READ | PROT_EXEC, MAP_PRIVATE};
	struct silent silent = silent_start(&library);
	union mapping own = mapping_of(getpid(), "test-capture-stack_mapping_ids");
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
