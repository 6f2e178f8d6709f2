//! The contract and its tests: every rule has tests whose names begin with it, and the table at the
//! end of `docs/protocol.md` names tests that there are. So does the table of complaints.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Where tests are.
const FOLDERS: [&str; 8] = [
    "client",
    "core/src",
    "edge-worker/src",
    "origin",
    "sdk",
    "store",
    "tests",
    "xtask/src",
];

/// What a row says of a rule that nothing holds yet.
const NOT_BUILT: &str = "not built yet";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn protocol() -> String {
    fs::read_to_string(root().join("docs/protocol.md")).expect("the contract is in the repository")
}

/// The rules, as the contract defines them: `- **I1 One owner.** …`.
fn rules(contract: &str) -> Vec<String> {
    let defined = contract
        .lines()
        .filter_map(|line| line.strip_prefix("- **"));
    defined.filter_map(rule_at).collect()
}

/// The rule that a text begins with: one letter, one digit.
fn rule_at(text: &str) -> Option<String> {
    let mut characters = text.chars();
    let (letter, digit, next) = (
        characters.next()?,
        characters.next()?,
        characters.next().unwrap_or(' '),
    );
    let is_rule = "IKAPTL".contains(letter.to_ascii_uppercase())
        && digit.is_ascii_digit()
        && !next.is_alphanumeric();
    is_rule.then(|| format!("{letter}{digit}").to_uppercase())
}

/// The rows of the table: the rule, and what stands beside it.
fn rows(contract: &str) -> Vec<(String, String)> {
    let table = contract.lines().filter_map(|line| line.strip_prefix("| "));
    table
        .filter_map(|line| {
            let (first, rest) = line.split_once(" | ")?;
            let rule = rule_at(first).filter(|rule| rule == first)?;
            Some((rule, rest.trim_end_matches('|').trim().to_owned()))
        })
        .collect()
}

/// The names in a cell: what stands between backticks.
fn names(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// The names of all tests, as their runners show them.
fn tests() -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    for folder in FOLDERS {
        collect(&root().join(folder), &mut tests);
    }
    tests
}

fn collect(folder: &Path, tests: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().into_string().unwrap_or_default();
        if path.is_dir() {
            if !["dist", "node_modules", "target"].contains(&name.as_str()) {
                collect(&path, tests);
            }
        } else if name.ends_with(".rs") {
            tests.extend(rust_tests(&fs::read_to_string(path).unwrap_or_default()));
        } else if name.ends_with(".mjs") {
            tests.extend(node_tests(&fs::read_to_string(path).unwrap_or_default()));
        }
    }
}

/// `#[test]`, `#[tokio::test(…)]` and the like, and the function below.
fn rust_tests(source: &str) -> Vec<String> {
    let mut lines = source.lines().map(str::trim_start);
    let mut tests = Vec::new();
    while let Some(line) = lines.next() {
        let attribute =
            line.starts_with("#[") && (line.contains("test]") || line.contains("test("));
        let function = attribute.then(|| lines.find(|line| line.contains("fn ")));
        let name = function.flatten().and_then(|line| line.split("fn ").nth(1));
        tests.extend(
            name.and_then(|name| name.split('(').next())
                .map(str::to_owned),
        );
    }
    tests
}

/// `test("title"`, in any quotes; a quote may stand in it, escaped.
fn node_tests(source: &str) -> Vec<String> {
    let after = source.split("test(").skip(1);
    after
        .filter_map(|call| {
            let call = call.trim_start();
            let quote = call
                .chars()
                .next()
                .filter(|quote| "\"'`".contains(*quote))?;
            Some(quoted(&call[1..], quote))
        })
        .collect()
}

/// What stands before the first `quote` that is not escaped.
fn quoted(text: &str, quote: char) -> String {
    let mut title = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next().filter(|character| *character != quote) {
        title.push(match character {
            '\\' => characters.next().unwrap_or(character),
            _ => character,
        });
    }
    title
}

