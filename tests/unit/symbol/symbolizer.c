/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of this program's own functions, from its file and from variants of it: stripped,
 * with separate symbols, of another build, damaged.
 */
#include "symbol/symbolizer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "elf/identity.h"
#include "tests/unit/check.h"

static char self[PATH_MAX], folder[] = "/tmp/fathom-symbols-XXXXXX", own_id[FILE_IDENTITY_TEXT];
static struct symbolizer *symbolizer;

__attribute__((noinline)) static uint64_t well_known_function(void)
{
	return (uint64_t)__builtin_return_address(0);
}

__attribute__((noinline)) static uint64_t calling_function(void)
{
	uint64_t address = well_known_function();

	__asm__ volatile("" : "+r"(address));
	return address;
}

/* The offset in this program's file of an address of it. */
static uint64_t offset_of(uint64_t address)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long long begin, end, offset, found = 0;
	char line[PATH_MAX + 100];

	CHECK(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%llx-%llx %*s %llx", &begin, &end, &offset) == 3 &&
		    address >= begin && address < end)
			found = address - begin + offset;
	fclose(maps);
	CHECK(found);
	return found;
}

static void id_read(const char *path, char text[FILE_IDENTITY_TEXT])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat info;

	CHECK(fd >= 0 && !fstat(fd, &info));
	CHECK_EQ(file_identity_read(fd, &info, text), 0);
	close(fd);
}

__attribute__((format(printf, 1, 2))) static bool shell(const char *format, ...)
{
	char command[3 * PATH_MAX], all[4 * PATH_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	snprintf(all, sizeof(all), "cd %s && { %s; } >/dev/null 2>&1", folder, command);
	return system(all) == 0;
}

static void prepare(void)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (symbolizer)
		return;
	CHECK(n > 0);
	self[n] = '\0';
	CHECK(mkdtemp(folder));
	id_read(self, own_id);
	symbolizer = symbolizer_new();
	CHECK(symbolizer);
}

static const char *path_in(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int find(const char *path, const char *id, uint64_t address, struct symbol *symbol)
{
	struct symbol_place place = {path, id, offset_of(address)};

	return symbolizer_find(symbolizer, &place, symbol);
}

TEST(a_function_of_a_file)
{
	struct symbol symbol;

	prepare();
	CHECK_EQ(find(self, own_id, (uint64_t)well_known_function, &symbol), 0);
	CHECK_STR(symbol.name, "well_known_function");
	CHECK_EQ(symbol.offset, 0);
	CHECK_EQ(find(self, own_id, calling_function() - 1, &symbol), 0);
	CHECK_STR(symbol.name, "calling_function");
	CHECK_EQ(symbol.offset, calling_function() - 1 - (uint64_t)calling_function);
}

TEST(another_build_gives_no_names)
{
	struct symbol symbol;
	char other[FILE_IDENTITY_TEXT];

	prepare();
	strcpy(other, own_id);
	other[0] = other[0] == '0' ? '1' : '0';
	CHECK_EQ(find(self, other, (uint64_t)well_known_function, &symbol), -ENOENT);
	CHECK_EQ(find(self, "", (uint64_t)well_known_function, &symbol), -ENOENT);
	CHECK_EQ(find("/nonexistent", own_id, (uint64_t)well_known_function, &symbol), -ENOENT);
	other[2] = '\0'; /* a part of an id is not an id */
	CHECK_EQ(find(self, other, (uint64_t)well_known_function, &symbol), -ENOENT);
}

/* Makes a copy of this program without a build id, and returns its identity. */
static bool bare_make(const char *name, char id[FILE_IDENTITY_TEXT])
{
	if (!shell("objcopy --remove-section .note.gnu.build-id '%s' %s", self, name))
		return false;
	id_read(path_in(name), id);
	CHECK(file_identity_is_bare(id));
	return true;
}

/* Uses a new symbolizer, since a symbolizer keeps the files that it has opened. */
static int find_anew(const char *path, const char *id, uint64_t address, struct symbol *symbol)
{
	struct symbolizer *s = symbolizer_new();
	struct symbol_place place = {path, id, offset_of(address)};
	int err = symbolizer_find(s, &place, symbol);

	symbolizer_free(s);
	return err;
}

TEST(a_file_without_a_build_id)
{
	uint64_t address = (uint64_t)well_known_function;
	char id[FILE_IDENTITY_TEXT];
	struct symbol symbol;

	prepare();
	if (!bare_make("bare", id))
		SKIP("objcopy is missing");
	CHECK_EQ(find(path_in("bare"), id, address, &symbol), 0);
	CHECK_STR(symbol.name, "well_known_function");
	CHECK_EQ(find(path_in("bare"), own_id, address, &symbol), -ENOENT);
	CHECK_EQ(find(path_in("bare"), "", address, &symbol), -ENOENT);
	CHECK_EQ(find(self, id, address, &symbol), -ENOENT);
}

/* The bytes are the same, which cannot be known: names are missing rather than wrong. */
TEST(a_file_without_a_build_id_that_was_replaced)
{
	static const char *const ways[] = {
		"cp bare other && mv other bare",				 /* by rename */
		"cat bare >other && sleep 0.05 && cat other >bare",		 /* in place */
		"cp -p bare other && sleep 0.05 && rm bare && cp -p other bare", /* with its time */
		"sleep 0.05; cp bare other; cat other >bare; touch -r other bare",
	};
	uint64_t address = (uint64_t)well_known_function;
	char id[FILE_IDENTITY_TEXT];
	struct symbol symbol;

	prepare();
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (!bare_make("bare", id))
			SKIP("objcopy is missing");
		CHECK_EQ(find_anew(path_in("bare"), id, address, &symbol), 0);
		CHECK(shell("%s", ways[i]));
		CHECK_EQ(find_anew(path_in("bare"), id, address, &symbol), -ENOENT);
	}
	CHECK(shell("rm -f bare other"));
}

