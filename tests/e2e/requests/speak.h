/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP, and what redis, memcached and PostgreSQL are asked, as the services in C speak them. */
#ifndef SPEAK_H
#define SPEAK_H

#include "talk.h"

#define MESSAGE_MAX 4096
#define HTTP_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define REDIS_END "\r\n"
#define MEMCACHED_END "END\r\n"

/* The last part of the path in the head of a request. */
void http_ident(const char *head, char *ident);

/* Which of four kinds the request is, by the number in its identity: "a17.n.0" has 17. */
int kind_of(const char *ident);

/* Write a request for a key into `out`; its length. */
size_t redis_request(const char *key, char *out);
size_t memcached_request(const char *key, char *out);

/* A connection that has logged in; and one query on it, whose answer is awaited. */
struct line postgres_connect(int port);
void postgres_query(const struct line *on, const char *key);

#endif
