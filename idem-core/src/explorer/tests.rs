use super::model::{Config, Model, Provider};
use super::rules::SHIPPED;
use super::search::explore;

const BASE: Config = Config {
    name: "run again",
    holds: [false; 3],
    lease: 2,
    retention: 4,
    longest_age: None,
    provider: None,
    sends: 2,
    resends: 2,
    copies: 1,
    beats: 1,
    rounds: 1,
    retries: 0,
    looks: 0, operator_is_right: true,
};

fn probe(mut config: Config) {
    let get = |n: &str, d: u8| std::env::var(n).map_or(d, |v| v.parse().unwrap());
    config.sends = get("SENDS", config.sends);
    config.resends = get("RESENDS", config.resends);
    config.copies = get("COPIES", config.copies as u8) as usize;
    config.beats = get("BEATS", config.beats);
    config.rounds = get("ROUNDS", config.rounds);
    config.lease = get("LEASE", config.lease);
    config.retention = get("RETENTION", config.retention);
    if let Some(p) = &mut config.provider { p.window = get("WINDOW", p.window); }

    let most = std::env::var("MOST").map_or(3_000_000, |v| v.parse().unwrap());
    match explore(&Model::new(config, SHIPPED), most) {
        Ok(report) => println!("{:<20} {report}", config.name),
        Err(trace) => panic!("{}\n{trace}", config.name),
    }
}

#[test]
fn run_again() { probe(BASE); }
#[test]
fn hold() { probe(Config { name: "hold", holds: [true; 3], ..BASE }); }
#[test]
fn mixed() { probe(Config { name: "mixed", holds: [true, false, false], ..BASE }); }
#[test]
fn operator() { probe(Config { name: "operator", holds: [true; 3], looks: 1, ..BASE }); }
#[test]
fn operator_wrong() { probe(Config { name: "operator wrong", holds: [true; 3], looks: 1, operator_is_right: false, ..BASE }); }
#[test]
fn aged() { probe(Config { name: "aged", longest_age: Some(3), retention: 6, provider: Some(Provider { window: 3+2+1-2, handler: 1 }), ..BASE }); }
#[test]
fn aged_mixed() { probe(Config { name: "aged mixed", longest_age: Some(3), retention: 6, holds: [true, false, false], provider: Some(Provider { window: 3+2+1-2, handler: 1 }), ..BASE }); }
