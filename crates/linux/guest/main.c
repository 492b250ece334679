/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Process 1: does what /plan says, a command a line. crates/linux/src/plan.rs writes it. */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 65536

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

double idle_s(void)
{
	double up = 0, idle = 0;
	FILE *file = fopen("/proc/uptime", "r");

	if (!file || fscanf(file, "%lf %lf", &up, &idle) != 2)
		fail("/proc/uptime");
	fclose(file);
	return idle;
}

char *word(char **line)
{
	char *found = strsep(line, " \n");

	if (!found || !*found) {
		errno = 0;
		fail("a line of the plan");
	}
	return found;
}

uint64_t number(char **line)
{
	char *text = word(line), *end;
	uint64_t value = strtoull(text, &end, 0);

	if (*end) {
		errno = 0;
		fail("the number '%s'", text);
	}
	return value;
}

size_t bytes(char **line, unsigned char *into, size_t most)
{
	const char *text = word(line);
	size_t count = 0;

	if (!strcmp(text, "-"))
		return 0;
	for (; text[0] && text[1] && count < most; text += 2) {
		const char pair[3] = { text[0], text[1], 0 };

		into[count++] = (unsigned char)strtoul(pair, NULL, 16);
	}
	return count;
}

/* Reports a file in hexadecimal bytes. */
static void dump(char *line)
{
	static unsigned char data[400];
	int fd = open(word(&line), O_RDONLY | O_CLOEXEC);
	ssize_t count, i;

	if (fd < 0)
		fail("a file");
	while ((count = read(fd, data, sizeof data)) > 0) {
		char hex[2 * sizeof data + 1];

		for (i = 0; i < count; i++)
			snprintf(hex + 2 * i, 3, "%02x", data[i]);
		report("dump %s", hex);
	}
	close(fd);
}

static void add_module(char *line)
{
	int fd = open(word(&line), O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
		fail("a module");
	close(fd);
}

static void add_sysctl(char *line)
{
	int node = (int)number(&line);
	const char *key = word(&line);

	/* The rest of the line: a value may have spaces. */
	sysctl_set(node, key, line);
}

static void add_pair(char *line)
{
	int from = (int)number(&line), to;
	const char *device = word(&line), *peer;

	to = (int)number(&line);
	peer = word(&line);
	pair_add(from, device, to, peer, (unsigned int)number(&line));
}

static void add_address(char *line)
{
	int node = (int)number(&line);

	address_add(node, word(&line));
}

static void add_route(char *line)
{
	struct route route;
	int node = (int)number(&line);

	route.to = word(&line);
	route.source = word(&line);
	route.device = word(&line);
	route.initcwnd = (unsigned int)number(&line);
	route.quickack = (unsigned int)number(&line);
	route.rto_min_ms = (unsigned int)number(&line);
	route.ssthresh = (unsigned int)number(&line);
	route_add(node, &route);
}

static void add_queue(char *line, int is_class)
{
	static unsigned char options[8192];
	struct queue queue = { .is_class = is_class, .options = options };
	int node = (int)number(&line);

	queue.device = word(&line);
	queue.parent = (uint32_t)number(&line);
	queue.handle = (uint32_t)number(&line);
	queue.kind = word(&line);
	queue.options_bytes = bytes(&line, options, sizeof options);
	queue_add(node, &queue);
}

static void follow(char *line)
{
	const char *command = word(&line);

	if (!strcmp(command, "module"))
		add_module(line);
	else if (!strcmp(command, "node"))
		node_add((int)number(&line));
	else if (!strcmp(command, "sysctl"))
		add_sysctl(line);
	else if (!strcmp(command, "pair"))
		add_pair(line);
	else if (!strcmp(command, "address"))
		add_address(line);
	else if (!strcmp(command, "route"))
		add_route(line);
	else if (!strcmp(command, "qdisc"))
		add_queue(line, 0);
	else if (!strcmp(command, "class"))
		add_queue(line, 1);
	else if (!strcmp(command, "bpf"))
		program_call(line);
	else if (!strcmp(command, "filter"))
		filter_add(line);
	else if (!strcmp(command, "dump"))
		dump(line);
	else if (!strcmp(command, "link"))
		link_add(line);
	else if (!strcmp(command, "flow"))
		flow_add(line);
	else if (!strcmp(command, "trip"))
		probe_trip(line);
	else if (!strcmp(command, "burst"))
		probe_burst(line);
	else if (!strcmp(command, "run"))
		traffic_run(line);
	else
		fail("the command '%s'", command);
}

int main(void)
{
	static char plan[1 << 24];
	const struct rlimit descriptors = { 1 << 16, 1 << 16 };
	char *rest = plan, *line;
	ssize_t length;
	int fd;

	report_begin();
	report("guest");
	if (mount("none", "/proc", "proc", 0, NULL) || mount("none", "/sys", "sysfs", 0, NULL))
		fail("mounting");
	if (setrlimit(RLIMIT_NOFILE, &descriptors))
		fail("descriptors");
	fd = open("/plan", O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, plan, sizeof plan - 1);
	if (length < 0)
		fail("the plan");
	while ((line = strsep(&rest, "\n")) && *line)
		follow(line);
	report("done");
	power_off();
}
