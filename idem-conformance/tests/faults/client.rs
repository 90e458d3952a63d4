//! A client that asks until it is answered, of processes that die.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use idem_core::{ExecuteError, Executed, Reservation, Response, Verdict};
use tokio::time::{Instant, sleep, timeout};

use crate::seeds::Numbers;
use crate::world::{Process, Rules, World};

/// From the beginning of a handler to its effect.
pub(crate) const LONGEST_BEFORE_EFFECT: Duration = Duration::from_secs(45);

/// What a handler spends before its effect, and after it. The longest is longer than a lease.
const SPENDS: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_millis(3),
    Duration::from_secs(1),
    Duration::from_secs(1),
    Duration::from_secs(15),
    LONGEST_BEFORE_EFFECT,
];

const PATIENCE: Duration = Duration::from_secs(900);

pub(crate) struct Client {
    number: usize,
    world: Arc<World>,
    numbers: Numbers,
    runs: usize,
}

type Tried = Result<Executed, ExecuteError<&'static str>>;

impl Client {
    pub(crate) fn new(number: usize, world: Arc<World>, numbers: Numbers) -> Self {
        Self {
            number,
            world,
            numbers,
            runs: 0,
        }
    }

    pub(crate) async fn ask_until_answered(mut self) {
        let asked = Instant::now();
        let mut process = self.world.faulty_process();
        sleep(Duration::from_millis(
            self.numbers.between(0, 3) as u64 * 500,
        ))
        .await;
        for _ in 0..12 {
            if asked.elapsed() > PATIENCE {
                break;
            }
            match self.try_once(&mut process).await {
                Some(Ok(executed)) => {
                    self.world.answered(self.number, &executed);
                    // Some lose the answer and ask on.
                    if executed.response().is_some() && self.numbers.percent(60) {
                        break;
                    }
                }
                Some(Err(error)) => self.note(format_args!("is told: {error}")),
                None => {}
            }
            let pause = *self.numbers.pick(&[5, 100, 1_000, 20_000, 70_000, 120_000]);
            sleep(Duration::from_millis(pause)).await;
        }
        self.note(format_args!("goes home"));
    }

    /// One try, if it ends: the client may hang up, and the process may die.
    async fn try_once(&mut self, process: &mut Process) -> Option<Tried> {
        self.note(format_args!("asks process {}", process.number));
        let ending = self.numbers.between(0, 100);
        let within = *self
            .numbers
            .pick(&[0, 2, 900, 3_000, 16_000, 50_000, 80_000]);
        let within = Duration::from_millis(within);
        if ending < 25 {
            let tried = timeout(within, self.run(process, false)).await.ok();
            if tried.is_none() {
                self.note(format_args!("hangs up"));
            }
            tried
        } else if ending < 40 {
            let tried = timeout(within, self.run(process, false));
            let died = tried.await;
            process.die().await;
            self.note(format_args!("sees process {} die", process.number));
            *process = self.world.faulty_process();
            died.ok()
        } else {
            Some(self.run(process, false).await)
        }
    }

    /// Asks for the operation; the handler charges.
    pub(crate) async fn run(&mut self, process: &Process, well: bool) -> Tried {
        self.runs += 1;
        let run = Run {
            name: format!("run {} of client {}", self.runs, self.number),
            world: Arc::clone(&self.world),
            before: *self.numbers.pick(&SPENDS),
            after: *self.numbers.pick(&SPENDS),
            end: if well {
                99
            } else {
                self.numbers.between(0, 100)
            },
            process: process.clone(),
        };
        let operation = self.world.operation.clone();
        let handler = move |reservation: Reservation| run.handle(reservation);
        if self.numbers.percent(70) {
            process.idempotency.execute(&operation, handler).await
        } else {
            process
                .idempotency
                .execute_detached(operation, handler)
                .await
        }
    }

    fn note(&self, what: std::fmt::Arguments<'_>) {
        self.world.note(format!("client {} {what}", self.number));
    }
}

/// One run of the handler.
struct Run {
    name: String,
    world: Arc<World>,
    before: Duration,
    after: Duration,
    end: usize,
    process: Process,
}

impl Run {
    async fn handle(self, reservation: Reservation) -> Result<Verdict, &'static str> {
        let note = |what: &str| self.world.note(format!("  {} {what}", self.name));
        note(&format!("begins as attempt {}", reservation.attempt()));
        self.spend(self.before).await;
        let answer = |what: &str| Response::new(201).body(format!("{what} by {}", self.name));
        let response = answer("paid");
        // Some see that there is nothing to do, or that they cannot.
        match self.end {
            // Of a later attempt nobody knows what the earlier ones did: it must not forget them.
            0..5 if reservation.attempt() == 1 => return Ok(Verdict::Release(answer("released"))),
            0..10 => return Ok(Verdict::Abandon(answer("abandoned"))),
            10..14 => return Err("failed before its effect"),
            _ => {}
        }
        let anew = self
            .world
            .provider
            .charge(&reservation.derived_key("charge"));
        note(if anew {
            "charges the card"
        } else {
            "finds the card charged"
        });
        self.spend(self.after).await;
        match self.end {
            14..28 => Err("failed after its effect"),
            // With a provider that deduplicates, running again is safe; else nobody may say so.
            28..36 if self.world.rules != Rules::Hold => Ok(Verdict::Abandon(answer("abandoned"))),
            _ => Ok(Verdict::Complete(response)),
        }
    }

    /// Time passes, if the process lives to see the end of it.
    async fn spend(&self, time: Duration) {
        sleep(time).await;
        if self.process.is_dead() {
            pending::<()>().await;
        }
    }
}
