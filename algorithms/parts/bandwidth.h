/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The rate at which a connection's segments arrive, once per RTT, as TCP Westwood+ estimates it
 * (L. A. Grieco, S. Mascolo, "Performance evaluation and comparison of Westwood+, New Reno and
 * Vegas TCP congestion control", ACM CCR 34(2), 2004):
 *
 *   b_k   = segments delivered in the k-th RTT / its duration
 *   BWE_k = 0.9 BWE_{k-1} + 0.1 (b_k + b_{k-1}) / 2,  BWE_1 = b_1
 *
 * An RTT is over when a segment is delivered that was sent after the last one was over.
 */
#ifndef BANDWIDTH_H
#define BANDWIDTH_H

#include "cc.h"

#define BANDWIDTH_MOST (1ULL << 42) /* 1024 segments per us */

struct bandwidth {
	u64 round_end;        /* an RTT is over when more than these segments are delivered */
	u64 start_us;         /* when this RTT began */
	u64 start_delivered;  /* and the segments delivered until then */
	u64 last;             /* b_{k-1}, in 2^-32 segments per us */
	u64 estimate;         /* BWE, likewise; 0: none yet */
};

static inline void bandwidth_start(struct bandwidth *b, const struct cc_ack *a)
{
	b->round_end = a->delivered + a->in_flight;
	b->start_us = a->now_us;
	b->start_delivered = a->delivered;
}

/* To be called for every ACK, that is, from pkts_acked. */
static inline void bandwidth_sample(struct bandwidth *b, const struct cc_ack *a)
{
	u64 segments = cc_since(a->delivered, b->start_delivered), time = a->now_us - b->start_us, rate;

	if (!cc_after(a->delivered, b->round_end))
		return;
	segments = segments < 1U << 31 ? segments : 1U << 31;
	rate = (segments << 32) / (time ? time : 1);
	rate = rate < BANDWIDTH_MOST ? rate : BANDWIDTH_MOST;
	if (b->estimate)
		b->estimate = (18 * b->estimate + rate + b->last) / 20;
	else
		b->estimate = rate;
	b->last = rate;
	bandwidth_start(b, a);
}

#endif /* BANDWIDTH_H */
