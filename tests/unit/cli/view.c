/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tests/unit/check.h"

static char *cell(const char *text, int width)
{
	static char out[256];
	struct terminal t = {.file = fmemopen(out, sizeof(out), "w")};

	terminal_cell(&t, text, width);
	fclose(t.file);
	return out;
}

TEST(cells_are_padded_and_cut)
{
	CHECK_STR(cell("abc", 5), "abc  ");
	CHECK_STR(cell("abcdef", 5), "abcd…");
	CHECK_STR(cell("abcde", 5), "abcde");
	CHECK_STR(cell("", 2), "  ");
	CHECK_STR(cell("héé", 4), "héé ");
}

static char *cell_ends(const char *text, int width)
{
	static char out[256];
	struct terminal t = {.file = fmemopen(out, sizeof(out), "w")};

	terminal_cell_ends(&t, text, width);
	fclose(t.file);
	return out;
}

TEST(names_that_differ_at_their_end_stay_different)
{
	CHECK_STR(cell_ends("GET /a (client)", 9), "GET …ent)");
	CHECK_STR(cell_ends("GET /a (server)", 10), "GET /…ver)");
	CHECK_STR(cell_ends("héllo wörld", 6), "hél…ld");
	CHECK_STR(cell_ends("abc", 5), "abc  ");
	CHECK_STR(cell_ends("abcdef", 1), "…");
	CHECK_STR(cell_ends("ab\033def", 5), "ab…ef");
}

TEST(terminals_are_safe_from_names)
{
	CHECK_STR(cell("a\033[31mb\n", 8), "a?[31mb?");
	CHECK_STR(cell("\xc2\x9b"
		       "1m",
		       4),
		  "?1m ");
	CHECK_STR(cell("\xff\xe2\x82", 4), "??? ");
	CHECK_EQ(terminal_columns("a\033b"), 3);
}

TEST(no_colors_into_files)
{
	FILE *file = tmpfile();
	struct terminal t;

	CHECK(file);
	setenv("TERM", "xterm", 1);
	t = terminal_of(file);
	CHECK(!t.color && !t.cut && t.width > 0);
	fclose(file);
}

TEST(colors_as_the_environment_says)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	struct winsize size = {.ws_row = 25, .ws_col = 93};
	FILE *file;

	CHECK(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	file = fopen(ptsname(master), "w");
	CHECK(file && ioctl(fileno(file), TIOCSWINSZ, &size) == 0);
	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	CHECK(terminal_of(file).color && terminal_of(file).cut);
	CHECK_EQ(terminal_of(file).width, 93);
	setenv("NO_COLOR", "", 1);
	CHECK(terminal_of(file).color);
	setenv("NO_COLOR", "1", 1);
	CHECK(!terminal_of(file).color && terminal_of(file).cut);
	unsetenv("NO_COLOR");
	setenv("TERM", "dumb", 1);
	CHECK(!terminal_of(file).color);
	fclose(file);
	close(master);
}

TEST(losses_sum_up)
{
	struct lost_view lost = {1, 2, 3, 4};

	CHECK_EQ(lost_total(&lost), 10);
}

TEST_MAIN()
