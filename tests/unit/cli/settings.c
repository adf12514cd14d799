/* SPDX-License-Identifier: Apache-2.0 */
/* Options by the environment and by a file. */
#include "cli/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/check.h"

struct fields {
	const char *dir, *config;
	uint64_t time_ns;
	struct option_list names;
	bool quiet;
};

#define AT(field) offsetof(struct fields, field)
static const struct option table[] = {
	{"output", 'o', "DIR", "", NULL, AT(dir), option_text},
	{"config", 0, "FILE", "", NULL, AT(config), option_text},
	{"wait-time", 't', "TIME", "", "1s", AT(time_ns), option_duration},
	{"names", 0, "NAMES", "", NULL, AT(names), option_names},
	{"quiet", 0, NULL, "", NULL, AT(quiet), option_flag},
	{0},
};
#undef AT

static void release(void *fields)
{
	option_list_free(&((struct fields *)fields)->names);
}

static struct command command = {
	.options = table, .options_bytes = sizeof(struct fields), .release = release};
static const char *const variables[] = {"FATHOM_OUTPUT", "FATHOM_CONFIG", "FATHOM_WAIT_TIME",
					"FATHOM_NAMES", "FATHOM_QUIET"};

static char dir[] = "/tmp/fathom-settings-XXXXXX", path[64];
static struct fields fields;
static struct settings settings;
static struct error error;

/* A directory without settings, and an environment without them. */
static void fresh(void)
{
	if (strstr(dir, "XXXXXX"))
		CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/fathom.conf", dir);
	unlink(path);
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		unsetenv(variables[i]);
}

static void file_write(const char *text)
{
	FILE *file = fopen(path, "we");

	CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
	CHECK_EQ(chmod(path, 0600), 0);
}

/* Parses the arguments, up to a NULL. */
static int parsed(char *one, char *two)
{
	char *argv[] = {"up", "-o", dir, one, two, NULL};
	struct operands operands = {0};
	int err;

	release(&fields);
	settings_free(&settings);
	fields = (struct fields){0};
	error = (struct error){0};
	err = settings_find(&settings, &command, argv, &error);
	err = err ? err : options_parse(table, settings.argv, &fields, &operands, &error);
	operands_free(&operands);
	return err;
}

static void end(void)
{
	release(&fields);
	settings_free(&settings);
	unlink(path);
	rmdir(dir);
	memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
}

TEST(the_command_line_goes_before_the_environment_and_that_before_the_file)
{
	fresh();
	CHECK_EQ(parsed(NULL, NULL), 0);
	CHECK_EQ(fields.time_ns, 1000000000);
	file_write("wait-time = 2s\n");
	CHECK_EQ(parsed(NULL, NULL), 0);
	CHECK_EQ(fields.time_ns, 2000000000);
	setenv("FATHOM_WAIT_TIME", "3s", 1);
	CHECK_EQ(parsed(NULL, NULL), 0);
	CHECK_EQ(fields.time_ns, 3000000000);
	CHECK_EQ(parsed("-t4s", NULL), 0);
	CHECK_EQ(fields.time_ns, 4000000000);
	setenv("FATHOM_WAIT_TIME", "", 1); /* as if it were not there */
	CHECK_EQ(parsed(NULL, NULL), 0);
	CHECK_EQ(fields.time_ns, 2000000000);
	end();
}

TEST(comments_blanks_lists_and_switches)
{
	fresh();
	file_write("# names\n\n  names=a,b  \r\n\tquiet = yes\n  # wait-time = x\nwait-time = 5s");
	CHECK_EQ(parsed(NULL, NULL), 0);
	CHECK_EQ(fields.names.count, 2);
	CHECK_STR(fields.names.data[1], "b");
	CHECK(fields.quiet);
	CHECK_EQ(fields.time_ns, 5000000000);
	CHECK_EQ(parsed("--names", "c"), 0); /* in place of them */
	CHECK_EQ(fields.names.count, 1);
	setenv("FATHOM_QUIET", "no", 1);
	CHECK_EQ(parsed(NULL, NULL), 0);
	CHECK(!fields.quiet);
	end();
}

