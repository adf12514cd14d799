/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <mntent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/capture.h"
#include "capture/context/goroutines.h"

#define FEATURES_MAX 64
#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define VMLINUX_BTF "/sys/kernel/btf/vmlinux"

__attribute__((format(printf, 3, 4))) static int finding_add(struct diagnosis *d, struct finding f,
							     const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(f.text, sizeof(f.text), format, args);
	va_end(args);
	return vec_push(&d->findings, f);
}

/* ---- the kernel ---- */

/* Reads the first line of a file, without its line break. Empty if it cannot be read. */
static void line_read(const char *path, char *line, int size)
{
	FILE *file = fopen(path, "re");

	line[0] = '\0';
	if (!file)
		return;
	if (!fgets(line, size, file))
		line[0] = '\0';
	fclose(file);
	line[strcspn(line, "\n")] = '\0';
}

static int probe_types(struct diagnosis *d)
{
	struct finding f = {.section = "kernel",
			    .name = "types (BTF)",
			    .needed = true,
			    .available = access(VMLINUX_BTF, R_OK) == 0};

	return finding_add(d, f, "%s",
			   f.available ? VMLINUX_BTF
				       : "no " VMLINUX_BTF
					 ": a kernel built with CONFIG_DEBUG_INFO_BTF is needed");
}

/* Whether the clock is read without leaving the CPU, in tens of nanoseconds. */
static bool clock_is_fast(const char *source)
{
	static const char *const fast[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page",
					   "arch_sys_counter", "xen"};

	for (size_t i = 0; i < sizeof(fast) / sizeof(fast[0]); i++)
		if (strcmp(source, fast[i]) == 0)
			return true;
	return false;
}

static int probe_clock(struct diagnosis *d)
{
	struct finding f = {.section = "kernel", .name = "fast clock"};
	char source[64];

	line_read(CLOCKSOURCE, source, sizeof(source));
	f.available = clock_is_fast(source);
	return finding_add(d, f, "clocksource %s%s", source[0] ? source : "unknown",
			   f.available ? ""
				       : ": reading this clock takes about 1 us for each record");
}

static int probe_tracefs(struct diagnosis *d)
{
	static const char *const places[] = {"/sys/kernel/tracing/events",
					     "/sys/kernel/debug/tracing/events"};
	struct finding f = {.section = "kernel", .name = "tracefs"};
	const char *found = NULL;

	/* open it, as --event does: access() ignores capabilities */
	for (size_t i = 0; i < 2 && !found; i++) {
		int fd = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0)
			continue;
		close(fd);
		found = places[i];
	}
	f.available = found;
	return finding_add(d, f, "%s",
			   found ? found
				 : "not mounted or not readable: --event finds no tracepoints");
}

/* Whether addresses are shown: they are all zero without the permission. */
static bool symbols_shown(void)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[1024];
	bool shown = false;

	for (int i = 0; file && i < 1000 && !shown && fgets(line, sizeof(line), file); i++)
		shown = strtoull(line, NULL, 16) >= 1ull << 63;
	if (file)
		fclose(file);
	return shown;
}

static int probe_symbols(struct diagnosis *d)
{
	struct finding f = {
		.section = "kernel", .name = "kernel symbols", .available = symbols_shown()};

	return finding_add(d, f, "/proc/kallsyms%s",
			   f.available
				   ? ""
				   : " shows no addresses (kptr_restrict): --stacks and --sample "
				     "record no kernel stacks");
}

/* Finds the first mount of a type of file system, with this option unless it is NULL. */
static bool mount_find(const char *type, const char *option, char *path, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	bool found = false;

	while (mounts && !found && (m = getmntent(mounts))) {
		found = strcmp(m->mnt_type, type) == 0 && (!option || hasmntopt(m, option));
		if (found)
			snprintf(path, size, "%s", m->mnt_dir);
	}
	if (mounts)
		endmntent(mounts);
	return found;
}

static int probe_cgroups(struct diagnosis *d)
{
	struct finding v2 = {.section = "kernel", .name = "cgroup v2"};
	struct finding v1 = {.section = "kernel", .name = "cgroup v1 (cpu)"};
	char path[160];
	bool both;
	int err;

	v2.available = mount_find("cgroup2", NULL, path, sizeof(path));
	err = finding_add(d, v2, "%s",
			  v2.available
				  ? path
				  : "not mounted: containers have no names, and --cgroup needs v1");
	if (err)
		return err;
	both = v2.available;
	v1.available = mount_find("cgroup", "cpu", path, sizeof(path));
	return finding_add(d, v1, "%s",
			   v1.available ? path
			   : both	? "not mounted: not needed beside v2"
					: "not mounted: CPU quotas are not seen");
}

/* ---- privileges ---- */

