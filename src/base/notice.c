/* SPDX-License-Identifier: Apache-2.0 */
#include "base/notice.h"

#include <stdarg.h>
#include <stdio.h>

void notice_tell(const struct notice *notice, const char *format, ...)
{
	char line[1024];
	va_list args;

	if (!notice->tell)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	notice->tell(notice->arg, line);
}
