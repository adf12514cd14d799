// SPDX-License-Identifier: Apache-2.0
#include "base/counter.h"

#include <stdio.h>
#include <string.h>

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

bool counter_is_clock(void)
{
#if defined(__x86_64__)
	char name[8] = "";
	FILE *file = fopen(CLOCKSOURCE, "re");

	if (file && !fgets(name, sizeof(name), file))
		name[0] = '\0';
	if (file)
		fclose(file);
	return strcmp(name, "tsc\n") == 0;
#else
	return false;
#endif
}
