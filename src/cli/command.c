/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/settings.h"
#include "cli/up_dir.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_USAGE 2
#define COMMANDS_MAX 32
#define HELP_COLUMN 26
#define HELP_INDENT 7
#define HELP_WIDTH 80

static void line_print(void *arg, const char *line)
{
	fprintf(stderr, "fathom: %s\n", line);
}

const struct notice notice_stderr = {.tell = line_print};

const struct command *command_find(const char *name)
{
	for (size_t i = 0; command_table[i]; i++) {
		if (strcmp(command_table[i]->name, name) == 0)
			return command_table[i];
	}
	return NULL;
}

/*
 * Writes the words of `text` in lines that fit a terminal. The first line begins in column `at`,
 * the others in `indent`. Text in brackets is never broken, and empty lines are kept.
 */
static void text_fill(FILE *file, size_t at, size_t indent, const char *text)
{
	bool first = true;

	while (*(text += strspn(text, " \n"))) {
		size_t length = 0;

		for (int depth = 0; text[length]; length++) {
			depth += (text[length] == '[') - (text[length] == ']');
			if (!depth && (text[length] == ' ' || text[length] == '\n'))
				break;
		}
		if (!first && at + 1 + length > HELP_WIDTH) {
			fprintf(file, "\n%*s", (int)indent, "");
			at = indent;
		} else if (!first) {
			putc(' ', file);
			at++;
		}
		at += length;
		first = false;
		for (; length; length--, text++)
			putc(*text == '\n' ? ' ' : *text, file);
		if (strncmp(text, "\n\n", 2) == 0) {
			fprintf(file, "\n\n%*s", (int)indent, "");
			at = indent;
			first = true;
		}
	}
	putc('\n', file);
}

static void option_help(const struct option *option, FILE *file)
{
	char head[80], text[512];

	snprintf(head, sizeof(head), "  %c%c%s --%s%s%s", option->letter ? '-' : ' ',
		 option->letter ? option->letter : ' ', option->letter ? "," : " ", option->name,
		 option->metavar ? " " : "", option->metavar ? option->metavar : "");
	if (strlen(head) + 2 > HELP_COLUMN)
		fprintf(file, "%s\n%*s", head, HELP_COLUMN, "");
	else
		fprintf(file, "%-*s", HELP_COLUMN, head);
	snprintf(text, sizeof(text), option->preset ? "%s (default: %s)" : "%s", option->help,
		 option->preset);
	text_fill(file, HELP_COLUMN, HELP_COLUMN, text);
}

static void examples_help(const struct command *command, FILE *file)
{
	const char *text = command->examples;

	if (text)
		fprintf(file, "\nexamples:\n%s%s", text,
			text[strlen(text) - 1] == '\n' ? "" : "\n");
}

static void usage_help(const struct command *command, FILE *file)
{
	fprintf(file, "fathom %s: ", command->name);
	text_fill(file, strlen("fathom : ") + strlen(command->name), HELP_INDENT, command->summary);
	fprintf(file, "\nusage: fathom %s%s", command->name, *command->usage ? " " : "");
	text_fill(file, strlen("usage: fathom  ") + strlen(command->name), HELP_INDENT,
		  command->usage);
	if (command->description) {
		putc('\n', file);
		text_fill(file, 0, 0, command->description);
	}
	fputs("\noptions:\n", file);
	for (const struct option *option = command->options; option && option->name; option++)
		option_help(option, file);
	fputs("  -h, --help              show this help\n", file);
}

/* Settings that are wrong are no reason to refuse help. */
static void help_write(const struct command *command, const struct settings *settings,
		       const struct error *e, FILE *file)
{
	usage_help(command, file);
	if (error_is_set(e))
		fprintf(file, "\nthe settings cannot be used: %s\n", e->text);
	else if (command->takes_settings)
		settings_print(settings, command->options, file);
	examples_help(command, file);
}

void command_help(const struct command *command, FILE *file)
{
	char *argv[] = {(char *)command->name, NULL};
	struct settings settings = {0};
	struct error e = {0};

	if (command->takes_settings)
		settings_find(&settings, command, argv, &e);
	help_write(command, &settings, &e, file);
	settings_free(&settings);
}

