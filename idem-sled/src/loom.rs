//! The group commit under loom: every order in which writers, readers and the committing thread can meet.

use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use std::time::Duration;

use super::{Closed, Commits, Waiter};

/// What is visible, and what a crash would leave.
#[derive(Default)]
struct Medium {
    memory: Vec<&'static str>,
    disk: Vec<&'static str>,
}

#[derive(Clone)]
struct World {
    medium: Arc<Mutex<Medium>>,
    commits: Arc<Commits<Told>>,
    told: Arc<Mutex<Vec<(&'static str, Result<(), Closed>)>>>,
}

/// Notes what it was told, and that it is true.
struct Told {
    name: &'static str,
    /// What must be on disk if all is well.
    rests_on: Option<&'static str>,
    world: World,
}

impl Waiter for Told {
    fn told(self, outcome: Result<(), Closed>) {
        if outcome.is_ok() {
            let medium = self.world.medium.lock().unwrap();
            let is_there = |value| medium.disk.contains(&value);
            assert!(
                self.rests_on.is_none_or(is_there),
                "{} is not on disk",
                self.name
            );
        }
        self.world.told.lock().unwrap().push((self.name, outcome));
    }
}

/// Nobody passes before somebody opens it.
#[derive(Default)]
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    fn pass(&self) {
        let mut is_open = self.is_open.lock().unwrap();
        while !*is_open {
            is_open = self.opened.wait(is_open).unwrap();
        }
    }
}

impl World {
    fn new() -> Self {
        Self {
            medium: Arc::default(),
            commits: Arc::default(),
            told: Arc::default(),
        }
    }

    fn waiter(&self, name: &'static str, rests_on: Option<&'static str>) -> Told {
        let world = self.clone();
        Told {
            name,
            rests_on,
            world,
        }
    }

    fn write(&self, key: &'static str) {
        let writing = match self.commits.begin(key.as_bytes()) {
            Ok(writing) => writing,
            Err(closed) => return self.waiter(key, None).told(Err(closed)),
        };
        self.medium.lock().unwrap().memory.push(key);
        writing.written(self.waiter(key, Some(key)));
    }

    /// What it saw is what its answer rests on.
    fn read(&self, key: &'static str) {
        let saw = self.medium.lock().unwrap().memory.contains(&key);
        let waiter = self.waiter("read", saw.then_some(key));
        self.commits.when_durable(key.as_bytes(), waiter);
    }

    /// The committing thread; the commit of this number fails, if any.
    fn commit(&self, failing: Option<usize>) {
        let mut number = 0;
        let ended = self.commits.run(Duration::MAX, || {
            number += 1;
            if failing == Some(number) {
                return Err("the disk is gone");
            }
            let mut medium = self.medium.lock().unwrap();
            medium.disk = medium.memory.clone();
            Ok(())
        });
        assert_eq!(
            ended.is_err(),
            failing.is_some_and(|failing| failing <= number)
        );
    }

    fn told(&self) -> Vec<(&'static str, Result<(), Closed>)> {
        self.told.lock().unwrap().clone()
    }
}

fn check(test: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(test);
}

#[test]
fn loom_a_write_is_acknowledged_once_and_only_when_it_is_on_disk() {
    check(|| {
        let world = World::new();
        let writer = world.clone();
        let writer = thread::spawn(move || writer.write("a"));
        let other = world.clone();
        let other = thread::spawn(move || {
            other.write("b");
            other.commits.closed()
        });
        let closer = world.clone();
        let committer = thread::spawn(move || closer.commit(None));
        writer.join().unwrap();
        other.join().unwrap();
        world.commits.close();
        committer.join().unwrap();
        let mut told = world.told();
        told.sort_by_key(|(name, _)| *name);
        assert_eq!(told, [("a", Ok(())), ("b", Ok(()))]);
    });
}

#[test]
fn loom_a_read_rests_on_what_is_on_disk_only() {
    check(|| {
        let world = World::new();
        let writer = world.clone();
        let writer = thread::spawn(move || writer.write("a"));
        let committer = world.clone();
        let committer = thread::spawn(move || committer.commit(None));
        world.read("a");
        writer.join().unwrap();
        world.commits.close();
        committer.join().unwrap();
        assert_eq!(world.told().len(), 2);
    });
}

