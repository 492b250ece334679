/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Sends and receives, and looks at flows and links at every tick.
 *
 * One loop does all of it, so that no process waits for another. What it sees is kept until the run is over: a
 * report costs time.
 */
#define _GNU_SOURCE
#include "guest.h"
#include "information.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define FLOWS_MAX 1000
#define LINKS_MAX 100
/* netinet/tcp.h, which has this, has another struct tcp_info. */
#define TCP_SYN_SENT 2
#define SSTHRESH_INFINITE 0x7fffffff
#define PORT 5000
/* A receiver reads when so much has come: reading opens the window, which may send an ACK. */
#define READ_BYTES (1 << 16)
/* The indices of events: senders, receivers from FLOWS_MAX on, listening sockets behind them, the timer. */
#define TIMER (3 * FLOWS_MAX)

struct totals {
	uint64_t sent_pkts, retransmitted_pkts, timeouts, delivered_pkts, received_bytes, marked_pkts, spurious_pkts;
};

struct row {
	uint64_t at_ns;
	uint32_t cwnd_pkts, min_cwnd_pkts, max_cwnd_pkts, ssthresh_pkts, in_flight_pkts, srtt_us;
	uint64_t delivered_pkts, marked_pkts;
};

struct flow {
	int from, to, listening, sender, receiver;
	struct sockaddr_in address;
	char cca[16];
	/* At a rate, an application writes so many bytes at once: a segment. */
	uint64_t start_ns, stop_ns, size_bytes, left_bytes, rate_bps, at_once_bytes, handed_bytes, taken_bytes;
	/* The largest window that the receiver offers; 0: what its memory allows. */
	int window_bytes;
	/* Whether packets may be marked, and whether the receiver echoes the mark of each: the half of Linux's DCTCP that is its. */
	int has_ecn, echoes_each;
	/* The route has an ssthresh for its first slow start. */
	int has_ssthresh;
	/* Of marks.c. */
	int marks;
	uint64_t marked_pkts;
	struct mean cwnd_pkts, srtt_us;
	uint64_t looked_ns, acks;
	struct totals before, now;
	/* The least and the greatest window that was looked at since the last row; 0: none was. */
	uint32_t min_cwnd_pkts, max_cwnd_pkts;
	struct row *rows;
	size_t row_count;
	uint64_t done_ns, slow_start_ns;
	int is_done;
};

struct watched_link {
	int node;
	char device[16];
	uint32_t handle;
	/* Packets that the discipline holds besides those that it reports: the one being sent. */
	uint32_t beside;
	/* The counts of filter.c; 0: none. */
	int filter;
	struct mean held_pkts;
	struct queue_state before, now;
	struct {
		uint64_t at_ns, dropped_pkts, marked_pkts;
		uint32_t held_pkts, held_bytes;
	} *rows;
	size_t row_count;
};

static struct flow flows[FLOWS_MAX];
static struct watched_link links[LINKS_MAX];
static int flow_count, link_count;
static uint64_t begin_ns, duration_ns, warmup_ns, sample_ns, tick_ns;
static char payload[1 << 16];
static int events;

/* -- the plan -- */

void flow_add(char *line)
{
	struct flow *flow = &flows[flow_count++];

	if (flow_count > FLOWS_MAX)
		fail("flows");
	flow->from = (int)number(&line);
	flow->to = (int)number(&line);
	flow->address.sin_family = AF_INET;
	if (inet_pton(AF_INET, word(&line), &flow->address.sin_addr) != 1)
		fail("a flow");
	flow->address.sin_port = htons((uint16_t)(PORT + flow_count));
	strncpy(flow->cca, word(&line), sizeof flow->cca - 1);
	flow->start_ns = number(&line);
	flow->stop_ns = number(&line);
	flow->size_bytes = number(&line);
	flow->rate_bps = number(&line);
	flow->at_once_bytes = number(&line);
	flow->window_bytes = (int)number(&line);
	flow->has_ecn = (int)number(&line);
	flow->echoes_each = (int)number(&line);
	flow->has_ssthresh = (int)number(&line);
	flow->left_bytes = flow->size_bytes ? flow->size_bytes : UINT64_MAX;
	flow->sender = flow->receiver = flow->listening = flow->marks = -1;
}

void link_add(char *line)
{
	struct watched_link *link = &links[link_count++];

	if (link_count > LINKS_MAX)
		fail("links");
	link->node = (int)number(&line);
	strncpy(link->device, word(&line), sizeof link->device - 1);
	link->handle = (uint32_t)number(&line);
	link->beside = (uint32_t)number(&line);
	link->filter = (int)number(&line);
}

