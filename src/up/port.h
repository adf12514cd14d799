/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UP_PORT_H
#define UP_PORT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Who listens at an address of this host, "ADDRESS:PORT", as "'nginx' (pid 12)". Only root finds
 * processes of other users; for others it is "a program of user www-data". False: it is not known.
 */
bool port_holder(const char *address, char *text, size_t size);

#endif
