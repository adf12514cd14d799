/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top_red.h"

#include <stdio.h>
#include <string.h>

#include "cli/status_text.h"
#include "cli/up_dir.h"
#include "up/ask.h"

#define LINES_MAX 3

unsigned int top_red_print(FILE *file, const char *recording)
{
	char dir[UP_DIR_BYTES], usual[UP_DIR_BYTES];
	struct bytes document = {0};
	struct error none = {0};
	unsigned int lines = 0;
	char *slash;

	snprintf(dir, sizeof(dir), "%s", recording ? recording : up_dir(NULL, usual));
	slash = strrchr(dir, '/');
	if (recording && slash && strcmp(slash, "/chunks") == 0)
		*slash = '\0';
	if (up_ask(dir, &document, &none) == 0)
		lines = status_red_print(file, document.data, document.count, LINES_MAX);
	bytes_free(&document);
	return lines;
}
