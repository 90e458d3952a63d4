//! Questions and answers, a line each, between a child process and the test.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Answers lines, each connection on a thread of its own, until it is dropped.
#[derive(Debug)]
pub(crate) struct LineServer {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
}

impl LineServer {
    /// `answer` may take its time. Without an answer the connection is cut.
    pub(crate) fn start(answer: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let ended = Arc::new(AtomicBool::new(false));
        let (answer, of_thread) = (Arc::new(answer), Arc::clone(&ended));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if of_thread.load(Ordering::SeqCst) {
                    return;
                }
                let answer = Arc::clone(&answer);
                // The other side's end, killed or not, is the end of this.
                thread::spawn(move || _ = stream.and_then(|stream| serve(stream, &*answer)));
            }
        });
        Self { address, ended }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for LineServer {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // Wakes the thread, which then sees that it is over.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(stream: TcpStream, answer: impl Fn(&str) -> Option<String>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    for line in BufReader::new(stream).lines() {
        let Some(text) = answer(&line?) else {
            return Ok(());
        };
        writer.write_all(format!("{text}\n").as_bytes())?;
    }
    Ok(())
}

/// The other side.
#[derive(Debug)]
pub(crate) struct LineClient {
    stream: BufReader<TcpStream>,
}

impl LineClient {
    pub(crate) fn connect(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let stream = BufReader::new(stream);
        Ok(Self { stream })
    }

    pub(crate) fn ask(&mut self, line: &str) -> io::Result<String> {
        let question = format!("{line}\n");
        self.stream.get_mut().write_all(question.as_bytes())?;
        let mut answer = String::new();
        self.stream.read_line(&mut answer)?;
        match answer.strip_suffix('\n') {
            Some(answer) => Ok(answer.to_owned()),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}
