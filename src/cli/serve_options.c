/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/serve_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/settings.h"
#include "serve/access.h"
#include "serve/entry.h"
#include "wire/otlp.h"

#define STORE_PERIOD_NS_MAX UINT64_C(3600000000000)

/* A word before "=", and what follows it. */
static const struct limit {
	const char *name;
	size_t offset;
	uint64_t least, most;
	int (*parse)(void *field, const char *text, struct error *e);
} limit_table[] = {
	{"body", offsetof(struct receive_limits, body_bytes), 0, BODY_BYTES_MAX, option_size},
	{"pending", offsetof(struct receive_limits, pending_bytes), 0, (uint64_t)1 << 40,
	 option_size},
	{"time", offsetof(struct receive_limits, request_ns), 0, 3600 * (uint64_t)1000000000,
	 option_duration},
	{"connections", offsetof(struct receive_limits, connections), 0, 100000, option_count},
	{"depth", offsetof(struct receive_limits, depth), 1, OTLP_DEPTH, option_count},
	{"attributes", offsetof(struct receive_limits, attributes), OTLP_ATTRIBUTES_MIN,
	 OTLP_ATTRIBUTES_MAX, option_count},
	{"names", offsetof(struct receive_limits, names), 1, 100000, option_count},
};
#define LIMITS (sizeof(limit_table) / sizeof(*limit_table))

static int limit_parse(struct receive_limits *limits, const char *part, size_t bytes,
		       struct error *e)
{
	const char *equals = memchr(part, '=', bytes);
	size_t name = equals ? (size_t)(equals - part) : bytes;
	char text[32];

	for (size_t i = 0; equals && i < LIMITS; i++) {
		const struct limit *limit = &limit_table[i];
		uint64_t *field = (uint64_t *)((char *)limits + limit->offset);
		struct error why = {0};
		int err;

		if (strncmp(limit->name, part, name) != 0 || limit->name[name])
			continue;
		snprintf(text, sizeof(text), "%.*s", (int)(bytes - name - 1), equals + 1);
		err = limit->parse(field, text, &why);
		if (!err && *field > limit->most)
			err = error_say(&why, EINVAL, "is too large");
		if (!err && *field < limit->least)
			err = error_say(&why, EINVAL, "is too small");
		return err ? error_say(e, err, "has a limit '%s' that %s", limit->name, why.text)
			   : 0;
	}
	return error_say(
		e, EINVAL,
		"is no list of limits: write body=8M,pending=64M,time=10s,connections=100,depth=16,"
		"attributes=256,names=1000");
}

int option_receive_limits(void *field, const char *text, struct error *e)
{
	struct receive_limits limits = {0};

	for (;;) {
		size_t bytes = strcspn(text, ",");
		int err = limit_parse(&limits, text, bytes, e);

		if (err)
			return err;
		if (!text[bytes])
			break;
		text += bytes + 1;
	}
	*(struct receive_limits *)field = limits;
	return 0;
}

int option_store_period(void *field, const char *text, struct error *e)
{
	uint64_t period_ns = 0;
	int err = option_duration(&period_ns, text, e);

	if (!err && !period_ns)
		err = error_say(e, EINVAL, "is no time");
	if (!err && period_ns > STORE_PERIOD_NS_MAX)
		err = error_say(e, EINVAL, "is too long: a file has an hour at most");
	if (!err)
		*(uint64_t *)field = period_ns;
	return err;
}

static struct access_options access_of(const struct serve_command_options *o, const char *token)
{
	return (struct access_options){
		o->token_file ? token : NULL, (const char *const *)o->allow_hosts.data,
		o->allow_hosts.count, (const char *const *)o->trust.data, o->trust.count};
}

/* The file that is named, else the one in the directory, if there is one. */
static int monitors_read(const struct serve_command_options *o, struct serve_texts *texts,
			 struct error *e)
{
	char path[UP_DIR_BYTES + sizeof("/monitors.conf")], dir[UP_DIR_BYTES], *text = NULL;
	int err;

