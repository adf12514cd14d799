/* SPDX-License-Identifier: Apache-2.0 */
#include "model/uring.h"

#include <stdio.h>

#include "record/uring.h"

#define U(nr, name, fd) [nr] = {"io_uring " #name, fd},
static const struct {
	const char *name;
	int fd;
} operations[URING_OPS] = {RECORD_URING_OPS(U)};
#undef U

static const char *const flags[] = {
	"IOSQE_FIXED_FILE", "IOSQE_IO_DRAIN",	   "IOSQE_IO_LINK",	    "IOSQE_IO_HARDLINK",
	"IOSQE_ASYNC",	    "IOSQE_BUFFER_SELECT", "IOSQE_CQE_SKIP_SUCCESS"};
#define FLAGS (sizeof(flags) / sizeof(flags[0]))

const char *uring_name(u8 opcode)
{
	return opcode < URING_OPS ? operations[opcode].name : NULL;
}

int uring_opens(u8 opcode)
{
	return opcode < URING_OPS && (operations[opcode].fd & URING_FD_OPENS);
}

size_t uring_flags_format(char *buf, size_t size, u32 submit_flags)
{
	u32 rest = submit_flags >> FLAGS << FLAGS;
	size_t len = 0;

	if (size)
		buf[0] = '\0';
	for (size_t i = 0; i < FLAGS; i++) {
		if (submit_flags >> i & 1)
			len += (size_t)snprintf(len < size ? buf + len : NULL,
						len < size ? size - len : 0, "%s%s", len ? "|" : "",
						flags[i]);
	}
	if (rest)
		len += (size_t)snprintf(len < size ? buf + len : NULL, len < size ? size - len : 0,
					"%s%#x", len ? "|" : "", rest);
	return len;
}
