/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"

#define QUIET_NS 500000000u /* an answer that arrives sooner needs no line */
#define AGAIN_NS 100000000u

struct progress_line progress_line_begin(FILE *file)
{
	const char *name = getenv("TERM");

	return (struct progress_line){
		.file = file,
		.terminal = isatty(fileno(file)) && name && strcmp(name, "dumb") != 0,
		.next_ns = clock_now_ns() + QUIET_NS,
	};
}

static void progress_tell(void *arg, u64 done_bytes, u64 bytes)
{
	struct progress_line *line = arg;
	char text[UNITS_TEXT_BYTES];
	u64 now_ns = clock_now_ns();

	if (!line->terminal || !bytes || now_ns < line->next_ns)
		return;
	fprintf(line->file, "\r\033[Kreading: %d %% of %s",
		(int)(100.0 * (double)done_bytes / (double)bytes), units_format_bytes(bytes, text));
	fflush(line->file);
	line->shown = true;
	line->next_ns = now_ns + AGAIN_NS;
}

struct load_progress progress_line_of(struct progress_line *line)
{
	return (struct load_progress){.tell = progress_tell, .arg = line};
}

static void line_print(void *arg, const char *text)
{
	struct progress_line *line = arg;

	progress_line_end(line);
	fprintf(line->file, "fathom: %s\n", text);
}

struct notice progress_line_notice(struct progress_line *line)
{
	return (struct notice){.tell = line_print, .arg = line};
}

void progress_line_end(struct progress_line *line)
{
	if (line->shown)
		fputs("\r\033[K", line->file);
	fflush(line->file);
	line->shown = false;
}
