/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "answer/json.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/json_file.h"
#include "recorder/control.h"
#include "recorder/default_dir.h"
#include "recorder/detail_scope.h"

struct detail_options {
	uint64_t for_ns; /* 0: for good */
	bool json;
	const char *dir, *level; /* set by the check; level NULL: only tell */
	const char *scope;	 /* NULL: all threads */
};

#define AT(field) offsetof(struct detail_options, field)
static const struct option detail_option_table[] = {
	{"for", 0, "TIME", "go back to the recording's own level after this time", NULL, AT(for_ns),
	 option_seconds},
	{"json", 0, NULL, "print JSON", NULL, AT(json), option_flag},
	{0},
};

static bool is_level(const char *text)
{
	return strcmp(text, "calls") == 0 || strcmp(text, "waits") == 0 ||
	       strcmp(text, "waits,bytes") == 0;
}

static int detail_check(void *options, const struct operands *operands, struct error *e)
{
	struct detail_options *o = options;
	struct capture_detail_scope scope = {0};
	size_t at = 0;

	o->dir = DEFAULT_DIR;
	if (operands->command)
		return error_say(e, EINVAL, "no argument is allowed after --");
	if (operands->count && !is_level(operands->items[0]))
		o->dir = operands->items[at++];
	if (at < operands->count)
		o->level = operands->items[at++];
	if (at < operands->count)
		o->scope = operands->items[at++];
	if (o->level && !is_level(o->level))
		return error_say(e, EINVAL, "'%s' is none of calls, waits and waits,bytes",
				 o->level);
	if (at < operands->count)
		return error_say(e, EINVAL, "unexpected argument '%s'", operands->items[at]);
	if (o->scope && detail_scope_read(o->scope, &scope, e))
		return -e->err;
	if (o->for_ns && !o->level)
		return error_say(e, EINVAL, "--for needs a level: calls, waits or waits,bytes");
	return 0;
}

/* The level of a recorder, as it tells it (recorder/detail.h). */
struct detail_state {
	char level[32], own[32];
	uint64_t left_ns; /* how long the level holds before `own` does; 0: for good */
	char scope[DETAIL_SCOPE_BYTES]; /* in which the level holds; "": everywhere */
};

static void state_print(const struct detail_state *state)
{
	char text[UNITS_TEXT_BYTES];

	printf("%s%s%s", state->level, state->scope[0] ? " of " : "", state->scope);
	if (state->left_ns)
		printf(" for %s, then %s", units_format_ns((int64_t)state->left_ns, text),
		       state->own);
	else if (strcmp(state->level, state->own) != 0)
		printf(" (the recording began with %s)", state->own);
	printf("\n");
}

static void state_write_json(const struct detail_state *state)
{
	struct json j;

	json_init_file(&j, stdout);
	json_object_begin(&j, NULL);
	json_string(&j, "level", state->level);
	json_string(&j, "own", state->own);
	if (state->left_ns)
		json_u64(&j, "left_ns", state->left_ns);
	if (state->scope[0])
		json_string(&j, "scope", state->scope);
	json_object_end(&j);
	json_end(&j);
}

static int detail_run(const void *fields, const struct operands *operands, struct error *e)
{
	const struct detail_options *o = fields;
	char line[256] = "detail\n", answer[1024];
	struct control_request request = {.line = line, .patience_s = 10};
	struct detail_state state = {0};
	int err;

	(void)operands;
	if (o->level)
		snprintf(line, sizeof(line), "detail %s %" PRIu64 "%s%s\n", o->level, o->for_ns,
			 o->scope ? " " : "", o->scope ? o->scope : "");
	err = control_ask(o->dir, &request, answer, sizeof(answer), e);
	if (err)
		return err;
	_Static_assert(DETAIL_SCOPE_BYTES == 192, "as in the format below");
	if (sscanf(answer, "%31s %31s %" SCNu64 " %191[^\n]", state.level, state.own,
		   &state.left_ns, state.scope) < 3)
		return error_say(e, EPROTO, "the recorder of %s answers '%s'", o->dir, answer);
	if (o->json)
		state_write_json(&state);
	else
		state_print(&state);
	return 0;
}

const struct command command_detail = {
	.name = "detail",
	.summary = "tell or change the level of detail of a recorder that runs",
	.usage = "[DIR] [calls|waits|waits,bytes [SCOPE]] [--for TIME] [--json]",
	.description =
		"Changes the level of detail of the recorder of DIR (default: fathom.data), also "
		"of "
		"a\n"
		"flight recorder, and prints the level that holds now. Without a level it only "
		"prints "
		"it.\n"
		"With a scope the level holds of a program (by the name of its threads) or a pid, "
		"and\n"
		"of what these start, or of the threads in a cgroup (a path), of service:NAME,\n"
		"or of threads under a span (spans); other threads keep theirs. The last level "
		"that was asked for holds.\n"
		"Traced programs are not stopped. A report of calls says in which part of the time "
		"they\n"
		"were recorded.",
	.examples = "  fathom detail\n"
		    "  fathom detail calls --for 10s\n"
		    "  fathom detail calls nginx --for 10s\n"
		    "  fathom detail calls /system.slice/nginx.service --for 10s\n"
		    "  fathom detail /var/lib/fathom waits\n",
	.options = detail_option_table,
	.options_bytes = sizeof(struct detail_options),
	.takes_recordings = true,
	.check = detail_check,
	.run = detail_run,
};
