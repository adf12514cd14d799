/* SPDX-License-Identifier: Apache-2.0 */
#include "span/received.h"

#include <string.h>

static const char *const kinds[] = {"unspecified", "internal", "server",
				    "client",	   "producer", "consumer"};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

const char *received_kind_name(unsigned int kind)
{
	return kinds[kind < KINDS ? kind : 0];
}

int received_kind_parse(const char *name)
{
	for (size_t i = 0; i < KINDS; i++) {
		if (strcmp(kinds[i], name) == 0)
			return (int)i;
	}
	return -1;
}
