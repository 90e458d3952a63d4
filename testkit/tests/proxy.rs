//! The proxy's faults, before a real Redis.
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use testkit::proxy::Counts;
use testkit::resp::{Connection, Reply};
use testkit::{Fault, Plan, Proxy, Redis, Seed, effort, until};

const INCR: &[&str] = &["INCR", "n"];
const A_WHILE: Duration = Duration::from_millis(200);

/// An INCR that meets the fault: what the client got, what the counter says then, and what the proxy
/// counted.
fn incr_through(fault: Fault) -> (Result<Reply, ErrorKind>, Reply, Counts) {
    let redis = Redis::start();
    let proxy = Proxy::start(redis.address(), Plan::once("INCR", fault));
    let mut client = Connection::tcp(proxy.address()).unwrap();
    assert_eq!(
        client.ask(&["SET", "n", "0"]).unwrap(),
        Reply::Text("OK".into())
    );
    let got = client.ask(INCR).map_err(|error| error.kind());
    (got, redis.ask(&["GET", "n"]), proxy.counts())
}

fn text(text: &str) -> Reply {
    Reply::Text(text.to_owned())
}

#[test]
fn without_a_fault_everything_passes() {
    let (got, value, counts) = incr_through(Fault::None);
    assert_eq!((got, value), (Ok(Reply::Integer(1)), text("1")));
    let expected = Counts {
        connections: 1,
        requests: 2,
        ..Counts::default()
    };
    assert_eq!(counts, expected);
}

#[test]
fn a_dropped_answer_was_applied() {
    let (got, value, counts) = incr_through(Fault::DropAnswer);
    assert!(got.is_err());
    assert_eq!(value, text("1"));
    assert_eq!(counts.answers_dropped, 1);
}

#[test]
fn a_dropped_request_was_not() {
    let (got, value, counts) = incr_through(Fault::DropRequest);
    assert!(got.is_err());
    assert_eq!(value, text("0"));
    assert_eq!(counts.requests_dropped, 1);
}

#[test]
fn a_request_cut_in_half_was_not_applied_and_a_cut_answer_was() {
    let (got, value, counts) = incr_through(Fault::CutRequest { after: 10 });
    assert!(got.is_err());
    assert_eq!((value, counts.requests_cut), (text("0"), 1));
    let (got, value, counts) = incr_through(Fault::CutAnswer { after: 2 });
    assert_eq!(got, Err(ErrorKind::UnexpectedEof));
    assert_eq!((value, counts.answers_cut), (text("1"), 1));
}

#[test]
fn delays_delay() {
    for fault in [Fault::DelayRequest(A_WHILE), Fault::DelayAnswer(A_WHILE)] {
        let begun = Instant::now();
        let (got, value, counts) = incr_through(fault);
        assert_eq!((got, value), (Ok(Reply::Integer(1)), text("1")));
        assert!(begun.elapsed() >= A_WHILE);
        assert_eq!(counts.requests_delayed + counts.answers_delayed, 1);
    }
}

#[test]
fn a_delayed_request_arrives_although_its_client_has_gone() {
    let redis = Redis::start();
    let proxy = Proxy::start(
        redis.address(),
        Plan::script([Fault::DelayRequest(A_WHILE)]),
    );
    let mut client = std::net::TcpStream::connect(proxy.address()).unwrap();
    std::io::Write::write_all(&mut client, b"*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n").unwrap();
    drop(client);
    assert_eq!(redis.ask(&["GET", "n"]), Reply::Nil);
    until("a late request", Duration::from_secs(20), || {
        (redis.ask(&["GET", "n"]) == text("1")).then_some(())
    });
}

#[test]
fn a_stalled_client_is_left_without_an_answer_until_it_goes() {
    let redis = Redis::start();
    let proxy = Proxy::start(redis.address(), Plan::script([Fault::Stall]));
    let mut client = std::net::TcpStream::connect(proxy.address()).unwrap();
    client.set_read_timeout(Some(A_WHILE)).unwrap();
    std::io::Write::write_all(&mut client, b"*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n").unwrap();
    let read = std::io::Read::read(&mut client, &mut [0]);
    assert_eq!(read.unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(redis.ask(&["GET", "n"]), Reply::Nil);
    assert_eq!(proxy.counts().stalled, 1);
}

#[test]
fn connections_are_cut_refused_and_sent_elsewhere() {
    let (first, second) = (Redis::start(), Redis::start());
    second.ask(&["SET", "n", "second"]);
    let proxy = Proxy::start(first.address(), Plan::none());
    let mut client = Connection::tcp(proxy.address()).unwrap();
    assert_eq!(client.ask(INCR).unwrap(), Reply::Integer(1));
    proxy.cut_all();
    assert!(client.ask(INCR).is_err());

    proxy.refuse(true);
    let refused = Connection::tcp(proxy.address()).and_then(|mut client| client.ask(INCR));
    assert!(refused.is_err());
    proxy.refuse(false);

    proxy.forward_to(second.socket());
    let mut client = Connection::tcp(proxy.address()).unwrap();
    assert_eq!(client.ask(&["GET", "n"]).unwrap(), text("second"));

    second.kill();
    assert!(client.ask(INCR).is_err());
    let counts = proxy.counts();
    assert_eq!((counts.cut, counts.refused, counts.connections), (1, 1, 2));
}

#[test]
fn under_seeded_faults_the_counts_say_what_was_applied() {
    let seed = Seed::of("under_seeded_faults_the_counts_say_what_was_applied");
    let faults = vec![
        Fault::DropRequest,
        Fault::DropAnswer,
        Fault::CutRequest { after: 5 },
        Fault::CutAnswer { after: 1 },
        Fault::DelayAnswer(Duration::from_millis(1)),
    ];
    let redis = Redis::start();
    let proxy = Proxy::start(redis.address(), Plan::seeded(&seed, 5, faults));
    let requests = 500 * effort();
    let (mut client, mut answered) = (None, 0);
    for _ in 0..requests {
        let connection = match client.take() {
            Some(connection) => connection,
            None => Connection::tcp(proxy.address()).unwrap(),
        };
        let connection = client.insert(connection);
        match connection.ask(INCR) {
            Ok(_) => answered += 1,
            Err(_) => client = None,
        }
    }
    let counts = proxy.counts();
    println!("{counts:?}; {seed}");
    let applied = answered + counts.answers_dropped + counts.answers_cut;
    assert_eq!(redis.ask(&["GET", "n"]), text(&applied.to_string()));
    let lost = counts.requests_dropped + counts.requests_cut;
    assert_eq!((counts.requests, applied + lost), (requests, requests));
    assert!(lost >= requests / 50 && counts.answers_dropped >= requests / 100);
}
