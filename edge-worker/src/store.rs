//! A Durable Object's SQLite as the store's [`Database`]. Bodies stay in JavaScript.

use std::cell::{Cell, RefCell};
use std::panic::AssertUnwindSafe;

use js_sys::futures::JsFuture;
use js_sys::{Array, ArrayBuffer, Promise, Uint8Array};
use oncegate_store::{Database, Fault, Row, Value};
use wasm_bindgen::prelude::*;
use worker::{Error, Result, Storage};

#[wasm_bindgen]
extern "C" {
    type ObjectStorage;

    #[wasm_bindgen(method, catch, js_name = setAlarm)]
    fn set_alarm(this: &ObjectStorage, at_ms: f64) -> std::result::Result<Promise, JsValue>;

    #[wasm_bindgen(method, getter)]
    fn sql(this: &ObjectStorage) -> Sql;

    #[wasm_bindgen(method, catch, js_name = transactionSync)]
    fn transaction_sync(
        this: &ObjectStorage,
        closure: &mut dyn FnMut() -> std::result::Result<(), JsValue>,
    ) -> std::result::Result<(), JsValue>;

    type Sql;

    #[wasm_bindgen(method, getter, js_name = databaseSize)]
    fn database_size(this: &Sql) -> f64;
}

#[wasm_bindgen(inline_js = r#"
const written = (value, buffers) => {
  if (value === null) {
    return "n";
  }
  if (typeof value === "object") {
    buffers.push(value);
    return "b";
  }
  return typeof value === "number" ? `i${value}` : `t${value}`;
};

const read = (text, buffers) => {
  switch (text[0]) {
    case "n":
      return null;
    case "b":
      return buffers.shift();
    case "i":
      return Number(text.slice(1));
    case "x":
      return Uint8Array.from(text.slice(1).match(/../g), (byte) => Number.parseInt(byte, 16));
    default:
      return text.slice(1);
  }
};

/** Runs a statement: how many rows it wrote, and the rows that it gave, each ended by a line break; then the bytes in them. */
export const run = (sql, statement, values, buffers) => {
  const bound = values.split("\0").slice(0, -1);
  const cursor = sql.exec(statement, ...bound.map((value) => read(value, buffers)));
  const found = [];
  let text = "";
  for (const row of cursor.raw()) {
    for (const value of row) {
      text += `${written(value, found)}\0`;
    }
    text += "\n";
  }
  return [`${cursor.rowsWritten}\n${text}`, ...found];
};
"#)]
extern "C" {
    /// Runs a statement: what it wrote and found as text, and behind it the bytes in it. Rows cross as text:
    /// values end with a NUL, and their first letter says what they are. Bytes stay in JavaScript, in the
    /// order in which they are named. No text that is stored has a NUL in it: all of it is JSON.
    #[wasm_bindgen(catch)]
    fn run(
        sql: &Sql,
        statement: &str,
        values: &str,
        buffers: &Array,
    ) -> std::result::Result<Array, JsValue>;
}

/// The store of a shard.
pub(crate) type Store = oncegate_store::Store<Rows>;
/// Bytes that stay in JavaScript.
pub(crate) type Bytes = ArrayBuffer;

/// An object's SQLite.
pub(crate) struct Rows {
    storage: ObjectStorage,
    sql: Sql,
    /// Rows written, as the platform counts and bills them, and not reported yet.
    written: Cell<u64>,
}

impl Rows {
    pub(crate) fn new(storage: &Storage) -> Self {
        let storage: ObjectStorage = AsRef::<JsValue>::as_ref(storage.as_raw())
            .clone()
            .unchecked_into();
        let sql = storage.sql();
        Self {
            storage,
            sql,
            written: Cell::new(0),
        }
    }

    /// Rows written since this was asked last.
    pub(crate) fn take_written(&self) -> u64 {
        self.written.take()
    }

    fn add_written(&self, rows: u64) {
        self.written.set(self.written.get() + rows);
    }

