/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that publishes the OpenTelemetry thread context by itself. It does
 * what stdin says, line by line, and answers each with one line "done TID":
 *
 *   open PATH      loads the library that defines the variable
 *   filler PATH    loads another library
 *   set SPAN       the main thread publishes span SPAN (hex) of trace SPAN twice
 *   clear          the main thread has no active span
 *   thread SPAN    a new thread publishes SPAN, calls getppid and stays
 *   idle           a new thread that never touches the variable, calls getppid and stays
 *   fork           a child that stays, and publishes nothing itself
 *   vfork          one that shares this one's memory, calls getppid and is gone
 *   exec           runs the program anew
 *   describe       publishes a process context that says that libfathom writes here
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef WITH_DLOPEN
#include <dlfcn.h>
#endif

struct record {
	unsigned char trace[16], span[8], valid, flags;
	uint16_t attributes_bytes;
} __attribute__((packed, aligned(8)));

static void **(*slot)(void);
static sem_t started;
static int started_tid;

#ifndef WITH_DLOPEN
void **publisher_slot(void);
#endif

static int own_tid(void)
{
	return (int)syscall(SYS_gettid);
}

/* Fills the record first and publishes its address last. */
static void publish(uint64_t span)
{
	struct record *record = calloc(1, sizeof(*record));

	if (!record)
		exit(1);
	for (int i = 0; i < 8; i++) {
		unsigned char byte = (unsigned char)(span >> (56 - 8 * i));

		record->span[i] = record->trace[i] = record->trace[8 + i] = byte;
	}
	record->valid = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*(struct record *volatile *)slot() = record;
}

static void *thread_run(void *arg)
{
	if (arg)
		publish((uint64_t)(uintptr_t)arg);
	syscall(SYS_getppid);
	started_tid = own_tid();
	sem_post(&started);
	for (;;)
		pause();
	return NULL;
}

static int thread_start(uint64_t span)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_run, (void *)(uintptr_t)span))
		exit(1);
	while (sem_wait(&started))
		;
	return started_tid;
}

static int child_start(void)
{
	int parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0); /* it died before: nobody would end this child */
	for (;;)
		pause();
}

static int child_borrows(void)
{
	int pid = vfork();

	if (pid == 0) {
		syscall(SYS_getppid);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return pid;
}

/* ProcessContext { resource { attributes { "telemetry.sdk.name": "fathom" } } } */
static void describe(void)
{
	static const char payload[] = "\x0a\x20\x0a\x1e\x0a\x12telemetry.sdk.name\x12\x08\x0a\x06"
				      "fathom";
	struct {
		char signature[8];
		uint32_t version, payload_bytes;
		uint64_t published_ns, payload;
	} header = {"OTEL_CTX", 2, sizeof(payload) - 1, 1, (uint64_t)(uintptr_t)payload};
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	void *at;

	if (fd < 0 || ftruncate(fd, sizeof(header)))
		exit(1);
	at = mmap(NULL, sizeof(header), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		exit(1);
	memcpy(at, &header, sizeof(header));
}

static void library_open(const char *path, int defines)
{
#ifdef WITH_DLOPEN
	void *library = dlopen(path, RTLD_NOW);
	void *(*touch)(void);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	if (defines) {
		*(void **)&slot = dlsym(library, "publisher_slot");
		return;
	}
	*(void **)&touch = dlsym(library, "publisher_padding");
	if (touch)
		touch();
#else
	exit(2);
#endif
}

static int command_do(const char *command, char *argument, char **argv)
{
	uint64_t span = strtoull(argument, NULL, 16);

	if (!strcmp(command, "open"))
		library_open(argument, 1);
	else if (!strcmp(command, "filler"))
		library_open(argument, 0);
	else if (!strcmp(command, "set"))
		publish(span);
	else if (!strcmp(command, "clear"))
		*slot() = NULL;
	else if (!strcmp(command, "thread"))
		return thread_start(span);
	else if (!strcmp(command, "idle"))
		return thread_start(0);
	else if (!strcmp(command, "fork"))
		return child_start();
	else if (!strcmp(command, "vfork"))
		return child_borrows();
	else if (!strcmp(command, "describe"))
		describe();
	else if (!strcmp(command, "exec"))
		execv("/proc/self/exe", argv);
	return own_tid();
}

int main(int argc, char **argv)
{
	char command[32], argument[4096], line[4200];

	(void)argc;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sem_init(&started, 0, 0);
#ifndef WITH_DLOPEN
	slot = publisher_slot;
#endif
	setvbuf(stdin, NULL, _IONBF, 0); /* nothing is read ahead of an exec */
	printf("done %d\n", own_tid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		argument[0] = '\0';
		if (sscanf(line, "%31s %4095s", command, argument) < 1)
			continue;
		printf("done %d\n", command_do(command, argument, argv));
		fflush(stdout);
	}
	return 0;
}
