/* SPDX-License-Identifier: Apache-2.0 */
#include "model/moves.h"

#include <linux/io_uring.h>

#include "record/syscalls.h"

#define FROM(name) [SYSCALL_NR_##name] = MOVES_FROM_FILE
#define TO(name) [SYSCALL_NR_##name] = MOVES_TO_FILE
static const u8 calls[SYSCALL_TABLE_SIZE] = {
	FROM(read),	FROM(pread64), FROM(readv),  FROM(preadv),	    FROM(preadv2),
	FROM(recvfrom), FROM(recvmsg), FROM(splice), FROM(copy_file_range), TO(write),
	TO(pwrite64),	TO(writev),    TO(pwritev),  TO(pwritev2),	    TO(sendto),
	TO(sendmsg),	TO(sendfile),
};
#undef FROM
#undef TO

enum moves syscall_moves(int nr)
{
	return nr >= 0 && nr < SYSCALL_TABLE_SIZE ? calls[nr] : MOVES_NOTHING;
}

bool syscall_other_end(int nr, u16 kind, struct other_end *end)
{
	switch (nr) {
	case SYSCALL_NR_sendfile: /* its record has the file that it writes */
		*end = (struct other_end){1, MOVES_FROM_FILE, true};
		return true;
	case SYSCALL_NR_copy_file_range: /* it waits to read, and writes to memory */
		*end = (struct other_end){2, MOVES_TO_FILE, false};
		return true;
	case SYSCALL_NR_splice: /* one of the two is a pipe, which is in memory */
		*end = (struct other_end){2, MOVES_TO_FILE, kind == FILE_KIND_pipe};
		return true;
	default:
		return false;
	}
}

enum moves uring_moves(u8 opcode)
{
	switch (opcode) {
	case IORING_OP_READ:
	case IORING_OP_READV:
	case IORING_OP_READ_FIXED:
	case IORING_OP_RECV:
	case IORING_OP_RECVMSG:
		return MOVES_FROM_FILE;
	case IORING_OP_WRITE:
	case IORING_OP_WRITEV:
	case IORING_OP_WRITE_FIXED:
	case IORING_OP_SEND:
	case IORING_OP_SENDMSG:
		return MOVES_TO_FILE;
	default:
		return MOVES_NOTHING;
	}
}
