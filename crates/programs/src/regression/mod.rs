//! Logistic regression by stochastic gradient descent as a map-reduce (CAF: Wang and others, PACT
//! 2016, sections 3.5 and 4.5). In each iteration every worker adds up the gradients of its rows,
//! the sum of all workers' vectors goes back to each worker, and each worker takes the same step.
//!
//! In the software form the first worker adds: each other worker has a queue to it and one from it.
//! In CAF's form the data reducer of a queue device adds. Both forms add in the same order as one
//! thread does, so that the weights are the same to the last bit: a worker adds its rows' vectors
//! to zeros, in the rows' order; the workers' vectors are added to zeros, in the workers' order.
//!
//! | file | holds |
//! | --- | --- |
//! | `mod.rs` | settings, the steps, the threads |
//! | `data` | the rows |
//! | `table` | the rows in the machine's memory |
//! | `exchange` | how vectors come together |
//! | `named` | the regression as a workload |

mod data;
mod exchange;
mod named;
mod table;

pub use data::Data;
pub use named::Regression;

use baton_machine::units::Cycles;
use baton_machine::{Machine, Wait};
use baton_sync::queue::RawQueue;
use baton_workloads::inputs::Reduction;
use baton_workloads::timing::{Figure, Spans};
use baton_workloads::work::{Judge, Measured, Work};
use baton_workloads::{Body, Refused};
use std::sync::{Arc, Mutex, PoisonError};
use table::Table;

/// The settings of the regression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RegressionSettings {
    /// Number of threads that work; the first thread also adds, where no device does. CAF's paper
    /// has up to 16.
    pub workers: u32,
    /// Number of rows that a worker looks at in an iteration. CAF's paper varies it.
    pub rows: u32,
    /// Number of steps. CAF's paper does not state it.
    pub iterations: u64,
    /// The length of a step along the mean of the rows' gradients. CAF's paper does not state it.
    pub step: f64,
    /// Which party adds the workers' vectors.
    pub reduction: Reduction,
    /// Seed of the order of the rows.
    pub seed: u64,
}

impl Default for RegressionSettings {
    fn default() -> Self {
        RegressionSettings { workers: 4, rows: 8, iterations: 100, step: 0.5, reduction: Reduction::Master, seed: 1 }
    }
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The weights that were learnt, one for each attribute.
    pub weights: Vec<f64>,
    /// The mean loss of all rows (cross entropy) with weights of 0, and with the weights that were
    /// learnt.
    pub loss: (f64, f64),
    /// The share of all rows whose label the weights predict.
    pub accuracy: f64,
    /// Number of steps.
    pub iterations: u64,
    /// Nanoseconds from the first beginning to the end of the slowest thread.
    pub nanoseconds: u64,
}

impl Measured for Outcome {
    fn figures(&self) -> Vec<Figure> {
        let each = self.nanoseconds as f64 / self.iterations.max(1) as f64;
        let all = [
            ("nanoseconds_an_iteration", each),
            ("loss_before", self.loss.0),
            ("loss_after", self.loss.1),
            ("accuracy", self.accuracy),
        ];
        all.map(|(name, value)| Figure { name, value }).into()
    }
}

/// Cycles to multiply and add an attribute, which happens twice for each row, and to add one item
/// of a vector to another.
const ATTRIBUTE_CYCLES: u64 = 2;
/// Cycles of a row's exponential and division.
const ROW_CYCLES: u64 = 40;

/// Adds the gradient of a row to `gradient`.
fn add_row(weights: &[f64], (row, label): (&[f64], f64), gradient: &mut [f64]) {
    let odds = row.iter().zip(weights).fold(0.0, |sum, (value, weight)| sum + value * weight);
    let missing = label - 1.0 / (1.0 + f64::exp(-odds));
    gradient.iter_mut().zip(row).for_each(|(sum, value)| *sum += missing * value);
}

/// Takes a step: adds `gradient`, multiplied by `factor`, to the weights.
fn step(weights: &mut [f64], gradient: &[f64], factor: f64) {
    weights.iter_mut().zip(gradient).for_each(|(weight, sum)| *weight += factor * sum);
}

