/* SPDX-License-Identifier: Apache-2.0 */
/* The context is found and read in programs linked in every way there is. */
#include "capture/context/locate.h"

#include <elf.h>
#include <sys/mman.h>

#include "elf/tls.h"
#include "tests/unit/capture/context/publisher.h"
#include "tests/unit/capture/context/remote.h"

static struct context_files *files;

static struct context span_context(uint64_t span)
{
	struct context context;

	for (int i = 0; i < 8; i++) {
		unsigned char byte = (unsigned char)(span >> (56 - 8 * i));

		context.span[i] = context.trace[i] = context.trace[8 + i] = byte;
	}
	return context;
}

static struct context_location locate(pid_t pid)
{
	struct context_location location = {0};
	struct error e = {0};
	int found = context_locate(files, pid, &location, &e);

	if (found < 0)
		CHECK_FAIL("%s", e.text);
	if (!found)
		CHECK_FAIL("process %d is not located", pid);
	CHECK_EQ(location.known, 1);
	return location;
}

/* The thread publishes this span; 0: none. */
static void check_span(pid_t tid, const struct context_location *location, uint64_t span)
{
	struct context is, should = span_context(span);
	struct error e = {0};
	int found = context_read_remote(tid, location, &is, &e);

	if (found < 0)
		CHECK_FAIL("%s", e.text);
	CHECK_EQ(found, span != 0);
	if (span)
		CHECK_MEM(&is, &should, sizeof(is));
}

static void check_way(pid_t pid, enum elf_tls_way way)
{
	struct context_places places;

	CHECK_EQ(context_places_find(files, pid, &places, NULL), 0);
	CHECK_EQ(places.count, 1);
	CHECK_EQ(places.place[0].way, way);
}

/* Checks that hold for every way to reach the variable, with threads and fork. */
static void check_contexts(void)
{
	struct context_location location = locate(publisher.pid), again;
	int threads[3], idle, child, late;

	check_span(publisher.pid, &location, 0);
	publisher_do("set 1122334455667788");
	check_span(publisher.pid, &location, 0x1122334455667788);
	for (int i = 0; i < 3; i++)
		threads[i] = publisher_do("thread a0b0c0d0e0f0%04x", i + 1);
	idle = publisher_do("idle");
	for (int i = 0; i < 3; i++)
		check_span(threads[i], &location, 0xa0b0c0d0e0f00001 + i);
	check_span(idle, &location, 0);
	child = publisher_do("fork");
	again = locate(child);
	CHECK_MEM(&again, &location, sizeof(location));
	publisher_do("set 99");
	check_span(child, &location, 0x1122334455667788);
	check_span(publisher.pid, &location, 0x99);
	publisher_do("clear");
	check_span(publisher.pid, &location, 0);
	late = publisher_do("thread 77");
	check_span(late, &location, 0x77);
}

static void check_linked(const char *program, enum elf_tls_way way, bool dynamic)
{
	struct context_location location;
	char path[PATH_MAX];

	publisher_path(program, path);
	publisher_start(path);
	check_way(publisher.pid, way);
	CHECK_EQ(locate(publisher.pid).dynamic, dynamic);
	check_contexts();
	publisher_do("exec");
	location = locate(publisher.pid);
	check_span(publisher.pid, &location, 0);
	publisher_do("set 42");
	check_span(publisher.pid, &location, 0x42);
	publisher_end();
}

static void fillers_open(const char *libc)
{
	char path[PATH_MAX], copy[] = "/tmp/context_filler_XXXXXX", command[2 * PATH_MAX];
	char name[64];

	snprintf(name, sizeof(name), "lib%s-filler.so", libc);
	publisher_path(name, path);
	CHECK(mkdtemp(copy) != NULL);
	/* As large as the library of the test, and more than there is room for. */
	for (int i = 0; i < 24; i++) {
		/* Another file each time: the loader opens one file only once. */
		snprintf(command, sizeof(command), "cp %s %s/%d.so", path, copy, i);
		CHECK_EQ(system(command), 0);
		publisher_do("filler %s/%d.so", copy, i);
	}
	snprintf(command, sizeof(command), "rm -r %s", copy);
	CHECK_EQ(system(command), 0);
}

static void check_opened(const char *libc, const char *program, const char *library,
			 enum elf_tls_way way, bool dynamic)
{
	struct context_location location;
	char path[PATH_MAX], name[64];
	int before;

	snprintf(name, sizeof(name), "%s-%s", libc, program);
	publisher_path(name, path);
	publisher_start(path);
	if (strchr(library, '+'))
		fillers_open(libc);
	before = publisher_do("idle");
	CHECK_EQ(context_locate(files, publisher.pid, &location, NULL), 0);
	snprintf(name, sizeof(name), "lib%s-%.*s.so", libc, (int)strcspn(library, "+"), library);
	publisher_path(name, path);
	publisher_do("open %s", path);
	check_way(publisher.pid, way);
	location = locate(publisher.pid);
	CHECK_EQ(location.dynamic, dynamic);
	check_span(before, &location, 0);
	check_contexts();
	publisher_end();
}

