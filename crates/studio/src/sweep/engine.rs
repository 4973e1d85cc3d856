//! Which point runs next, and what happens with its result.

use super::SweepError;
use super::memory::Memory;
use super::plan::Plan;
use super::pool::{Ended, Outcome, Pool};
use super::queue::{Queue, Task};
use super::repeat::Groups;
use crate::space::Seeds;
use crate::store::{Claim, Row, Writer};
use crate::subject::{Failure, Why};
use crate::value::Value;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest time that the sweep waits for a result before it asks [`Options::stop`] again.
const LOOK: Duration = Duration::from_millis(50);

/// How a sweep runs.
pub struct Options<'a> {
    /// The number of points that run at the same time.
    pub workers: usize,
    /// Whether the sweep is to end at once.
    pub stop: &'a dyn Fn() -> bool,
    /// The numbers of the combinations to run, each once, below the space's number of combinations; `None` for all.
    pub only: Option<&'a [u64]>,
}

/// Sees what a sweep does.
pub trait Watch {
    /// This sweep has put `row` into the store.
    fn row(&mut self, row: &Row, state: &SweepProgress);
    /// Called at least once in each turn of the sweep's loop, also when no point has ended.
    fn tick(&mut self, state: &SweepProgress);
}

/// How far a sweep is.
#[derive(Clone, Debug, Default)]
pub struct SweepProgress {
    /// Rows of the complete sweep; with `until`, those that are known to be needed so far.
    pub whole: u64,
    /// Rows that this sweep did not have to add: they were in the store before, or another process,
    /// or an equal combination of this sweep, has added them.
    pub before: u64,
    /// Rows that this sweep has added.
    pub added: u64,
    /// Rows of this sweep that are failures.
    pub failed: u64,
    /// Points that run.
    pub running: usize,
    /// The time since the beginning.
    pub elapsed: Duration,
    /// The best value of the goal's metric among the rows that this sweep has added.
    pub best: Option<Best>,
}

/// A value of the goal's metric, and the point that gave it.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// The value.
    pub value: f64,
    /// The values of the axes, as `lock=mcs threads=4`.
    pub point: String,
}

impl SweepProgress {
    /// Rows that this sweep has added a second, as a mean since its beginning.
    pub fn rate(&self) -> f64 {
        self.added as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// How long the rest takes at the rate so far; `None` before this sweep has added a row.
    pub fn left(&self) -> Option<Duration> {
        let rest = self.whole.saturating_sub(self.before + self.added) as f64;
        (self.added > 0).then(|| Duration::try_from_secs_f64(rest / self.rate()).ok()).flatten()
    }
}

/// Why a sweep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All points have their rows.
    Done,
    /// The budget is used up.
    Budget,
    /// [`Options::stop`] returned true.
    Stopped,
    /// Threads of points that were given up for their time still have the memory that the next
    /// point needs. They end with the process.
    Memory,
}

/// Runs the points of a space that the store lacks. A row is in the store as soon as its point has
/// ended; points that still run when the sweep is stopped get no row.
///
/// # Errors
/// The store cannot be read or written, or a coupled value does not fit into its column.
pub fn sweep(
    plan: &Arc<Plan>,
    writer: &mut Writer,
    options: &Options<'_>,
    watch: &mut dyn Watch,
) -> Result<(End, SweepProgress), SweepError> {
    let space = &plan.space;
    let mut sweep = Sweep {
        plan,
        writer,
        pool: Pool::new(plan, options.workers.max(1)),
        queue: Queue::new(plan, options.only.map(<[u64]>::to_vec)),
        more: VecDeque::new(),
        theirs: VecDeque::new(),
        running: HashMap::new(),
        groups: Groups::default(),
        memory: Memory::new(space.limits.memory),
        given_up: HashMap::new(),
        waits_since: None,
        began: Instant::now(),
        started: 0,
        state: SweepProgress {
            whole: options.only.map_or(plan.rows(), |only| plan.rows_of(only.len() as u64)),
            ..SweepProgress::default()
        },
    };
    let end = sweep.run(options, watch)?;
    sweep.look();
    Ok((end, sweep.state))
}