void commands_help(FILE *file)
{
	fputs("fathom shows where time went, from a request down to the kernel.\n\n"
	      "usage: fathom COMMAND [OPTION...]\n\ncommands:\n",
	      file);
	for (size_t i = 0; command_table[i]; i++)
		fprintf(file, "  %-10s %s\n", command_table[i]->name, command_table[i]->summary);
	fputs("\n'fathom COMMAND --help' and 'man fathom-COMMAND' explain a command.\n", file);
}

static int command_unknown(const char *name)
{
	const char *names[COMMANDS_MAX];
	const char *closest;
	size_t count = 0;

	while (command_table[count] && count < COMMANDS_MAX) {
		names[count] = command_table[count]->name;
		count++;
	}
	closest = name_suggest(name, names, count);
	fprintf(stderr, "fathom: unknown command '%s'", name);
	if (closest)
		fprintf(stderr, "; did you mean '%s'?\n", closest);
	else
		fputs("; 'fathom help' lists them\n", stderr);
	return EXIT_USAGE;
}

static int command_check(const struct command *command, void *options,
			 const struct operands *operands, struct error *e)
{
	if (command->check)
		return command->check(options, operands, e);
	if (operands->count > 0)
		return error_say(e, EINVAL, "unexpected argument '%s'", operands->items[0]);
	if (operands->command)
		return error_say(e, EINVAL, "no argument is allowed after --");
	return 0;
}

/* An answer that could not be written is a failure. */
static int output_finish(const struct command *command, int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fprintf(stderr, "fathom %s: cannot write the output: %s\n", command->name, strerror(errno));
	return status ? status : EXIT_FAILURE;
}

int command_fail(const struct command *command, int err, const struct error *e)
{
	fprintf(stderr, "fathom %s: %s\n", command->name,
		error_is_set(e) ? e->text : strerror(-err));
	return EXIT_FAILURE;
}

static int command_misuse(const struct command *command, const struct error *e)
{
	fprintf(stderr, "fathom %s: %s\n", command->name, e->text);
	fprintf(stderr, "'fathom %s --help' lists the options\n", command->name);
	return EXIT_USAGE;
}

static int command_execute(const struct command *command, const void *options,
			   const struct operands *operands)
{
	struct error e = {0};
	int status = command->run(options, operands, &e);

	if (status < 0) {
		status = e.misuse ? command_misuse(command, &e) : command_fail(command, status, &e);
		fflush(stdout); /* only one message, even if this fails */
		return status;
	}
	return output_finish(command, status);
}

/* What the command line says, and what else has options of the command. */
struct parsed {
	void *options;
	struct operands operands;
	struct settings settings;
};

static int command_parse(const struct command *command, char **argv, struct parsed *to,
			 struct error *e)
{
	static const struct option none[] = {{0}};
	const struct option *table = command->options ? command->options : none;
	int status = command->takes_settings ? settings_find(&to->settings, command, argv, e) : 0;

	if (to->settings.has_help)
		return OPTIONS_HELP;
	if (status)
		return status;
	argv = to->settings.argv ? to->settings.argv : argv;
	status = options_parse(table, argv, to->options, &to->operands, e);
	if (status == 0 && command->takes_recordings)
		status = up_dir_recordings(&to->operands, e);
	return status ? status : command_check(command, to->options, &to->operands, e);
}

static int command_main(const struct command *command, char **argv)
{
	struct parsed parsed = {.options = calloc(1, command->options_bytes + 1)};
	struct error e = {0};
	int status;

	if (!parsed.options) {
		fprintf(stderr, "fathom: %s\n", strerror(ENOMEM));
		return EXIT_FAILURE;
	}
	status = command_parse(command, argv, &parsed, &e);
	if (status == OPTIONS_HELP) {
		help_write(command, &parsed.settings, &e, stdout);
		status = output_finish(command, 0);
	} else if (status) {
		command_misuse(command, &e);
		status = status == -ENOMEM ? EXIT_FAILURE : EXIT_USAGE;
	} else {
		status = command_execute(command, parsed.options, &parsed.operands);
	}
	if (command->release)
		command->release(parsed.options);
	free(parsed.options);
	operands_free(&parsed.operands);
	settings_free(&parsed.settings);
	return status;
}

int commands_main(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		commands_help(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		argv[1] = "help";
	else if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		argv[1] = "version";
	command = command_find(argv[1]);
	if (!command)
		return command_unknown(argv[1]);
	return command_main(command, argv + 1);
}
