/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a symbol, in any room. */
#include "symbol/symbol_name.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *symbol = malloc(size + 1), plain[1024];
	size_t room = size % 3 ? sizeof(plain) : size % 64;

	memcpy(symbol, data, size);
	symbol[size] = '\0';
	if (symbol_name_plain(symbol, plain, room) && strlen(plain) >= room)
		abort();
	free(symbol);
	return 0;
}