#define LINKED(name, program, way, dynamic)                                                        \
	TEST(name)                                                                                 \
	{                                                                                          \
		check_linked(program, way, dynamic);                                               \
	}
#define OPENED(name, libc, program, library, way, dynamic)                                         \
	TEST(name)                                                                                 \
	{                                                                                          \
		check_opened(libc, program, library, way, dynamic);                                \
	}

TEST(begins)
{
	files = context_files_new();
	CHECK(files != NULL);
}

LINKED(executable, "glibc-pie", ELF_TLS_EXECUTABLE, false)
LINKED(executable_position_dependent, "glibc-nopie", ELF_TLS_EXECUTABLE, false)
LINKED(executable_static, "glibc-static", ELF_TLS_EXECUTABLE, false)
LINKED(executable_static_pie, "glibc-static-pie", ELF_TLS_EXECUTABLE, false)
LINKED(library_descriptor, "glibc-linked-tlsdesc", ELF_TLS_DESCRIPTOR, false)
LINKED(library_classic, "glibc-linked-classic", ELF_TLS_MODULE, true)
LINKED(library_initial_exec, "glibc-linked-initial", ELF_TLS_TPOFF, false)
OPENED(opened_descriptor, "glibc", "opener", "tlsdesc", ELF_TLS_DESCRIPTOR, false)
OPENED(opened_classic, "glibc", "opener", "classic", ELF_TLS_MODULE, true)
OPENED(opened_initial_exec, "glibc", "opener", "initial", ELF_TLS_TPOFF, false)
OPENED(opened_descriptor_large, "glibc", "opener", "tlsdesc-large", ELF_TLS_DESCRIPTOR, true)
OPENED(opened_descriptor_exhausted, "glibc", "opener", "tlsdesc+", ELF_TLS_DESCRIPTOR, true)
OPENED(opened_classic_exhausted, "glibc", "opener", "classic+", ELF_TLS_MODULE, true)
OPENED(opened_descriptor_below_4g, "glibc", "opener-nopie", "tlsdesc-large", ELF_TLS_DESCRIPTOR,
       true)
OPENED(opened_classic_large, "glibc", "opener", "classic-large", ELF_TLS_MODULE, true)
OPENED(opened_descriptor_symbolic, "glibc", "opener", "tlsdesc-symbolic", ELF_TLS_DESCRIPTOR, false)
OPENED(opened_classic_hidden, "glibc", "opener", "classic-hidden", ELF_TLS_MODULE, true)
OPENED(opened_initial_hidden, "glibc", "opener", "initial-hidden", ELF_TLS_TPOFF, false)
OPENED(opened_descriptor_hidden, "glibc", "opener", "tlsdesc-hidden", ELF_TLS_DESCRIPTOR, false)
LINKED(musl_executable, "musl-pie", ELF_TLS_EXECUTABLE, false)
LINKED(musl_position_dependent, "musl-nopie", ELF_TLS_EXECUTABLE, false)
LINKED(musl_static, "musl-static", ELF_TLS_EXECUTABLE, false)
LINKED(musl_static_pie, "musl-static-pie", ELF_TLS_EXECUTABLE, false)
LINKED(musl_library_descriptor, "musl-linked-tlsdesc", ELF_TLS_DESCRIPTOR, false)
LINKED(musl_library_classic, "musl-linked-classic", ELF_TLS_MODULE, true)
LINKED(musl_library_initial_exec, "musl-linked-initial", ELF_TLS_TPOFF, false)
OPENED(musl_opened_descriptor, "musl", "opener", "tlsdesc", ELF_TLS_DESCRIPTOR, true)
OPENED(musl_opened_classic, "musl", "opener", "classic", ELF_TLS_MODULE, true)
OPENED(musl_opened_hidden, "musl", "opener", "tlsdesc-hidden", ELF_TLS_DESCRIPTOR, true)

TEST(a_file_is_parsed_once)
{
	char path[PATH_MAX];
	unsigned long parsed;

	publisher_path("glibc-linked-tlsdesc", path);
	publisher_start(path);
	locate(publisher.pid);
	parsed = context_files_parsed(files);
	publisher_start(path);
	locate(publisher.pid);
	CHECK_EQ(context_files_parsed(files), parsed);
	publisher_end();
}

/* The file is gone from every directory: it is opened through its mapping. */
TEST(deleted_program)
{
	char path[PATH_MAX], copy[] = "/tmp/context_deleted_XXXXXX", command[2 * PATH_MAX];
	struct context_location location;
	int fd = mkstemp(copy);

	CHECK(fd >= 0);
	close(fd);
	publisher_path("glibc-pie", path);
	snprintf(command, sizeof(command), "cp %s %s && chmod +x %s", path, copy, copy);
	CHECK_EQ(system(command), 0);
	publisher_start(copy);
	CHECK_EQ(unlink(copy), 0);
	location = locate(publisher.pid);
	publisher_do("set 5");
	check_span(publisher.pid, &location, 5);
	publisher_end();
}

