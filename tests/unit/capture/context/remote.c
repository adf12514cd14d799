/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "capture/context/locate.h"
#include "proc/maps.h"
#include "tests/unit/capture/context/remote.h"

/* Stops the thread; `signal_number` is what it must still get when let go. */
static int thread_stop(pid_t tid, int *signal_number)
{
	int status, err;

	*signal_number = 0;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return -errno;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL)) {
		err = -errno;
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
		return err;
	}
	while (waitpid(tid, &status, __WALL) < 0)
		if (errno != EINTR)
			return -errno;
	if (!WIFSTOPPED(status))
		return -ESRCH;
	if (status >> 16 != PTRACE_EVENT_STOP)
		*signal_number = WSTOPSIG(status);
	return 0;
}

static int thread_pointer(pid_t tid, u64 *pointer)
{
#if defined(__x86_64__)
	struct user_regs_struct registers;
	struct iovec to = {&registers, sizeof(registers)};

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &to))
		return -errno;
	if (to.iov_len != sizeof(registers))
		return -ENOEXEC; /* a 32-bit thread */
	*pointer = registers.fs_base;
#else
	struct iovec to = {pointer, sizeof(*pointer)};

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_ARM_TLS, &to))
		return -errno;
#endif
	return 0;
}

/* 1 and the variable's address, 0 if the thread has not touched it, or an error. */
static int variable_find(pid_t tid, const struct context_location *location, u64 pointer,
			 u64 *address)
{
	u64 dtv, count, entry;
	int err;

	if (!location->dynamic) {
		*address = pointer + (u64)location->tp_offset;
		return 1;
	}
	err = context_memory_read(tid, pointer + (u64)(s64)location->dtv_at, &dtv, sizeof(dtv));
	if (!err)
		err = context_memory_read(tid, dtv + (u64)(s64)location->count_at, &count,
					  sizeof(count));
	if (err)
		return err;
	if (location->module > count)
		return 0;
	err = context_memory_read(tid, dtv + location->module * location->entry_bytes, &entry,
				  sizeof(entry));
	if (err)
		return err;
	if (!entry || entry == UINT64_MAX)
		return 0;
	*address = entry + location->var_offset;
	return 1;
}

static int record_read(pid_t tid, const struct context_location *location, struct context *out)
{
	struct otel_record record;
	u64 pointer = 0, address = 0, at;
	int err = thread_pointer(tid, &pointer);

	if (err)
		return err;
	if (!pointer)
		return 0; /* its libc has not set the thread up */
	err = variable_find(tid, location, pointer, &address);
	if (err <= 0)
		return err;
	err = context_memory_read(tid, address, &at, sizeof(at));
	if (err || !at)
		return err;
	err = context_memory_read(tid, at, &record, sizeof(record));
	if (err)
		return err;
	if (record.valid != 1)
		return 0;
	memcpy(out->trace, record.trace, sizeof(out->trace));
	memcpy(out->span, record.span, sizeof(out->span));
	return 1;
}

int context_read_remote(pid_t tid, const struct context_location *location, struct context *out,
			struct error *e)
{
	struct context found;
	int signal_number, err;

	if (!location->known)
		return error_say(e, EINVAL, "the context of thread %d is not located", tid);
	err = thread_stop(tid, &signal_number);
	if (err)
		return error_set(e, err, "cannot stop thread %d", tid);
	err = record_read(tid, location, &found);
	ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)signal_number);
	if (err < 0)
		return error_set(e, err, "cannot read the context of thread %d", tid);
	if (err)
		*out = found;
	return err;
}
