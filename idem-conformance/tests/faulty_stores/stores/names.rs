//! Under which name a record is kept.

use idem_core::Fingerprint;

use crate::decisions::{Decisions, place_of_key, right};

pub(super) fn stores() -> Vec<Decisions> {
    vec![
        Decisions {
            place: |id| id.key.as_str().into(),
            ..right("keys global")
        },
        Decisions {
            place: |id| [id.scope.as_bytes(), b":", id.key.as_str().as_bytes()].concat(),
            ..right("separator collision")
        },
        Decisions {
            place: |id| {
                let scope = String::from_utf8_lossy(id.scope.as_bytes());
                format!("{}{scope}{}", scope.len(), id.key.as_str()).into()
            },
            ..right("scopes as lossy text")
        },
        Decisions {
            place: |id| place_of_key(id, id.key.as_str().trim()),
            ..right("key trimmed")
        },
        Decisions {
            place: |id| place_of_key(id, &id.key.as_str().to_lowercase()),
            ..right("key case-folded")
        },
        Decisions {
            place: |id| place_of_key(id, &id.key.as_str().replace("e\u{301}", "\u{e9}")),
            ..right("key normalised")
        },
        Decisions {
            place: |id| place_of_key(id, &id.key.as_str().chars().take(191).collect::<String>()),
            ..right("key cut at a length")
        },
        Decisions {
            place: |id| place_of_key(id, &id.key.as_str().replace("%20", " ")),
            ..right("key decoded")
        },
        Decisions {
            place: |id| {
                let scope = id.scope.as_bytes().escape_ascii().to_string();
                scope
                    .chars()
                    .take(100)
                    .chain(['/'])
                    .chain(id.key.as_str().chars())
                    .collect::<String>()
                    .into()
            },
            ..right("scopes and keys as printable text")
        },
        Decisions {
            fingerprint: |all| Fingerprint::from_parts(1, *all.as_bytes()),
            ..right("fingerprint without its version")
        },
        Decisions {
            fingerprint: |all| {
                let mut short = [0; 32];
                short[..8].copy_from_slice(&all.as_bytes()[..8]);
                Fingerprint::from_parts(all.version(), short)
            },
            ..right("fingerprint cut to 64 bits")
        },
        Decisions {
            stores_share: true,
            ..right("one store for all tests")
        },
        Decisions {
            handles_share: false,
            ..right("writes kept with the handle")
        },
        Decisions {
            place: |id| {
                let key = id.key.as_str();
                place_of_key(id, key.split('-').next().unwrap_or(key))
            },
            ..right("key cut at a dash")
        },
        Decisions {
            place: |id| id.scope.as_bytes().to_vec(),
            ..right("one lock's winner for all")
        },
        Decisions {
            place: |id| {
                let mut place = place_of_key(id, id.key.as_str());
                place.truncate(200);
                place
            },
            ..right("names cut at 200 bytes")
        },
    ]
}
