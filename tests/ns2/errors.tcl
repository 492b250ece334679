# Flows of the Discrete TCP paper in ns-2.35: ns errors.tcl KEY=VALUE..., every key of P.
# `flows`: 1, Fig. 3: two links of 100 Mbps, of which the second loses packets; 2, Fig. 5: a bottleneck of 5 Mbps, which loses them.
# `agent` is the part of Agent/TCP/NAME, `-` for Agent/TCP itself, `sink` that of Agent/TCPSink/NAME.
# Prints the highest sequence numbers that were sent, added up.
foreach arg $argv { regexp {^(.+)=(.+)$} $arg all key value; set P($key) $value }
set ns [new Simulator]
ns-random $P(seed)
Agent/TCP set packetSize_ 1500
Agent/TCP set window_ 50
Agent/TCP set useHeaders_ true

proc class {base part} { return [expr {$part eq "-" ? $base : "$base/$part"}] }

proc link {a b rate delay} {
	global ns
	$ns duplex-link $a $b ${rate}Mb ${delay}ms DropTail
	$ns queue-limit $a $b 50
	$ns queue-limit $b $a 50
}

proc lose {a b} {
	global ns P
	set errors [new ErrorModel]
	$errors unit pkt
	$errors set rate_ $P(per)
	$errors ranvar [new RandomVariable/Uniform]
	$errors drop-target [new Agent/Null]
	$ns link-lossmodel $errors $a $b
}

proc flow {from to} {
	global ns P
	set tcp [new [class Agent/TCP $P(agent)]]
	set sink [new [class Agent/TCPSink $P(sink)]]
	$ns attach-agent $from $tcp
	$ns attach-agent $to $sink
	$ns connect $tcp $sink
	set ftp [new Application/FTP]
	$ftp attach-agent $tcp
	$ns at 0 "$ftp start"
	return $tcp
}

set left [$ns node]
set right [$ns node]
if {$P(flows) == 1} {
	set from [$ns node]
	link $from $left 100 50
	link $left $right 100 50
	lappend senders [flow $from $right]
} else {
	link $left $right 5 100
	for {set i 0} {$i < $P(flows)} {incr i} {
		set from [$ns node]
		set to [$ns node]
		link $from $left 10 1
		link $right $to 10 1
		lappend senders [flow $from $to]
	}
}
lose $left $right
$ns at 100 {
	set sent 0
	foreach tcp $senders { incr sent [$tcp set maxseq_] }
	puts "sent $sent"
	exit 0
}
$ns run