static void refused(const char *text, const char *why)
{
	file_write(text);
	CHECK(parsed(NULL, NULL) < 0);
	if (!strstr(error.text, why))
		CHECK_FAIL("'%s' is not in: %s", why, error.text);
}

TEST(settings_of_a_command_that_shares_the_file_are_passed_over)
{
	static const struct option others[] = {{"keep", 0, "TIME", "", NULL, 0, option_text}, {0}};
	static const struct command other = {.options = others};

	fresh();
	refused("keep = 6h\nwait-time = 2s\n", "fathom.conf:1: there is no setting 'keep'");
	command.shares_settings = &other;
	CHECK_EQ(parsed(NULL, NULL), 0);
	CHECK_EQ(fields.time_ns, 2000000000);
	refused("keeps = 6h\n", "there is no setting 'keeps'");
	command.shares_settings = NULL;
	end();
}

TEST(what_is_wrong_in_the_file_is_told_with_its_line)
{
	fresh();
	refused("\nwait-tme = 2s\n", "fathom.conf:2: there is no setting 'wait-tme'");
	refused("config = x", "there is no setting 'config'");
	refused("output = /x", "cannot be set here");
	refused("wait-time", "write KEY = VALUE");
	refused("wait-time =", "has no value");
	refused("quiet = no\nquiet = no", ":2: 'quiet' is set twice");
	refused("quiet = maybe", "fathom.conf:1: quiet is yes or no, not 'maybe'");
	refused("wait-time = long", "fathom.conf:1: wait-time 'long' ");
	file_write("");
	setenv("FATHOM_WAIT_TIME", "long", 1);
	CHECK(parsed(NULL, NULL) < 0);
	CHECK(strstr(error.text, "FATHOM_WAIT_TIME: wait-time 'long' "));
	end();
}

TEST(a_file_that_others_can_write_is_refused)
{
	fresh();
	file_write("wait-time = 2s\n");
	CHECK_EQ(chmod(path, 0622), 0);
	CHECK(parsed(NULL, NULL) < 0);
	CHECK(strstr(error.text, "belong to root or to you"));
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(symlink("/etc/passwd", path), 0);
	CHECK(parsed(NULL, NULL) < 0);
	end();
}

TEST(a_file_that_is_named_goes_in_place_of_the_usual_one)
{
	char named[64];
	FILE *file;

	fresh();
	file_write("quiet = yes\n");
	snprintf(named, sizeof(named), "%s/named", dir);
	file = fopen(named, "we");
	CHECK(file && fputs("output = /elsewhere\nwait-time = 7s\n", file) > 0);
	CHECK_EQ(fclose(file), 0);
	CHECK_EQ(parsed("--config", named), 0);
	CHECK_EQ(fields.time_ns, 7000000000);
	CHECK(!fields.quiet);
	CHECK_STR(fields.dir, dir); /* of the command line */
	unlink(named);
	CHECK(parsed("--config", named) < 0);
	CHECK(strstr(error.text, named));
	end();
}

TEST(help_shows_what_is_in_force)
{
	char text[2048] = "";
	FILE *file = fmemopen(text, sizeof(text) - 1, "w");

	fresh();
	file_write("wait-time = 2s\n");
	setenv("FATHOM_NAMES", "x", 1);
	CHECK_EQ(parsed("--help", "--quiet"), OPTIONS_HELP);
	CHECK(settings.has_help);
	settings_print(&settings, table, file);
	fclose(file);
	CHECK(strstr(text, "  names         x                              FATHOM_NAMES\n"));
	CHECK(strstr(text, "  quiet         yes                            the command line\n"));
	CHECK(strstr(text, "  config        -                              default\n"));
	CHECK(strstr(text, "  wait-time     2s                             /tmp/fathom-settings-"));
	CHECK(strstr(text, "/fathom.conf:1\n"));
	end();
}

TEST_MAIN()