/* As in Go: the note is in the file, but in no loaded segment. */
TEST(a_build_id_that_is_not_loaded)
{
	char id[FILE_IDENTITY_TEXT];
	struct symbol symbol;

	prepare();
	if (!shell("objcopy -O binary --only-section .note.gnu.build-id '%s' note && "
		   "objcopy --remove-section .note.gnu.build-id '%s' section && "
		   "objcopy --add-section .note.gnu.build-id=note section",
		   self, self))
		SKIP("objcopy is missing");
	id_read(path_in("section"), id);
	CHECK_STR(id, own_id);
	CHECK_EQ(find(path_in("section"), own_id, (uint64_t)well_known_function, &symbol), 0);
	CHECK_STR(symbol.name, "well_known_function");
}

TEST(what_was_stripped_has_no_name_rather_than_a_wrong_one)
{
	struct symbol symbol;

	prepare();
	if (!shell("cp '%s' stripped && strip stripped", self))
		SKIP("strip is missing");
	CHECK_EQ(find(path_in("stripped"), own_id, (uint64_t)well_known_function, &symbol),
		 -ENOENT);
}

TEST(symbols_in_a_debug_file)
{
	struct symbol symbol;

	prepare();
	if (!shell("cp '%s' linked && objcopy --only-keep-debug linked linked.debug && "
		   "strip linked && objcopy --add-gnu-debuglink=linked.debug linked",
		   self))
		SKIP("objcopy is missing");
	CHECK_EQ(find(path_in("linked"), own_id, (uint64_t)well_known_function, &symbol), 0);
	CHECK_STR(symbol.name, "well_known_function");
}

TEST(symbols_in_gnu_debugdata)
{
	struct symbol symbol;

	prepare();
	if (!shell("cp '%s' mini && objcopy --only-keep-debug mini mini.part && "
		   "strip --strip-debug mini.part && xz mini.part && strip mini && "
		   "objcopy --add-section .gnu_debugdata=mini.part.xz mini",
		   self))
		SKIP("objcopy or xz is missing");
	CHECK_EQ(find(path_in("mini"), own_id, (uint64_t)well_known_function, &symbol), 0);
	CHECK_STR(symbol.name, "well_known_function");
}

