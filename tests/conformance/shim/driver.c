/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * driver NAME [PARAMETER=VALUE | --sacked-once | --by-delivery | --edge-acks]... < events > answers
 *
 * Plays a stack to the kernel's module NAME: reads events of one connection, calls the module's
 * hook for each and writes the windows after it. The kinds of events and the three structs below
 * are those of tests/kernel.rs.
 */
#include "shim.h"

#include <stdio.h>

#define CC_HAVE_TYPES
#include "cc.h"
#include "parts/growth.h"

struct event {
	u32 kind, arg;
	struct cc_ack a;
	struct stack {
		u32 una, nxt, sacked, lost, retransmitted; /* segments */
		u32 advance;       /* segments by which this ACK moves una */
		u32 lost_ever;
		u32 reserved;
		u64 delivered_us;  /* of the last delivery, or of the start of a flight */
		u64 last_sent_us;
	} s;
};

struct answer {
	u32 cwnd, ssthresh, returned, reserved;
	u64 pacing_rate;
};

enum kind {
	START, ACK_SEEN, PKTS_ACKED, CONG_AVOID, CONG_CONTROL, ACK_DONE, SSTHRESH, SET_STATE,
	CWND_EVENT, UNDO, SET_CWND, SET_SSTHRESH,
};

unsigned long jiffies;
u32 shim_random;

static struct net net = {
	.ipv4 = { .sysctl_tcp_min_tso_segs = 2, .sysctl_tcp_pacing_ss_ratio = 200,
		  .sysctl_tcp_pacing_ca_ratio = 120 },
};
static struct tcp_sock connection;
/* Where the contract's inputs differ from the kernel's: DIFFERENCES.md. */
static bool sacked_once; /* segments that were SACKed do not count again when the left edge passes */
static bool by_delivery; /* the left edge moves with each delivery, as if there were no holes */
static bool edge_acks;   /* of an ACK that does not move the left edge the module hears nothing */
static struct tcp_congestion_ops *algorithms[32];
static struct {
	const char *module, *name;
	void *value;
	size_t size;
} params[128];

int tcp_register_congestion_control(struct tcp_congestion_ops *ops)
{
	size_t i = 0;

	while (algorithms[i])
		i++;
	algorithms[i] = ops;
	return 0;
}

void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops)
{
	(void)ops;
}

void shim_param(const char *module, const char *name, void *value, size_t size)
{
	size_t i = 0;

	while (params[i].name)
		i++;
	params[i].module = module;
	params[i].name = name;
	params[i].value = value;
	params[i].size = size;
}

/* The stack's arithmetic is the contract's; the vectors of the headers check that. */
static struct cc_window window(const struct tcp_sock *tp)
{
	return (struct cc_window){ .cwnd = tp->snd_cwnd, .cwnd_cnt = tp->snd_cwnd_cnt,
				   .ssthresh = tp->snd_ssthresh, .cwnd_clamp = tp->snd_cwnd_clamp };
}

static void take(struct tcp_sock *tp, const struct cc_window *w)
{
	tp->snd_cwnd = w->cwnd;
	tp->snd_cwnd_cnt = w->cwnd_cnt;
}

u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	struct cc_window w = window(tp);
	u32 left = cc_slow_start(&w, acked);

	take(tp, &w);
	return left;
}

void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 per, u32 acked)
{
	struct cc_window w = window(tp);

	cc_additive_increase(&w, per, acked);
	take(tp, &w);
}

void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct cc_window w = window(tcp_sk(sk));

	(void)ack;
	if (!tcp_is_cwnd_limited(sk))
		return;
	cc_reno_growth(&w, acked);
	take(tcp_sk(sk), &w);
}

u32 tcp_reno_ssthresh(struct sock *sk)
{
	return cc_max(tcp_sk(sk)->snd_cwnd / 2, 2);
}

u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	return cc_max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

/* Three quarters of cwnd are what a flight has just proved to fit. */
u32 tcp_current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;

	if (state == TCP_CA_CWR || state == TCP_CA_Recovery)
		return tp->snd_ssthresh;
	return cc_max(tp->snd_ssthresh, tp->snd_cwnd / 2 + tp->snd_cwnd / 4);
}

