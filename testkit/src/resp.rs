//! As much of a Redis client as tests of the rig need: one command at a time, no reconnecting.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Far longer than any command takes: for what hangs.
const LONGEST: Duration = Duration::from_secs(10);

/// What Redis answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// `+OK` and the like, and bulk strings.
    Text(String),
    /// `:1`.
    Integer(i64),
    /// Nothing there.
    Nil,
    /// `-ERR …`.
    Error(String),
    /// Several.
    Array(Vec<Reply>),
}

/// One connection.
pub struct Connection {
    stream: BufReader<Box<dyn Stream>>,
}

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

impl Connection {
    /// By TCP.
    pub fn tcp(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, LONGEST)?;
        stream.set_read_timeout(Some(LONGEST))?;
        stream.set_nodelay(true)?;
        Ok(Self::over(Box::new(stream)))
    }

    /// By a unix socket.
    pub fn unix(path: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(LONGEST))?;
        Ok(Self::over(Box::new(stream)))
    }

    fn over(stream: Box<dyn Stream>) -> Self {
        let stream = BufReader::new(stream);
        Self { stream }
    }

    /// Sends a command and reads its answer. An error that Redis answers with is a [`Reply::Error`].
    pub fn ask(&mut self, command: &[&str]) -> io::Result<Reply> {
        let mut text = format!("*{}\r\n", command.len());
        for part in command {
            text.push_str(&format!("${}\r\n{part}\r\n", part.len()));
        }
        self.stream.get_mut().write_all(text.as_bytes())?;
        self.reply()
    }

    fn reply(&mut self) -> io::Result<Reply> {
        let line = self.line()?;
        let (kind, rest) = line.split_at_checked(1).ok_or_else(cut_short)?;
        let number = || rest.parse::<i64>().map_err(io::Error::other);
        match kind {
            "+" => Ok(Reply::Text(rest.to_owned())),
            "-" => Ok(Reply::Error(rest.to_owned())),
            ":" => Ok(Reply::Integer(number()?)),
            "$" => match usize::try_from(number()?) {
                Ok(length) => {
                    let mut bytes = vec![0; length + 2];
                    self.stream.read_exact(&mut bytes)?;
                    bytes.truncate(length);
                    Ok(Reply::Text(String::from_utf8_lossy(&bytes).into_owned()))
                }
                Err(_) => Ok(Reply::Nil),
            },
            "*" => (0..number()?)
                .map(|_| self.reply())
                .collect::<io::Result<_>>()
                .map(Reply::Array),
            _ => Err(io::Error::other(format!("no answer of Redis: {line:?}"))),
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let line = line.strip_suffix("\r\n").ok_or_else(cut_short)?;
        Ok(line.to_owned())
    }
}

fn cut_short() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}
