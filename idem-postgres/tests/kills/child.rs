//! The child process: this test binary once more, as a server that is made to be killed.

use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

use tokio::runtime::Builder;

use crate::service::{Service, Way};

/// Who finds a [`Job`] in it is the child.
pub(crate) const VARIABLE: &str = "IDEM_KILLS_JOB";

/// What the child is to do.
pub(crate) struct Job {
    pub(crate) way: Way,
    pub(crate) listen: SocketAddr,
    pub(crate) ledger: SocketAddr,
    pub(crate) schema: String,
    pub(crate) socket_folder: PathBuf,
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            way,
            listen,
            ledger,
            schema,
            socket_folder,
        } = self;
        let socket_folder = socket_folder.display();
        write!(f, "{way} {listen} {ledger} {schema} {socket_folder}")
    }
}

impl Job {
    fn from_env() -> Option<Self> {
        let text = std::env::var(VARIABLE).ok()?;
        let words: Vec<_> = text.splitn(5, ' ').collect();
        let [way, listen, ledger, schema, socket_folder] = words[..] else {
            panic!("not a job: {text}");
        };
        Some(Self {
            way: Way::ALL
                .into_iter()
                .find(|known| known.to_string() == way)
                .unwrap(),
            listen: listen.parse().unwrap(),
            ledger: ledger.parse().unwrap(),
            schema: schema.to_owned(),
            socket_folder: socket_folder.into(),
        })
    }
}

/// False in the test itself. In the child it serves, and never returns: the child is killed.
pub(crate) fn is_this_process() -> bool {
    let Some(job) = Job::from_env() else {
        return false;
    };
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let listener = TcpListener::bind(job.listen).unwrap();
    let service = runtime.block_on(Service::open(&job));
    testkit::serve(&listener, |call| {
        let (status, body) = runtime.block_on(service.pay(&call.operation));
        call.answer(status, body)
    });
    true
}