static const struct {
	const char *name;
	int number;
	bool needed;
	const char *use, *cost;
} capabilities[] = {
	{"CAP_BPF", CAP_BPF, true, "loads the kernel programs",
	 "the kernel programs cannot be loaded"},
	{"CAP_PERFMON", CAP_PERFMON, true, "attaches them to tracepoints",
	 "the kernel programs cannot be attached"},
	{"CAP_SYS_PTRACE", CAP_SYS_PTRACE, false,
	 "reads the memory and files of other users' processes",
	 "no spans, contexts and open files of other users' processes"},
	{"CAP_DAC_READ_SEARCH", CAP_DAC_READ_SEARCH, false,
	 "reads executables and libraries of any user",
	 "no contexts of programs whose files this user cannot read"},
	{"CAP_CHECKPOINT_RESTORE", CAP_CHECKPOINT_RESTORE, false,
	 "finds the span rings of programs that closed their descriptors",
	 "no spans of programs that closed their descriptors"},
	{"CAP_SYS_ADMIN", CAP_SYS_ADMIN, false,
	 "measures what the kernel programs cost, in a thread that keeps nothing else",
	 "the cost of the kernel programs stays unknown, and --budget cannot hold it"},
};

static int probe_privileges(struct diagnosis *d)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};
	u64 effective;
	int err = 0;

	syscall(SYS_capget, &header, data);
	effective = data[0].effective | (u64)data[1].effective << 32;
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]) && !err; i++) {
		struct finding f = {.section = "privilege", .needed = capabilities[i].needed};

		f.available = effective >> capabilities[i].number & 1;
		/* the kernel accepts CAP_SYS_ADMIN in place of the newer capabilities */
		if (capabilities[i].number >= CAP_PERFMON && effective >> CAP_SYS_ADMIN & 1)
			f.available = true;
		snprintf(f.name, sizeof(f.name), "%s", capabilities[i].name);
		err = finding_add(d, f, "%s",
				  f.available ? capabilities[i].use : capabilities[i].cost);
	}
	return err;
}

/* ---- tracepoints ---- */

/* The program that replaces a missing tracepoint; NULL: none. */
static const struct capture_feature *stand_in(const struct capture_feature *features, size_t count,
					      const char *tracepoint)
{
	for (size_t i = 0; i < count; i++)
		if (features[i].instead_of && strcmp(features[i].instead_of, tracepoint) == 0 &&
		    features[i].available)
			return &features[i];
	return NULL;
}

static int probe_features(struct diagnosis *d, const struct capture_feature *features, size_t count,
			  bool tried)
{
	const struct capture_feature *other;
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		const struct capture_feature *c = &features[i];
		struct finding f = {.section = "tracepoint",
				    .needed = c->needed,
				    .available = tried ? c->on : c->available};

		if (c->spare || (c->instead_of && !c->available))
			continue; /* the tracepoint that it would replace has its own row */
		other = f.available ? NULL : stand_in(features, count, c->name);
		snprintf(f.name, sizeof(f.name), "%s", c->name);
		err = finding_add(d, f, "%s%s%s%s",
				  f.available	 ? ""
				  : c->available ? "not in use: "
				  : other	 ? "missing, "
						 : "missing: ",
				  other ? other->name : "", other ? " is used instead: " : "",
				  c->what);
	}
	return err;
}

static int drop_record(void *arg, const struct capture_stream *s, const struct record_head *r)
{
	return 0;
}

/* Loads and attaches the programs for a moment, which is the only proof. */
static int probe_capture(struct diagnosis *d)
{
	const struct capture_options nothing = {0};
	const struct capture_sink sink = {.record = drop_record};
	struct capture_feature probed[FEATURES_MAX];
	const struct capture_feature *features = probed;
	struct capture *c = NULL;
	size_t count = 0;
	int n, err = capture_open(&nothing, &c, &d->reason);

	if (!err) {
		err = capture_start(c, 0, &sink, &d->reason);
		capture_descriptors_hint(c, err, &d->reason);
	}
	d->can_record = !err;
	if (d->can_record) {
		features = capture_features(c, &count);
		capture_memory(c, &d->memory);
	} else {
		n = capture_probe(probed, FEATURES_MAX, NULL);
		count = n > 0 ? (size_t)n : 0;
	}
	err = probe_features(d, features, count, d->can_record);
	if (!err && d->can_record && capture_keeps_bpf(c)) {
		struct finding f = {
			.section = "privilege", .name = "CAP_BPF kept", .available = true};

		err = finding_add(d, f, "%s",
				  "this kernel needs it during a recording, so it is not dropped");
	}
	capture_close(c);
	return err;
}

/* ---- options of record with kernel programs of their own ---- */

static const char *const any_event = "sched:sched_migrate_task";

static const struct {
	const char *name;
	struct capture_options options;
	const char *use, *cost;
} option_rows[] = {
	{"--stacks",
	 {.stacks_min_ns = 1000000},
	 "the call stacks of threads that wait",
	 "no call stacks of threads that wait"},
	{"--sample",
	 {.sample_hz = 99},
	 "what CPUs run, with its call stacks",
	 "no samples of what CPUs run"},
	{"--event",
	 {.events = &any_event, .event_count = 1},
	 "more tracepoints, selected by name",
	 "no further tracepoints"},
};

