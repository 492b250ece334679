# Equal flows over a dumbbell in ns-2.35: ns flows.tcl KEY=VALUE..., every key of P.
# Rates in Mbps, delays in ms, queues in packets, times in s. `jitter_s`: each flow starts at a random time below it.
# Prints the acknowledged payload in Mbps, and cwnd_ of the first flow every `look_s` seconds unless that is 0.
foreach arg $argv { regexp {^(.+)=(.+)$} $arg all key value; set P($key) $value }
remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
$ns use-scheduler Calendar
ns-random $P(seed)
set starts [new RNG]
$starts seed $P(seed)
Agent/TCP set packetSize_ 1000
Agent/TCP set window_ 1000000
Agent/TCP set timestamps_ true
Agent/TCP set minrto_ 0.2

proc link {a b rate delay queue} {
	global ns
	$ns duplex-link $a $b ${rate}Mb ${delay}ms DropTail
	$ns queue-limit $a $b $queue
	$ns queue-limit $b $a $queue
}

set left [$ns node]
set right [$ns node]
link $left $right 1000 100 $P(buffer)
for {set i 0} {$i < $P(flows)} {incr i} {
	set from [$ns node]
	set to [$ns node]
	link $from $left 1000 1 $P(access_buffer)
	link $right $to 1000 1 $P(access_buffer)
	set tcp($i) [new Agent/TCP/Linux]
	set sink [new Agent/TCPSink/Sack1]
	$ns attach-agent $from $tcp($i)
	$ns attach-agent $to $sink
	$ns connect $tcp($i) $sink
	set ftp [new Application/FTP]
	$ftp attach-agent $tcp($i)
	$ns at 0 "$tcp($i) select_ca $P(cca)"
	$ns at [expr {[$starts uniform 0 1] * $P(jitter_s)}] "$ftp start"
}
proc look {} {
	global ns tcp P
	puts "cwnd [format %.1f [$ns now]] [expr {int([$tcp(0) set cwnd_])}]"
	$ns at [expr {[$ns now] + $P(look_s)}] look
}
if {$P(look_s) > 0} { $ns at 0 look }
$ns at 100 {
	set acked 0
	for {set i 0} {$i < $P(flows)} {incr i} { incr acked [expr {[$tcp($i) set ack_] + 1}] }
	puts "goodput [expr {$acked * 8.0 * 1000 / 100 / 1e6}]"
	exit 0
}
$ns run
