/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of the services. Whatever cannot be made ends the process. */
#ifndef TALK_H
#define TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "ledger.h"

/* A socket that listens on the loopback; several may with the same port. */
int talk_listen(int port);

/* The next connection; fd -1 if there is none now. Without Nagle's algorithm, as that of connect.
 */
struct line talk_accept(int listener);
struct line talk_connect(int port);
struct line talk_connect_unix(const char *path);
int talk_listen_unix(const char *path);

/* Moves bytes as send and recv do; it may be replaced. */
extern ssize_t (*talk_move)(int fd, void *data, size_t bytes, bool is_sent);

/* Sends all; a connection that is gone is no error. */
void talk_send(const struct line *on, const void *data, size_t bytes);

/*
 * Receives until `end` ends what came, or the buffer is full: how much, 0 if the other end closed
 * before. What was received is terminated.
 */
size_t talk_receive(const struct line *on, char *buffer, size_t size, const char *end);

/* The value of NAME=VALUE among arguments, as a number; ends the process without one. */
int argument(char **args, const char *name);

#endif
