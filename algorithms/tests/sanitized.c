/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Feeds every algorithm, with every parameter at its default, first named, smallest and largest value,
 * the most extreme streams the contract allows. Built with -fsanitize=undefined by sanitized.rs.
 */
#include <stdio.h>
#include <string.h>

#include "../src/table.c"

static u64 seed = 0x9e3779b97f4a7c15ULL;

static u32 pick(const u32 *from, u32 count)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return from[seed % count];
}

#define PICK(...)                                                    \
	pick((const u32[]){ __VA_ARGS__ },                           \
	     sizeof((const u32[]){ __VA_ARGS__ }) / sizeof(u32))

static void lose(const struct cc_algorithm *alg, void *ca, const u32 *p, struct cc_window *w,
		 const struct cc_ack *a, int timeout)
{
	u8 state = timeout ? CC_LOSS : CC_RECOVERY;

	w->prior_cwnd = w->cwnd;
	w->ssthresh = alg->ssthresh(ca, p, w, a);
	if (timeout && alg->cwnd_event)
		alg->cwnd_event(ca, p, w, a, CC_RTO);
	if (timeout)
		w->cwnd = 1;
	if (alg->set_state)
		alg->set_state(ca, p, w, a, state);
	if (!timeout && !alg->cong_control)
		w->cwnd = w->ssthresh;
	w->cwnd_cnt = 0;
}

static void event(const struct cc_algorithm *alg, void *ca, const u32 *p, struct cc_window *w,
		  const struct cc_ack *a)
{
	switch (PICK(0, 1, 2, 3, 4)) {
	case 0:
		lose(alg, ca, p, w, a, 0);
		break;
	case 1:
		lose(alg, ca, p, w, a, 1);
		break;
	case 2:
		w->cwnd = alg->undo_cwnd ? alg->undo_cwnd(ca, p, w, a) : cc_max(w->cwnd, w->prior_cwnd);
		break;
	case 3:
		if (alg->cwnd_event)
			alg->cwnd_event(ca, p, w, a, (u8)PICK(CC_TX_START, CC_CWND_RESTART));
		break;
	default:
		w->cwnd = PICK(1, 2, 3, 10000, 1U << 30, 1U << 31);
	}
}

static int stream(const struct cc_algorithm *alg, const u32 *p)
{
	u64 state[CC_STATE_BYTES / 8] = { 0 };
	struct cc_window w = { .cwnd = PICK(1, 2, 10, 1U << 31), .cwnd_clamp = PICK(0, 1, 1U << 31, 1U << 31) };
	struct cc_ack a = { .mss = PICK(0, 1, 1448, 65535), .delivered = PICK(0, 1) * 1000000000000ULL, .now_us = PICK(0, 1) * (1ULL << 62) };
	u32 i;

	w.ssthresh = PICK(0, 2, 100, CC_SSTHRESH_INFINITE);
	if (alg->init)
		alg->init(state, p, &w, &a);
	for (i = 0; i < 400; i++) {
		a.acked = cc_min(PICK(0, 1, 2, 100, 1U << 31), w.cwnd);
		a.now_us += PICK(0, 1, 1000, 1000000, 600000000);
		a.rtt_us = PICK(0, 1, 2, 100000, 600000000, 0xffffffff);
		a.delivered += a.acked;
		a.prior_in_flight = w.cwnd;
		a.in_flight = w.cwnd - a.acked;
		a.chance = PICK(0, 1, 0xffffffff);
		a.snd_wnd = PICK(0, 1, 50, 1U << 31);
		a.lost = PICK(0, 0, 0, 1, 1U << 31);
		a.rate_delivered = PICK(0, 1, 1000, 1U << 31);
		a.rate_interval_us = PICK(0, 1, 100000, 600000000, 0xffffffff);
		a.rate_prior_delivered = a.delivered - cc_min((u32)a.delivered, a.rate_delivered);
		a.rate_in_flight = PICK(0, 1, 1000, 1U << 31);
		a.rate_lost = PICK(0, 0, 1, a.rate_in_flight);
		a.lost_total += a.lost;
		a.ce = PICK(0, 0, 1, a.acked);
		a.delivered_ce += a.ce;
		a.owd_us = PICK(0, 1, 100000, 600000000, 0xffffffff);
		a.flags = (u8)PICK(CC_CWND_LIMITED, CC_CWND_LIMITED, CC_APP_LIMITED | CC_RATE_APP_LIMITED, CC_ECE);
		a.state = (u8)PICK(CC_OPEN, CC_OPEN, CC_DISORDER, CC_RECOVERY, CC_LOSS);
		if (a.rtt_us) {
			a.srtt_us = a.rtt_us;
			a.min_rtt_us = a.min_rtt_us ? cc_min(a.min_rtt_us, a.rtt_us) : a.rtt_us;
			if (alg->pkts_acked)
				alg->pkts_acked(state, p, &w, &a);
		}
		if (alg->segment_lost && a.lost)
			alg->segment_lost(state, p, &w, &a);
		if (alg->cong_control)
			alg->cong_control(state, p, &w, &a);
		else if (a.state != CC_RECOVERY)
			alg->cong_avoid(state, p, &w, &a);
		if (!w.cwnd || (w.cwnd > 1U << 31)) {
			printf("%s: cwnd %u\n", alg->name, w.cwnd);
			return 1;
		}
		if (PICK(0, 0, 0, 0, 0, 0, 0, 0, 0, 1))
			event(alg, state, p, &w, &a);
	}
	return 0;
}

int main(void)
{
	u32 params[64], run;
	size_t i, j;

	for (i = 0; i < cwnd_algorithm_count; i++) {
		const struct cc_algorithm *alg = &cwnd_algorithms[i];

		for (run = 0; run < 2000; run++) {
			for (j = 0; j < alg->param_count; j++) {
				const struct cc_param_info *info = &alg->params[j];

				/* What choices name begins with 0. */
				params[j] = PICK(info->value, info->min, info->max, *info->choices ? 0 : info->min);
			}
			if (stream(alg, params))
				return 1;
		}
	}
	return 0;
}
