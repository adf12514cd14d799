/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tests/unit/check.h"

typedef void cell_fn(const struct terminal *t, const char *text, int width);

/* Returns the text that a function writes on a terminal of 40 columns. */
static char *written(cell_fn *fn, const char *text, int width)
{
	static char out[256];
	struct terminal t = {.file = fmemopen(out, sizeof(out), "w"), .width = 40, .cut = true};

	out[0] = '\0';
	fn(&t, text, width);
	fclose(t.file);
	return out;
}

static char *cell(const char *text, int width)
{
	return written(terminal_cell, text, width);
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
	return written(terminal_cell_ends, text, width);
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

TEST(the_end_of_a_path_is_whole_characters)
{
	CHECK_STR(written(terminal_rest_end, "dir/abc", 7), "dir/abc");
	CHECK_STR(written(terminal_rest_end, "dir/abc", 5), "…/abc");
	CHECK_STR(written(terminal_rest_end, "größe/año", 8), "…öße/año");
	CHECK_STR(written(terminal_rest_end, "größe/año", 3), "…ño");
	CHECK_STR(written(terminal_rest_end, "abc", 1), "");
	CHECK_STR(written(terminal_rest_end, "abc", -3), "");
}

TEST(long_texts_are_broken_between_words)
{
	CHECK_STR(written(terminal_words, "one two", 10), "one two");
	CHECK_STR(written(terminal_words, "twenty columns fit in here", 14),
		  "twenty columns fit in here");
	CHECK_STR(written(terminal_words, "twenty columns fit in there", 14),
		  "twenty columns fit in\n              there");
	CHECK_STR(written(terminal_words, "one-word-that-has-no-room two", 39),
		  "one-word-that-has-no-room\n                                       two");
	CHECK_STR(written(terminal_words, "größe größe größe größe", 18),
		  "größe größe größe\n                  größe");
	CHECK_STR(written(terminal_words, "", 5), "");
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

TEST_MAIN()