/* Whether a recording with these options begins. If not, *reason says why. */
static bool options_work(const struct capture_options *options, struct error *reason)
{
	const struct capture_sink sink = {.record = drop_record};
	struct capture *c = NULL;
	bool work = !capture_open(options, &c, reason) && !capture_start(c, 0, &sink, reason);

	capture_close(c);
	return work;
}

/* To load programs takes long: only where not all options work together each is tried alone. */
static int probe_options(struct diagnosis *d)
{
	const struct capture_options together = {
		.stacks_min_ns = 1000000, .sample_hz = 99, .events = &any_event, .event_count = 1};
	struct error reason = {0};
	bool all_work = d->can_record && options_work(&together, &reason);
	int err = 0;

	for (size_t i = 0;
	     d->can_record && i < sizeof(option_rows) / sizeof(option_rows[0]) && !err; i++) {
		struct finding f = {.section = "option"};

		reason = (struct error){0};
		f.available = all_work || options_work(&option_rows[i].options, &reason);
		snprintf(f.name, sizeof(f.name), "%s", option_rows[i].name);
		err = f.available ? finding_add(d, f, "%s", option_rows[i].use)
				  : finding_add(d, f, "%s: %s", option_rows[i].cost, reason.text);
	}
	return err;
}

/* ---- what --detail SCOPE=calls costs threads out of scope ---- */

#define COST_CALLS 20000
#define COST_ROUNDS 5

/* The least time of a call that does nothing. */
static u64 call_cost_ns(void)
{
	u64 least_ns = UINT64_MAX;

	for (int round = 0; round < COST_ROUNDS; round++) {
		u64 begin_ns = clock_now_ns(), ns;

		for (int i = 0; i < COST_CALLS; i++)
			(void)syscall(SYS_getppid);
		ns = (clock_now_ns() - begin_ns) / COST_CALLS;
		least_ns = ns < least_ns ? ns : least_ns;
	}
	return least_ns;
}

static int probe_scopes(struct diagnosis *d)
{
	static const struct capture_detail_scope nobody = {.name = "(no program)", .calls = true};
	const struct capture_options options = {
		.host = true, .no_calls = true, .detail_scopes = &nobody, .detail_scope_count = 1};
	struct finding f = {.section = "option", .name = "--detail SCOPE=calls"};
	u64 before_ns = call_cost_ns(), with_ns = 0;
	struct capture *c = NULL;
	struct error reason = {0};
	int err;

	if (!d->can_record)
		return 0;
	f.available = !capture_open(&options, &c, &reason) && !capture_attach(c, &reason);
	if (f.available)
		with_ns = call_cost_ns();
	capture_close(c);
	err = f.available ? finding_add(d, f,
					"calls of some threads; each call of the others takes "
					"about %" PRIu64 " ns more then",
					with_ns > before_ns ? with_ns - before_ns : 0)
			  : finding_add(d, f, "no calls of some threads: %s", reason.text);
	return err;
}

/* ---- programs that run ---- */

static int probe_programs(struct diagnosis *d)
{
	struct finding f = {.section = "program", .name = "goroutines"};
	struct goroutines_probe g;
	int err = goroutines_probe(&g);

	if (err)
		return err;
	f.available = !g.unread;
	if (g.unread)
		return finding_add(
			d, f,
			"not of %u of %u programs in Go (process %d: %s%s%s): there, "
			"threads and order tell which request a call is for, less surely",
			g.unread, g.programs, g.pid, g.version, g.version[0] ? ", " : "", g.why);
	return finding_add(d, f,
			   "which goroutine sends or receives, of programs in Go 1.%d to 1.%d; %u "
			   "of them run%s here",
			   g.first, g.last, g.programs, g.programs == 1 ? "s" : "");
}

/* ---- all of it ---- */

static void probe_host(struct diagnosis *d)
{
	struct utsname name = {0};

	uname(&name);
	snprintf(d->kernel, sizeof(d->kernel), "%s %s %s", name.sysname, name.release,
		 name.machine);
	d->cpus = sysconf(_SC_NPROCESSORS_CONF);
}

int diagnosis_make(struct diagnosis *d, struct error *e)
{
	static int (*const probes[])(struct diagnosis *) = {
		probe_types,	  probe_clock,	 probe_tracefs, probe_symbols, probe_cgroups,
		probe_privileges, probe_capture, probe_options, probe_scopes,  probe_programs,
	};
	int err = 0;

	*d = (struct diagnosis){0};
	probe_host(d);
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]) && !err; i++)
		err = probes[i](d);
	return err ? error_set(e, err, "cannot probe this host") : 0;
}

void diagnosis_free(struct diagnosis *d)
{
	vec_free(&d->findings);
}
