/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/json_reader.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/up_dir.h"
#include "serve/access.h"
#include "up/ask.h"
#include "up/http_ask.h"

#define DEPTH 8
#define PATH_BYTES 1024

struct pin_options {
	const char *dir;
	const char *from, *to;
	const char *remove;
	const char *token_file;
	const char *trace; /* the operand */
	bool list, json;
};

#define AT(field) offsetof(struct pin_options, field)
static const struct option pin_option_table[] = {
	{"output", 'o', "DIR", "the directory of 'fathom up' (default: that of 'fathom up')", NULL,
	 AT(dir), option_text},
	{"from", 0, "TIME", "pin this time: 15m (ago), or nanoseconds since 1970", NULL, AT(from),
	 option_text},
	{"to", 0, "TIME", "where it ends (default: now)", NULL, AT(to), option_text},
	{"list", 0, NULL, "show what is pinned", NULL, AT(list), option_flag},
	{"remove", 0, "NAME", "delete a pin, by its name or the path that was printed", NULL,
	 AT(remove), option_text},
	{"token-file", 0, "FILE", "has the token of 'fathom up', if it wants one", NULL,
	 AT(token_file), option_text},
	{"json", 0, NULL, "print JSON", NULL, AT(json), option_flag},
	{0},
};
#undef AT

static int pin_check(void *options, const struct operands *operands, struct error *e)
{
	struct pin_options *o = options;
	int wanted;

	if (operands->count > 1 || operands->command)
		return error_say(e, EINVAL, "only one trace is allowed");
	o->trace = operands->count ? operands->items[0] : NULL;
	wanted = (o->trace != NULL) + (o->from != NULL) + (o->remove != NULL) + o->list;
	if (wanted > 1)
		return error_say(e, EINVAL,
				 "a trace, --from, --list and --remove exclude each other");
	if (!wanted)
		return error_say(e, EINVAL, "say what to pin: a trace id, or --from TIME");
	if (o->to && !o->from)
		return error_say(e, EINVAL, "--to needs --from");
	return 0;
}

/* ---- asking ---- */

/* A parameter of a query, with what needs it escaped. */
static void parameter_add(char path[PATH_BYTES], const char *name, const char *value)
{
	size_t at = strlen(path);
	int n = snprintf(path + at, PATH_BYTES - at, "%c%s=", strchr(path, '?') ? '&' : '?', name);

	at += n > 0 ? (size_t)n : 0;
	for (; *value && at + 4 < PATH_BYTES; value++) {
		bool plain = isalnum((unsigned char)*value) || strchr("-._", *value);

		at += (size_t)snprintf(path + at, PATH_BYTES - at, plain ? "%c" : "%%%02X",
				       (unsigned char)*value);
	}
}

/* The address of the API, as the status tells it. "": it is off. */
static int address_find(const char *dir, char address[64], struct error *e)
{
	struct bytes document = {0};
	struct json_reader r;
	struct json_text key, text;
	int err = up_ask(dir, &document, e);

	*address = '\0';
	if (err)
		return err;
	json_reader_init(&r, document.data, document.count, DEPTH);
	json_object_enter(&r);
	while (json_key_next(&r, &key)) {
		if (!json_text_is(key, "addresses")) {
			json_skip(&r);
			continue;
		}
		json_object_enter(&r);
		while (json_key_next(&r, &key)) {
			bool is_http = json_text_is(key, "http");

			json_string_read(&r, &text);
			if (is_http && !r.wrong && text.bytes < 64)
				address[json_text_decode(text, address)] = '\0';
		}
	}
	bytes_free(&document);
	return *address ? 0
			: error_say(e, ENOENT, "it answers no queries: it runs with --http off");
}

/* The name of a pin, which may be given as the path that was printed. */
static void name_take(char name[NAME_MAX + 1], const char *path)
{
	size_t bytes = strlen(path), begin;

	while (bytes > 1 && path[bytes - 1] == '/')
		bytes--;
	for (begin = bytes; begin && path[begin - 1] != '/';)
		begin--;
	snprintf(name, NAME_MAX + 1, "%.*s", (int)(bytes - begin), path + begin);
}