impl RegressionSettings {
    /// The row that a worker looks at: all workers together go over the rows again and again.
    fn row(&self, rows: usize, iteration: u64, worker: u32, turn: u32) -> usize {
        let each = u64::from(self.workers) * u64::from(self.rows);
        let at = u64::from(worker) * u64::from(self.rows) + u64::from(turn);
        ((u128::from(iteration) * u128::from(each) + u128::from(at)) % rows as u128) as usize
    }

    /// The factor by which a step multiplies each row's gradient.
    fn factor(&self) -> f64 {
        self.step / (f64::from(self.workers) * f64::from(self.rows))
    }

    /// Computes the weights on one thread, which adds in the same order as the workers do.
    pub fn sequential(&self, data: &Data) -> Vec<f64> {
        let data = data.shuffled(self.seed);
        let (mut weights, n) = (vec![0.0; data.attributes], data.attributes);
        let (mut sum, mut one) = (vec![0.0; n], vec![0.0; n]);
        for iteration in 0..self.iterations {
            sum.fill(0.0);
            for worker in 0..self.workers {
                one.fill(0.0);
                for turn in 0..self.rows {
                    add_row(&weights, data.row(self.row(data.rows(), iteration, worker, turn)), &mut one);
                }
                sum.iter_mut().zip(&one).for_each(|(sum, item)| *sum += item);
            }
            step(&mut weights, &sum, self.factor());
        }
        weights
    }

    /// The threads. With [`Reduction::Master`] vectors go through queues of the type `Q`. The
    /// result is an error if a worker has learnt weights that differ from those of one thread, to
    /// the last bit.
    ///
    /// # Errors
    /// Fails if a setting has a value that the regression cannot have.
    pub fn work<M: Machine, Q: RawQueue<M, Item = u64>>(
        &self,
        data: &Arc<Data>,
        wait: Wait,
    ) -> Result<Work<Outcome>, Refused> {
        self.check()?;
        let settings = *self;
        let ends = exchange::ends::<M, Q>(self.reduction, self.workers, data.attributes, wait)?;
        let table = Arc::new(Table::<M>::new(&data.shuffled(self.seed)));
        let (spans, learnt) = (Spans::<M>::new(self.workers), Arc::new(Mutex::new(Vec::new())));
        let kept = ends.kept;
        let mut bodies: Vec<Body> = Vec::new();
        for (worker, mut sum) in (0..).zip(ends.workers) {
            let (table, spans, learnt) = (table.clone(), spans.clone(), learnt.clone());
            bodies.push(Box::new(move || {
                let mut weights = vec![0.0; table.attributes];
                spans.time(worker, || settings.learn(worker, &table, &mut *sum, &mut weights));
                learnt.lock().unwrap_or_else(PoisonError::into_inner).push((worker, weights));
            }));
        }
        let data = data.clone();
        let result: Judge<Outcome> = Box::new(move || {
            // A queue in a device is given back by a system call, which is no part of the run.
            drop(kept);
            let learnt = std::mem::take(&mut *learnt.lock().unwrap_or_else(PoisonError::into_inner));
            settings.judge(&data, &learnt, spans.whole().0)
        });
        Ok(Work { bodies, result })
    }

    fn check(&self) -> Result<(), Refused> {
        let RegressionSettings { workers, rows, step, .. } = *self;
        if !(1..=4096).contains(&workers) {
            return Err(Refused::because(format!("{workers} workers; expected 1 to 4096")));
        }
        if rows == 0 {
            return Err(Refused::because("0 rows for each worker; expected 1 at least"));
        }
        if !(step.is_finite() && step > 0.0) {
            return Err(Refused::because(format!("a step of {step}; expected a number above 0")));
        }
        Ok(())
    }

