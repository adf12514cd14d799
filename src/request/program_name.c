/* SPDX-License-Identifier: Apache-2.0 */
#include "request/program_name.h"

#include <stdio.h>
#include <string.h>

#include "map/fact/query.h"

#define COMM_BYTES 15

/* Programs that run what their first argument names. Digits and dots behind a name do not count. */
static const char *const interpreters[] = {"python", "pypy", "node", "nodejs", "ruby",
					   "perl",   "php",  "bash", "dash",   "sh",
					   "java",   "lua",  "deno", "bun",    "Rscript"};

/* The texts of a command: its name, its executable, its arguments. */
struct texts_walk {
	const char *at, *end;
};

static const char *text_next(struct texts_walk *walk)
{
	const char *text = walk->at;

	if (!text || text >= walk->end)
		return NULL;
	walk->at += strnlen(text, (size_t)(walk->end - text)) + 1;
	return walk->at <= walk->end ? text : NULL;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static bool is_interpreter(const char *program)
{
	size_t length = strlen(program);

	while (length && strchr("0123456789.-", program[length - 1]))
		length--;
	for (size_t i = 0; i < sizeof(interpreters) / sizeof(interpreters[0]); i++)
		if (strlen(interpreters[i]) == length &&
		    memcmp(interpreters[i], program, length) == 0)
			return true;
	return false;
}

/* Options whose next word is a value, or names what runs. */
static bool takes_word(const char *option)
{
	static const char *const options[] = {"-W",	    "-X",	    "-I",
					      "-r",	    "--require",    "-cp",
					      "-classpath", "--class-path", "--import"};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (strcmp(option, options[i]) == 0)
			return true;
	return false;
}

/* Adds the script, module or archive that an interpreter runs, if its arguments name one. */
static void script_add(struct texts_walk *arguments, char *text, size_t size)
{
	size_t length = strlen(text);
	const char *word;

	while ((word = text_next(arguments))) {
		if (strcmp(word, "-m") == 0 || strcmp(word, "-jar") == 0) {
			const char *named = text_next(arguments);

			snprintf(text + length, size - length, " %s%s%s", word, named ? " " : "",
				 named ? file_name(named) : "");
			return;
		}
		if (strcmp(word, "-c") == 0 || strcmp(word, "-e") == 0) {
			snprintf(text + length, size - length, " %s", word);
			return;
		}
		if (takes_word(word))
			text_next(arguments);
		else if (word[0] && word[0] != '-') {
			snprintf(text + length, size - length, " %s", file_name(word));
			return;
		}
	}
}

/* Whether a comm, which the kernel cuts, is the name of a file or the begin of a title. */
static bool comm_is(const char *comm, const char *name)
{
	size_t length = strlen(comm);

	return *comm && strncmp(comm, name, length) == 0 &&
	       (length == COMM_BYTES || !name[length] || name[length] == ' ' ||
		name[length] == ':');
}

/*
 * The name of a program: that of its executable, unless it was called by another one, as what a
 * link leads to is, and keeps that as its comm.
 */
static const char *base_name(const char *comm, const char *executable, const char *called)
{
	if (!comm || !called || is_interpreter(executable) || comm_is(comm, executable))
		return executable;
	called = file_name(called);
	return comm_is(comm, called) ? called : executable;
}

char *program_name(const struct partial *p, u32 pid, u64 time_ns, char *text, size_t size)
{
	const struct fact_process *process = query_process(p, pid, time_ns);
	struct texts_walk walk = {NULL, NULL};
	const char *comm, *executable, *called, *name;
	size_t length;

	if (process)
		walk = (struct texts_walk){process->command,
					   process->command + process->command_bytes};
	comm = text_next(&walk);
	executable = text_next(&walk);
	called = text_next(&walk);
	if (!executable || !*executable) {
		name = query_comm(p, pid, time_ns);
		executable = name ? name : comm && *comm ? comm : "?";
	}
	executable = file_name(executable);
	name = base_name(comm, executable, called);
	/* "name (deleted)" of an executable, "name: what it does" of a title */
	length = name == executable ? strlen(name) : strcspn(name, " :");
	if (name == executable && strstr(name, " (deleted)"))
		length = (size_t)(strstr(name, " (deleted)") - name);
	snprintf(text, size, "%.*s", (int)length, name);
	if (is_interpreter(text)) {
		text[strcspn(text, ".")] = '\0'; /* python3.11 is also executed as python3 */
		script_add(&walk, text, size);
	}
	return text;
}
