//! How much memory this process has in use, as the kernel sees it.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

pub(crate) const MIB: u64 = 1 << 20;

/// `VmRSS`, in bytes.
pub(crate) fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    1024 * kilobytes.unwrap().parse::<u64>().unwrap()
}

/// Looks again and again, and keeps the most that it sees.
pub(crate) struct Peak {
    stop: Sender<()>,
    looking: JoinHandle<u64>,
}

impl Peak {
    pub(crate) fn watch() -> Self {
        let (stop, stopped) = channel();
        let looking = std::thread::spawn(move || {
            let mut most = resident();
            while stopped.recv_timeout(Duration::from_millis(10)) == Err(RecvTimeoutError::Timeout)
            {
                most = most.max(resident());
            }
            most.max(resident())
        });
        Self { stop, looking }
    }

    pub(crate) fn end(self) -> u64 {
        self.stop.send(()).unwrap();
        self.looking.join().unwrap()
    }
}