fn is_test_of(rule: &str, name: &str) -> bool {
    let begins = name
        .get(..2)
        .is_some_and(|start| start == rule.to_lowercase());
    begins && name[2..].starts_with(['_', ' '])
}

#[test]
fn every_rule_of_the_contract_has_tests_that_are_named_after_it() {
    let (contract, tests) = (protocol(), tests());
    let rules = rules(&contract);
    assert!(
        rules.len() >= 40,
        "rules are not found where they are defined: {rules:?}"
    );
    let rows = rows(&contract);
    for rule in rules {
        let cell = rows
            .iter()
            .find(|(name, _)| *name == rule)
            .map(|(_, cell)| cell);
        let not_built = cell.is_some_and(|cell| cell.starts_with(NOT_BUILT));
        let has_tests = tests.iter().any(|name| is_test_of(&rule, name));
        assert!(
            cell.is_some(),
            "the table in docs/protocol.md has no row for {rule}"
        );
        assert_ne!(
            has_tests, not_built,
            "{rule}: tests {has_tests}, {NOT_BUILT} {not_built}"
        );
    }
}

#[test]
fn the_table_of_the_contract_names_tests_that_there_are() {
    let (contract, tests) = (protocol(), tests());
    for (rule, cell) in rows(&contract) {
        let named = names(&cell);
        assert!(
            !named.is_empty() || cell.starts_with(NOT_BUILT),
            "{rule}: {cell}"
        );
        for name in named {
            assert!(is_test_of(&rule, name), "{name} is no test of {rule}");
            assert!(tests.contains(name), "{rule}: there is no test {name:?}");
        }
    }
}

#[test]
fn what_the_gates_own_endpoints_promise_names_tests_that_there_are() {
    let (contract, tests) = (protocol(), tests());
    let heading = "### What section 7 promises";
    let promises = shown(contract.split(heading).nth(1).expect(heading));
    for family in ["tokens", "locks", "claims", "webhooks", "queues", "cron"] {
        let own = promises.iter().filter(|(what, _)| what.starts_with(family));
        assert!(own.count() > 0, "nothing is promised of {family}");
    }
    for (what, named) in promises.iter().filter(|(_, named)| !named.is_empty()) {
        for name in named {
            assert!(tests.contains(name), "{what}: there is no test {name:?}");
        }
    }
}

/// The scenarios of the family at the edge, by the words with which their tests begin.
const SCENARIOS: [&str; 6] = [
    "double submit",
    "job run twice",
    "k2 one-time token",
    "message consumed twice",
    "payment callback",
    "stock",
];

#[test]
fn every_scenario_of_the_family_has_a_test_end_to_end_that_carries_its_name() {
    let page = fs::read_to_string(root().join("docs/protection.md")).expect("it is there");
    let mut end_to_end = BTreeSet::new();
    for folder in ["tests/browser", "tests/gate"] {
        collect(&root().join(folder), &mut end_to_end);
    }
    for scenario in SCENARIOS {
        let is_named = |name: &String| page.contains(&format!("`{name}`"));
        let mut own = end_to_end.iter().filter(|name| name.starts_with(scenario));
        assert!(
            own.any(is_named),
            "docs/protection.md names no test end to end that begins with {scenario:?}"
        );
    }
}

/// The rows of a table of complaints: its number, and the names of its tests.
fn complaints(page: &str) -> Vec<(usize, Vec<&str>)> {
    let cells = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    cells
        .filter_map(|(number, rest)| {
            Some((number.parse().ok()?, names(rest.rsplit(" | ").next()?)))
        })
        .collect()
}

