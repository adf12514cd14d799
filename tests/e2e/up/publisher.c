/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that publishes the context of its span, and tells its tracer of the span otherwise:
 *
 *	e2e-up-publisher
 *
 * It says "ready" when its context may be read. For each line of its input, "MS", it sleeps so long
 * in halves under the span "PUBLISH." of "the fourth trace", and answers with a line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/e2e/contexts/bare.h"

__thread struct record *otel_thread_ctx_v1 __attribute__((visibility("default")));

static struct record context = {"the fourth trace", "PUBLISH.", 1, 1, 0};

int main(void)
{
	char line[64];

	usleep(500000); /* until it is followed */
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		otel_thread_ctx_v1 = &context;
		usleep((useconds_t)atol(line) * 500);
		getppid();
		usleep((useconds_t)atol(line) * 500);
		otel_thread_ctx_v1 = NULL;
		puts("done");
		fflush(stdout);
	}
	return 0;
}
