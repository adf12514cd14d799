/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/access.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/address.h"

/* Addresses that begin with the same bits. Those of version 4 are mapped into version 6. */
struct network {
	unsigned char address[16];
	unsigned int bits;
};

struct access {
	char token[ACCESS_TOKEN_BYTES]; /* "": none */
	char (*hosts)[ADDRESS_HOST_BYTES];
	size_t hosts_count;
	struct network *networks;
	size_t networks_count;
};

static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

static void v4_put(unsigned char to[16], const struct in_addr *from)
{
	memcpy(to, mapped, sizeof(mapped));
	memcpy(to + sizeof(mapped), from, 4);
}

/* "10.1.0.0/16", "fd00::/8" or one address. */
static int network_parse(const char *text, struct network *out, struct error *e)
{
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : strlen(text);
	unsigned long bits, all = 128;
	char host[ADDRESS_HOST_BYTES];
	struct in_addr v4;
	char *end = NULL;

	snprintf(host, sizeof(host), "%.*s", (int)(n < sizeof(host) ? n : 0), text);
	if (inet_pton(AF_INET, host, &v4) == 1) {
		v4_put(out->address, &v4);
		all = 32;
	} else if (inet_pton(AF_INET6, host, out->address) != 1) {
		return error_misuse(e, "'%s' is no network: write 172.17.0.0/16", text);
	}
	bits = slash ? strtoul(slash + 1, &end, 10) : all;
	if (slash && (!isdigit((unsigned char)slash[1]) || *end || bits > all))
		return error_misuse(e, "'%s' is no network: 0 to %lu bits may follow the slash",
				    text, all);
	out->bits = (unsigned int)(128 - all + bits);
	return 0;
}

static bool network_has(const struct network *n, const unsigned char address[16])
{
	unsigned int bytes = n->bits / 8, rest = n->bits % 8;

	if (memcmp(n->address, address, bytes) != 0)
		return false;
	return !rest || (n->address[bytes] ^ address[bytes]) >> (8 - rest) == 0;
}

int access_open(const struct access_options *options, struct access **out, struct error *e)
{
	struct access *a = calloc(1, sizeof(*a));
	int err = 0;

	if (!a)
		return error_set(e, ENOMEM, "cannot serve");
	a->hosts = calloc(options->hosts_count + 1, sizeof(*a->hosts));
	a->networks = calloc(options->trusted_count + 1, sizeof(*a->networks));
	if (!a->hosts || !a->networks)
		err = error_set(e, ENOMEM, "cannot serve");
	if (!err && options->token)
		snprintf(a->token, sizeof(a->token), "%s", options->token);
	for (size_t i = 0; i < options->hosts_count && !err; i++) {
		if (!address_host(options->hosts[i], a->hosts[i]) || !*a->hosts[i])
			err = error_misuse(e, "'%s' is no name of a host", options->hosts[i]);
	}
	for (size_t i = 0; i < options->trusted_count && !err; i++)
		err = network_parse(options->trusted[i], &a->networks[i], e);
	a->hosts_count = options->hosts_count;
	a->networks_count = options->trusted_count;
	if (err) {
		access_close(a);
		return err;
	}
	*out = a;
	return 0;
}

void access_close(struct access *a)
{
	if (!a)
		return;
	explicit_bzero(a->token, sizeof(a->token));
	free(a->hosts);
	free(a->networks);
	free(a);
}

bool access_host(const struct access *a, const char *host)
{
	char name[ADDRESS_HOST_BYTES];

	if (host_is_local(host))
		return true;
	if (!host || !address_host(host, name))
		return false;
	for (size_t i = 0; i < a->hosts_count; i++) {
		if (strcasecmp(a->hosts[i], name) == 0)
			return true;
	}
	return false;
}

bool access_origin(const struct access *a, const char *origin)
{
	const char *host = origin ? strstr(origin, "://") : NULL;

	return !origin || (host && access_host(a, host + 3));
}

/* False: it is no address of the internet. */
static bool client_address(const struct sockaddr *client, unsigned char out[16])
{
	if (client->sa_family == AF_INET6)
		memcpy(out, &((const struct sockaddr_in6 *)client)->sin6_addr, 16);
	else if (client->sa_family == AF_INET)
		v4_put(out, &((const struct sockaddr_in *)client)->sin_addr);
	else
		return false;
	return true;
}

static bool is_this_host(const unsigned char address[16])
{
	static const unsigned char v6[16] = {[15] = 1};

	return memcmp(address, v6, 16) == 0 ||
	       (memcmp(address, mapped, sizeof(mapped)) == 0 && address[12] == 127);
}

bool access_needs_token(const struct access *a, const struct sockaddr *client, bool receives)
{
	unsigned char address[16];

	if (!client)
		return true;
	if (!client_address(client, address))
		return false; /* a socket of this host, in a directory */
	for (size_t i = 0; receives && i < a->networks_count; i++) {
		if (network_has(&a->networks[i], address))
			return false;
	}
	return *a->token || !is_this_host(address);
}

/* Takes as long wherever the first difference is. */
static bool is_same(const char *a, const char *b, size_t bytes)
{
	unsigned char difference = 0;

	for (size_t i = 0; i < bytes; i++)
		difference |= (unsigned char)(a[i] ^ b[i]);
	return !difference;
}

bool access_token(const struct access *a, const char *authorization)
{
	static const char scheme[] = "Bearer ";
	size_t n = sizeof(scheme) - 1, bytes = strlen(a->token);

	if (!bytes || !authorization || strncasecmp(authorization, scheme, n) != 0)
		return false;
	authorization += n;
	authorization += strspn(authorization, " ");
	return strlen(authorization) == bytes && is_same(authorization, a->token, bytes);
}

static int token_check(char *token, ssize_t bytes, const char *path, struct error *e)
{
	char *begin = token;

	while (bytes && isspace((unsigned char)token[bytes - 1]))
		bytes--;
	token[bytes] = '\0';
	while (isspace((unsigned char)*begin))
		begin++;
	memmove(token, begin, strlen(begin) + 1);
	for (const char *at = token; *at; at++) {
		if (*at <= ' ' || *at > '~')
			return error_say(e, EINVAL, "%s has more than a token in one line", path);
	}
	return *token ? 0 : error_say(e, EINVAL, "%s has no token", path);
}

int access_token_read(const char *path, char token[ACCESS_TOKEN_BYTES], struct error *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
	struct stat status;
	ssize_t n = 0;

	if (fd < 0)
		return error_set(e, errno, "cannot read the token in %s", path);
	if (fstat(fd, &status))
		err = error_set(e, errno, "cannot read the token in %s", path);
	else if (!S_ISREG(status.st_mode))
		err = error_say(e, EINVAL, "%s is no file", path);
	else if (status.st_mode & 077)
		err = error_say(e, EPERM, "other users may read the token in %s: chmod 600 %s",
				path, path);
	else if (status.st_size >= ACCESS_TOKEN_BYTES)
		err = error_say(e, EFBIG, "the token in %s is longer than %d letters", path,
				ACCESS_TOKEN_BYTES - 1);
	if (!err)
		n = read(fd, token, ACCESS_TOKEN_BYTES - 1);
	if (!err && n < 0)
		err = error_set(e, errno, "cannot read the token in %s", path);
	close(fd);
	return err ? err : token_check(token, n, path, e);
}
