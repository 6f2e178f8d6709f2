//! Workers in workerd itself. Invariant: gate and pass-through run in the same kind of process, each alone in its own, and
//! nothing stands between the load and either of them.
//!
//! `wrangler dev` would put a proxy and, because of the assets, a router before the Worker: on two cores these cost more
//! than what is to be measured, and whatever is compared looks alike behind them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result};
use toml::{Table, Value};

use crate::process::{Process, ask};
use crate::project::Project;
use crate::setup::Tools;

use super::wire::Wire;

const POLL: Duration = Duration::from_millis(10);

/// The plain Worker that everything is compared with.
const PASS_THROUGH: &str = "export default {
  fetch(request, env) {
    const { pathname, search } = new URL(request.url);
    return fetch(env.ORIGIN_URL + pathname + search, request);
  },
};
";

/// The hops of a first execution, without the gate.
const HOPS: &str = include_str!("hops.js");

/// As `namespaces` writes it.
const SHARD_CLASS: &str = "(className = \"Shard\", uniqueKey = \"Shard\", enableSql = true)";

/// A Worker in a process of its own.
pub(super) struct Runtime {
    process: Process,
    address: String,
}

impl Runtime {
    /// Starts the Worker that `folder` holds, and waits until it listens.
    pub(super) fn start(
        project: &Project,
        tools: &Tools,
        folder: &Path,
        port: u16,
    ) -> Result<Self> {
        let mut workerd = Command::new(workerd(project, tools)?);
        workerd.args(["serve", "workerd.capnp"]).current_dir(folder);
        let process = Process::start("workerd", &mut workerd, &folder.join("workerd.log"))?;
        let mut runtime = Self {
            process,
            address: format!("127.0.0.1:{port}"),
        };
        while Wire::connect(&runtime.address).is_err() {
            runtime.process.check_alive()?;
            sleep(POLL);
        }
        Ok(runtime)
    }

    /// Host and port.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// The processor time that the process has used so far.
    pub(super) fn cpu(&self) -> Result<Duration> {
        cpu(self.process.id())
    }
}

/// The program itself: its launcher in node_modules is a script that would be one process more.
fn workerd(project: &Project, tools: &Tools) -> Result<PathBuf> {
    let mut node = tools.node();
    node.args(["--print", "require('workerd').default"])
        .current_dir(project.root());
    let path = ask(&mut node).context("workerd is not among the npm packages")?;
    Ok(PathBuf::from(path))
}

/// The time on a processor of every thread of a process, as the scheduler counts it.
fn cpu(process: u32) -> Result<Duration> {
    let tasks = PathBuf::from(format!("/proc/{process}/task"));
    let mut sum = 0;
    for task in fs::read_dir(&tasks).with_context(|| format!("cannot read {}", tasks.display()))? {
        let file = task?.path().join("schedstat");
        // A thread may end between being listed and being read.
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        let nanoseconds = text
            .split(' ')
            .next()
            .and_then(|word| word.parse::<u64>().ok());
        sum += nanoseconds.with_context(|| format!("{} is no schedstat", file.display()))?;
    }
    Ok(Duration::from_nanos(sum))
}

/// Writes what workerd needs for the pass-through Worker.
pub(super) fn write_pass_through(folder: &Path, port: u16, origin: &str) -> Result<()> {
    fs::write(folder.join("main.js"), PASS_THROUGH)?;
    let worker = format!(
        "modules = [(name = \"main.js\", esModule = embed \"main.js\")], \
         bindings = [(name = \"ORIGIN_URL\", text = {})],",
        quoted(origin)
    );
    config(folder, port, &worker, "2026-10-15")
}

