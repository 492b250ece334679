/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The only process of a guest: makes the network of a plan, sends what the plan asks, and reports.
 *
 * main.c reads the plan and calls the others; network.c makes namespaces, devices, routes and queues; programs.c loads
 * algorithms as eBPF; filter.c loses and marks given packets; probe.c measures paths; first.c opens a connection before the
 * others; traffic.c sends, receives and samples; information.c asks the kernel about a connection; marks.c counts marks;
 * mean.c has means; report.c writes to the host.
 */
#ifndef GUEST_H
#define GUEST_H

#include <stddef.h>
#include <stdint.h>

#define NODES_MAX 1100
#define NAME_MAX_BYTES 32

/* report.c: a line to the host, which costs an instruction per byte; the first word is its kind. */
void report_begin(void);
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Reports "failed ..." with errno's text and ends the guest. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void power_off(void) __attribute__((noreturn));

/* network.c: nodes are network namespaces, by number. */
void node_add(int node);
void node_enter(int node);
void sysctl_set(int node, const char *key, const char *value);
/* How often its kernel was short of memory for TCP. */
uint64_t node_shortages(int node);
void pair_add(int from, const char *device, int to, const char *peer, unsigned int mtu);
void address_add(int node, const char *address);

struct route {
	const char *to, *device;
	unsigned int initcwnd, quickack, rto_min_ms, ssthresh;
	const char *source;
};
void route_add(int node, const struct route *route);

/* A queue discipline or a class, with the options of `kind` as the kernel reads them. */
struct queue {
	const char *device, *kind;
	uint32_t parent, handle;
	const unsigned char *options;
	size_t options_bytes;
	int is_class;
};
void queue_add(int node, const struct queue *queue);

struct queue_state {
	uint64_t sent_bytes, sent_pkts, dropped_pkts, marked_pkts;
	uint32_t held_pkts, held_bytes;
};
void queue_read(int node, const char *device, uint32_t handle, struct queue_state *state);

/* In its namespace, which is entered. */
int device_index(int node, const char *device);

/* filter.c: programs that lose and mark given packets; their counts are added to a queue's. */
void filter_add(char *words);
void filters_begin(uint64_t begin_ns);
void filter_read(int counts, struct queue_state *state);

/* programs.c */
void program_call(char *words);

/* mean.c: the mean of something that is looked at now and then, with a weight: the time, or the number of events, since the
 * look before. */
struct mean {
	double sum;
	uint64_t weight, count, most;
	struct look {
		uint32_t value, weight;
	} *looks;
};
void mean_add(struct mean *mean, uint64_t value, uint64_t weight);
double mean_get(const struct mean *mean);
/* The value that 95 % of the weight do not exceed; sorts the looks. */
uint32_t mean_high(struct mean *mean);

/* traffic.c */
void flow_add(char *words);
void link_add(char *words);
void traffic_run(char *words);
struct sockaddr_in;
void flow_ends(int flow, int *from, int *to, struct sockaddr_in *address);
void link_read(int link, struct queue_state *state);

/* first.c: a connection to `to` before those of the flows, and its end. */
void first_connection(int from, int listening, const struct sockaddr_in *to);

/* probe.c */
void probe_trip(char *words);
void probe_burst(char *words);
void probe_warm_up(int node);

/* marks.c: a socket that counts the marked packets for an address, and how many came since it was asked last. */
int marks_watch(int node, const struct sockaddr_in *to);
uint64_t marks_count(int fd);

uint64_t now_ns(void);
/* Time in which the processor had nothing to do. */
double idle_s(void);
/* The next word of a plan's line, which ends a string there; fails if there is none. */
char *word(char **line);
uint64_t number(char **line);
/* Hexadecimal bytes, "-" for none; how many. */
size_t bytes(char **line, unsigned char *into, size_t most);

#endif
