/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Programs at wires that lose and mark given packets; crates/linux/src/filter.rs writes them. */
#define _GNU_SOURCE
#include "guest.h"

#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILTERS_MAX 100
/* linux/bpf.h of some systems is older than these. */
#define TCX_INGRESS 46

/* The value of a program's only map. */
struct counts {
	uint64_t number, begin_ns, lost_pkts, marked_pkts;
};

static int filters[FILTERS_MAX];
static int filter_count;

static void map_call(int command, int counts, struct counts *value)
{
	uint32_t key = 0;
	union bpf_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.map_fd = (uint32_t)counts;
	attr.key = (uint64_t)(uintptr_t)&key;
	attr.value = (uint64_t)(uintptr_t)value;
	if (syscall(SYS_bpf, command, &attr, sizeof attr))
		fail("the counts of a wire");
}

/* filter NODE DEVICE PROGRAM COUNTS: descriptors of a program and of its map. */
void filter_add(char *line)
{
	/* struct { prog_fd, target_ifindex, attach_type, flags, relative_fd, expected_revision } of BPF_LINK_CREATE */
	uint32_t link[8] = { 0 };
	int node = (int)number(&line);
	const char *device = word(&line);

	if (filter_count == FILTERS_MAX)
		fail("filters");
	link[0] = (uint32_t)number(&line);
	link[1] = (uint32_t)device_index(node, device);
	link[2] = TCX_INGRESS;
	filters[filter_count++] = (int)number(&line);
	if (syscall(SYS_bpf, BPF_LINK_CREATE, link, sizeof link) < 0)
		fail("a program at a wire (Linux 6.6 or later has them)");
}

void filters_begin(uint64_t begin_ns)
{
	struct counts none = { .begin_ns = begin_ns };
	int i;

	for (i = 0; i < filter_count; i++)
		map_call(BPF_MAP_UPDATE_ELEM, filters[i], &none);
}

void filter_read(int counts, struct queue_state *state)
{
	struct counts now;

	map_call(BPF_MAP_LOOKUP_ELEM, counts, &now);
	state->dropped_pkts += now.lost_pkts;
	state->marked_pkts += now.marked_pkts;
}