void flow_ends(int flow, int *from, int *to, struct sockaddr_in *address)
{
	*from = flows[flow].from;
	*to = flows[flow].to;
	*address = flows[flow].address;
}

void link_read(int link, struct queue_state *state)
{
	queue_read(links[link].node, links[link].device, links[link].handle, state);
}

/* -- sockets -- */

static void watch(int fd, int index, uint32_t what)
{
	struct epoll_event event = { .events = what, .data.u32 = (uint32_t)index };

	if (epoll_ctl(events, EPOLL_CTL_ADD, fd, &event))
		fail("epoll");
}

static int open_socket(int node)
{
	int fd;

	node_enter(node);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		fail("a socket");
	return fd;
}

/* The kernel raises the limit when it learns how large packets are in memory. */
static void limit_window(const struct flow *flow, int fd)
{
	if (flow->window_bytes && fd >= 0 &&
	    setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &flow->window_bytes, sizeof flow->window_bytes))
		fail("a receive window");
}

static void listen_for(struct flow *flow)
{
	flow->listening = open_socket(flow->to);
	limit_window(flow, flow->listening);
	if (flow->has_ecn)
		flow->marks = marks_watch(flow->to, &flow->address);
	if (flow->echoes_each && setsockopt(flow->listening, IPPROTO_TCP, TCP_CONGESTION, "dctcp", 5))
		fail("dctcp");
	if (bind(flow->listening, (struct sockaddr *)&flow->address, sizeof flow->address) ||
	    listen(flow->listening, 1))
		fail("listening");
}

