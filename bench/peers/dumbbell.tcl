# A dumbbell in ns-2.35: ns dumbbell.tcl KEY=VALUE..., every key of P. Rates in Mbps, delays in ms, queues in packets.
# No headers but those needed, no trace, nothing that looks at a packet unless a queue drops it.
foreach arg $argv { regexp {^(.+)=(.+)$} $arg all key value; set P($key) $value }
remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
$ns use-scheduler Calendar
Agent/TCP set packetSize_ $P(payload)
Agent/TCP set window_ 1000000
Agent/TCP set timestamps_ true
Agent/TCP set minrto_ 0.2
Agent/TCPSink set ts_echo_rfc1323_ true

set drops [new QueueMonitor]
proc counted {target} {
	global drops
	set snoop [new SnoopQueue/Drop]
	$snoop set-monitor $drops
	$snoop target $target
	return $snoop
}
proc link {a b rate delay queue} {
	global ns
	$ns duplex-link $a $b ${rate}Mb ${delay}ms DropTail
	$ns queue-limit $a $b $queue
	$ns queue-limit $b $a 1000000
	set drophead [[$ns link $a $b] set drophead_]
	$drophead target [counted [$drophead target]]
}

set left [$ns node]
set right [$ns node]
link $left $right $P(rate) $P(delay) $P(buffer)
if {$P(per) > 0} {
	set losses [new ErrorModel]
	$losses set rate_ $P(per)
	$losses unit pkt
	$losses ranvar [new RandomVariable/Uniform]
	$losses drop-target [counted [new Agent/Null]]
	$ns link-lossmodel $losses $left $right
}
for {set i 0} {$i < $P(flows)} {incr i} {
	set from [$ns node]
	set to [$ns node]
	link $from $left $P(access_rate) $P(access_delay) $P(access_buffer)
	link $right $to $P(access_rate) $P(access_delay) $P(access_buffer)
	set tcp($i) [new Agent/TCP/Linux]
	set sink [new Agent/TCPSink/Sack1]
	$ns attach-agent $from $tcp($i)
	$ns attach-agent $to $sink
	$ns connect $tcp($i) $sink
	set ftp [new Application/FTP]
	$ftp attach-agent $tcp($i)
	$ns at 0 "$tcp($i) select_ca $P(cca)"
	$ns at [expr {$i * $P(stagger) / 1000.0}] "$ftp start"
}
$ns at $P(duration) {
	set sent 0
	set acked 0
	set lost [$drops set pdrops_]
	for {set i 0} {$i < $P(flows)} {incr i} {
		incr sent [$tcp($i) set ndatapack_]
		incr acked [expr {[$tcp($i) set ack_] + 1}]
	}
	set goodput [expr {$acked * 8.0 * $P(payload) / $P(duration) / 1e6}]
	puts "{\"packets\": $sent, \"lost_pkts\": $lost, \"goodput_mbps\": $goodput}"
	exit 0
}
$ns run
