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

    #[wasm_bindgen(method, catch, variadic)]
    fn exec(this: &Sql, statement: &str, values: &Array) -> std::result::Result<Cursor, JsValue>;

    #[wasm_bindgen(method, getter, js_name = databaseSize)]
    fn database_size(this: &Sql) -> f64;

    type Cursor;

    #[wasm_bindgen(method, catch)]
    fn raw(this: &Cursor) -> std::result::Result<RawRows, JsValue>;

    #[wasm_bindgen(method, getter, js_name = rowsWritten)]
    fn rows_written(this: &Cursor) -> f64;

    type RawRows;

    #[wasm_bindgen(method, catch, js_name = toArray)]
    fn to_array(this: &RawRows) -> std::result::Result<Array, JsValue>;
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
        let bound: Array = values.into_iter().map(to_js).collect();
        let cursor = self.sql.exec(statement, &bound)?;
        let rows = cursor.raw()?.to_array()?;
        // Who only reads, as a replay does, is not asked.
        if !statement.starts_with("SELECT") {
            self.add_written(cursor.rows_written() as u64);
        }
        rows.iter()
            .map(|row| row.unchecked_into::<Array>().iter().map(from_js).collect())
            .collect()
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

fn to_js(value: Value<ArrayBuffer>) -> JsValue {
    match value {
        Value::Null => JsValue::NULL,
        Value::Integer(number) => JsValue::from_f64(number as f64),
        Value::Text(text) => JsValue::from_str(&text),
        Value::Id(bytes) => Uint8Array::from(bytes.as_slice()).into(),
        Value::Bytes(buffer) => buffer.into(),
    }
}

fn from_js(value: JsValue) -> std::result::Result<Value<ArrayBuffer>, StoreError> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    if let Some(number) = value.as_f64() {
        return Ok(Value::Integer(number as u64));
    }
    if let Some(text) = value.as_string() {
        return Ok(Value::Text(text));
    }
    let buffer = value.dyn_into().map_err(|_| Fault::Row("value"))?;
    Ok(Value::Bytes(buffer))
}

/// Opens the store of an object.
pub(crate) fn open(storage: &Storage, now_ms: u64) -> Result<Store> {
    Ok(Store::open(Rows::new(storage), now_ms)?)
}
