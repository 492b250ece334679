/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Algorithms as eBPF: calls of bpf() that the host has prepared (cwnd_kernel::script). */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ATTR_BYTES_MAX 256
#define LOG_BYTES (1 << 20)

/* Loads a program again, with the verifier's words, of which the last line says what it refuses. */
static void explain(unsigned char *attr, size_t attr_bytes)
{
	char *log = calloc(1, LOG_BYTES), *last;
	union bpf_attr *load = (void *)attr;

	if (!log)
		return;
	load->log_level = 1;
	load->log_size = LOG_BYTES;
	load->log_buf = (uint64_t)(uintptr_t)log;
	syscall(SYS_bpf, BPF_PROG_LOAD, attr, attr_bytes);
	while ((last = strsep(&log, "\n")))
		if (*last)
			report("verifier %.200s", last);
}

/* bpf COMMAND FD ATTR (OFFSET BYTES)...: FD is the number that a new descriptor gets, 0 for none. */
void program_call(char *line)
{
	static unsigned char attr[ATTR_BYTES_MAX] __attribute__((aligned(8)));
	int command = (int)number(&line), fd = (int)number(&line), made;
	size_t attr_bytes;

	memset(attr, 0, sizeof attr);
	attr_bytes = bytes(&line, attr, sizeof attr);
	while (line && *line) {
		size_t at = number(&line), most = strlen(line) / 2 + 1;
		unsigned char *data = malloc(most);
		uint64_t pointer = (uint64_t)(uintptr_t)data;

		if (!data || at + sizeof pointer > sizeof attr)
			fail("a call of bpf");
		bytes(&line, data, most);
		memcpy(attr + at, &pointer, sizeof pointer);
	}
	made = (int)syscall(SYS_bpf, command, attr, attr_bytes);
	if (made < 0) {
		int reason = errno;

		if (command == BPF_PROG_LOAD)
			explain(attr, attr_bytes);
		errno = reason;
		fail("bpf command %d", command);
	}
	if (fd && (dup2(made, fd) < 0 || close(made)))
		fail("descriptor %d", fd);
}
