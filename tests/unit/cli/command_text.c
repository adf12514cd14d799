/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command_text.h"

#include <string.h>

#include "tests/unit/check.h"

static const char *shortened(const char *command, int columns)
{
	static char text[256];

	command_shorten(command, columns, text, sizeof(text));
	return text;
}

#define COMPILER                                                                                   \
	"cc1 -quiet -imultiarch x86_64-linux-gnu -D_GNU_SOURCE=1 main.c -quiet -dumpbase main.c "  \
	"-march=x86-64 -O2 -o /tmp/ccx.s"

TEST(operands_stay_longest)
{
	CHECK_STR(shortened(COMPILER, 200), COMPILER);
	CHECK_STR(shortened(COMPILER, 60), "cc1 -quiet x86_64-linux-gnu main.c -O2 -o /tmp/ccx.s");
	CHECK_STR(shortened(COMPILER, 40), "cc1 x86_64-linux-gnu main.c /tmp/ccx.s");
	CHECK_STR(shortened(COMPILER, 24), "cc1 main.c /tmp/ccx.s");
	CHECK_STR(shortened(COMPILER, 12), "cc1 main.c");
	CHECK_STR(shortened(COMPILER, 8), "cc1 mai…");
	CHECK_STR(
		shortened("cc1 -quiet -I src/lib.a.p -I src src/chunk/read.c -MF src/read.c.d", 21),
		"cc1 src/chunk/read.c");
	CHECK_STR(shortened("python3 -X importtime worker.py", 20), "python3 worker.py");
	CHECK_STR(shortened("python3 worker.py", 30), "python3 worker.py");
	CHECK_STR(shortened("python3 -u -W ignore worker.py", 25), "python3 ignore worker.py");
}

/* A title is a text of its own; a character is never cut. */
TEST(titles_and_characters_stay_whole)
{
	CHECK_STR(shortened("postgres: shop 127.0.0.1 -x idle", 26), "postgres: shop 127.0.0.1 …");
	CHECK_STR(shortened("sh -c while :; do :; done", 20), "sh -c while :; do :…");
	CHECK_STR(shortened("größe", 4), "gr…");
	CHECK_STR(shortened("", 4), "");
	CHECK_STR(shortened("  ", 1), "…");
}

TEST(a_command_is_of_its_program_or_script)
{
	CHECK(command_is_of("dd if=/dev/zero", "dd"));
	CHECK(command_is_of("postgres: shop idle", "postgres"));
	CHECK(command_is_of("sh /tmp/d.sh x", "d.sh"));
	CHECK(command_is_of("a-very-long-program-name x", "a-very-long-pro"));
	CHECK(!command_is_of("ls -R /usr/share/doc", "sh"));
	CHECK(!command_is_of("ddrescue x", "dd"));
	CHECK(!command_is_of("", "sh"));
}

TEST_MAIN()
