/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What src/capture/kernel offers to the rest of capture: kernel programs, what the kernel offers
 * them, privileges and limits. Tracepoints that the user chose are in event.h. For the thread that
 * drains, unless it says otherwise.
 */
#ifndef CAPTURE_KERNEL_KERNEL_H
#define CAPTURE_KERNEL_KERNEL_H

#include "capture/capture.h"
#include "capture/state.h"

struct btf;
struct programs;

/* ---- programs.c ---- */

/* Opens the object of kernel programs that fits this kernel. To be destroyed; NULL with errno. */
struct programs *capture_programs_open(void);

/* ---- feature_table.c ---- */

/* Fills at most `max` features by the kernel's types. How many there are, or a negative errno. */
int capture_features_probe(struct capture_feature *features, size_t max, struct error *e);
/* Marks features whose function the kernel does not let be traced. Needs the privilege to load. */
void capture_features_try_functions(struct capture_feature *features, size_t count);
/* The kind of record that is lost when a run is skipped; 0: nothing that is counted. */
u16 capture_feature_lost_kind(size_t feature);
/*
 * The kind of records that the program of that name writes (*writes) or prepares; 0: none that can
 * be told.
 */
u16 capture_feature_made(const char *name, bool *writes);
/* Whether a struct of the kernel has a member of that name. */
bool capture_type_has(const char *type, const char *field);

/* ---- features.c: 0 or a negative errno ---- */

int capture_features_choose(struct capture *c, const struct capture_options *options,
			    struct error *e);
int capture_features_attach(struct capture *c, struct error *e);
void capture_features_detach(struct capture *c);
/*
 * Attach, and detach, the programs of calls and page faults, for a change of the level of detail.
 * Where page faults cannot be attached, they are not recorded.
 */
int capture_features_calls_attach(struct capture *c, struct error *e);
void capture_features_calls_detach(struct capture *c);
/* Attaches and detaches the programs of byte ranges. */
int capture_features_bytes_attach(struct capture *c, struct error *e);
void capture_features_bytes_detach(struct capture *c);
/* Attaches what stands in for them while they are not attached, if it is not; it stays. */
int capture_features_waits_attach(struct capture *c, struct error *e);
/*
 * Follow CPUs that come and go. The first handles, at once, what the kernel has told of; the second
 * reads the list of CPUs that are online. Both need CAP_PERFMON, and do without if it is missing.
 * An error says that memory or descriptors ran out.
 */
void capture_features_cpus_changed(struct capture *c);
int capture_features_cpus(struct capture *c);
/*
 * Whether events of page faults are to be opened later: for a CPU that comes, or when the level of
 * detail is raised.
 */
bool capture_features_open_events(const struct capture *c);

/* ---- softirqs.c ---- */

/* Tells the programs where the kernel's variables of a CPU are, before they are loaded. */
void capture_softirqs_find(struct programs *programs, const struct btf *btf);
/*
 * Decides, once they are loaded, whether the programs read these variables, if that is wanted, or
 * are to be attached to softirqs. Features that are not needed then are turned off.
 */
void capture_softirqs_read(struct capture *c, bool wanted);

/* ---- running.c ---- */

/* Makes what runs on each CPU write a record of where it is. Needs the privilege of maps only. */
void capture_running_tell(struct capture *c);

/* ---- capabilities.c: any thread, for itself ---- */

/* Drops all capabilities but those that capture needs while it runs, and `more` (bits). */
int capture_capabilities_drop(u64 more);
/* Drops all capabilities but these (bits). */
int capture_capabilities_only(u64 kept);
/* Whether this thread may load kernel programs, as far as its user namespace goes. */
bool capture_capabilities_suffice(void);
/*
 * The capability that bpf() needs on this kernel for maps that are open, as a bit: CAP_BPF before
 * Linux 5.19 where unprivileged_bpf_disabled is set, else 0. `map`: a descriptor of the map of
 * locations.
 */
u64 capture_capabilities_bpf(int map);

/* ---- descriptors.c ---- */

/* Raises the limit of descriptors, as far as it may be, to the needs of what is recorded. */
void capture_descriptors_room(const struct capture *c);

/* ---- message.c: warnings of libbpf become causes of errors ---- */

/* Forgets the warnings so far. */
void capture_messages_begin(void);
/* Adds the warnings since then to the chain of causes and returns -|err|. */
int capture_messages_fail(struct error *e, int err, const char *what);

#endif