#[test]
fn every_complaint_has_tests_that_there_are_in_both_languages() {
    let tests = tests();
    for [english, chinese] in [
        ["docs/complaints.md", "docs/zh/complaints.md"],
        ["docs/sdk/complaints.md", "docs/sdk/complaints.zh-CN.md"],
    ] {
        let [page, other] = [english, chinese]
            .map(|name| fs::read_to_string(root().join(name)).expect("it is in the repository"));
        let rows = complaints(&page);
        let numbers: Vec<_> = rows.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, (1..=29).collect::<Vec<_>>(), "{english}");
        assert_eq!(rows, complaints(&other), "{chinese}");
        for (number, named) in rows {
            assert!(!named.is_empty(), "{english}: {number} has no test");
            for name in named {
                let is_there = tests.contains(name);
                assert!(is_there, "{english}: {number}: there is no test {name:?}");
            }
        }
    }
}

/// The rows of the table below `## Which test shows it`, in either language: a scenario, and its tests.
fn shown(page: &str) -> Vec<(String, Vec<String>)> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| "));
    let cells = rows.filter_map(|line| line.trim_end_matches(" |").split_once(" | "));
    let shown = cells.map(|(scenario, cell)| {
        let names = names(cell).into_iter().map(str::to_owned);
        (scenario.to_owned(), names.collect())
    });
    shown.collect()
}

#[test]
fn every_scenario_and_every_pitfall_names_tests_that_there_are() {
    let tests = tests();
    let tables = [
        ("docs/protection.md", "## Which test shows it"),
        ("docs/zh/protection.md", "## 由哪个测试证明"),
    ]
    .map(|(path, heading)| {
        let page = fs::read_to_string(root().join(path)).expect("it is in the repository");
        let after = page.split(heading).nth(1).expect(heading);
        shown(after.split("\n## ").next().unwrap_or_default())
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .collect::<Vec<_>>()
    });
    let named: Vec<_> = tables[0].iter().flat_map(|(_, names)| names).collect();
    for name in &named {
        assert!(tests.contains(*name), "there is no test {name:?}");
    }
    for pitfall in tests.iter().filter(|name| name.starts_with("pitfall_")) {
        assert!(
            named.contains(&pitfall),
            "docs/protection.md lacks {pitfall}"
        );
    }
    assert!(tables[0].len() >= 24, "{:?}", tables[0]);
    let tests_of = |table: &[(String, Vec<String>)]| {
        table
            .iter()
            .map(|(_, names)| names.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        tests_of(&tables[0]),
        tests_of(&tables[1]),
        "the two languages differ"
    );
}

#[test]
fn every_planted_bug_is_caught_by_a_test() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("it is in the repository");
    let plants = read("tests/src/plant.rs");
    let caught =
        ["planted.rs", "planted_worlds.rs"].map(|name| read(&format!("tests/tests/{name}")));
    let bugs = plants
        .lines()
        .filter_map(|line| line.strip_prefix("    ")?.strip_suffix(','));
    let bugs: Vec<_> = bugs
        .filter(|line| line.chars().all(char::is_alphanumeric))
        .collect();
    assert!(bugs.len() >= 22, "{bugs:?}");
    for bug in bugs {
        let name = format!("Plant::{bug},");
        assert!(
            caught.iter().any(|tests| tests.contains(&name)),
            "nothing catches {bug}"
        );
    }
}

#[test]
fn tests_are_found_in_both_languages() {
    let rust = "#[test]\nfn i1_one() {}\n    #[tokio::test]\n    async fn k2_two() {}\nfn helper() {}\n\
                #[tokio::test(flavor = \"multi_thread\")]\nasync fn l3_three() {}";
    assert_eq!(rust_tests(rust), ["i1_one", "k2_two", "l3_three"]);
    let node = "test(\"i1 one\", () => {});\ntest(\n  'k2 two', …);\ntest(name, …);\ntest(\"a \\\"b\\\" c\", …)";
    assert_eq!(node_tests(node), ["i1 one", "k2 two", "a \"b\" c"]);
    assert_eq!(
        rules("- **I1 One owner.** At\n- **L1** It\n- **Bold** no\n"),
        ["I1", "L1"]
    );
    assert_eq!(
        rows("| I1 | `i1_one` |\n| rule | tests |\n"),
        [("I1".into(), "`i1_one`".into())]
    );
}
