/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "guest.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/io.h>
#include <sys/reboot.h>
#include <unistd.h>

/* QEMU's isa-debugcon and isa-debug-exit: no driver, no interrupt. */
#define CONSOLE_PORT 0xe9
#define EXIT_PORT 0xf4

void report_begin(void)
{
	if (ioperm(CONSOLE_PORT, 1, 1) || ioperm(EXIT_PORT, 4, 1))
		reboot(RB_POWER_OFF);
}

static void put(const char *text)
{
	for (; *text; text++)
		outb((unsigned char)*text, CONSOLE_PORT);
}

void report(const char *format, ...)
{
	char line[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	put(line);
	put("\n");
}

void fail(const char *format, ...)
{
	char line[1024];
	const char *reason = errno ? strerror(errno) : "not in the plan's form";
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	report("failed %s: %s", line, reason);
	power_off();
}

void power_off(void)
{
	outl(0, EXIT_PORT);
	for (;;)
		pause();
}