	snprintf(path, sizeof(path), "%s/monitors.conf", up_dir(o->dir, dir));
	err = settings_text_read(o->monitors ? o->monitors : path, !o->monitors, &text, e);
	if (!err && text)
		err = monitors_config_read(&texts->monitors, o->monitors ? o->monitors : path, text,
					   e);
	free(text);
	return err;
}

const char serve_jaeger_preset[] = "127.0.0.1:16686";

int serve_options_read(const struct serve_command_options *o, struct serve_texts *texts,
		       struct serve_options *out, struct error *e)
{
	int err = o->token_file ? access_token_read(o->token_file, texts->token, e) : 0;

	err = err ? err : monitors_read(o, texts, e);
	if (err)
		return err;
	*out = (struct serve_options){.dir = up_dir(o->dir, texts->dir),
				      .http = o->http,
				      .otlp_http = o->otlp_http,
				      .otlp_grpc = o->otlp_grpc,
				      .zipkin = o->zipkin,
				      .jaeger = o->jaeger,
				      .jaeger_is_preset = o->jaeger == serve_jaeger_preset,
				      .store = {o->store_period_ns, o->store_keep.time_ns,
						o->store_keep.bytes, o->min_free_bytes},
				      .access = access_of(o, texts->token),
				      .limits = o->limits,
				      .ui_zipkin = o->ui_zipkin,
				      .ui_jaeger = o->ui_jaeger,
				      .is_plain = o->plain,
				      .warn = serve_failure_print,
				      .monitors = &texts->monitors,
				      .monitors_warn = serve_monitors_print};
	return 0;
}

void serve_options_release(struct serve_command_options *o)
{
	option_list_free(&o->trust);
	option_list_free(&o->allow_hosts);
}

void serve_texts_free(struct serve_texts *texts)
{
	monitors_config_free(&texts->monitors);
}

/* An address at which it answers: that of all of the host's is none that a browser may ask. */
static const char *shown(const char *address, char text[SERVE_ADDRESS_BYTES])
{
	if (strncmp(address, "0.0.0.0:", 8) == 0)
		snprintf(text, SERVE_ADDRESS_BYTES, "127.0.0.1:%s", address + 8);
	else if (strncmp(address, "[::]:", 5) == 0)
		snprintf(text, SERVE_ADDRESS_BYTES, "[::1]:%s", address + 5);
	else
		snprintf(text, SERVE_ADDRESS_BYTES, "%s", address);
	return text;
}

void serve_addresses_print(const struct serve_addresses *addresses)
{
	char text[SERVE_ADDRESS_BYTES];

	if (addresses->has_page)
		printf("page: http://%s/\n", shown(addresses->http, text));
	else if (*addresses->http)
		printf("there is no page: it is built where there is npm\n");
	if (*addresses->otlp_http)
		printf("OTLP over HTTP: http://%s/v1/traces\n", shown(addresses->otlp_http, text));
	if (*addresses->otlp_grpc)
		printf("OTLP over gRPC: http://%s\n", shown(addresses->otlp_grpc, text));
	if (*addresses->zipkin)
		printf("Zipkin: http://%s/api/v2/spans, and its queries below /api/v2/\n",
		       shown(addresses->zipkin, text));
	if (*addresses->jaeger)
		printf("Jaeger: http://%s/api/services\n", shown(addresses->jaeger, text));
	if (addresses->is_remote)
		printf("other hosts can reach these addresses, and there is no TLS: whoever is on "
		       "the way\ncan read spans and the token\n");
	if (*addresses->http)
		printf("queries: http://%s/api/v1/status, and Jaeger's below /api/\n",
		       shown(addresses->http, text));
}

void serve_failure_print(const char *text)
{
	fprintf(stderr, "fathom: %s\n", text);
}

void serve_monitors_print(const char *text)
{
	fprintf(stderr, "fathom: %s\n", text);
}