#[test]
fn loom_two_writes_of_one_key_settle_together() {
    check(|| {
        let world = World::new();
        let writer = world.clone();
        let writer = thread::spawn(move || {
            writer.write("a");
            writer.write("a");
        });
        let committer = world.clone();
        let committer = thread::spawn(move || committer.commit(None));
        world.read("a");
        writer.join().unwrap();
        world.commits.close();
        committer.join().unwrap();
        assert_eq!(world.told().len(), 3);
        assert!(world.commits.lock().unsettled.is_empty());
    });
}

#[test]
fn loom_whoever_waits_for_a_commit_that_fails_is_told_and_nobody_after() {
    check(|| {
        let world = World::new();
        let writer = world.clone();
        let writer = thread::spawn(move || writer.write("a"));
        let committer = world.clone();
        let committer = thread::spawn(move || committer.commit(Some(1)));
        world.read("a");
        world.write("b");
        writer.join().unwrap();
        committer.join().unwrap();
        let told = world.told();
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told.iter().filter(|(_, outcome)| outcome.is_err()).count() >= 1);
        assert_eq!(world.commits.closed(), Some(Closed::Failed));
        world.write("late");
        assert_eq!(world.told().last(), Some(&("late", Err(Closed::Failed))));
    });
}

#[test]
fn loom_who_waits_for_a_commit_is_told_once_by_it_or_by_the_failure() {
    check(|| {
        let world = World::new();
        let committer = world.clone();
        let committer = thread::spawn(move || committer.commit(None));
        let failer = world.clone();
        let failer = thread::spawn(move || failer.commits.fail());
        world.write("a");
        world.read("a");
        failer.join().unwrap();
        committer.join().unwrap();
        let told = world.told();
        let writes = told.iter().filter(|(name, _)| *name == "a").count();
        assert_eq!((writes, told.len()), (1, 2), "{told:?}");
    });
}

#[test]
fn loom_who_waits_for_a_commit_that_hangs_is_told_while_it_hangs() {
    check(|| {
        let world = World::new();
        let (hangs, goes_on) = (Arc::<Gate>::default(), Arc::<Gate>::default());
        let committer = world.clone();
        let (hang, go_on) = (Arc::clone(&hangs), Arc::clone(&goes_on));
        let committer = thread::spawn(move || {
            let ended = committer.commits.run(Duration::MAX, || {
                hang.open();
                go_on.pass();
                let mut medium = committer.medium.lock().unwrap();
                medium.disk = medium.memory.clone();
                Ok::<_, ()>(())
            });
            ended.unwrap();
        });
        world.write("a");
        hangs.pass();
        world.read("a");
        assert_eq!(world.told(), []);
        world.commits.fail();
        let failed = Err(Closed::Failed);
        assert_eq!(world.told(), [("a", failed), ("read", failed)]);
        world.write("late");
        goes_on.open();
        committer.join().unwrap();
        assert_eq!(world.told().len(), 3, "nobody twice");
    });
}

#[test]
fn loom_what_has_begun_when_it_is_closed_is_committed() {
    check(|| {
        let world = World::new();
        let committer = world.clone();
        let committer = thread::spawn(move || committer.commit(None));
        let closer = world.clone();
        let closer = thread::spawn(move || closer.commits.close());
        world.write("a");
        closer.join().unwrap();
        committer.join().unwrap();
        let told = world.told();
        assert_eq!(told.len(), 1);
        let on_disk = world.medium.lock().unwrap().disk.contains(&"a");
        assert_eq!(told[0].1.is_ok(), on_disk, "{told:?}");
    });
}

#[test]
fn loom_a_write_that_broke_off_does_not_hold_up_the_end_and_is_committed() {
    check(|| {
        let world = World::new();
        let writer = world.clone();
        let writer = thread::spawn(move || {
            if let Ok(writing) = writer.commits.begin(b"a") {
                writer.medium.lock().unwrap().memory.push("a");
                drop(writing);
            }
        });
        let committer = world.clone();
        let committer = thread::spawn(move || committer.commit(None));
        world.commits.close();
        writer.join().unwrap();
        committer.join().unwrap();
        let medium = world.medium.lock().unwrap();
        assert_eq!(medium.memory, medium.disk);
    });
}