    /// Sets the object's one alarm. Like any write it leaves before what is sent after it; the promise
    /// tells of a fault.
    pub(crate) fn set_alarm(&self, at_ms: u64) -> Result<JsFuture> {
        self.add_written(1);
        Ok(self.storage.set_alarm(at_ms as f64)?.into())
    }

    /// How large the database is.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.sql.database_size() as u64
    }
}

impl Database for Rows {
    type Bytes = ArrayBuffer;
    type Error = StoreError;

    fn run(
        &self,
        statement: &str,
        values: Vec<Value<ArrayBuffer>>,
    ) -> std::result::Result<Vec<Row<ArrayBuffer>>, StoreError> {
        let (text, buffers) = bound(values);
        let ran = run(&self.sql, statement, &text, &buffers)?;
        let text = ran.shift().as_string().unwrap_or_default();
        let (written, rows) = text.split_once('\n').ok_or(Fault::Row("count"))?;
        self.add_written(written.parse().map_err(|_| Fault::Row("count"))?);
        Ok(read_rows(rows, &ran)?)
    }

    fn atomically(
        &self,
        work: &mut dyn FnMut() -> std::result::Result<(), StoreError>,
    ) -> std::result::Result<(), StoreError> {
        // A panic in it undoes the transaction with it.
        let work = AssertUnwindSafe(RefCell::new(work));
        self.storage
            .transaction_sync(&mut || Ok((work.borrow_mut())().map_err(|error| error.0)?))
            .map_err(StoreError::from)
    }

    fn id(bytes: &ArrayBuffer) -> Option<[u8; 32]> {
        let bytes = Uint8Array::new(bytes);
        let mut id = [0; 32];
        (bytes.length() == 32).then(|| {
            bytes.copy_to(&mut id);
            id
        })
    }
}

/// What went wrong in the store. Whoever asked hears 503 (rule I5).
#[derive(Debug)]
pub(crate) struct StoreError(Error);

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        Self(Error::from(fault.to_string()))
    }
}

impl From<JsValue> for StoreError {
    fn from(value: JsValue) -> Self {
        Self(Error::from(value))
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        error.0
    }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Values as they cross; see [`run`].
fn bound(values: Vec<Value<ArrayBuffer>>) -> (String, Array) {
    let (mut text, buffers) = (String::new(), Array::new());
    for value in values {
        match value {
            Value::Null => text.push('n'),
            Value::Integer(number) => text.push_str(&format!("i{number}")),
            Value::Text(value) => {
                text.push('t');
                text.push_str(&value);
            }
            Value::Id(bytes) => {
                text.push('x');
                for digit in bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]) {
                    text.push(char::from(DIGITS[usize::from(digit)]));
                }
            }
            Value::Bytes(buffer) => {
                text.push('b');
                buffers.push(&buffer);
            }
        }
        text.push('\0');
    }
    (text, buffers)
}

fn read_rows(text: &str, buffers: &Array) -> std::result::Result<Vec<Row<ArrayBuffer>>, Fault> {
    let mut rows = Vec::new();
    let mut row = Vec::new();
    for mut value in text
        .split_inclusive('\0')
        .map(|value| value.trim_end_matches('\0'))
    {
        // Behind the last value of a row.
        while let Some(next) = value.strip_prefix('\n') {
            rows.push(std::mem::take(&mut row));
            value = next;
        }
        if !value.is_empty() {
            row.push(read_value(value, buffers)?);
        }
    }
    Ok(rows)
}

fn read_value(text: &str, buffers: &Array) -> std::result::Result<Value<ArrayBuffer>, Fault> {
    let value = text.get(1..).unwrap_or_default();
    Ok(match text.as_bytes().first() {
        Some(b'n') => Value::Null,
        Some(b'i') => Value::Integer(value.parse().map_err(|_| Fault::Row("number"))?),
        Some(b't') => Value::Text(value.to_owned()),
        Some(b'b') => Value::Bytes(buffers.shift().unchecked_into()),
        _ => return Err(Fault::Row("value")),
    })
}

/// Opens the store of an object.
pub(crate) fn open(storage: &Storage, now_ms: u64) -> Result<Store> {
    Ok(Store::open(Rows::new(storage), now_ms)?)
}