static void start(struct flow *flow)
{
	int unsent = 1 << 18;

	flow->sender = open_socket(flow->from);
	if (setsockopt(flow->sender, IPPROTO_TCP, TCP_CONGESTION, flow->cca, (socklen_t)strlen(flow->cca)))
		fail("%s", flow->cca);
	setsockopt(flow->sender, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
	if (connect(flow->sender, (struct sockaddr *)&flow->address, sizeof flow->address) &&
	    errno != EINPROGRESS)
		fail("connecting");
	watch(flow->sender, (int)(flow - flows), EPOLLOUT | EPOLLRDHUP | EPOLLET);
}

/* The receiver is woken for many bytes at once, or for the last of the flow. */
static void await_bytes(const struct flow *flow)
{
	uint64_t left = flow->size_bytes - flow->taken_bytes;
	int enough = flow->size_bytes && left < READ_BYTES ? (int)left : READ_BYTES;

	setsockopt(flow->receiver, SOL_SOCKET, SO_RCVLOWAT, &enough, sizeof enough);
}

static void accept_from(struct flow *flow)
{
	flow->receiver = accept4(flow->listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (flow->receiver < 0)
		return;
	await_bytes(flow);
	watch(flow->receiver, (int)(flow - flows) + FLOWS_MAX, EPOLLIN);
	close(flow->listening);
	flow->listening = -1;
}

/* What the application hands over next, at a rate. */
static uint64_t piece_bytes(const struct flow *flow)
{
	return flow->left_bytes < flow->at_once_bytes ? flow->left_bytes : flow->at_once_bytes;
}

/* When the application has written the next piece. */
static uint64_t piece_ns(const struct flow *flow)
{
	unsigned __int128 bits = (unsigned __int128)(flow->handed_bytes + piece_bytes(flow)) * 8;

	return flow->start_ns + (uint64_t)((bits * 1000000000 + flow->rate_bps - 1) / flow->rate_bps);
}

static void write_to(struct flow *flow, uint64_t at_ns)
{
	while (flow->left_bytes && !(flow->rate_bps && at_ns < piece_ns(flow))) {
		size_t bytes = flow->rate_bps ? piece_bytes(flow) : sizeof payload;
		ssize_t written;

		if (flow->left_bytes < bytes)
			bytes = flow->left_bytes;
		written = send(flow->sender, payload, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (written < 0) {
			if (errno == EAGAIN)
				return;
			fail("sending");
		}
		flow->handed_bytes += (uint64_t)written;
		flow->left_bytes -= (uint64_t)written;
	}
}

/* Counts without copying. The receiver closes after the last byte, which the sender sees when it is acknowledged; the sender
 * closes then: a FIN behind the last byte could be lost in its place. */
static void read_from(struct flow *flow)
{
	ssize_t got;

	while ((got = recv(flow->receiver, NULL, 1 << 24, MSG_TRUNC | MSG_DONTWAIT)) > 0)
		flow->taken_bytes += (uint64_t)got;
	if (got == 0)
		epoll_ctl(events, EPOLL_CTL_DEL, flow->receiver, NULL);
	else if (flow->taken_bytes == flow->size_bytes)
		shutdown(flow->receiver, SHUT_WR);
	else if (flow->size_bytes)
		await_bytes(flow);
}

/* -- looking -- */

static void add_row(struct flow *flow, uint64_t at_ns, const struct tcp_info *sent)
{
	flow->rows[flow->row_count++] = (struct row){
		.at_ns = at_ns,
		.cwnd_pkts = sent->tcpi_snd_cwnd,
		.min_cwnd_pkts = flow->min_cwnd_pkts,
		.max_cwnd_pkts = flow->max_cwnd_pkts,
		.ssthresh_pkts = sent->tcpi_snd_ssthresh,
		.in_flight_pkts = sent->tcpi_unacked - sent->tcpi_sacked - sent->tcpi_lost + sent->tcpi_retrans,
		.srtt_us = sent->tcpi_rtt,
		.delivered_pkts = flow->now.delivered_pkts,
		.marked_pkts = flow->now.marked_pkts,
	};
	flow->min_cwnd_pkts = flow->max_cwnd_pkts = sent->tcpi_snd_cwnd;
}

/* With a row of samples at `row_ns`; 0: none. */
static void look_at_flow(struct flow *flow, uint64_t at_ns, uint64_t row_ns)
{
	union information sender, receiver;
	const struct tcp_info *sent = &sender.of, *got = &receiver.of;
	uint64_t from_ns = flow->start_ns > warmup_ns ? flow->start_ns : warmup_ns;

	if (information_read(flow->sender, &sender))
		return;
	if (sent->tcpi_state == TCP_SYN_SENT) {
		flow->now.retransmitted_pkts = sent->tcpi_total_retrans;
		flow->now.timeouts = sender.later.total_rto;
		if (at_ns <= from_ns)
			flow->before = flow->now;
		return;
	}
	limit_window(flow, flow->receiver);
	information_read(flow->receiver, &receiver);
	if (flow->marks >= 0)
		flow->marked_pkts += marks_count(flow->marks);
	flow->now = (struct totals){
		.sent_pkts = sent->tcpi_data_segs_out,
		.retransmitted_pkts = sent->tcpi_total_retrans,
		.timeouts = sender.later.total_rto,
		.delivered_pkts = got->tcpi_data_segs_in,
		.received_bytes = got->tcpi_bytes_received,
		.marked_pkts = flow->marked_pkts,
		.spurious_pkts = sent->tcpi_dsack_dups,
	};
	if (!flow->slow_start_ns && sent->tcpi_snd_ssthresh < SSTHRESH_INFINITE &&
	    (!flow->has_ssthresh || sent->tcpi_snd_cwnd >= sent->tcpi_snd_ssthresh))
		flow->slow_start_ns = at_ns - flow->start_ns;
	if (at_ns <= from_ns) {
		flow->before = flow->now;
		/* What has arrived beyond a missing segment is no goodput of the time that follows. */
		flow->before.received_bytes += (uint64_t)sent->tcpi_sacked * sent->tcpi_snd_mss;
	} else {
		mean_add(&flow->cwnd_pkts, sent->tcpi_snd_cwnd,
			 at_ns - (flow->looked_ns > from_ns ? flow->looked_ns : from_ns));
		/* About as many samples as ACKs, which are the segments that a sender gets. */
		if (sent->tcpi_rtt)
			mean_add(&flow->srtt_us, sent->tcpi_rtt, sent->tcpi_segs_in - flow->acks);
	}
	flow->looked_ns = at_ns;
	flow->acks = sent->tcpi_segs_in;
	if (!flow->min_cwnd_pkts || sent->tcpi_snd_cwnd < flow->min_cwnd_pkts)
		flow->min_cwnd_pkts = sent->tcpi_snd_cwnd;
	if (sent->tcpi_snd_cwnd > flow->max_cwnd_pkts)
		flow->max_cwnd_pkts = sent->tcpi_snd_cwnd;
	if (row_ns)
		add_row(flow, row_ns, sent);
}

static void look_at_link(struct watched_link *link, uint64_t at_ns, int is_sample)
{
	queue_read(link->node, link->device, link->handle, &link->now);
	if (link->filter)
		filter_read(link->filter, &link->now);
	if (link->now.held_pkts)
		link->now.held_pkts += link->beside;
	if (at_ns <= warmup_ns)
		link->before = link->now;
	if (at_ns >= warmup_ns)
		mean_add(&link->held_pkts, link->now.held_pkts, 1);
	if (is_sample) {
		link->rows[link->row_count].at_ns = at_ns;
		link->rows[link->row_count].held_pkts = link->now.held_pkts;
		link->rows[link->row_count].held_bytes = link->now.held_bytes;
		link->rows[link->row_count].dropped_pkts = link->now.dropped_pkts;
		link->rows[link->row_count].marked_pkts = link->now.marked_pkts;
		link->row_count++;
	}
}

static void look(uint64_t at_ns)
{
	int is_sample = sample_ns && at_ns % sample_ns == 0, i;

	for (i = 0; i < flow_count; i++)
		if (!flows[i].is_done)
			look_at_flow(&flows[i], at_ns, is_sample ? at_ns : 0);
	for (i = 0; i < link_count; i++)
		look_at_link(&links[i], at_ns, is_sample);
}

/* -- the run -- */

/* A flow falls silent: what is in flight gets no answer. */
static void stop(struct flow *flow)
{
	struct linger at_once = { .l_onoff = 1 };

	setsockopt(flow->sender, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	close(flow->sender);
	flow->is_done = 1;
}

static void begin_and_end(uint64_t at_ns, int is_tick)
{
	int i;

	for (i = 0; i < flow_count; i++) {
		struct flow *flow = &flows[i];

		if (flow->is_done)
			continue;
		if (flow->sender < 0 && at_ns >= flow->start_ns)
			start(flow);
		if (flow->sender >= 0 && at_ns >= flow->stop_ns) {
			if (!is_tick)
				look_at_flow(flow, at_ns, 0);
			if (flow->stop_ns < duration_ns)
				stop(flow);
			flow->is_done = 1;
		}
	}
}

/* The next moment at which something is due. */
static uint64_t next_ns(uint64_t at_ns)
{
	uint64_t next = (at_ns / tick_ns + 1) * tick_ns;
	int i;

	for (i = 0; i < flow_count; i++) {
		if (flows[i].is_done)
			continue;
		if (flows[i].start_ns > at_ns && flows[i].start_ns < next)
			next = flows[i].start_ns;
		if (flows[i].stop_ns > at_ns && flows[i].stop_ns < next)
			next = flows[i].stop_ns;
		if (flows[i].rate_bps && flows[i].left_bytes && piece_ns(&flows[i]) > at_ns && piece_ns(&flows[i]) < next)
			next = piece_ns(&flows[i]);
	}
	return next < duration_ns ? next : duration_ns;
}

static void set_timer(int timer, uint64_t at_ns)
{
	uint64_t absolute = begin_ns + at_ns;
	struct itimerspec when = { .it_value = { (time_t)(absolute / 1000000000), (long)(absolute % 1000000000) } };

	timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void handle(const struct epoll_event *event, uint64_t at_ns)
{
	uint32_t index = event->data.u32;

	if (index >= 2 * FLOWS_MAX)
		accept_from(&flows[index - 2 * FLOWS_MAX]);
	else if (index >= FLOWS_MAX)
		read_from(&flows[index - FLOWS_MAX]);
	else {
		if (event->events & EPOLLRDHUP && !flows[index].done_ns) {
			/* Nothing of it changes until the next row of samples. */
			uint64_t row_ns = sample_ns ? (at_ns / sample_ns + 1) * sample_ns : 0;

			look_at_flow(&flows[index], at_ns, row_ns <= duration_ns ? row_ns : 0);
			flows[index].done_ns = at_ns;
			flows[index].is_done = 1;
			shutdown(flows[index].sender, SHUT_WR);
		}
		write_to(&flows[index], at_ns);
	}
}

static void wait_until(uint64_t due_ns)
{
	while (now_ns() < begin_ns + due_ns) {
		struct epoll_event ready[64];
		int count = epoll_wait(events, ready, 64, -1), i;

		for (i = 0; i < count; i++)
			if (ready[i].data.u32 < TIMER)
				handle(&ready[i], now_ns() - begin_ns);
	}
}

static void write_at_rates(uint64_t at_ns)
{
	int i;

	for (i = 0; i < flow_count; i++)
		if (flows[i].rate_bps && flows[i].sender >= 0 && !flows[i].is_done)
			write_to(&flows[i], at_ns);
}

static void *rows_for(size_t bytes, uint64_t interval_ns)
{
	void *rows = calloc(duration_ns / interval_ns + 2, bytes);

	if (!rows)
		fail("memory");
	return rows;
}

static void make_room(void)
{
	int i;

	for (i = 0; i < flow_count; i++) {
		flows[i].cwnd_pkts.looks = rows_for(sizeof *flows[i].cwnd_pkts.looks, tick_ns);
		flows[i].srtt_us.looks = rows_for(sizeof *flows[i].srtt_us.looks, tick_ns);
		if (sample_ns)
			flows[i].rows = rows_for(sizeof *flows[i].rows, sample_ns);
	}
	for (i = 0; i < link_count; i++) {
		links[i].held_pkts.looks = rows_for(sizeof *links[i].held_pkts.looks, tick_ns);
		if (sample_ns)
			links[i].rows = rows_for(sizeof *links[i].rows, sample_ns);
	}
}

/* What a count has grown by since the warmup, where it has: what had arrived by then may be more than what is in order later. */
static unsigned long long since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void report_run(double idle)
{
	uint64_t short_of_memory = 0;
	int i;
	size_t j;

	for (i = 0; i < flow_count; i++)
		short_of_memory += node_shortages(flows[i].from) + node_shortages(flows[i].to);
	report("idle %.6f", idle / ((double)duration_ns * 1e-9));
	report("short-of-memory %llu", (unsigned long long)short_of_memory);
	for (i = 0; i < flow_count; i++) {
		struct flow *flow = &flows[i];
		struct totals *now = &flow->now, *before = &flow->before;

		report("flow %d %llu %llu %llu %llu %llu %llu %llu %.3f %.3f %u %lld %lld", i,
		       since(now->sent_pkts, before->sent_pkts), since(now->retransmitted_pkts, before->retransmitted_pkts),
		       since(now->timeouts, before->timeouts), since(now->delivered_pkts, before->delivered_pkts),
		       since(now->received_bytes, before->received_bytes), since(now->marked_pkts, before->marked_pkts),
		       since(now->spurious_pkts, before->spurious_pkts), mean_get(&flow->cwnd_pkts),
		       mean_get(&flow->srtt_us), mean_high(&flow->srtt_us), (long long)flow->slow_start_ns,
		       (long long)flow->done_ns);
		for (j = 0; j < flow->row_count; j++) {
			struct row *row = &flow->rows[j];

			report("flow-row %d %llu %u %u %u %u %u %u %llu %llu", i, (unsigned long long)row->at_ns,
			       row->cwnd_pkts, row->min_cwnd_pkts, row->max_cwnd_pkts, row->ssthresh_pkts, row->in_flight_pkts,
			       row->srtt_us, (unsigned long long)row->delivered_pkts, (unsigned long long)row->marked_pkts);
		}
	}
	for (i = 0; i < link_count; i++) {
		struct watched_link *link = &links[i];

		report("link %d %llu %llu %llu %llu %.4f %llu %u", i,
		       since(link->now.sent_pkts, link->before.sent_pkts), since(link->now.sent_bytes, link->before.sent_bytes),
		       since(link->now.dropped_pkts, link->before.dropped_pkts), since(link->now.marked_pkts, link->before.marked_pkts),
		       mean_get(&link->held_pkts), (unsigned long long)link->held_pkts.most, mean_high(&link->held_pkts));
		for (j = 0; j < link->row_count; j++)
			report("link-row %d %llu %u %u %llu %llu", i, (unsigned long long)link->rows[j].at_ns,
			       link->rows[j].held_pkts, link->rows[j].held_bytes,
			       (unsigned long long)link->rows[j].dropped_pkts,
			       (unsigned long long)link->rows[j].marked_pkts);
	}
}

void traffic_run(char *line)
{
	uint64_t due_ns = 0, percent = 0;
	double idle_before;
	int timer, i;

	duration_ns = number(&line);
	warmup_ns = number(&line);
	sample_ns = number(&line);
	tick_ns = number(&line);
	make_room();
	events = epoll_create1(EPOLL_CLOEXEC);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	watch(timer, TIMER, EPOLLIN);
	for (i = 0; i < flow_count; i++) {
		listen_for(&flows[i]);
		if (flows[i].has_ssthresh)
			first_connection(flows[i].from, flows[i].listening, &flows[i].address);
		watch(flows[i].listening, 2 * FLOWS_MAX + i, EPOLLIN);
	}
	probe_warm_up(flows[0].from);
	idle_before = idle_s();
	begin_ns = now_ns();
	filters_begin(begin_ns);
	for (;;) {
		int is_tick = due_ns % tick_ns == 0 || due_ns == duration_ns;

		set_timer(timer, due_ns);
		wait_until(due_ns);
		if (is_tick)
			look(due_ns);
		begin_and_end(due_ns, is_tick);
		if (due_ns == duration_ns)
			break;
		write_at_rates(due_ns);
		due_ns = next_ns(due_ns);
		if (due_ns * 100 / duration_ns != percent) {
			percent = due_ns * 100 / duration_ns;
			report("at %llu", (unsigned long long)percent);
		}
	}
	report_run(idle_s() - idle_before);
}
