/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/settings.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/up_dir.h"

#define FILE_NAME "fathom.conf"
#define FILE_BYTES_MAX 65536
#define PREFIX "FATHOM_"

static int out_of_memory(struct error *e)
{
	return error_set(e, ENOMEM, "cannot read the settings");
}

static size_t row_of(const struct option *table, const char *name)
{
	size_t i = 0;

	while (table[i].name && strcmp(table[i].name, name) != 0)
		i++;
	return i;
}

/* Takes copies. What is there already stays. */
static int setting_put(struct setting *to, const char *text, const char *source, struct error *e)
{
	if (to->source)
		return 0;
	to->text = text ? strdup(text) : NULL;
	to->source = strdup(source);
	return to->source && (to->text || !text) ? 0 : out_of_memory(e);
}

/* ---- the command line ---- */

struct finding {
	struct settings *settings;
	const struct option *table;
};

/* The last one is shown, also of a list. */
static int argument_take(void *arg, const struct option *option, const char *text, struct error *e)
{
	const struct finding *f = arg;
	struct setting *to = &f->settings->items[option - f->table];

	free(to->text);
	free(to->source);
	*to = (struct setting){.is_argument = true};
	return setting_put(to, text ? text : "yes", "the command line", e);
}

/* ---- the environment ---- */