struct Sweep<'a> {
    plan: &'a Arc<Plan>,
    writer: &'a mut Writer,
    pool: Pool,
    queue: Queue,
    /// Repetitions, and points that were in `theirs`: both begin before new points.
    more: VecDeque<Task>,
    /// Points that another process has begun, or another combination with the same key.
    theirs: VecDeque<Task>,
    running: HashMap<u64, Task>,
    groups: Groups,
    memory: Memory,
    /// The memory of points that were given up and whose threads still run, by ticket.
    given_up: HashMap<u64, u64>,
    /// Since when no point runs because points that were given up have the memory.
    waits_since: Option<Instant>,
    began: Instant,
    /// Points that this sweep has begun.
    started: u64,
    state: SweepProgress,
}

/// What became of an attempt to begin a point.
enum Begun {
    /// The point runs, has its row, or waits among `theirs`.
    Yes,
    /// A thread or memory is lacking until another point ends. If no point runs, points that were
    /// given up have the memory.
    Later,
    /// No point is left to begin.
    Nothing,
}

impl Sweep<'_> {
    fn run(&mut self, options: &Options<'_>, watch: &mut dyn Watch) -> Result<End, SweepError> {
        loop {
            let (mut nothing, mut later) = (false, false);
            let spent = loop {
                if (options.stop)() {
                    return Ok(End::Stopped);
                }
                if self.is_spent() {
                    break true;
                }
                match self.begin(watch)? {
                    Begun::Yes => {}
                    Begun::Later => {
                        later = true;
                        break false;
                    }
                    Begun::Nothing => {
                        nothing = true;
                        break false;
                    }
                }
            };
            if self.running.is_empty() && spent {
                let all = self.state.before + self.state.added >= self.state.whole;
                return Ok(if all { End::Done } else { End::Budget });
            }
            if self.running.is_empty() && nothing && self.theirs.is_empty() {
                return Ok(End::Done);
            }
            if self.waits_too_long(later) {
                return Ok(End::Memory);
            }
            if nothing && self.running.is_empty() {
                // Other processes run the points that are left, or equal combinations have ended
                // here: claim these points again.
                std::thread::sleep(LOOK);
                self.more.append(&mut self.theirs);
            }
            match self.pool.wait(LOOK) {
                Some(Ended::Point(ticket, outcome)) => self.ended(ticket, outcome, watch)?,
                Some(Ended::GivenUp(ticket)) => {
                    self.memory.give_back(self.given_up.remove(&ticket).unwrap_or(0));
                }
                None => {}
            }
            if let Some(limit) = self.plan.space.limits.time {
                for ticket in self.pool.give_up(limit) {
                    self.give_up(ticket, limit, watch)?;
                }
            }
            self.writer.sync()?;
            self.look();
            watch.tick(&self.state);
        }
    }

    fn look(&mut self) {
        self.state.elapsed = self.began.elapsed();
        self.state.running = self.pool.running();
    }

    fn is_spent(&self) -> bool {
        let budget = &self.plan.space.budget;
        budget.points.is_some_and(|points| self.started >= points)
            || budget.time.is_some_and(|time| self.began.elapsed() >= time)
    }

    /// Takes the next point, and begins it unless it has its row or another process runs it.
    fn begin(&mut self, watch: &mut dyn Watch) -> Result<Begun, SweepError> {
        if !self.pool.is_free() {
            return Ok(Begun::Later);
        }
        let next = match self.more.pop_front() {
            Some(task) => Some(task),
            None => self.queue.pop()?,
        };
        let Some(mut task) = next else { return Ok(Begun::Nothing) };
        if self.writer.has(task.key) {
            return self.was_done(task);
        }
        if task.failure.is_none() {
            if let Some(reason) = self.memory.refuses(task.memory) {
                task.failure = Some(Failure::new(Why::Memory, reason));
            } else if !self.memory.has_room(task.memory, self.pool.running() + self.given_up.len()) {
                self.queue.push_front(task);
                return Ok(Begun::Later);
            }
        }
        match self.writer.claim(task.key)? {
            Claim::Done => return self.was_done(task),
            Claim::Theirs => {
                self.theirs.push_back(task);
                return Ok(Begun::Yes);
            }
            Claim::Mine => {}
        }
        self.started += 1;
        match task.failure.take() {
            Some(failure) => self.record(&task, Err(failure), watch)?,
            None => {
                self.memory.take(task.memory);
                let ticket = self.pool.start(task.number, task.seed, task.key);
                self.running.insert(ticket, task);
            }
        }
        Ok(Begun::Yes)
    }

    /// Counts a point that has its row already, and repeats it if its interval is too wide.
    fn was_done(&mut self, task: Task) -> Result<Begun, SweepError> {
        self.state.before += 1;
        let figures = self.writer.figures(task.key).map(<[_]>::to_vec);
        // A failed point has a row of nulls, and is not repeated.
        let figures = figures.filter(|figures| figures.iter().all(Option::is_some));
        self.repeat(&task, figures)?;
        Ok(Begun::Yes)
    }

    fn ended(&mut self, ticket: u64, outcome: Outcome, watch: &mut dyn Watch) -> Result<(), SweepError> {
        let Some(task) = self.running.remove(&ticket) else { return Ok(()) };
        self.memory.give_back(task.memory);
        self.record(&task, outcome, watch)
    }

    /// Records that a point ran too long. Its thread has its memory until the thread ends.
    fn give_up(&mut self, ticket: u64, limit: Duration, watch: &mut dyn Watch) -> Result<(), SweepError> {
        let Some(task) = self.running.remove(&ticket) else { return Ok(()) };
        self.given_up.insert(ticket, task.memory);
        let reason = format!("ran longer than {} s", limit.as_secs_f64());
        self.record(&task, Err(Failure::new(Why::Time, reason)), watch)
    }

    /// Whether points that were given up have kept the next point waiting for as long as a point
    /// may run, while no point ran.
    fn waits_too_long(&mut self, later: bool) -> bool {
        if !(later && self.running.is_empty()) {
            self.waits_since = None;
            return false;
        }
        let since = *self.waits_since.get_or_insert_with(Instant::now);
        self.plan.space.limits.time.is_some_and(|limit| since.elapsed() > limit)
    }

    fn record(&mut self, task: &Task, outcome: Outcome, watch: &mut dyn Watch) -> Result<(), SweepError> {
        let settings = self.plan.settings(&task.point);
        let (figures, failure) = match outcome {
            Ok(figures) => (figures, None),
            Err(failure) => (vec![None; self.plan.metric_count()], Some(failure)),
        };
        let row = Row {
            key: task.key,
            coordinates: self.plan.fitted(&task.point)?,
            seed: task.seed,
            figures,
            failure,
            command: self.plan.subject.repeat(&settings, task.seed),
        };
        self.writer.record(row.clone())?;
        self.state.added += 1;
        self.state.failed += u64::from(row.failure.is_some());
        self.compare(task, &row);
        let figures = self.plan.until_places().map(|places| places.iter().map(|&at| number(&row, at)).collect());
        self.repeat(task, figures.filter(|_| row.failure.is_none()))?;
        self.look();
        watch.row(&row, &self.state);
        Ok(())
    }

    /// Notes the row if it is the best so far.
    fn compare(&mut self, task: &Task, row: &Row) {
        let Some((goal, at)) = self.plan.goal() else { return };
        let Some(value) = number(row, at) else { return };
        let better = |best: &Best| if goal.most { value > best.value } else { value < best.value };
        if self.state.best.as_ref().is_none_or(better) {
            let axes = self.plan.space.axes.len();
            let shown = self.plan.settings(&task.point).into_iter().take(axes);
            let point = shown.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
            self.state.best = Some(Best { value, point });
        }
    }

    /// Notes the figures of a repetition. Adds the point's next repetition if all repetitions up to
    /// now have ended and an interval is still too wide.
    fn repeat(&mut self, task: &Task, figures: Option<Vec<Option<f64>>>) -> Result<(), SweepError> {
        let seeds = &self.plan.space.seeds;
        let Some(seed) = self.groups.ended(seeds, task.number, task.seed, figures) else { return Ok(()) };
        if let Seeds::Until { .. } = seeds
            && let Some((point, prepared)) = self.plan.prepare(task.number, &[seed])?
        {
            let point = Arc::new(point);
            self.state.whole += 1;
            self.more.extend(prepared.into_iter().map(|prepared| Task::new(task.number, &point, prepared).1));
        }
        Ok(())
    }
}

/// A figure of a row as a number.
fn number(row: &Row, at: usize) -> Option<f64> {
    row.figures.get(at)?.as_ref().and_then(Value::number)
}
