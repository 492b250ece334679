//! One run on several threads at once: spans long enough for them.

use crate::common::{answer_on_threads, read};
use cwnd_results::Run;

/// Thousands of flows and transfers: packets of all meet at a link, those of some at another before it, and their ACKs at a third.
fn thousands_of_flows(queue: &str, samples: &str) -> String {
    format!(
        "duration = '400 ms'\nsamples = {samples}\nwarmup = '100 ms'\n\
         [[links]]\nname = 'near'\nrate = '9 Gbps'\ndelay = '2 ms'\nbuffer = 3000\n\
         [[links]]\nname = 'far'\nrate = '10 Gbps'\ndelay = '3 ms'\nbuffer = 4000\nqueue = '{queue}'\n\
         [[links]]\nname = 'back'\nrate = '1 Gbps'\ndelay = '5 ms'\nbuffer = 1000\n\
         [[flows]]\ncca = 'cubic'\ncount = 900\npath = ['near', 'far']\nreverse_path = ['back']\nstart_jitter = '20 ms'\n\
         [[flows]]\ncca = 'reno'\ncount = 900\npath = ['far']\n\
         [[flows]]\ncca = 'bbr'\ncount = 100\npath = ['far']\n\
         [[flows]]\ncca = 'udp'\napp_rate = '1 Gbps'\npath = ['near', 'far']\n\
         [[flows]]\ncca = 'cubic'\npath = ['far']\nsize = '20 kB'\n\
         arrivals = {{ process = 'poisson', rate = 3000 }}\n"
    )
}

#[test]
#[ignore = "slow"]
fn thousands_of_flows_have_the_same_results_on_any_number_of_threads() {
    for (queue, samples) in
        [("droptail", "'change'"), ("codel", "20\nsamples_by = 'group'"), ("fq-codel", "20")]
    {
        let scenario = read(&thousands_of_flows(queue, samples));
        let text = |run: &Run| format!("{run:#?}");
        let alone = answer_on_threads(&scenario, 1);
        assert!(alone.packets > 200_000, "{queue}: {}", alone.packets);
        let alone = text(&alone);
        for threads in [2, 3, 7] {
            let together = text(&answer_on_threads(&scenario, threads));
            let differ = alone.lines().zip(together.lines()).find(|(alone, together)| alone != together);
            assert_eq!(differ, None, "{queue} on {threads} threads");
            assert_eq!(alone.lines().count(), together.lines().count());
        }
    }
}
