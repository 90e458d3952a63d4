//! A proxy on 127.0.0.1 that drops, delays and cuts, as a [`Plan`] says.
//!
//! It knows no protocol. A request is what a client sends until the server says something, an answer
//! what the server says until the client sends something. So a fault hits what it is meant for on
//! connections that carry one request at a time; on a multiplexed or pipelined connection it hits
//! whatever is on its way.

mod connection;
mod counts;
mod plan;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};

use tokio::net::TcpListener;
use tokio::runtime;
use tokio::sync::{oneshot, watch};

pub use self::counts::Counts;
pub use self::plan::{Fault, Plan, Request};

/// Where a proxy forwards to.
#[derive(Clone, Debug)]
pub enum Upstream {
    /// An address.
    Tcp(SocketAddr),
    /// A unix socket.
    Unix(PathBuf),
}

impl From<SocketAddr> for Upstream {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl From<PathBuf> for Upstream {
    fn from(path: PathBuf) -> Self {
        Self::Unix(path)
    }
}

/// A running proxy, on a thread of its own: it works beside blocking tests, and beside paused time.
/// Dropped, it cuts every connection and ends.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    upstream: Mutex<Upstream>,
    plan: Mutex<Plan>,
    counts: Mutex<Counts>,
    connections: AtomicU64,
    refusing: AtomicBool,
    cut: watch::Sender<()>,
}

impl Proxy {
    /// A proxy on a free port.
    #[must_use]
    pub fn start(upstream: impl Into<Upstream>, plan: Plan) -> Self {
        let shared = Arc::new(Shared {
            upstream: Mutex::new(upstream.into()),
            plan: Mutex::new(plan),
            counts: Mutex::default(),
            connections: AtomicU64::new(0),
            refusing: AtomicBool::new(false),
            cut: watch::Sender::default(),
        });
        let (end, ended) = oneshot::channel();
        let (say_address, address) = mpsc::channel();
        let of_thread = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let mut runtime = runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
                say_address.send(listener.local_addr().unwrap()).unwrap();
                tokio::select! {
                    () = accept(listener, of_thread) => {}
                    _ = ended => {}
                }
            });
        });
        Self {
            address: address.recv().expect("a proxy has an address"),
            shared,
            end: Some(end),
            thread: Some(thread),
        }
    }

    /// Where clients go.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What happened so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        *self.shared.counts.lock().unwrap()
    }

    /// Another plan from the next request on.
    pub fn follow(&self, plan: Plan) {
        *self.shared.plan.lock().unwrap() = plan;
    }

    /// Another server from the next connection on.
    pub fn forward_to(&self, upstream: impl Into<Upstream>) {
        *self.shared.upstream.lock().unwrap() = upstream.into();
    }

    /// Cuts the connections that are open.
    pub fn cut_all(&self) {
        self.shared.cut.send_replace(());
    }

    /// Whether new connections are cut at once, as if the server were down.
    pub fn refuse(&self, refuse: bool) {
        self.shared.refusing.store(refuse, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((client, _)) = listener.accept().await else {
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move { connection::run(&shared, client).await });
    }
}

impl Shared {
    fn decide(&self, connection: u64, number: u64, bytes: &[u8]) -> Fault {
        let mut total = 0;
        self.count(|counts| {
            counts.requests += 1;
            total = counts.requests;
        });
        self.plan.lock().unwrap().decide(&Request {
            connection,
            number,
            total,
            bytes,
        })
    }

    fn count(&self, what: impl FnOnce(&mut Counts)) {
        what(&mut self.counts.lock().unwrap());
    }

    fn next_connection(&self) -> u64 {
        self.count(|counts| counts.connections += 1);
        self.connections.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn refuses(&self) -> bool {
        self.refusing.load(Ordering::SeqCst)
    }
}
