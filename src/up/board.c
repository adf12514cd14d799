/* SPDX-License-Identifier: Apache-2.0 */
#include "up/board.h"

#include <string.h>
#include <sys/mman.h>

struct board *board_new(void)
{
	void *memory = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

const char *part_name(enum up_part part)
{
	static const char *const names[PARTS] = {"capture", "map", "serve"};

	return names[part];
}

const char *part_state_name(unsigned int state)
{
	static const char *const names[] = {"off", "starting", "running", "waiting"};

	return state < sizeof(names) / sizeof(*names) ? names[state] : "?";
}

void board_text(char *to, const char *from, size_t bytes)
{
	memmove(to, from, bytes);
	to[bytes - 1] = '\0';
}

/* Another process may have written any byte there. */
static bool board_flag(const bool *from)
{
	u8 byte;

	memcpy(&byte, from, sizeof(byte));
	return byte;
}

void board_addresses(struct serve_addresses *to, const struct board *board)
{
	const struct serve_addresses *from = &board->serve.addresses;

	board_text(to->http, from->http, sizeof(to->http));
	board_text(to->otlp_http, from->otlp_http, sizeof(to->otlp_http));
	board_text(to->otlp_grpc, from->otlp_grpc, sizeof(to->otlp_grpc));
	board_text(to->zipkin, from->zipkin, sizeof(to->zipkin));
	board_text(to->jaeger, from->jaeger, sizeof(to->jaeger));
	to->is_remote = board_flag(&from->is_remote);
	to->has_page = board_flag(&from->has_page);
}