TEST(damaged_and_strange_files)
{
	static const char *const made[] = {
		"head -c 100 '%s' >strange",
		"head -c 20000 '%s' >strange",
		"(head -c 3000 '%s'; head -c 50000 /dev/zero) >strange",
		"true '%s'; rm -f strange; mkfifo strange",
		"true '%s'; rm -f strange; mkdir strange",
		"true '%s'; rmdir strange; yes | head -c 5000 >strange",
		"rm -f strange; gzip -c '%s' >strange",
	};
	struct symbol symbol;

	prepare();
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		CHECK(shell(made[i], self));
		symbolizer_free(symbolizer); /* the symbolizer has looked at this path before */
		symbolizer = symbolizer_new();
		CHECK_EQ(find(path_in("strange"), own_id, (uint64_t)well_known_function, &symbol),
			 -ENOENT);
	}
}

/* A file with the right build id can be hostile. Runs in a child, whose crash fails the test. */
static int mutant_try(void)
{
	struct symbolizer *s = symbolizer_new();
	struct symbol_place place = {path_in("mutant"), own_id, 0};
	struct symbol symbol;
	struct symbol_frame frame;

	alarm(20);
	for (place.offset = 0; place.offset < 60000; place.offset += 501) {
		if (symbolizer_find(s, &place, &symbol) == 0 && !symbol.name[0])
			return 1;
		symbolizer_frame(s, &place, &frame);
	}
	symbolizer_free(s);
	return 0;
}

TEST(mutants_of_a_file)
{
	static uint8_t whole[1 << 20], mutant[1 << 20];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), status;
	ssize_t bytes = read(fd, whole, sizeof(whole));
	uint64_t random = 1;

	prepare();
	close(fd);
	CHECK(bytes > 0);
	for (int i = 0; i < 60; i++) {
		pid_t child;

		memcpy(mutant, whole, (size_t)bytes);
		for (int k = 0; k < 20; k++) {
			size_t at, within = k % 2 ? (size_t)bytes : 1000;

			random = random * 6364136223846793005u + 1442695040888963407u;
			at = (random >> 33) % within; /* half of them in the headers */
			mutant[at] = k % 3 ? (uint8_t)(random >> 20) : 0xff;
		}
		fd = open(path_in("mutant"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		CHECK_EQ(write(fd, mutant, (size_t)bytes), bytes);
		close(fd);
		child = fork();
		if (child == 0)
			_exit(mutant_try());
		CHECK(waitpid(child, &status, 0) == child);
		CHECK_EQ(status, 0);
	}
	CHECK_EQ(unlink(path_in("mutant")), 0);
}

#ifdef __x86_64__
TEST(how_functions_keep_their_frames)
{
	struct symbol_place place = {self, own_id, 0};
	struct symbol_frame frame;

	prepare();
	place.offset = offset_of((uint64_t)well_known_function);
	CHECK_EQ(symbolizer_frame(symbolizer, &place, &frame), 0);
	CHECK(!frame.by_pointer && frame.pointer_kept && !frame.outermost);
	CHECK_EQ(frame.size, 8); /* only the return address */
	place.offset = offset_of(calling_function() - 1);
	CHECK_EQ(symbolizer_frame(symbolizer, &place, &frame), 0);
	CHECK(frame.by_pointer); /* compiled without frame pointers */
	place.offset = 1ull << 40;
	CHECK_EQ(symbolizer_frame(symbolizer, &place, &frame), -ENOENT);
}
#endif

TEST(nothing_is_left)
{
	prepare();
	symbolizer_free(symbolizer);
	symbolizer = NULL;
	shell("rm -f linked* mini* strip* strange bare other note section");
	CHECK_EQ(rmdir(folder), 0);
}

TEST_MAIN()
