/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/addresses.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "serve/access.h"
#include "serve/address.h"

static bool is_off(const char *address)
{
	return strcmp(address, "off") == 0;
}

static const char *const option_names[ADDRESSES] = {[HTTP] = "http",
						    [OTLP_HTTP] = "otlp-http",
						    [OTLP_GRPC] = "otlp-grpc",
						    [ZIPKIN] = "zipkin",
						    [JAEGER] = "jaeger"};

static const char **address_option(struct serve_options *o, enum place address)
{
	const char **const options[ADDRESSES] = {[HTTP] = &o->http,
						 [OTLP_HTTP] = &o->otlp_http,
						 [OTLP_GRPC] = &o->otlp_grpc,
						 [ZIPKIN] = &o->zipkin,
						 [JAEGER] = &o->jaeger};

	return options[address];
}

static char *address_text(struct serve_addresses *to, enum place address)
{
	char *const texts[ADDRESSES] = {[HTTP] = to->http,
					[OTLP_HTTP] = to->otlp_http,
					[OTLP_GRPC] = to->otlp_grpc,
					[ZIPKIN] = to->zipkin,
					[JAEGER] = to->jaeger};

	return texts[address];
}

/* Other hosts are let in only where something tells who they are. */
static int remote_check(const struct serve_options *o, enum place address, const char *text,
			struct error *e)
{
	bool receives = address == OTLP_HTTP || address == OTLP_GRPC || address == ZIPKIN;

	if (o->access.token || (receives && o->access.trusted_count))
		return 0;
	return error_misuse(e,
			    "--%s '%s' can be reached from other hosts: give a token with "
			    "--token-file%s, or use 127.0.0.1 or [::1]",
			    option_names[address], text,
			    receives ? ", or name a network with --trust" : "");
}

/* Listens at the address of an option. */
static int socket_open(struct serve_options *o, enum place address, int *fd,
		       struct serve_addresses *to, struct error *e)
{
	const char *text = *address_option(o, address), *option = option_names[address];
	union address parsed;
	int err;

	if (is_off(text))
		return 0;
	err = address_parse(text, &parsed, e);
	if (!err && !address_is_local(&parsed)) {
		err = remote_check(o, address, text, e);
		to->is_remote = true;
	}
	if (err)
		return err;
	err = address_listen(&parsed, fd, address_text(to, address), e);
	if (err)
		error_set(e, err, "--%s %s", option, text);
	if (err == -EADDRINUSE)
		error_hint(e, "choose another with --%s ADDRESS, or none with --%s off", option,
			   option);
	return err;
}

void addresses_close(const int fds[ADDRESSES])
{
	for (int i = 0; i < ADDRESSES; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
}

int addresses_open(const struct serve_options *options, int fds[ADDRESSES],
		   struct serve_addresses *to, enum place *last, struct error *e)
{
	struct serve_options o = *options;
	int err = 0;

	*to = (struct serve_addresses){0};
	for (int i = 0; i < ADDRESSES; i++)
		fds[i] = -1;
	for (int i = 0; i < ADDRESSES && !err; i++) {
		*last = i;
		err = socket_open(&o, i, &fds[i], to, e);
	}
	return err;
}

int serve_addresses_try(const struct serve_options *options, const char **option,
			const char **address, struct error *e)
{
	struct serve_options o = *options;
	struct serve_addresses addresses;
	struct access *access = NULL;
	enum place last = HTTP;
	int fds[ADDRESSES], err = access_open(&options->access, &access, e);

	access_close(access);
	if (err)
		return err;
	err = addresses_open(options, fds, &addresses, &last, e);
	addresses_close(fds);
	*option = option_names[last];
	*address = *address_option(&o, last);
	return err;
}

void serve_addresses_keep(struct serve_options *options, struct serve_addresses *addresses)
{
	for (int i = 0; i < ADDRESSES; i++) {
		if (*address_text(addresses, i))
			*address_option(options, i) = address_text(addresses, i);
	}
}

const char *serve_addresses_next(struct serve_addresses *addresses, unsigned int *at,
				 const char **option)
{
	while (*at < ADDRESSES) {
		enum place address = (*at)++;

		*option = option_names[address];
		if (*address_text(addresses, address))
			return address_text(addresses, address);
	}
	return NULL;
}
