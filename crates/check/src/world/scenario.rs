//! What guests do, as data that any machine can run.

/// What one guest thread does.
pub type Guest = Box<dyn FnOnce() + Send>;

/// Waves of guests: the threads of a wave start when those of the previous one have ended.
pub struct Scenario {
    pub(crate) waves: Vec<Vec<Guest>>,
    pub(crate) finally: Guest,
    pub(crate) deadlines: bool,
}

impl Scenario {
    /// Creates a scenario without guests.
    pub fn new() -> Self {
        Scenario { waves: vec![Vec::new()], finally: Box::new(|| {}), deadlines: false }
    }

    /// Adds a guest to the current wave.
    pub fn guest(mut self, guest: impl FnOnce() + Send + 'static) -> Self {
        self.waves.last_mut().expect("there is always a wave").push(Box::new(guest));
        self
    }

    /// Adds `n` guests to the current wave; `guest` makes each from its number, counted from 0.
    pub fn guests<G: FnOnce() + Send + 'static>(self, n: usize, guest: impl Fn(usize) -> G) -> Self {
        (0..n).fold(self, |scenario, i| scenario.guest(guest(i)))
    }

    /// Begins another wave.
    pub fn then(mut self) -> Self {
        self.waves.push(Vec::new());
        self
    }

    /// Sets what to check when all guests have ended.
    pub fn finally(mut self, f: impl FnOnce() + Send + 'static) -> Self {
        self.finally = Box::new(f);
        self
    }

    /// Says that deadlines matter in this scenario. A world in which their passing takes effort
    /// need not let them pass otherwise.
    pub fn with_deadlines(mut self) -> Self {
        self.deadlines = true;
        self
    }

    /// Returns the waves, what comes after them, and whether deadlines matter. Worlds call this.
    pub fn into_parts(self) -> (Vec<Vec<Guest>>, Guest, bool) {
        (self.waves, self.finally, self.deadlines)
    }
}

impl Default for Scenario {
    fn default() -> Self {
        Scenario::new()
    }
}
