/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/check.h"

TEST(causes_are_chained)
{
	struct error e = {0};

	CHECK(!error_is_set(&e));
	CHECK_EQ(error_set(&e, ENOENT, "cannot open %s", "x"), -ENOENT);
	CHECK_EQ(error_set(&e, -EIO, "cannot read chunk %d", 7), -EIO);
	CHECK_STR(e.text, "cannot read chunk 7: cannot open x: No such file or directory");
	CHECK_EQ(e.err, ENOENT);
	CHECK(error_is_set(&e));
	error_clear(&e);
	CHECK(!error_is_set(&e));
	CHECK_STR(e.text, "");
}

TEST(a_text_can_say_it_all)
{
	struct error e = {0};

	CHECK_EQ(error_say(&e, EINVAL, "no such syscall: %s", "foo"), -EINVAL);
	CHECK_STR(e.text, "no such syscall: foo");
	error_set(&e, EINVAL, "--syscalls");
	CHECK_STR(e.text, "--syscalls: no such syscall: foo");
}

TEST(a_hint_stands_behind_the_chain)
{
	struct error e = {0};

	error_hint(&e, "nothing failed");
	CHECK_STR(e.text, "");
	error_set(&e, ENOENT, "cannot open %s", "x");
	error_hint(&e, "make %s first", "x");
	error_set(&e, EIO, "cannot read");
	CHECK_STR(e.text, "cannot read: cannot open x: No such file or directory; make x first");
	for (int i = 0; i < 200; i++)
		error_hint(&e, "more");
	CHECK_EQ(strnlen(e.text, sizeof(e.text)) < sizeof(e.text), true);
}

TEST(nobody_need_listen)
{
	error_hint(NULL, "x");
	errno = ERANGE;
	CHECK_EQ(error_set(NULL, ENOMEM, "x"), -ENOMEM);
	CHECK_EQ(errno, ERANGE);
}

TEST(a_long_chain_is_cut_at_its_end)
{
	struct error e = {0};

	error_set(&e, EIO, "cause");
	for (int i = 0; i < 200; i++)
		error_set(&e, EIO, "context %d", i);
	CHECK_EQ(strncmp(e.text, "context 199: context 198: ", 26), 0);
	CHECK(strlen(e.text) == ERROR_TEXT_BYTES - 1);
}

TEST(errnos_have_names)
{
	CHECK_STR(error_name(ENOENT), "ENOENT");
	CHECK_STR(error_name(-EINTR), "EINTR");
	CHECK_STR(error_name(100000), NULL);
}

TEST_MAIN()
