//! Threads that take shards through the same step at once.

#[cfg(not(target_family = "wasm"))]
type Pool = rayon::ThreadPool;
/// There is one thread.
#[cfg(target_family = "wasm")]
type Pool = std::convert::Infallible;

/// More for one run are no use.
pub const THREADS_MAX: usize = 256;

/// The calling thread, and others once a step is long enough for them.
pub struct Threads {
    count: usize,
    pool: Option<Pool>,
    together: bool,
}

impl Threads {
    /// At most `count`.
    pub fn new(count: usize) -> Threads {
        Threads { count, pool: None, together: false }
    }

    /// Whether the next steps are long enough for several threads. If the system makes no others, one takes them all.
    #[inline(always)]
    pub fn set_together(&mut self, together: bool) {
        self.together = together && self.count > 1;
        if self.together && self.pool.is_none() {
            self.pool = pool(self.count);
            if self.pool.is_none() {
                (self.count, self.together) = (1, false);
            }
        }
    }

    /// Takes each of `shards` through `step`, in any order or at the same time.
    #[inline(always)]
    pub fn for_each<S: Send>(&self, shards: &mut [S], step: impl Fn(&mut S) + Sync + Send) {
        match &self.pool {
            Some(pool) if self.together => for_each_at_once(pool, shards, step),
            _ => shards.iter_mut().for_each(step),
        }
    }
}

/// `count - 1` threads beside the calling one; None: the system makes none.
#[cfg(not(target_family = "wasm"))]
#[cold]
fn pool(count: usize) -> Option<Pool> {
    rayon::ThreadPoolBuilder::new().num_threads(count - 1).build().ok()
}

#[cfg(target_family = "wasm")]
fn pool(_: usize) -> Option<Pool> {
    None
}

#[cfg(not(target_family = "wasm"))]
fn for_each_at_once<S: Send>(pool: &Pool, shards: &mut [S], step: impl Fn(&mut S) + Sync + Send) {
    let Some((own, others)) = shards.split_first_mut() else { return };
    let step = &step;
    pool.in_place_scope(|scope| {
        others.iter_mut().for_each(|shard| scope.spawn(move |_| step(shard)));
        step(own);
    });
}

#[cfg(target_family = "wasm")]
fn for_each_at_once<S>(pool: &Pool, _: &mut [S], _: impl Fn(&mut S)) {
    match *pool {}
}
