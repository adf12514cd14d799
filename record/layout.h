/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The layout that a compiler must give the lists of record/record.h, on every machine. record.h
 * includes this file. It is the contract between kernel programs, capture and chunks. Lines are
 * added with each new kind and each appended field; no line ever changes.
 */
#ifndef RECORD_LAYOUT_H
#define RECORD_LAYOUT_H

#define RECORD_AT(kind, field, offset)                                                             \
	_Static_assert(__builtin_offsetof(struct record_##kind, field) == offset,                  \
		       #kind "." #field " moved")
#define RECORD_SIZE(type, size) _Static_assert(sizeof(type) == size, #type " changed its size")

RECORD_SIZE(struct file_ref, 16);
RECORD_SIZE(struct context, 24);
RECORD_SIZE(struct record_head, 24);

RECORD_SIZE(struct record_clock, 56);
RECORD_AT(clock, reason, 24);
RECORD_AT(clock, realtime_ns, 28);
RECORD_AT(clock, boottime_ns, 36);
RECORD_AT(clock, error_ns, 44);

RECORD_SIZE(struct record_lost, 48);
RECORD_AT(lost, why, 24);
RECORD_AT(lost, lost_kind, 26);
RECORD_AT(lost, count, 28);
RECORD_AT(lost, begin_ns, 36);

RECORD_SIZE(struct record_fork, 72);
RECORD_AT(fork, parent_tid, 24);
RECORD_AT(fork, parent_pid, 28);
RECORD_AT(fork, start_ns, 32);
RECORD_AT(fork, cgroup, 40);
RECORD_AT(fork, flags, 48);
RECORD_AT(fork, comm_len, 52);
RECORD_AT(fork, comm, 54);

RECORD_SIZE(struct record_exec, 1072);
RECORD_AT(exec, old_tid, 24);
RECORD_AT(exec, flags, 28);
RECORD_AT(exec, start_ns, 32);
RECORD_AT(exec, command_len, 40);
RECORD_AT(exec, command, 42);

RECORD_SIZE(struct record_exit, 32);
RECORD_AT(exit, code, 24);
RECORD_AT(exit, flags, 28);

RECORD_SIZE(struct record_name, 48);
RECORD_AT(name, comm_len, 24);
RECORD_AT(name, comm, 26);

RECORD_SIZE(struct record_process, 1080);
RECORD_AT(process, parent_pid, 24);
RECORD_AT(process, start_ns, 28);
RECORD_AT(process, cgroup, 36);
RECORD_AT(process, uid, 44);
RECORD_AT(process, files, 48);
RECORD_AT(process, command_len, 52);
RECORD_AT(process, command, 54);

RECORD_SIZE(struct record_thread, 120);
RECORD_AT(thread, start_ns, 24);
RECORD_AT(thread, since_ns, 32);
RECORD_AT(thread, arg0, 40);
RECORD_AT(thread, nr, 48);
RECORD_AT(thread, mode, 50);
RECORD_AT(thread, state, 51);
RECORD_AT(thread, flags, 52);
RECORD_AT(thread, file, 56);
RECORD_AT(thread, ctx, 72);
RECORD_AT(thread, comm_len, 96);
RECORD_AT(thread, comm, 98);

RECORD_SIZE(struct record_switch, 88);
RECORD_AT(switch, next_tid, 24);
RECORD_AT(switch, nr, 28);
RECORD_AT(switch, mode, 30);
RECORD_AT(switch, state, 31);
RECORD_AT(switch, since_ns, 32);
RECORD_AT(switch, file, 40);
RECORD_AT(switch, arg0, 56);
RECORD_AT(switch, ctx, 64);

RECORD_SIZE(struct record_waking, 64);
RECORD_AT(waking, waker_tid, 24);
RECORD_AT(waking, context, 28);
RECORD_AT(waking, vector, 29);
RECORD_AT(waking, irq, 30);
RECORD_AT(waking, file, 32);
RECORD_AT(waking, block, 48);
RECORD_AT(waking, fd, 56);

RECORD_SIZE(struct record_syscall, 136);
RECORD_AT(syscall, nr, 24);
RECORD_AT(syscall, flags, 26);
RECORD_AT(syscall, duration_ns, 32);
RECORD_AT(syscall, result, 40);
RECORD_AT(syscall, arg0, 48);
RECORD_AT(syscall, arg1, 56);
RECORD_AT(syscall, arg2, 64);
RECORD_AT(syscall, arg3, 72);
RECORD_AT(syscall, arg4, 80);
RECORD_AT(syscall, arg5, 88);
RECORD_AT(syscall, file, 96);
RECORD_AT(syscall, ctx, 112);

RECORD_SIZE(struct record_fd, 4152);
RECORD_AT(fd, fd, 24);
RECORD_AT(fd, from, 28);
RECORD_AT(fd, op, 32);
RECORD_AT(fd, flags, 33);
RECORD_AT(fd, file, 36);
RECORD_AT(fd, path_len, 52);
RECORD_AT(fd, path, 54);

RECORD_SIZE(struct record_socket, 208);
RECORD_AT(socket, file, 24);
RECORD_AT(socket, netns, 40);
RECORD_AT(socket, family, 48);
RECORD_AT(socket, protocol, 50);
RECORD_AT(socket, local_port, 52);
RECORD_AT(socket, remote_port, 54);
RECORD_AT(socket, local_hi, 56);
RECORD_AT(socket, local_lo, 64);
RECORD_AT(socket, remote_hi, 72);
RECORD_AT(socket, remote_lo, 80);
RECORD_AT(socket, peer, 88);
RECORD_AT(socket, path_len, 96);
RECORD_AT(socket, path, 98);

RECORD_SIZE(struct record_fault, 104);
RECORD_AT(fault, flags, 24);
RECORD_AT(fault, duration_ns, 32);
RECORD_AT(fault, address, 40);
RECORD_AT(fault, ip, 48);
RECORD_AT(fault, ctx, 56);
RECORD_AT(fault, mapped, 80);
RECORD_AT(fault, inode, 88);
RECORD_AT(fault, offset, 96);

RECORD_SIZE(struct record_block, 96);
RECORD_AT(block, dev, 24);
RECORD_AT(block, bytes, 28);
RECORD_AT(block, duration_ns, 32);
RECORD_AT(block, queued_ns, 40);
RECORD_AT(block, sector, 48);
RECORD_AT(block, flags, 56);
RECORD_AT(block, cgroup, 64);
RECORD_AT(block, ctx, 72);

RECORD_SIZE(struct record_bytes, 104);
RECORD_AT(bytes, direction, 24);
RECORD_AT(bytes, flags, 25);
RECORD_AT(bytes, from, 32);
RECORD_AT(bytes, length, 40);
RECORD_AT(bytes, file, 48);
RECORD_AT(bytes, ctx, 64);
RECORD_AT(bytes, light, 88);
RECORD_AT(bytes, light_maker, 96);

RECORD_SIZE(struct record_stack, 1072);
RECORD_AT(stack, flags, 24);
RECORD_AT(stack, words, 28);
RECORD_AT(stack, since_ns, 32);
RECORD_AT(stack, frames_len, 40);
RECORD_AT(stack, frames, 42);

RECORD_SIZE(struct record_mapping, 1104);
RECORD_AT(mapping, begin, 24);
RECORD_AT(mapping, end, 32);
RECORD_AT(mapping, offset, 40);
RECORD_AT(mapping, since_ns, 48);
RECORD_AT(mapping, file, 56);
RECORD_AT(mapping, path_len, 72);
RECORD_AT(mapping, path, 74);

RECORD_SIZE(struct record_event, 2104);
RECORD_AT(event, format, 24);
RECORD_AT(event, ctx, 28);
RECORD_AT(event, payload_len, 52);
RECORD_AT(event, payload, 54);

RECORD_SIZE(struct record_format, 4128);
RECORD_AT(format, format, 24);
RECORD_AT(format, text_len, 28);
RECORD_AT(format, text, 30);

RECORD_SIZE(struct record_steal, 48);
RECORD_AT(steal, of_cpu, 24);
RECORD_AT(steal, steal_ns, 28);
RECORD_AT(steal, begin_ns, 36);

RECORD_SIZE(struct record_service, 1056);
RECORD_AT(service, resource_len, 24);
RECORD_AT(service, resource, 26);

RECORD_SIZE(struct record_span_begin, 584);
RECORD_AT(span_begin, span_kind, 24);
RECORD_AT(span_begin, level, 25);
RECORD_AT(span_begin, flags, 26);
RECORD_AT(span_begin, parent, 32);
RECORD_AT(span_begin, ctx, 40);
RECORD_AT(span_begin, name_len, 64);
RECORD_AT(span_begin, name, 66);

RECORD_SIZE(struct record_span_end, 592);
RECORD_AT(span_end, status, 24);
RECORD_AT(span_end, flags, 25);
RECORD_AT(span_end, ctx, 28);
RECORD_AT(span_end, next, 52);
RECORD_AT(span_end, message_len, 76);
RECORD_AT(span_end, message, 78);

RECORD_SIZE(struct record_span_attach, 48);
RECORD_AT(span_attach, ctx, 24);

RECORD_SIZE(struct record_span_detach, 48);
RECORD_AT(span_detach, ctx, 24);

RECORD_SIZE(struct record_span_event, 568);
RECORD_AT(span_event, level, 24);
RECORD_AT(span_event, ctx, 28);
RECORD_AT(span_event, name_len, 52);
RECORD_AT(span_event, name, 54);

RECORD_SIZE(struct record_span_attribute, 1088);
RECORD_AT(span_attribute, type, 24);
RECORD_AT(span_attribute, of_event, 25);
RECORD_AT(span_attribute, key_len, 26);
RECORD_AT(span_attribute, value, 28);
RECORD_AT(span_attribute, ctx, 36);
RECORD_AT(span_attribute, text_len, 60);
RECORD_AT(span_attribute, text, 62);

RECORD_SIZE(struct record_context_entry, 56);
RECORD_AT(context_entry, index, 24);
RECORD_AT(context_entry, trace_hi, 28);
RECORD_AT(context_entry, trace_lo, 36);
RECORD_AT(context_entry, span, 44);

RECORD_SIZE(struct record_file_entry, 48);
RECORD_AT(file_entry, index, 24);
RECORD_AT(file_entry, key, 28);
RECORD_AT(file_entry, dev, 36);
RECORD_AT(file_entry, file_kind, 40);
RECORD_AT(file_entry, flags, 42);

RECORD_SIZE(struct record_gap, 32);
RECORD_AT(gap, begin_ns, 24);

RECORD_SIZE(struct record_cgroup, 1064);
RECORD_AT(cgroup, hierarchy, 24);
RECORD_AT(cgroup, id, 28);
RECORD_AT(cgroup, path_len, 36);
RECORD_AT(cgroup, path, 38);

RECORD_SIZE(struct record_cgroup_attach, 40);
RECORD_AT(cgroup_attach, cgroup, 24);
RECORD_AT(cgroup_attach, hierarchy, 32);
RECORD_AT(cgroup_attach, flags, 36);

RECORD_SIZE(struct record_thread_entry, 32);
RECORD_AT(thread_entry, process, 24);

RECORD_SIZE(struct record_filter, 32);
RECORD_AT(filter, flags, 24);

RECORD_SIZE(struct record_path, 4152);
RECORD_AT(path, call_ns, 24);
RECORD_AT(path, nr, 32);
RECORD_AT(path, flags, 34);
RECORD_AT(path, asked, 36);
RECORD_AT(path, path_len, 52);
RECORD_AT(path, path, 54);

RECORD_SIZE(struct record_uring, 88);
RECORD_AT(uring, opcode, 24);
RECORD_AT(uring, flags, 25);
RECORD_AT(uring, fd, 28);
RECORD_AT(uring, duration_ns, 32);
RECORD_AT(uring, result, 40);
RECORD_AT(uring, submit_flags, 44);
RECORD_AT(uring, file, 48);
RECORD_AT(uring, ctx, 64);

RECORD_SIZE(struct record_sample, 3152);
RECORD_AT(sample, flags, 24);
RECORD_AT(sample, kernel, 28);
RECORD_AT(sample, user, 30);
RECORD_AT(sample, words, 32);
RECORD_AT(sample, period_ns, 40);
RECORD_AT(sample, ctx, 48);
RECORD_AT(sample, frames_len, 72);
RECORD_AT(sample, frames, 74);

RECORD_SIZE(struct record_cost, 112);
RECORD_AT(cost, begin_ns, 24);
RECORD_AT(cost, cost_ns, 32);
RECORD_AT(cost, runs, 40);
RECORD_AT(cost, measured_ns, 48);
RECORD_AT(cost, made, 56);
RECORD_AT(cost, flags, 58);
RECORD_AT(cost, name_len, 60);
RECORD_AT(cost, name, 62);

RECORD_SIZE(struct record_peer, 192);
RECORD_AT(peer, call_ns, 24);
RECORD_AT(peer, file, 32);
RECORD_AT(peer, netns, 48);
RECORD_AT(peer, family, 56);
RECORD_AT(peer, port, 58);
RECORD_AT(peer, address_hi, 64);
RECORD_AT(peer, address_lo, 72);
RECORD_AT(peer, path_len, 80);
RECORD_AT(peer, path, 82);

RECORD_SIZE(struct record_device, 64);
RECORD_AT(device, dev, 24);
RECORD_AT(device, name_len, 28);
RECORD_AT(device, name, 30);

RECORD_SIZE(struct record_step, 40);
RECORD_AT(step, from, 24);
RECORD_AT(step, to, 25);
RECORD_AT(step, why, 26);
RECORD_AT(step, budget_ppm, 28);
RECORD_AT(step, cost_ppm, 32);
RECORD_AT(step, predicted_ppm, 36);

#endif