/* A process that only maps the file as data does not have the variable. */
TEST(mapped_as_data)
{
	struct context_location location;
	char path[PATH_MAX];
	void *data;
	int fd;

	publisher_path("glibc-pie", path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	data = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	CHECK(data != MAP_FAILED);
	CHECK_EQ(context_locate(files, getpid(), &location, NULL), 0);
	munmap(data, 4096);
}

/* ---- the words that the loader fills in, here in this process ---- */

#if defined(__x86_64__)
#define STATIC_ARGUMENT (-64)
#else
#define STATIC_ARGUMENT 64
#endif
#define RESOLVER ((u64)(uintptr_t)&resolver)

static u64 resolver = 1; /* no code of a static variable's */

static int resolve(const struct context_place *place, struct context_location *out)
{
	struct context_places places = {.count = 1, .place = {*place}};

	memset(out, 0, sizeof(*out));
	return context_places_resolve(getpid(), &places, out);
}

TEST(offset_that_the_loader_has_not_filled_in)
{
	s64 word = 0;
	struct context_place place = {.way = ELF_TLS_TPOFF, .slot = (u64)(uintptr_t)&word};
	struct context_location location;

#if defined(__x86_64__)
	CHECK_EQ(resolve(&place, &location), 0);
#else
	CHECK_EQ(resolve(&place, &location), 1); /* the first static variable may be there */
#endif
	word = -64;
	CHECK_EQ(resolve(&place, &location), 1);
	CHECK_EQ(location.known, 1);
	CHECK_EQ(location.dynamic, 0);
	CHECK_EQ(location.tp_offset, -64);
}

TEST(descriptor_that_the_loader_has_not_filled_in)
{
	struct {
		u64 resolver;
		s64 argument;
	} words = {0, STATIC_ARGUMENT};
	struct context_place place = {.way = ELF_TLS_DESCRIPTOR, .slot = (u64)(uintptr_t)&words};
	struct context_location location;

	CHECK_EQ(resolve(&place, &location), 0);
#if defined(__x86_64__)
	words.resolver = RESOLVER;
	words.argument = 0;
	CHECK_EQ(resolve(&place, &location), 0);
#endif
}

/* The descriptor is that of a variable which stands 8 bytes before. */
TEST(descriptor_of_a_variable_before)
{
	struct {
		u64 module, offset;
	} at = {3, 0x40};
	struct {
		u64 resolver;
		s64 argument;
	} words = {RESOLVER, STATIC_ARGUMENT};
	struct context_place place = {
		.way = ELF_TLS_DESCRIPTOR, .slot = (u64)(uintptr_t)&words, .beyond = 8};
	struct context_location location;

	CHECK_EQ(resolve(&place, &location), 1);
	CHECK_EQ(location.dynamic, 0);
	CHECK_EQ(location.tp_offset, STATIC_ARGUMENT + 8);
	words.argument = (s64)(uintptr_t)&at;
	CHECK_EQ(resolve(&place, &location), 1);
	CHECK_EQ(location.dynamic, 1);
	CHECK_EQ(location.module, 3);
	CHECK_EQ(location.var_offset, 0x48);
}

/* Its argument is the address of its relocation until it is used first. */
TEST(descriptor_that_is_bound_lazily)
{
	static Elf64_Rela table[2] = {{3, 0x40, 0}, {3, 0x40, 0}};
	struct {
		u64 resolver, argument;
	} words = {RESOLVER, (u64)(uintptr_t)table};
	struct context_place place = {.way = ELF_TLS_DESCRIPTOR,
				      .slot = (u64)(uintptr_t)&words,
				      .lazy_begin = (u64)(uintptr_t)table,
				      .lazy_end = (u64)(uintptr_t)(table + 1)};
	struct context_location location;

	CHECK_EQ(resolve(&place, &location), 0);
	words.argument = place.lazy_end;
	CHECK_EQ(resolve(&place, &location), 1);
}

TEST(where_each_library_has_its_vector)
{
	struct {
		u64 module, offset;
	} words = {3, 0};
	struct context_place place = {
		.way = ELF_TLS_MODULE, .slot = (u64)(uintptr_t)&words, .symbol = 0x20};
	struct context_location location;

	for (int musl = 0; musl < 2; musl++) {
		place.musl = musl;
		CHECK_EQ(resolve(&place, &location), 1);
		CHECK_EQ(location.module, 3);
		CHECK_EQ(location.var_offset, 0x20);
		CHECK_EQ(location.count_at, musl ? 0 : -16);
		CHECK_EQ(location.entry_bytes, musl ? 8 : 16);
#if defined(__x86_64__)
		CHECK_EQ(location.dtv_at, 8);
#else
		CHECK_EQ(location.dtv_at, musl ? -8 : 0);
#endif
	}
	words.module = 0;
	CHECK_EQ(resolve(&place, &location), 0);
	words.module = 65536;
	CHECK_EQ(resolve(&place, &location), 0);
}

TEST(no_such_process)
{
	struct context_location location = {.pad = {7, 7}};
	struct error e = {0};
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	CHECK_EQ(context_locate(files, pid, &location, &e), -ESRCH);
	CHECK(error_is_set(&e));
	CHECK_EQ(location.pad[0], 7);
}

TEST(ends)
{
	publisher_end();
	context_files_free(files);
}

TEST_MAIN()
