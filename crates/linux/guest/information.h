/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef INFORMATION_H
#define INFORMATION_H

#include <linux/tcp.h>
#include <stddef.h>
#include <stdint.h>

/* TCP_INFO, with the fields of kernels of today behind those that every machine's headers have. */
union information {
	struct tcp_info of;
	struct {
		char before[offsetof(struct tcp_info, tcpi_snd_wnd)];
		uint32_t snd_wnd, rcv_wnd, rehash;
		uint16_t total_rto, total_rto_recoveries;
	} later;
	char all[512];
};

/* Returns 0 if the kernel describes it. */
int information_read(int fd, union information *info);

#endif