static void variable_name(char name[80], const struct option *option)
{
	size_t n = (size_t)snprintf(name, 80, PREFIX "%s", option->name);

	for (size_t i = 0; i < n && i < 79; i++)
		name[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
}

static int environment_take(struct settings *s, const struct option *table, struct error *e)
{
	int err = 0;

	for (size_t i = 0; table[i].name && !err; i++) {
		char name[80];
		const char *value;

		variable_name(name, &table[i]);
		value = getenv(name);
		if (value && *value)
			err = setting_put(&s->items[i], value, name, e);
	}
	return err;
}

/* ---- the file ---- */

static char *trimmed(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text + strspn(text, " \t\r");
}

struct place {
	const char *path;
	const struct option *others; /* of a command that shares the file; or NULL */
	unsigned int line;
	bool has_seen[SETTINGS_MAX]; /* the option, in this file */
	bool is_found;		     /* in the directory, which is known */
};

static int line_take(struct settings *s, const struct option *table, struct place *at, char *line,
		     struct error *e)
{
	char *equals, *key = trimmed(line), *value, source[PATH_MAX + 16];
	size_t row;

	if (!*key || *key == '#')
		return 0;
	equals = strchr(key, '=');
	if (!equals)
		return error_misuse(e, "%s:%u: write KEY = VALUE", at->path, at->line);
	*equals = '\0';
	key = trimmed(key);
	value = trimmed(equals + 1);
	row = row_of(table, key);
	if (!table[row].name && at->others && at->others[row_of(at->others, key)].name)
		return 0;
	if (!table[row].name || strcmp(key, "config") == 0)
		return error_misuse(e, "%s:%u: there is no setting '%.60s'", at->path, at->line,
				    key);
	if (at->is_found && strcmp(key, "output") == 0)
		return error_misuse(
			e, "%s:%u: the directory is where this file lies: it cannot be set here",
			at->path, at->line);
	if (!*value)
		return error_misuse(e, "%s:%u: '%s' has no value", at->path, at->line, key);
	if (at->has_seen[row])
		return error_misuse(e, "%s:%u: '%s' is set twice", at->path, at->line, key);
	at->has_seen[row] = true;
	snprintf(source, sizeof(source), "%s:%u", at->path, at->line);
	return setting_put(&s->items[row], value, source, e);
}

/* Whoever may write in the directory is not to say what root does. */
static int owner_check(int fd, const char *path, bool is_found, struct error *e)
{
	struct stat st;

	if (fstat(fd, &st))
		return error_set(e, errno, "cannot read %s", path);
	if (!S_ISREG(st.st_mode) && is_found)
		return error_say(e, EINVAL, "cannot read %s: it is no file", path);
	if (is_found && ((st.st_uid != 0 && st.st_uid != geteuid()) || st.st_mode & 022))
		return error_say(e, EACCES,
				 "cannot take settings from %s: it must belong to root or to you, "
				 "and nobody else may write it",
				 path);
	return 0;
}

/* Reads all of a file as text. */
static int text_read(int fd, const char *path, char **out, struct error *e)
{
	char *text = malloc(FILE_BYTES_MAX + 1);
	size_t bytes = 0;
	ssize_t n = 1;

	if (!text)
		return out_of_memory(e);
	while (n > 0 && bytes < FILE_BYTES_MAX) {
		n = read(fd, text + bytes, FILE_BYTES_MAX - bytes);
		bytes += n > 0 ? (size_t)n : 0;
	}
	if (n) {
		int err = n < 0 ? error_set(e, errno, "cannot read %s", path)
				: error_misuse(e, "%s is too large for settings", path);

		free(text);
		return err;
	}
	text[bytes] = '\0';
	*out = text;
	return 0;
}

int settings_text_read(const char *path, bool is_found, char **out, struct error *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (is_found ? O_NOFOLLOW : 0)), err;

	if (fd < 0 && is_found && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return error_set(e, errno, "cannot read the settings in %s", path);
	err = owner_check(fd, path, is_found, e);
	err = err ? err : text_read(fd, path, out, e);
	close(fd);
	return err;
}

static int file_take(struct settings *s, const struct command *command, const char *path,
		     bool is_found, struct error *e)
{
	const struct command *shares = command->shares_settings;
	struct place at = {
		.path = path, .others = shares ? shares->options : NULL, .is_found = is_found};
	char *text = NULL, *rest, *line;
	int err = settings_text_read(path, is_found, &text, e);

	for (rest = text; !err && (line = strsep(&rest, "\n"));) {
		at.line++;
		err = line_take(s, command->options, &at, line, e);
	}
	free(text);
	return err;
}

/* The file that is named, else the one in the directory. */
static int any_file_take(struct settings *s, const struct command *command, struct error *e)
{
	const struct option *table = command->options;
	const char *config = s->items[row_of(table, "config")].text;
	char path[UP_DIR_BYTES + sizeof(FILE_NAME) + 1], dir[UP_DIR_BYTES];

	if (config)
		return file_take(s, command, config, false, e);
	snprintf(path, sizeof(path), "%s/" FILE_NAME,
		 up_dir(s->items[row_of(table, "output")].text, dir));
	return file_take(s, command, path, true, e);
}

/* ---- arguments ---- */

/* "yes" or "no" of an option without a value; -EINVAL: neither. */
static int switch_read(const char *text)
{
	if (strcmp(text, "yes") == 0 || strcmp(text, "true") == 0 || strcmp(text, "1") == 0)
		return 1;
	if (strcmp(text, "no") == 0 || strcmp(text, "false") == 0 || strcmp(text, "0") == 0)
		return 0;
	return -EINVAL;
}

/* Refuses a value that is none for the option, and says where it is. */
static int setting_check(const struct setting *setting, const struct option *option, void *fields,
			 struct error *e)
{
	struct error why = {0};
	int err;

	if (!option->metavar)
		return switch_read(setting->text) < 0
			       ? error_misuse(e, "%s: %s is yes or no, not '%s'", setting->source,
					      option->name, setting->text)
			       : 0;
	err = option->parse((char *)fields + option->offset, setting->text, &why);
	return err ? error_misuse(e, "%s: %s '%s' %s", setting->source, option->name, setting->text,
				  why.text)
		   : 0;
}

static int argument_make(struct settings *s, const struct option *option,
			 const struct setting *setting, struct error *e)
{
	char *made;

	if (!option->metavar && !switch_read(setting->text))
		return 0;
	if (asprintf(&made, option->metavar ? "--%s=%s" : "--%s", option->name, setting->text) < 0)
		return out_of_memory(e);
	s->made[s->made_count++] = made;
	return 0;
}

static int arguments_make(struct settings *s, const struct option *table, void *fields,
			  struct error *e)
{
	int err = 0;

	for (size_t i = 0; table[i].name && !err; i++) {
		const struct setting *setting = &s->items[i];

		if (!setting->text || setting->is_argument)
			continue;
		err = setting_check(setting, &table[i], fields, e);
		err = err ? err : argument_make(s, &table[i], setting, e);
	}
	return err;
}

/* The name of the command, then what was made, then the rest of the command line. */
static int argv_make(struct settings *s, char **argv, struct error *e)
{
	size_t count = 0;

	while (argv[count])
		count++;
	s->argv = calloc(count + s->made_count + 1, sizeof(*s->argv));
	if (!s->argv)
		return out_of_memory(e);
	s->argv[0] = argv[0];
	memcpy(s->argv + 1, s->made, s->made_count * sizeof(*argv));
	memcpy(s->argv + 1 + s->made_count, argv + 1, (count - 1) * sizeof(*argv));
	return 0;
}

/* Checks values in memory that is thrown away. */
static int arguments_add(struct settings *s, const struct command *command, struct error *e)
{
	void *fields = calloc(1, command->options_bytes + 1);
	int err = fields ? arguments_make(s, command->options, fields, e) : out_of_memory(e);

	if (fields && command->release)
		command->release(fields);
	free(fields);
	return err;
}

int settings_find(struct settings *s, const struct command *command, char **argv, struct error *e)
{
	const struct option *table = command->options;
	struct finding finding = {s, table};
	int err = options_each(table, argv, argument_take, &finding, e);

	s->has_help = err == OPTIONS_HELP;
	err = err < 0 ? err : 0;
	s->made = calloc(SETTINGS_MAX, sizeof(*s->made));
	if (!err && !s->made)
		err = out_of_memory(e);
	err = err ? err : environment_take(s, table, e);
	err = err ? err : any_file_take(s, command, e);
	err = err ? err : arguments_add(s, command, e);
	return err ? err : argv_make(s, argv, e);
}

/* ---- help ---- */

void settings_print(const struct settings *s, const struct option *table, FILE *file)
{
	char dir[UP_DIR_BYTES];

	fputs("\nin force, and where it is from:\n", file);
	for (size_t i = 0; table[i].name; i++) {
		const struct setting *setting = &s->items[i];
		const char *text = setting->text ? setting->text : table[i].preset;

		if (!text && strcmp(table[i].name, "output") == 0)
			text = up_dir(NULL, dir);
		if (!text)
			text = table[i].metavar ? "-" : "no";
		fprintf(file, "  %-13s %-30s %s\n", table[i].name, text,
			setting->source ? setting->source : "default");
	}
}

void settings_free(struct settings *s)
{
	for (size_t i = 0; i < SETTINGS_MAX; i++) {
		free(s->items[i].text);
		free(s->items[i].source);
	}
	for (size_t i = 0; i < s->made_count; i++)
		free(s->made[i]);
	free(s->made);
	free(s->argv);
	*s = (struct settings){0};
}
