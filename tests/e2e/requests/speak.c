/* SPDX-License-Identifier: Apache-2.0 */
#include "speak.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void http_ident(const char *head, char *ident)
{
	const char *path = strchr(head, ' '), *end = path ? strchr(path + 1, ' ') : NULL;
	const char *last = end;

	*ident = '\0';
	if (!end)
		return;
	while (last[-1] != '/' && last > path)
		last--;
	snprintf(ident, IDENT_MAX, "%.*s", (int)(end - last), last);
}

int kind_of(const char *ident)
{
	return *ident ? atoi(ident + 1) / 3 % 4 : 0;
}

size_t redis_request(const char *key, char *out)
{
	return (size_t)snprintf(out, MESSAGE_MAX, "GET %s\r\n", key);
}

size_t memcached_request(const char *key, char *out)
{
	return (size_t)snprintf(out, MESSAGE_MAX, "get %s\r\n", key);
}

/* PostgreSQL is ready for a query when a message of five bytes, 'Z', says that it is idle. */
static void postgres_ready(const struct line *on)
{
	static const char ready[6] = {'Z', 0, 0, 0, 5, 'I'};
	char buffer[MESSAGE_MAX];
	size_t came = 0;

	for (;;) {
		/* whatever comes ends in nothing, so each receive returns at once */
		size_t n = talk_receive(on, buffer + came, sizeof(buffer) - came, "");

		if (!n) {
			fprintf(stderr, "PostgreSQL has hung up: %.*s\n", (int)came, buffer);
			exit(4);
		}
		came += n;
		if (came >= 6 && !memcmp(buffer + came - 6, ready, 6))
			return;
	}
}

struct line postgres_connect(int port)
{
	static const char words[] = "user\0postgres\0database\0postgres\0";
	struct line on = talk_connect(port);
	char message[8 + sizeof(words)];
	uint32_t head[2] = {htonl(sizeof(message)), htonl(196608)};

	memcpy(message, head, 8);
	memcpy(message + 8, words, sizeof(words));
	talk_send(&on, message, sizeof(message));
	postgres_ready(&on);
	return on;
}

void postgres_query(const struct line *on, const char *key)
{
	char message[MESSAGE_MAX] = "Q";
	int text = snprintf(message + 5, sizeof(message) - 5, "select '%s'", key) + 1;
	uint32_t length = htonl((uint32_t)text + 4);

	memcpy(message + 1, &length, 4);
	talk_send(on, message, (size_t)text + 5);
	postgres_ready(on);
}
