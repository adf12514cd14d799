/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/stack/kernel_symbols.h"

#include <errno.h>

#include "tests/unit/check.h"

static struct kernel_symbols *read_text(const char *text)
{
	char path[] = "/tmp/fathom-kallsyms-XXXXXX";
	int fd = mkstemp(path);
	struct kernel_symbols *s;

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	s = kernel_symbols_read(path);
	unlink(path);
	return s;
}

/* As of a kernel that was put 0x1000000 higher than it was linked. */
static const char some[] = "0000000000001000 A percpu\n"
			   "ffffffff82000000 T _text\n"
			   "ffffffff82000000 T _stext\n"
			   "ffffffff82000040 T first\n"
			   "ffffffff82000100 t second\n"
			   "ffffffff82000180 T _etext\n"
			   "ffffffff82001000 D some_data\n"
			   "ffffffffc0102000 t of_module\t[xfs]\n"
			   "ffffffffc0102080 t also_of_module\t[xfs]\n"
			   "not a symbol\n";

TEST(functions_are_found_by_any_address_in_them)
{
	struct kernel_symbols *s = read_text(some);
	struct kernel_function f;

	CHECK(s);
	CHECK_EQ(kernel_symbols_find(s, 0xffffffff82000040, &f), 0);
	CHECK_STR(f.name, "first");
	CHECK_STR(f.module, "[kernel]");
	CHECK_EQ(kernel_symbols_find(s, 0xffffffff820000ff, &f), 0);
	CHECK_STR(f.name, "first");
	CHECK_EQ(kernel_symbols_find(s, 0xffffffff82000100, &f), 0);
	CHECK_STR(f.name, "second");
	CHECK_EQ(kernel_symbols_find(s, 0xffffffffc0102010, &f), 0);
	CHECK_STR(f.name, "of_module");
	CHECK_STR(f.module, "[xfs]");
	CHECK(f.number < kernel_symbols_count(s));
	kernel_symbols_free(s);
}

TEST(addresses_do_not_tell_where_the_kernel_is)
{
	struct kernel_symbols *s = read_text(some);
	struct kernel_function f;

	CHECK(s);
	CHECK_EQ(kernel_symbols_find(s, 0xffffffff82000050, &f), 0);
	CHECK_EQ(f.begin, kernel_symbols_linked(s, 0xffffffff82000040));
	CHECK_EQ(f.end, kernel_symbols_linked(s, 0xffffffff82000100));
#ifdef __x86_64__
	CHECK_EQ(f.begin, 0xffffffff81000040);
#endif
	kernel_symbols_free(s);
}

TEST(what_is_no_function_has_no_name)
{
	struct kernel_symbols *s = read_text(some);
	struct kernel_function f;

	CHECK(s);
	CHECK_EQ(kernel_symbols_find(s, 0xffffffff82000181, &f), -ENOENT);
	CHECK_EQ(kernel_symbols_find(s, 0xffffffff82001004, &f), -ENOENT);
	CHECK_EQ(kernel_symbols_find(s, 0x10, &f), -ENOENT);
	CHECK_EQ(kernel_symbols_find(s, 0xffffffffc0902000, &f), -ENOENT);
	kernel_symbols_free(s);
}

TEST(hidden_addresses_are_no_symbols)
{
	CHECK(!read_text("0000000000000000 T _text\n0000000000000000 T first\n"));
	CHECK_EQ(errno, ENODATA);
	CHECK(!kernel_symbols_read("/nonexistent"));
	CHECK_EQ(errno, ENOENT);
}

TEST_MAIN()
