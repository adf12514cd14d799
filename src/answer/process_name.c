/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/process_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "map/fact/query.h"

#define COMM_BYTES 15

const char *name_comm(const struct partial *p, u32 tid, u64 time_ns)
{
	const char *comm = query_comm(p, tid, time_ns);

	return comm ? comm : "?";
}

/* The texts of a fact: its name, its executable, its arguments. */
struct words {
	const char *at, *end;
};

static struct words words_of(const struct fact_process *process)
{
	return (struct words){process->command, process->command + process->command_bytes};
}

/* The next text; NULL: there is none. */
static const char *word_next(struct words *words)
{
	const char *word = words->at;

	if (word >= words->end)
		return NULL;
	words->at += strnlen(word, (size_t)(words->end - word)) + 1;
	return word;
}

static const char *file_name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/*
 * The program of a command: without its directory. A title that a program gave itself may have
 * slashes in its text, as "postgres: user/database": it is one word with spaces.
 */
static const char *command_program(const char *first)
{
	return strchr(first, ' ') && first[0] != '/' ? first : file_name_of(first);
}

static size_t text_add(char *text, size_t size, size_t length, const char *word)
{
	int n = snprintf(text + length, size - length, "%s%s", length ? " " : "", word);

	length += n > 0 ? (size_t)n : 0;
	return length < size ? length : size - 1;
}

char *name_command(const struct partial *p, u32 pid, u64 time_ns, char *text, size_t size)
{
	const struct fact_process *process = query_process(p, pid, time_ns);
	struct words words = process ? words_of(process) : (struct words){0};
	size_t length = 0;
	const char *word;

	word_next(&words); /* the comm */
	word_next(&words); /* the executable */
	while ((word = word_next(&words)))
		if (*word || length)
			length = text_add(text, size, length,
					  length ? word : command_program(word));
	while (length && text[length - 1] == ' ')
		length--;
	text[length] = '\0';
	if (!length)
		snprintf(text, size, "%s", name_comm(p, pid, time_ns));
	return text;
}

/* Whether a comm, which may be cut, is the name of that file. */
static bool comm_names(const char *comm, const char *path)
{
	const char *name = path ? file_name_of(path) : NULL;

	return name && *comm && strncmp(comm, name, COMM_BYTES) == 0;
}

char *name_program(const struct partial *p, u32 pid, u64 time_ns, char *text, size_t size)
{
	const struct fact_process *process = query_process(p, pid, time_ns);
	struct words words = process ? words_of(process) : (struct words){0};
	const char *comm = word_next(&words), *executable = word_next(&words);
	const char *first = word_next(&words), *second = word_next(&words);
	const char *deleted = executable ? strstr(executable, " (deleted)") : NULL;

	if (!comm || !*comm)
		comm = name_comm(p, pid, time_ns);
	if (!executable || !*executable || comm_names(comm, executable) ||
	    comm_names(comm, first) || comm_names(comm, second)) {
		snprintf(text, size, "%s", comm);
		return text;
	}
	if (!deleted)
		deleted = executable + strlen(executable);
	executable = file_name_of(executable);
	snprintf(text, size, "%.*s", (int)(deleted - executable), executable);
	return text;
}

void name_fold(char *command)
{
	static const char before[] = " =:,([#", after[] = " =:,)]";
	char *to = command;

	for (const char *from = command; *from;) {
		size_t digits = strspn(from, "0123456789");
		bool begins = from == command || strchr(before, from[-1]);

		if (digits && begins && (!from[digits] || strchr(after, from[digits]))) {
			*to++ = 'N';
			from += digits;
			continue;
		}
		/* the rest of a name or number is copied as a whole */
		do
			*to++ = *from++;
		while (*from && isalnum((unsigned char)from[-1]) && isalnum((unsigned char)*from));
	}
	*to = '\0';
}
