/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define NAMES_MAX 64

void operands_free(struct operands *operands)
{
	free(operands->items);
	option_list_free(&operands->made);
	*operands = (struct operands){0};
}

const char *name_suggest(const char *text, const char *const *names, size_t count)
{
	const char *closest = NULL;
	int least = 3;

	for (size_t i = 0; i < count; i++) {
		int d = text_distance(text, names[i]);

		if (d < least && d < (int)strlen(names[i])) {
			least = d;
			closest = names[i];
		}
	}
	return closest;
}

static int option_unknown(const struct option *table, const char *text, struct error *e)
{
	const char *names[NAMES_MAX];
	const char *closest;
	size_t count = 0;

	for (; table->name && count < NAMES_MAX; table++)
		names[count++] = table->name;
	closest = name_suggest(text, names, count);
	if (closest)
		return error_say(e, EINVAL, "unknown option --%s; did you mean --%s?", text,
				 closest);
	return error_say(e, EINVAL, "unknown option --%s", text);
}

static int option_apply(void *fields, const struct option *option, const char *text,
			struct error *e)
{
	struct error why = {0};
	int err = option->parse((char *)fields + option->offset, text, &why);

	if (err && text) /* the message continues after the value: "is too large" */
		error_say(e, err, "--%s '%s' %s", option->name, text, why.text);
	return err;
}

/* The arguments, and the position in them; and who takes the options. */
struct cursor {
	char **argv;
	int argc;
	int at;
	option_take_fn *take;
	void *arg;
};

static int option_give(const struct cursor *c, const struct option *option, const char *text,
		       struct error *e)
{
	return c->take(c->arg, option, text, e);
}

/* Whether the next argument is the value of an option that can do without: it begins with a digit.
 */
static bool value_follows(const struct cursor *c)
{
	return c->at < c->argc && c->argv[c->at][0] >= '0' && c->argv[c->at][0] <= '9';
}

/* "--name", "--name VALUE" or "--name=VALUE" */
static int long_parse(const struct option *table, struct cursor *c, struct error *e)
{
	char name[64];
	const char *text = c->argv[c->at++] + 2;
	const char *value = strchr(text, '=');
	size_t len = value ? (size_t)(value - text) : strlen(text);
	const struct option *option = table;

	if (len >= sizeof(name))
		return error_say(e, EINVAL, "unknown option --%s", text);
	memcpy(name, text, len);
	name[len] = '\0';
	if (strcmp(name, "help") == 0)
		return OPTIONS_HELP;
	while (option->name && strcmp(option->name, name) != 0)
		option++;
	if (!option->name)
		return option_unknown(table, name, e);
	if (!option->metavar)
		return value ? error_say(e, EINVAL, "--%s takes no value", name)
			     : option_give(c, option, NULL, e);
	if (!value && option->metavar[0] == '[' && !value_follows(c))
		return option_give(c, option, NULL, e);
	if (!value && c->at == c->argc)
		return error_say(e, EINVAL, "--%s needs a value: %s", name, option->metavar);
	return option_give(c, option, value ? value + 1 : c->argv[c->at++], e);
}

/* "-abc", "-o VALUE" or "-oVALUE" */
static int short_parse(const struct option *table, struct cursor *c, struct error *e)
{
	const char *text = c->argv[c->at++] + 1;

	while (*text) {
		const struct option *option = table;
		char letter = *text++;
		int err;

		if (letter == 'h')
			return OPTIONS_HELP;
		while (option->name && option->letter != letter)
			option++;
		if (!option->name)
			return error_say(e, EINVAL, "unknown option -%c", letter);
		if (option->metavar) {
			if (!*text && c->at == c->argc)
				return error_say(e, EINVAL, "-%c needs a value: %s", letter,
						 option->metavar);
			return option_give(c, option, *text ? text : c->argv[c->at++], e);
		}
		err = option_give(c, option, NULL, e);
		if (err)
			return err;
	}
	return 0;
}

static int presets_parse(const struct option *table, void *fields, struct error *e)
{
	for (; table->name; table++) {
		int err = table->preset ? option_apply(fields, table, table->preset, e) : 0;

		if (err)
			return err;
	}
	return 0;
}

/* Takes the next argument if it is an option; 0 for an operand, which is left there. */
static int argument_parse(const struct option *table, struct cursor *c, struct error *e)
{
	const char *text = c->argv[c->at];

	if (strncmp(text, "--", 2) == 0)
		return long_parse(table, c, e);
	return text[0] == '-' && text[1] ? short_parse(table, c, e) : 0;
}

static struct cursor cursor_make(char **argv, option_take_fn *take, void *arg)
{
	struct cursor c = {.argv = argv, .at = 1, .take = take, .arg = arg};

	while (argv[c.argc])
		c.argc++;
	return c;
}

int options_each(const struct option *table, char **argv, option_take_fn *take, void *arg,
		 struct error *e)
{
	struct cursor c = cursor_make(argv, take, arg);
	bool help = false;
	int err = 0;

	while (err >= 0 && c.at < c.argc && strcmp(argv[c.at], "--") != 0) {
		int before = c.at;

		err = argument_parse(table, &c, e);
		help |= err == OPTIONS_HELP;
		c.at += c.at == before;
	}
	return err < 0 ? err : help ? OPTIONS_HELP : 0;
}

int options_parse(const struct option *table, char **argv, void *fields, struct operands *operands,
		  struct error *e)
{
	struct cursor c = cursor_make(argv, option_apply, fields);
	int err = presets_parse(table, fields, e);

	operands->items = calloc((size_t)c.argc + 1, sizeof(char *));
	if (!operands->items)
		return error_set(e, ENOMEM, "cannot read the command line");
	while (!err && c.at < c.argc) {
		int before = c.at;

		if (strcmp(argv[c.at], "--") == 0) {
			operands->command = argv + c.at + 1;
			break;
		}
		err = argument_parse(table, &c, e);
		if (c.at == before)
			operands->items[operands->count++] = argv[c.at++];
	}
	return err;
}
