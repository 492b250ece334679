//! Threads that take shards through the same step at once.

#[cfg(not(target_family = "wasm"))]
type Others = awake::Pool;
/// There is one thread.
#[cfg(target_family = "wasm")]
type Others = std::convert::Infallible;

/// More for one run are no use.
pub const THREADS_MAX: usize = 256;

/// The calling thread, and others once a step is long enough for them.
pub struct Threads {
    count: usize,
    others: Option<Others>,
    together: bool,
}

impl Threads {
    /// At most `count`.
    pub fn new(count: usize) -> Threads {
        Threads { count, others: None, together: false }
    }

    /// Sets whether the next steps are long enough for several threads. If the system makes no others, one takes them all.
    #[inline(always)]
    pub fn set_together(&mut self, together: bool) {
        self.together = together && self.count > 1;
        if self.together && self.others.is_none() {
            self.others = others(self.count - 1);
            if self.others.is_none() {
                (self.count, self.together) = (1, false);
            }
        }
    }

    /// Takes each of `shards` through `step`, in any order or at the same time.
    #[inline(always)]
    pub fn for_each<S: Send>(&self, shards: &mut [S], step: impl Fn(&mut S) + Sync + Send) {
        match &self.others {
            Some(others) if self.together => for_each_at_once(others, shards, step),
            _ => shards.iter_mut().for_each(step),
        }
    }
}

#[cfg(not(target_family = "wasm"))]
fn others(count: usize) -> Option<Others> {
    Others::new(count)
}

#[cfg(target_family = "wasm")]
fn others(_: usize) -> Option<Others> {
    None
}

#[cfg(not(target_family = "wasm"))]
fn for_each_at_once<S: Send>(others: &Others, shards: &mut [S], step: impl Fn(&mut S) + Sync + Send) {
    others.for_each(shards, step);
}

#[cfg(target_family = "wasm")]
fn for_each_at_once<S>(others: &Others, _: &mut [S], _: impl Fn(&mut S)) {
    match *others {}
}

/// Threads that wait for the next step awake: steps follow each other faster than a system wakes threads.
#[cfg(not(target_family = "wasm"))]
mod awake {
    use std::hint::spin_loop;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
    use std::thread::available_parallelism;
    use std::time::{Duration, Instant};

    /// For this long the calling thread waits awake for the others: asleep, it leaves its core to one that has none.
    const OTHERS_MAX: Duration = Duration::from_micros(500);
    /// For this long the others wait awake for the next step, which one thread prepares.
    const NEXT_STEP_MAX: Duration = Duration::from_millis(5);
    /// Between two looks at the clock.
    const ROUNDS: u32 = 64;

    pub struct Pool {
        pool: rayon::ThreadPool,
        /// Each thread has a core.
        stays_awake: bool,
        /// Number of the steps that have begun.
        count: Arc<AtomicUsize>,
    }

    impl Pool {
        /// `count` threads beside the calling one; None: the system makes none.
        #[cold]
        pub fn new(count: usize) -> Option<Pool> {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().ok()?;
            let cores = available_parallelism().map_or(1, usize::from);
            Some(Pool { pool, stays_awake: count < cores, count: Arc::default() })
        }

        pub fn for_each<S: Send>(&self, shards: &mut [S], step: impl Fn(&mut S) + Sync + Send) {
            let Some((own, others)) = shards.split_first_mut() else { return };
            let (step, unfinished) = (&step, &AtomicUsize::new(others.len()));
            let begun = self.count.fetch_add(1, Relaxed) + 1;
            self.pool.in_place_scope(|scope| {
                for shard in others {
                    scope.spawn(move |_| {
                        step(shard);
                        unfinished.fetch_sub(1, Release);
                    });
                }
                step(own);
                if self.stays_awake {
                    stay_awake(OTHERS_MAX, || unfinished.load(Acquire) > 0);
                }
            });
            if self.stays_awake {
                let count = self.count.clone();
                self.pool
                    .spawn_broadcast(move |_| stay_awake(NEXT_STEP_MAX, || count.load(Relaxed) == begun));
            }
        }
    }

    /// As long as there is something to `wait` for, and no longer than `most`.
    fn stay_awake(most: Duration, wait: impl Fn() -> bool) {
        let begun = Instant::now();
        while wait() && begun.elapsed() < most {
            (0..ROUNDS).for_each(|_| spin_loop());
        }
    }
}
