/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that makes spans when it is told to:
 *
 *	e2e-up-program
 *
 * Each line of its input, "MS" or "MS error", makes a span "request" that sleeps for so long, with
 * a child "inner" that asks for its parent's pid. It prints the span's traceparent when it ends.
 */
#include <fathom/fathom.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void request(long ms, int is_error)
{
	struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
	struct fathom_span span = fathom_span_begin("request"), inner;
	struct fathom_context context = fathom_span_context(&span);
	char text[FATHOM_TRACEPARENT_BYTES];

	fathom_span_string(&span, "shop.item", "tea");
	fathom_span_integer(&span, "shop.count", 3);
	inner = fathom_span_begin("inner");
	syscall(SYS_getppid);
	fathom_span_end(&inner);
	nanosleep(&pause, NULL);
	if (is_error)
		fathom_span_end_status(&span, FATHOM_FAILED, "no tea");
	else
		fathom_span_end(&span);
	fathom_inject_traceparent(&context, text);
	puts(text);
	fflush(stdout);
}

int main(void)
{
	char line[64];

	fathom_init("teashop");
	while (fgets(line, sizeof(line), stdin))
		request(atol(line), strstr(line, "error") != NULL);
	return 0;
}
