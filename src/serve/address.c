/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Splits "HOST:PORT" and "[HOST]:PORT"; the port may be missing. */
static bool split(const char *text, char host[ADDRESS_HOST_BYTES], const char **port)
{
	const char *end;

	if (*text == '[') {
		end = strchr(++text, ']');
		if (!end || (end[1] && end[1] != ':'))
			return false;
		*port = end[1] ? end + 2 : NULL;
	} else {
		end = text + strcspn(text, ":");
		*port = *end ? end + 1 : NULL;
	}
	if (end - text >= ADDRESS_HOST_BYTES)
		return false;
	memcpy(host, text, (size_t)(end - text));
	host[end - text] = '\0';
	return !*port || (**port && strspn(*port, "0123456789") == strlen(*port));
}

static bool host_parse(const char *host, union address *out)
{
	memset(out, 0, sizeof(*out));
	if (strcasecmp(host, "localhost") == 0)
		host = "127.0.0.1";
	if (inet_pton(AF_INET, host, &out->v4.sin_addr) == 1) {
		out->any.sa_family = AF_INET;
		return true;
	}
	out->any.sa_family = AF_INET6;
	return inet_pton(AF_INET6, host, &out->v6.sin6_addr) == 1;
}

bool address_is_local(const union address *address)
{
	if (address->any.sa_family == AF_INET)
		return ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

bool host_is_local(const char *host)
{
	union address address;
	const char *port;
	char name[ADDRESS_HOST_BYTES];

	return host && split(host, name, &port) && host_parse(name, &address) &&
	       address_is_local(&address);
}

int address_parse(const char *text, union address *out, struct error *e)
{
	const char *port;
	char host[ADDRESS_HOST_BYTES];
	unsigned long number;

	if (!split(text, host, &port) || !port || !host_parse(host, out))
		return error_misuse(
			e, "'%s' is no address: write 127.0.0.1:PORT, [::1]:PORT or off", text);
	number = strtoul(port, NULL, 10);
	if (number > 65535)
		return error_misuse(e, "the port of '%s' is too large", text);
	/* both have the port at the same place */
	out->v4.sin_port = htons((uint16_t)number);
	return 0;
}

static void address_format(int fd, char text[SERVE_ADDRESS_BYTES])
{
	union address address = {0};
	socklen_t size = sizeof(address);
	char host[INET6_ADDRSTRLEN] = "";
	bool v6;

	getsockname(fd, &address.any, &size);
	v6 = address.any.sa_family == AF_INET6;
	inet_ntop(address.any.sa_family,
		  v6 ? (void *)&address.v6.sin6_addr : (void *)&address.v4.sin_addr, host,
		  sizeof(host));
	snprintf(text, SERVE_ADDRESS_BYTES, v6 ? "[%s]:%u" : "%s:%u", host,
		 ntohs(address.v4.sin_port));
}

int address_listen(const union address *address, int *out, char text[SERVE_ADDRESS_BYTES],
		   struct error *e)
{
	bool v6 = address->any.sa_family == AF_INET6;
	const int yes = 1;
	int fd, err;

	fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return error_set(e, errno, "cannot listen");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, &address->any, v6 ? sizeof(address->v6) : sizeof(address->v4)) ||
	    listen(fd, 511)) {
		err = error_set(e, errno, "cannot listen");
		close(fd);
		return err;
	}
	address_format(fd, text);
	*out = fd;
	return 0;
}

bool address_host(const char *text, char host[ADDRESS_HOST_BYTES])
{
	const char *port;

	return split(text, host, &port);
}