/// Writes what workerd needs for the Worker that makes the gate's hops: its objects and its service binding to itself are of
/// the same kinds as the gate's.
pub(super) fn write_hops(folder: &Path, port: u16, origin: &str) -> Result<()> {
    fs::write(folder.join("main.js"), HOPS)?;
    let worker = format!(
        "modules = [(name = \"main.js\", esModule = embed \"main.js\")], \
         bindings = [(name = \"ORIGIN_URL\", text = {}), (name = \"COURIER\", service = \"worker\"), \
         (name = \"SHARDS\", durableObjectNamespace = \"Shard\")], \
         durableObjectNamespaces = [{SHARD_CLASS}], durableObjectStorage = (localDisk = \"disk\"),",
        quoted(origin)
    );
    config(folder, port, &worker, "2026-10-15")
}

/// Writes what workerd needs for a rival: a module with a Worker and a class `Store` of objects, bound as STORE.
pub(super) fn write_rival(folder: &Path, port: u16, origin: &str, module: &Path) -> Result<()> {
    fs::copy(module, folder.join("main.js"))
        .with_context(|| format!("cannot copy {}", module.display()))?;
    let worker = format!(
        "modules = [(name = \"main.js\", esModule = embed \"main.js\")], \
         bindings = [(name = \"ORIGIN_URL\", text = {}), (name = \"STORE\", durableObjectNamespace = \"Store\")], \
         durableObjectNamespaces = [(className = \"Store\", uniqueKey = \"Store\", enableSql = true)], \
         durableObjectStorage = (localDisk = \"disk\"),",
        quoted(origin)
    );
    config(folder, port, &worker, "2026-10-15")
}

/// Writes what workerd needs for the gate with the settings of wrangler.toml, except for its assets; `wrapper` is a module
/// in front of it, if there is one.
pub(super) fn write_gate(
    project: &Project,
    folder: &Path,
    port: u16,
    vars: &[(&str, &str)],
    wrapper: Option<&str>,
) -> Result<()> {
    for name in ["index.js", "index_bg.wasm"] {
        fs::copy(project.path("target/gate").join(name), folder.join(name))
            .with_context(|| format!("cannot copy {name}"))?;
    }
    let settings: Table = fs::read_to_string(project.path("wrangler.toml"))?.parse()?;
    let mut modules = vec![
        "(name = \"index.js\", esModule = embed \"index.js\")".to_owned(),
        "(name = \"index_bg.wasm\", wasm = embed \"index_bg.wasm\")".to_owned(),
    ];
    if let Some(wrapper) = wrapper {
        fs::write(folder.join("wrapper.js"), with_classes(wrapper, &settings)?)?;
        modules.insert(
            0,
            "(name = \"wrapper.js\", esModule = embed \"wrapper.js\")".to_owned(),
        );
    }
    let worker = format!(
        "modules = [{}], bindings = [{}], durableObjectNamespaces = [{}], durableObjectStorage = (localDisk = \"disk\"),",
        modules.join(", "),
        bindings(&settings, vars)?.join(", "),
        namespaces(&settings)?.join(", ")
    );
    let date = settings["compatibility_date"].as_str().unwrap_or_default();
    config(folder, port, &worker, date)
}

/// Exports every class of objects, as the wrapper's `counted` makes it.
fn with_classes(wrapper: &str, settings: &Table) -> Result<String> {
    let mut text = wrapper.to_owned();
    for class in classes(settings)? {
        text += &format!("export class {class} extends counted(own.{class}) {{}}\n");
    }
    Ok(text)
}