static struct tcp_congestion_ops reno = {
	.name = "reno", .ssthresh = tcp_reno_ssthresh, .cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

/* Twice the rate of a window per RTT in slow start, 1.2 times later; whole srtt_us / 8. */
static void set_pacing_rate(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = tp->mss_cache * 80000ULL;

	rate *= tp->snd_cwnd < tp->snd_ssthresh / 2 ? 200 : 120;
	rate *= cc_max(tp->snd_cwnd, tp->packets_out);
	sk->sk_pacing_rate = tp->srtt_us ? rate / tp->srtt_us : rate;
}

/* What the stack knows at an event. */
static void learn(struct tcp_sock *tp, const struct event *e)
{
	const struct cc_ack *a = &e->a;
	u32 first = 0xfffff000; /* sequence numbers wrap early */

	tp->tcp_mstamp = a->now_us;
	tp->tcp_clock_cache = a->now_us * 1000;
	jiffies = a->now_us / 1000;
	tp->mss_cache = a->mss;
	tp->snd_una = first + e->s.una * a->mss;
	tp->snd_nxt = first + e->s.nxt * a->mss;
	if (by_delivery) {
		tp->snd_una = first + (u32)a->delivered * a->mss;
		tp->snd_nxt = tp->snd_una + (e->kind == START ? 0 : a->in_flight) * a->mss;
	}
	tp->packets_out = e->s.nxt - e->s.una;
	tp->sacked_out = e->s.sacked;
	tp->lost_out = e->s.lost;
	tp->retrans_out = e->s.retransmitted;
	tp->lost = e->s.lost_ever;
	tp->lsndtime = (u32)(e->s.last_sent_us / 1000);
	tp->delivered = (u32)a->delivered;
	tp->delivered_ce = (u32)a->delivered_ce;
	tp->delivered_mstamp = e->s.delivered_us;
	tp->srtt_us = a->srtt_us << 3;
	tp->min_rtt_us = a->min_rtt_us;
	tp->app_limited = a->flags & CC_APP_LIMITED ? cc_max((u32)a->delivered + a->in_flight, 1) : 0;
	tp->is_cwnd_limited = cc_cwnd_limited(a);
	shim_random = cc_random(a);
}

static void start(struct tcp_congestion_ops *ops, const struct event *e)
{
	struct tcp_sock *tp = &connection;
	struct sock *sk = &tp->icsk.sk;

	memset(tp, 0, sizeof(*tp));
	sk->sk_net = &net;
	sk->sk_max_pacing_rate = ~0UL;
	sk->sk_pacing_shift = 63; /* bursts of one segment: DIFFERENCES.md */
	sk->sk_gso_max_size = GSO_LEGACY_MAX_SIZE - (MAX_TCP_HEADER + 1);
	tp->snd_cwnd = e->arg;
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tp->snd_cwnd_clamp = ~0U;
	tp->ecn_flags = TCP_ECN_OK;
	learn(tp, e);
	if (ops->init)
		ops->init(sk);
}

/* The kernel's own ack event comes before the ACK's RTT sample is known. */
static void ack_seen(struct tcp_congestion_ops *ops, const struct event *e)
{
	struct tcp_sock *tp = &connection;
	u32 srtt_us = tp->srtt_us, min_rtt_us = tp->min_rtt_us, unacked = tp->snd_una;

	learn(tp, e);
	/* What the ACK delivers is counted after it. */
	if (by_delivery) {
		tp->delivered -= e->a.acked;
		tp->delivered_ce -= e->a.ce;
	}
	tp->srtt_us = srtt_us;
	tp->min_rtt_us = min_rtt_us;
	if (ops->in_ack_event && (e->s.advance || !edge_acks))
		ops->in_ack_event(&tp->icsk.sk,
				  tp->snd_una != unacked && (by_delivery || !tp->sacked_out) ? CA_ACK_WIN_UPDATE : CA_ACK_SLOWPATH);
}

static u32 happen(struct tcp_congestion_ops *ops, const struct event *e)
{
	struct tcp_sock *tp = &connection;
	struct sock *sk = &tp->icsk.sk;
	const struct cc_ack *a = &e->a;
	struct ack_sample sample = { sacked_once ? cc_min(e->s.advance, a->acked) : e->s.advance, a->rtt_us ? (s32)a->rtt_us : -1, a->in_flight };
	struct rate_sample rs = {
		.prior_delivered = (u32)a->rate_prior_delivered,
		.delivered = a->rate_interval_us ? (s32)a->rate_delivered : -1,
		.interval_us = a->rate_interval_us ? (long)a->rate_interval_us : -1,
		.rtt_us = a->rtt_us ? (long)a->rtt_us : -1,
		.losses = (int)a->lost,
		.acked_sacked = a->acked,
		.prior_in_flight = a->prior_in_flight,
		.is_app_limited = a->flags & CC_RATE_APP_LIMITED,
	};

	learn(tp, e);
	switch ((enum kind)e->kind) {
	case PKTS_ACKED:
		if (ops->pkts_acked)
			ops->pkts_acked(sk, &sample);
		break;
	case CONG_AVOID:
		ops->cong_avoid(sk, tp->snd_una, a->acked);
		break;
	case CONG_CONTROL:
		ops->cong_control(sk, &rs);
		break;
	case ACK_DONE:
		if (!ops->cong_control)
			set_pacing_rate(sk);
		break;
	case SSTHRESH:
		tp->snd_cwnd_cnt = 0;
		tp->prior_cwnd = tp->snd_cwnd;
		return tp->snd_ssthresh = ops->ssthresh(sk);
	case SET_STATE:
		if (ops->set_state)
			ops->set_state(sk, (u8)e->arg);
		tp->icsk.icsk_ca_state = (u8)e->arg;
		break;
	case CWND_EVENT:
		if (ops->cwnd_event)
			ops->cwnd_event(sk, e->arg);
		break;
	case UNDO:
		return tp->snd_cwnd = ops->undo_cwnd(sk);
	case SET_CWND:
		tp->snd_cwnd = e->arg;
		break;
	case SET_SSTHRESH:
		tp->snd_ssthresh = e->arg;
		break;
	case START:
	case ACK_SEEN:
		break;
	}
	return 0;
}

static void set_param(const char *module, char *setting)
{
	char *value = strchr(setting, '=');
	size_t i;

	if (value) {
		*value++ = 0;
		for (i = 0; params[i].name; i++) {
			if (strcmp(params[i].module, module) || strcmp(params[i].name, setting) ||
			    params[i].size != sizeof(int))
				continue;
			*(int *)params[i].value = atoi(value);
			return;
		}
	}
	fprintf(stderr, "%s has no parameter '%s'\n", module, setting);
	exit(2);
}

int main(int argc, char **argv)
{
	struct tcp_congestion_ops *ops = NULL;
	static struct event e;
	size_t i;

	tcp_register_congestion_control(&reno);
	for (i = 0; argc > 1 && algorithms[i]; i++)
		if (!strcmp(algorithms[i]->name, argv[1]))
			ops = algorithms[i];
	if (!ops) {
		fprintf(stderr, "no such algorithm\n");
		return 2;
	}
	for (i = 2; i < (size_t)argc; i++) {
		if (!strcmp(argv[i], "--sacked-once"))
			sacked_once = true;
		else if (!strcmp(argv[i], "--by-delivery"))
			by_delivery = true;
		else if (!strcmp(argv[i], "--edge-acks"))
			edge_acks = true;
		else
			set_param(argv[1], argv[i]);
	}
	while (fread(&e, sizeof(e), 1, stdin) == 1) {
		struct answer answer = { 0 };

		if (e.kind == START)
			start(ops, &e);
		else if (e.kind == ACK_SEEN)
			ack_seen(ops, &e);
		else
			answer.returned = happen(ops, &e);
		answer.cwnd = connection.snd_cwnd;
		answer.ssthresh = connection.snd_ssthresh;
		answer.pacing_rate = connection.icsk.sk.sk_pacing_rate;
		fwrite(&answer, sizeof(answer), 1, stdout);
	}
	return 0;
}