static int pin_ask(const struct pin_options *o, struct bytes *body, struct error *e)
{
	char dir[UP_DIR_BYTES], address[64], token[ACCESS_TOKEN_BYTES], path[PATH_BYTES];
	char name[NAME_MAX + 1];
	struct http_question question = {.address = address, .method = "POST", .path = path};
	int err = address_find(up_dir(o->dir, dir), address, e);

	if (!err && o->token_file) {
		err = access_token_read(o->token_file, token, e);
		question.token = token;
	}
	if (err)
		return err;
	strcpy(path, "/api/v1/pins");
	if (o->trace)
		parameter_add(path, "trace", o->trace);
	if (o->from)
		parameter_add(path, "from", o->from);
	if (o->to)
		parameter_add(path, "to", o->to);
	if (o->remove) {
		name_take(name, o->remove);
		parameter_add(path, "name", name);
	}
	if (o->list || o->remove)
		question.method = o->list ? "GET" : "DELETE";
	return http_ask(&question, body, e);
}

/* ---- printing ---- */

struct pin_shown {
	char name[128], trace[40], why[64];
	uint64_t bytes, chunks;
};

static void text_read(struct json_reader *r, char *to, size_t size)
{
	struct json_text text;

	json_string_read(r, &text);
	if (!r->wrong && text.bytes < size)
		to[json_text_decode(text, to)] = '\0';
}

static void number_read(struct json_reader *r, uint64_t *to)
{
	struct json_text text;

	json_number_read(r, &text);
	if (!r->wrong)
		json_text_u64(text, to);
}

static void pin_read(struct json_reader *r, struct pin_shown *pin)
{
	struct json_text key;

	json_object_enter(r);
	while (json_key_next(r, &key)) {
		if (json_text_is(key, "name"))
			text_read(r, pin->name, sizeof(pin->name));
		else if (json_text_is(key, "why"))
			text_read(r, pin->why, sizeof(pin->why));
		else if (json_text_is(key, "bytes"))
			number_read(r, &pin->bytes);
		else if (json_text_is(key, "chunks"))
			number_read(r, &pin->chunks);
		else
			json_skip(r);
	}
}

static void pins_print(struct json_reader *r, const char *dir)
{
	json_array_enter(r);
	while (json_item_next(r)) {
		struct pin_shown pin = {0};
		char bytes[UNITS_TEXT_BYTES];

		pin_read(r, &pin);
		printf("%s/pins/%s  %" PRIu64 " chunks, %s, %s\n", dir, pin.name, pin.chunks,
		       units_format_bytes(pin.bytes, bytes), pin.why);
	}
}

/* Prints the pins of an answer, or takes its error. */
static int answer_show(const struct bytes *body, const char *dir, int status, struct error *e)
{
	char why[ERROR_TEXT_BYTES] = "";
	struct json_reader r;
	struct json_text key;

	json_reader_init(&r, body->data, body->count, DEPTH);
	json_object_enter(&r);
	while (json_key_next(&r, &key)) {
		if (json_text_is(key, "pins"))
			pins_print(&r, dir);
		else if (json_text_is(key, "error"))
			text_read(&r, why, sizeof(why));
		else
			json_skip(&r);
	}
	if (status < 300)
		return 0;
	return error_say(e, EIO, "%s",
			 status == 401 ? "it wants a token: --token-file FILE"
			 : *why	       ? why
				       : "'fathom up' refuses it");
}

static int pin_run(const void *fields, const struct operands *operands, struct error *e)
{
	const struct pin_options *o = fields;
	char dir[UP_DIR_BYTES];
	struct bytes body = {0};
	int status = pin_ask(o, &body, e), err = status < 0 ? status : 0;

	if (!err && o->json && status < 300)
		fwrite(body.data, 1, body.count, stdout);
	else if (!err)
		err = answer_show(&body, up_dir(o->dir, dir), status, e);
	bytes_free(&body);
	return err;
}

const struct command command_pin = {
	.name = "pin",
	.summary = "keep chunks of 'fathom up' when the others are deleted",
	.usage = "[-o DIR] [--token-file FILE] [--json] TRACE_ID | --from TIME [--to TIME] | "
		 "--list | "
		 "--remove NAME",
	.description =
		"Keeps the chunks of the time of a trace, or of a time, beyond --keep of a "
		"running\n"
		"'fathom up', and prints where they are: a recording, which report, trace and the\n"
		"others take. Pins take a fifth of the size in --keep at most (512 MB where it "
		"has\n"
		"none); beyond that the oldest go. A span that took ten times as long as a slow "
		"one\n"
		"is pinned by itself.",
	.examples = "  fathom pin 0af7651916cd43dd8448eb211c80319c\n"
		    "  fathom pin --from 5m --to 2m\n"
		    "  fathom pin --list\n",
	.options = pin_option_table,
	.options_bytes = sizeof(struct pin_options),
	.check = pin_check,
	.run = pin_run,
};
