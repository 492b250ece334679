/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A cwnd that is a real number, as the agents of ns-2.35 have it: the stack's whole segments and a
 * fraction. It grows by ACKs, whatever limits the sender.
 */
#ifndef REAL_WINDOW_H
#define REAL_WINDOW_H

#include "parts/growth.h"

/* What a real cwnd has beyond its whole segments. */
struct real_window {
	u32 fraction; /* in 2^-32 segments */
	u32 left;     /* the fraction after the loss being repaired */
};

/* An ACK of one segment or more. */
static inline void real_window_growth(struct real_window *r, struct cc_window *w)
{
	u64 cwnd = (u64)w->cwnd << 32 | r->fraction, more;

	if (cc_in_slow_start(w)) {
		cc_grow(w, 1);
		return;
	}
	more = r->fraction + ~0ULL / cwnd;
	r->fraction = (u32)more;
	cc_grow(w, more >> 32);
}

/* part/4 of the window in use, whole segments; the fraction is kept for what follows the loss. */
static inline u32 real_window_part(struct real_window *r, const struct cc_window *w, u32 window, u32 part)
{
	u64 real = (u64)window << 32 | (window < w->cwnd ? 0 : r->fraction);

	real = (real >> 2) * part;
	r->left = (u32)real;
	return cc_max((u32)(real >> 32), 2);
}

/* The stack has set cwnd for the repair of a loss. */
static inline void real_window_set_state(struct real_window *r, const struct cc_window *w, u8 state)
{
	if (state == CC_RECOVERY || state == CC_CWR)
		r->fraction = w->cwnd > 1 ? r->left : 0;
	else if (state == CC_LOSS)
		r->fraction = 0;
}

#endif /* REAL_WINDOW_H */
