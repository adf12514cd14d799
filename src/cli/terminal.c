/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DEFAULT_WIDTH 120
#define MIN_WIDTH 60
#define WORDS_LEAST 20

struct terminal terminal_of(FILE *file)
{
	struct terminal t = {.file = file, .width = DEFAULT_WIDTH};
	const char *no_color = getenv("NO_COLOR");
	const char *name = getenv("TERM");
	struct winsize size;

	if (!isatty(fileno(file)))
		return t;
	t.cut = true;
	t.color = !(no_color && *no_color) && name && strcmp(name, "dumb") != 0;
	if (ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		t.width = size.ws_col < MIN_WIDTH ? MIN_WIDTH : size.ws_col;
	return t;
}

void terminal_sentence(const struct terminal *t, const char *head, const char *format, ...)
{
	va_list args;
	char *text;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		return;
	fputs(head, t->file);
	if (t->cut)
		terminal_words(t, text, terminal_columns(head));
	else
		terminal_text(t, text);
	putc('\n', t->file);
	free(text);
}

/*
 * Finds the next character of a text: sets *at to its bytes, and returns their number; 0 at the
 * end. A character that must not reach a terminal becomes '?'.
 */
static size_t character_next(const char **text, const char **at)
{
	const unsigned char *s = (const unsigned char *)*text;
	size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 1;

	if (s[0] == '\0')
		return 0;
	*at = *text;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80) {
			n = 1;
			break;
		}
	}
	/* the 8-bit control characters are two bytes in UTF-8 */
	if (s[0] < 0x20 || s[0] == 0x7f || (n == 1 && s[0] >= 0x80) ||
	    (n == 2 && s[0] == 0xc2 && s[1] < 0xa0)) {
		*at = "?";
		*text += n;
		return 1;
	}
	*text += n;
	return n;
}

int terminal_columns(const char *text)
{
	const char *at;
	int columns = 0;

	while (character_next(&text, &at) > 0)
		columns++;
	return columns;
}

/* Most characters are unchanged: runs of them are written at once. */
static int characters_write(const struct terminal *t, const char *text, int limit)
{
	const char *at, *here, *run = text;
	int columns = 0;

	for (; columns < limit; columns++) {
		here = text;
		if (character_next(&text, &at) == 0)
			break;
		if (at == here)
			continue;
		fwrite_unlocked(run, 1, (size_t)(here - run), t->file);
		putc_unlocked('?', t->file);
		run = text;
	}
	fwrite_unlocked(run, 1, (size_t)(text - run), t->file);
	return columns;
}

void terminal_spaces(const struct terminal *t, int count)
{
	static const char spaces[] = "                                                ";

	for (int most = sizeof(spaces) - 1; count > 0; count -= most)
		fwrite_unlocked(spaces, 1, (size_t)(count < most ? count : most), t->file);
}

int terminal_text(const struct terminal *t, const char *text)
{
	return characters_write(t, text, 1 << 20);
}

void terminal_cell(const struct terminal *t, const char *text, int width)
{
	int columns;

	if (width <= 0)
		return;
	if (terminal_columns(text) > width) {
		columns = characters_write(t, text, width - 1);
		fputs("…", t->file);
		columns++;
	} else {
		columns = characters_write(t, text, width);
	}
	terminal_spaces(t, width - columns);
}

/* Writes the last `count` characters of a longer text after an ellipsis. */
static void end_write(const struct terminal *t, const char *text, int count)
{
	const char *at;

	fputs("…", t->file);
	for (int left = terminal_columns(text) - count; left > 0; left--)
		character_next(&text, &at);
	characters_write(t, text, count);
}

void terminal_cell_ends(const struct terminal *t, const char *text, int width)
{
	int end = (width - 1) / 2;

	if (terminal_columns(text) <= width || width <= 0) {
		terminal_cell(t, text, width);
		return;
	}
	characters_write(t, text, width - 1 - end);
	end_write(t, text, end);
}

void terminal_name(const struct terminal *t, const char *text, int width)
{
	if (t->cut || terminal_columns(text) <= width)
		terminal_cell_ends(t, text, width);
	else
		terminal_text(t, text);
}

void terminal_rest(const struct terminal *t, const char *text, int room)
{
	if (t->cut && terminal_columns(text) > room)
		terminal_cell(t, text, room);
	else
		terminal_text(t, text);
}

void terminal_rest_end(const struct terminal *t, const char *text, int room)
{
	if (!t->cut || terminal_columns(text) <= room)
		terminal_text(t, text);
	else if (room > 1)
		end_write(t, text, room - 1);
}

/* The columns of the words that fit into `room`, at least one word; *next is the rest. */
static int words_fit(const char *text, int room, const char **next)
{
	int columns = 0, fit = 0;
	const char *at;

	*next = NULL;
	for (; character_next(&text, &at) > 0; columns++) {
		if (*at != ' ')
			continue;
		if (*next && columns > room)
			return fit;
		fit = columns;
		*next = text;
	}
	if (*next && columns > room)
		return fit;
	*next = text;
	return columns;
}

void terminal_words(const struct terminal *t, const char *text, int column)
{
	int room = t->width - column;

	if (room < WORDS_LEAST)
		room = WORDS_LEAST;
	while (*text) {
		const char *next;
		int columns = words_fit(text, room, &next);

		characters_write(t, text, columns);
		text = next;
		if (*text)
			fprintf(t->file, "\n%*s", column, "");
	}
}

void terminal_color(const struct terminal *t, int color)
{
	if (t->color)
		fprintf(t->file, "\033[38;5;%dm", color);
}

void terminal_reset(const struct terminal *t)
{
	if (t->color)
		fputs("\033[0m", t->file);
}
