//! What guests do, as data: any machine can run it.

/// What one guest thread does.
pub type Guest = Box<dyn FnOnce() + Send>;

/// Waves of guests: the threads of a wave start when those of the last one have ended.
pub struct Scenario {
    pub(crate) waves: Vec<Vec<Guest>>,
    pub(crate) finally: Guest,
    pub(crate) deadlines: bool,
}

impl Scenario {
    /// A scenario without guests.
    pub fn new() -> Self {
        Scenario { waves: vec![Vec::new()], finally: Box::new(|| {}), deadlines: false }
    }

    /// One more guest in the current wave.
    pub fn guest(mut self, guest: impl FnOnce() + Send + 'static) -> Self {
        self.waves.last_mut().expect("there is always a wave").push(Box::new(guest));
        self
    }

    /// `n` more guests in the current wave, made by `guest` from their numbers, from 0.
    pub fn guests<G: FnOnce() + Send + 'static>(self, n: usize, guest: impl Fn(usize) -> G) -> Self {
        (0..n).fold(self, |scenario, i| scenario.guest(guest(i)))
    }

    /// Begins another wave.
    pub fn then(mut self) -> Self {
        self.waves.push(Vec::new());
        self
    }

    /// What to look at when all guests have ended.
    pub fn finally(mut self, f: impl FnOnce() + Send + 'static) -> Self {
        self.finally = Box::new(f);
        self
    }

    /// Deadlines matter here: a world in which their passing costs effort need not let them pass otherwise.
    pub fn with_deadlines(mut self) -> Self {
        self.deadlines = true;
        self
    }

    /// The waves, what comes after them, and whether deadlines matter: for worlds.
    pub fn into_parts(self) -> (Vec<Vec<Guest>>, Guest, bool) {
        (self.waves, self.finally, self.deadlines)
    }
}

impl Default for Scenario {
    fn default() -> Self {
        Scenario::new()
    }
}