fn config(folder: &Path, port: u16, worker: &str, date: &str) -> Result<()> {
    let text = format!(
        "using Workerd = import \"/workerd/workerd.capnp\";
const config :Workerd.Config = (
  services = [
    (name = \"worker\", worker = .worker),
    (name = \"internet\", network = (allow = [\"public\", \"private\"])),
    (name = \"disk\", disk = (path = {}, writable = true)),
  ],
  sockets = [(name = \"http\", address = \"127.0.0.1:{port}\", http = (), service = \"worker\")],
);
const worker :Workerd.Worker = ({worker} compatibilityDate = {});
",
        quoted(&folder.join("objects").to_string_lossy()),
        quoted(date)
    );
    Ok(fs::write(folder.join("workerd.capnp"), text)?)
}

fn bindings(settings: &Table, vars: &[(&str, &str)]) -> Result<Vec<String>> {
    let mut bindings = Vec::new();
    for object in objects(settings) {
        let (name, class) = (
            quoted(text(object, "name")?),
            quoted(text(object, "class_name")?),
        );
        bindings.push(format!("(name = {name}, durableObjectNamespace = {class})"));
    }
    for service in tables(settings.get("services")) {
        // The Worker calls itself; it is the only one here.
        bindings.push(format!(
            "(name = {}, service = \"worker\")",
            quoted(text(service, "binding")?)
        ));
    }
    let own = settings
        .get("vars")
        .and_then(Value::as_table)
        .context("wrangler.toml has no [vars]")?;
    for (name, value) in own
        .iter()
        .filter(|(name, _)| vars.iter().all(|(var, _)| var != name))
    {
        let value = match value {
            Value::String(value) => format!("text = {}", quoted(value)),
            value => format!("json = {}", quoted(&serde_json::to_string(value)?)),
        };
        bindings.push(format!("(name = {}, {value})", quoted(name)));
    }
    bindings.extend(
        vars.iter()
            .map(|(name, value)| format!("(name = {}, text = {})", quoted(name), quoted(value))),
    );
    Ok(bindings)
}

fn namespaces(settings: &Table) -> Result<Vec<String>> {
    let namespace =
        |class| format!("(className = \"{class}\", uniqueKey = \"{class}\", enableSql = true)");
    Ok(classes(settings)?.into_iter().map(namespace).collect())
}

fn classes(settings: &Table) -> Result<Vec<&str>> {
    objects(settings)
        .map(|object| text(object, "class_name"))
        .collect()
}

fn objects(settings: &Table) -> impl Iterator<Item = &Table> {
    tables(
        settings
            .get("durable_objects")
            .and_then(|table| table.get("bindings")),
    )
}

fn tables(value: Option<&Value>) -> impl Iterator<Item = &Table> {
    value
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_table)
}

fn text<'a>(table: &'a Table, field: &str) -> Result<&'a str> {
    let value = table.get(field).and_then(Value::as_str);
    value.with_context(|| format!("a binding of wrangler.toml has no `{field}`"))
}

/// A text as Cap'n Proto reads it, which is how JSON writes it as long as it is ASCII.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: &str = r#"
        [[durable_objects.bindings]]
        name = "SHARDS"
        class_name = "Shard"
        [[services]]
        binding = "COURIER"
        service = "oncegate"
        [vars]
        ORIGIN_URL = "http://127.0.0.1:8788"
        CORS_ORIGINS = []
        [[vars.ROUTES]]
        name = "orders"
    "#;

    #[test]
    fn every_binding_of_the_gate_has_its_like_in_workerd() {
        let settings: Table = SETTINGS.parse().unwrap();
        let mut made = bindings(&settings, &[("ORIGIN_URL", "http://127.0.0.1:1")]).unwrap();
        made.sort();
        assert_eq!(
            made,
            [
                r#"(name = "CORS_ORIGINS", json = "[]")"#,
                r#"(name = "COURIER", service = "worker")"#,
                r#"(name = "ORIGIN_URL", text = "http://127.0.0.1:1")"#,
                r#"(name = "ROUTES", json = "[{\"name\":\"orders\"}]")"#,
                r#"(name = "SHARDS", durableObjectNamespace = "Shard")"#,
            ]
        );
        assert_eq!(
            namespaces(&settings).unwrap(),
            [r#"(className = "Shard", uniqueKey = "Shard", enableSql = true)"#]
        );
    }

    #[test]
    fn processor_time_grows() {
        let before = cpu(std::process::id()).unwrap();
        let mut sum = 0_u64;
        while cpu(std::process::id()).unwrap() == before {
            sum = std::hint::black_box(sum + 1);
        }
    }
}
