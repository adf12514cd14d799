/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command_text.h"

#include <stdio.h>
#include <string.h>

#define WORDS_MAX 256
#define EXTENSION_MAX 6 /* ".cpp", with the dot */
#define OPTION_LONG 4	/* "-O2" tells more than "-march=native" */

struct words {
	const char *at[WORDS_MAX];
	int bytes[WORDS_MAX];
	bool left_out[WORDS_MAX];
	int count;
	int all; /* bytes of the words that are not left out, and of the spaces between them */
};

static void words_split(struct words *w, const char *command)
{
	while (*command && w->count < WORDS_MAX) {
		size_t bytes = strcspn(command, " ");

		if (bytes) {
			w->at[w->count] = command;
			w->bytes[w->count++] = (int)bytes;
			w->all += (int)bytes + 1;
		}
		command += bytes + (command[bytes] == ' ');
	}
	w->all--;
}

static void word_leave_out(struct words *w, int i)
{
	w->left_out[i] = true;
	w->all -= w->bytes[i] + 1;
}

static bool came_before(const struct words *w, int i)
{
	for (int k = 1; k < i; k++)
		if (w->bytes[k] == w->bytes[i] &&
		    memcmp(w->at[k], w->at[i], (size_t)w->bytes[i]) == 0)
			return true;
	return false;
}

static bool is_option(const struct words *w, int i)
{
	return w->at[i][0] == '-';
}

static bool is_long_option(const struct words *w, int i)
{
	return is_option(w, i) && w->bytes[i] > OPTION_LONG;
}

/* The name of a file with an extension, as "main.c": it tells the most. */
static bool is_file(const struct words *w, int i)
{
	const char *dot = memrchr(w->at[i], '.', (size_t)w->bytes[i]);
	int rest = dot ? (int)(w->at[i] + w->bytes[i] - dot) : 0;

	return dot && dot != w->at[i] && dot[-1] != '/' && rest > 1 && rest <= EXTENSION_MAX &&
	       !memchr(dot, '/', (size_t)rest);
}

/* It may be the value of the option before it. */
static bool is_value(const struct words *w, int i)
{
	return is_option(w, i - 1) && !is_file(w, i);
}

static bool is_no_file(const struct words *w, int i)
{
	return !is_file(w, i);
}

static bool is_after_option(const struct words *w, int i)
{
	return is_option(w, i - 1);
}

static bool is_temporary(const struct words *w, int i)
{
	return strncmp(w->at[i], "/tmp/", strlen("/tmp/")) == 0;
}

/* The words that tell least come first. */
static bool (*const tells_little[])(const struct words *w,
				    int i) = {came_before, is_long_option,  is_option,	 is_value,
					      is_no_file,  is_after_option, is_temporary};

/* Whether it is the last word that says what the program works on. */
static bool is_last_operand(const struct words *w, int i)
{
	int operands = 0;

	for (int k = 1; k < w->count; k++)
		operands += !w->left_out[k] && !is_option(w, k);
	return operands == 1 && !is_option(w, i);
}

/* Leaves out words, from the last on, until the rest fits. */
static void words_fit(struct words *w, int columns)
{
	for (size_t phase = 0; phase < sizeof(tells_little) / sizeof(tells_little[0]); phase++)
		for (int i = w->count - 1; i > 0 && w->all > columns; i--)
			if (!w->left_out[i] && tells_little[phase](w, i) && !is_last_operand(w, i))
				word_leave_out(w, i);
}

/* Cuts a text behind so many bytes, at a character, and ends it with an ellipsis. */
static void text_cut(char *text, int columns, size_t size)
{
	size_t at = columns > 1 ? (size_t)columns - 1 : 0;

	if (strlen(text) <= (size_t)columns || columns < 1)
		return;
	while (at && (text[at] & 0xc0) == 0x80)
		at--;
	snprintf(text + at, size - at, "…");
}

/* Whether word `i` is that text. */
static bool word_is(const struct words *w, int i, const char *text)
{
	return w->bytes[i] == (int)strlen(text) && memcmp(w->at[i], text, strlen(text)) == 0;
}

/* "sh -c 'while ...'": its words are those of a text, of which none can be left out. */
static bool is_script(const struct words *w)
{
	const char *program = w->at[0], *end = program + w->bytes[0];
	bool runs = (w->bytes[0] >= 2 && memcmp(end - 2, "sh", 2) == 0) || word_is(w, 0, "su") ||
		    strncmp(program, "python", strlen("python")) == 0;

	for (int i = 1; i < w->count && runs; i++)
		if (word_is(w, i, "-c"))
			return true;
	return false;
}

void command_shorten(const char *command, int columns, char *text, size_t size)
{
	struct words w = {0};
	size_t length = 0;

	words_split(&w, command);
	if ((int)strlen(command) <= columns || !w.count || w.at[0][w.bytes[0] - 1] == ':' ||
	    is_script(&w)) {
		snprintf(text, size, "%s", command);
		text_cut(text, columns, size);
		return;
	}
	words_fit(&w, columns);
	text[0] = '\0';
	for (int i = 0; i < w.count && length < size; i++)
		if (!w.left_out[i])
			length += (size_t)snprintf(text + length, size - length, "%s%.*s",
						   length ? " " : "", w.bytes[i], w.at[i]);
	text_cut(text, columns, size);
}

#define COMM_BYTES 15

bool command_is_of(const char *command, const char *comm)
{
	for (int word = 0; word < 2 && *command; word++) {
		size_t bytes = strcspn(command, " ");
		const char *name = command;

		for (const char *at = command; at < command + bytes; at++)
			if (*at == '/')
				name = at + 1;
		if (strncmp(name, comm, strlen(comm)) == 0 &&
		    (strlen(comm) == COMM_BYTES || strchr(" :", name[strlen(comm)])))
			return true;
		command += bytes + (command[bytes] == ' ');
	}
	return false;
}
