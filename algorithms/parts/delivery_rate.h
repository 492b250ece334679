/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Delivery rates as BBR counts them: in 2^-24 segments per us, 256 segments per us at most, and what
 * they are in bytes/s to pace at.
 */
#ifndef DELIVERY_RATE_H
#define DELIVERY_RATE_H

#include "cc.h"

static inline u32 delivery_rate(u64 segments, u64 us)
{
	u64 rate = (segments << 24) / us;

	return rate < 0xffffffff ? (u32)rate : 0xffffffff;
}

/*
 * In bytes/s, less 1 %: a rate that is estimated a little too high would let the queue grow for
 * ever. bytes: in 2^-24 bytes per us, at most 2^60.
 */
static inline u64 delivery_rate_paced(u64 bytes)
{
	return (bytes >> 24) * 990000 + ((bytes & 0xffffff) * 990000 >> 24);
}

#endif /* DELIVERY_RATE_H */