    /// Runs a worker.
    fn learn<M: Machine>(&self, worker: u32, table: &Table<M>, sum: &mut dyn exchange::Sum, weights: &mut [f64]) {
        let (mut gradient, mut row) = (vec![0.0; table.attributes], vec![0.0; table.attributes]);
        let work = ROW_CYCLES + 2 * ATTRIBUTE_CYCLES * table.attributes as u64;
        for iteration in 0..self.iterations {
            gradient.fill(0.0);
            for turn in 0..self.rows {
                let label = table.read(self.row(table.rows, iteration, worker, turn), &mut row);
                M::work(Cycles(work));
                add_row(weights, (&row, label), &mut gradient);
            }
            sum.all(&mut gradient);
            M::work(Cycles(ATTRIBUTE_CYCLES * table.attributes as u64));
            step(weights, &gradient, self.factor());
        }
    }

    fn judge(&self, data: &Data, learnt: &[(u32, Vec<f64>)], nanoseconds: u64) -> Result<Outcome, String> {
        baton_workloads::expect("workers that have learnt", learnt.len() as u64, u64::from(self.workers))?;
        let plain = self.sequential(data);
        let same = |one: &[f64]| one.iter().zip(&plain).all(|(a, b)| a.to_bits() == b.to_bits());
        if let Some((worker, weights)) = learnt.iter().find(|(_, weights)| !same(weights)) {
            return Err(format!("the weights of worker {worker}: {weights:?}, expected {plain:?}"));
        }
        let (before, _) = losses(data, &vec![0.0; data.attributes]);
        let (after, accuracy) = losses(data, &plain);
        let iterations = self.iterations;
        Ok(Outcome { weights: plain, loss: (before, after), accuracy, iterations, nanoseconds })
    }
}

/// The mean loss of all rows, and the share of rows whose label the weights predict.
fn losses(data: &Data, weights: &[f64]) -> (f64, f64) {
    let (mut loss, mut right) = (0.0, 0.0);
    for row in 0..data.rows() {
        let (values, label) = data.row(row);
        let odds = values.iter().zip(weights).fold(0.0, |sum, (value, weight)| sum + value * weight);
        // Computes ln(1 + e^x) without overflow.
        let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
        loss += if label == 1.0 { softplus(-odds) } else { softplus(odds) };
        right += f64::from((odds > 0.0) == (label == 1.0));
    }
    (loss / data.rows() as f64, right / data.rows() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_learns_the_made_rows() {
        let data = Data::made(1);
        let weights = RegressionSettings { iterations: 400, ..RegressionSettings::default() }.sequential(&data);
        let ((before, _), (after, accuracy)) = (losses(&data, &[0.0; 13]), losses(&data, &weights));
        assert!((before - std::f64::consts::LN_2).abs() < 1e-12, "{before}");
        assert!(after < 0.4 && accuracy > 0.8, "{after} {accuracy}");
    }

    #[test]
    fn the_order_of_additions_is_the_stated_one() {
        // Values whose sum depends on the order in which they are added.
        let values = vec![3e16, 1.0, -3e16, 2.0, 5.0, -1.0];
        let data = Data { attributes: 1, values, labels: vec![1.0; 6] };
        let sum = |seed, workers: u32, rows: u32| {
            let settings =
                RegressionSettings { workers, rows, iterations: 1, step: 1.0, seed, ..RegressionSettings::default() };
            let shuffled = data.shuffled(seed);
            let of = |rows: &[f64]| rows.iter().fold(0.0, |sum, row| sum + 0.5 * row);
            let by_hand = shuffled.values.chunks(rows as usize).fold(0.0, |sum, rows| sum + of(rows));
            assert_eq!(settings.sequential(&data), [settings.factor() * by_hand]);
            by_hand
        };
        let differ = (1..20).filter(|&seed| sum(seed, 1, 6) != sum(seed, 2, 3)).count();
        assert!(differ > 5, "{differ}");
    }

    #[test]
    fn workers_go_over_all_rows_in_turn() {
        let settings = RegressionSettings { workers: 2, rows: 3, ..RegressionSettings::default() };
        let rows = |iteration| [0, 1].map(|worker| [0, 1, 2].map(|turn| settings.row(8, iteration, worker, turn)));
        assert_eq!(rows(0), [[0, 1, 2], [3, 4, 5]]);
        assert_eq!(rows(1), [[6, 7, 0], [1, 2, 3]]);
    }
}
