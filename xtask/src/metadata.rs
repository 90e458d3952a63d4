//! The workspace's members and their features, as `cargo metadata` tells them.

use crate::shell::CommandLine;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// One member of the workspace.
#[derive(Debug, PartialEq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) is_library: bool,
    features: BTreeMap<String, Vec<String>>,
}

impl Package {
    pub(crate) fn of_workspace() -> Result<Vec<Self>, String> {
        let line = CommandLine::new("cargo metadata --no-deps --format-version 1");
        let json = line.ask().ok_or_else(|| format!("`{line}` failed"))?;
        read(&json).ok_or_else(|| format!("`{line}` printed what is not understood"))
    }

    /// The flags for this package's default features, for none and for all: each only where it
    /// differs from the ones before it, so that nothing is checked twice.
    pub(crate) fn feature_flags(&self) -> Vec<&'static str> {
        let mut flags = vec![""];
        if self
            .features
            .get("default")
            .is_some_and(|on| !on.is_empty())
        {
            flags.push("--no-default-features");
        }
        let by_default = self.enabled_by("default");
        if self
            .features
            .keys()
            .any(|name| name != "default" && !by_default.contains(name))
        {
            flags.push("--all-features");
        }
        flags
    }

    fn enabled_by<'a>(&'a self, feature: &'a str) -> BTreeSet<&'a String> {
        let mut enabled = BTreeSet::new();
        let mut open = vec![feature];
        while let Some(name) = open.pop() {
            // What is not found is a dependency's feature (`dep:x`, `x/y`), not one of ours.
            if let Some((name, implied)) = self.features.get_key_value(name)
                && enabled.insert(name)
            {
                open.extend(implied.iter().map(String::as_str));
            }
        }
        enabled
    }
}

fn read(json: &str) -> Option<Vec<Package>> {
    let metadata: Value = serde_json::from_str(json).ok()?;
    metadata["packages"]
        .as_array()?
        .iter()
        .map(package)
        .collect()
}

fn package(json: &Value) -> Option<Package> {
    let strings = |list: &Value| -> Option<Vec<String>> {
        list.as_array()?
            .iter()
            .map(|item| Some(item.as_str()?.to_owned()))
            .collect()
    };
    let features = json["features"].as_object()?.iter();
    let kinds = json["targets"]
        .as_array()?
        .iter()
        .map(|target| strings(&target["kind"]));
    let kinds: Vec<String> = kinds.collect::<Option<Vec<_>>>()?.concat();
    Some(Package {
        name: json["name"].as_str()?.to_owned(),
        is_library: kinds.iter().any(|kind| kind == "lib"),
        features: features
            .map(|(name, implied)| Some((name.clone(), strings(implied)?)))
            .collect::<Option<_>>()?,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const SAMPLE: &str = r#"{"packages": [
        {"name": "plain", "features": {}, "targets": [{"kind": ["lib"]}, {"kind": ["test"]}]},
        {"name": "rich", "targets": [{"kind": ["lib"]}],
         "features": {"default": ["a"], "a": ["b"], "b": ["dep:x"], "tls": ["x?/tls"]}},
        {"name": "tool", "features": {}, "targets": [{"kind": ["bin"]}]},
        {"name": "idempotency", "features": {"a": []}, "targets": [{"kind": ["test"]}]}
    ]}"#;

    pub(crate) fn sample() -> Vec<Package> {
        read(SAMPLE).unwrap()
    }

    fn flags(features: &str) -> Vec<&'static str> {
        let json = r#"{"packages": [{"name": "p", "features": FEATURES, "targets": []}]}"#;
        read(&json.replace("FEATURES", features)).unwrap()[0].feature_flags()
    }

    #[test]
    fn names_and_kinds_are_read() {
        let found: Vec<_> = sample()
            .into_iter()
            .map(|p| (p.name, p.is_library))
            .collect();
        assert_eq!(
            found,
            [
                ("plain".into(), true),
                ("rich".into(), true),
                ("tool".into(), false),
                ("idempotency".into(), false)
            ]
        );
    }

    #[test]
    fn each_feature_set_appears_once() {
        let (none, all) = ("--no-default-features", "--all-features");
        assert_eq!(flags("{}"), [""]);
        assert_eq!(flags(r#"{"default": [], "a": []}"#), ["", all]);
        assert_eq!(flags(r#"{"a": []}"#), ["", all]);
        assert_eq!(
            flags(r#"{"default": ["a"], "a": ["b"], "b": []}"#),
            ["", none]
        );
        assert_eq!(flags(r#"{"default": ["dep:x"]}"#), ["", none]);
        assert_eq!(
            flags(r#"{"default": ["a"], "a": [], "b": ["a"]}"#),
            ["", none, all]
        );
    }

    #[test]
    fn implied_features_are_followed_past_what_is_not_a_feature() {
        let features = r#"{"default": ["a", "dep:x", "y/z"], "a": ["b"], "b": []}"#;
        assert_eq!(flags(features), ["", "--no-default-features"]);
    }

    #[test]
    fn what_is_no_metadata_is_refused() {
        assert_eq!(read("{}"), None);
        assert_eq!(read("not json"), None);
        assert_eq!(read(r#"{"packages": [{"name": "p"}]}"#), None);
    }

    #[test]
    fn this_workspace_is_understood() {
        let names: Vec<_> = Package::of_workspace()
            .unwrap()
            .into_iter()
            .map(|p| p.name)
            .collect();
        for expected in ["idempotency", "idem-core", "xtask"] {
            assert!(
                names.iter().any(|name| name == expected),
                "{expected} not in {names:?}"
            );
        }
    }
}
