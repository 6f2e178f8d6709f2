//! rusqlite as the store's database. Numbers are bound as the platform binds them: as doubles.

use std::rc::Rc;

use oncegate_contract::{Blob, Machine};
use oncegate_store::{Database, Fault, Row, Store, Value};
use rusqlite::Connection;
use rusqlite::types::{ToSqlOutput, Value as Sql};

/// One database, however often it is opened.
#[derive(Clone)]
pub(crate) struct Sqlite(Rc<Connection>);

impl Default for Sqlite {
    fn default() -> Self {
        Self(Rc::new(Connection::open_in_memory().unwrap()))
    }
}

impl Machine for Sqlite {
    type Shelf = Store<Self>;

    fn open(&self, now_ms: u64) -> Store<Self> {
        Store::open(self.clone(), now_ms).unwrap()
    }
}

#[derive(Clone)]
pub(crate) struct Body(Vec<u8>);

impl Blob for Body {
    fn of(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    fn to_bytes(&self) -> Vec<u8> {
        self.0.clone()
    }
}

#[derive(Debug)]
#[expect(dead_code, reason = "read as a whole, by Debug")]
pub(crate) struct Broken(String);

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Self {
        Self(fault.to_string())
    }
}

impl From<rusqlite::Error> for Broken {
    fn from(error: rusqlite::Error) -> Self {
        Self(error.to_string())
    }
}

impl Database for Sqlite {
    type Bytes = Body;
    type Error = Broken;

    fn run(&self, statement: &str, values: Vec<Value<Body>>) -> Result<Vec<Row<Body>>, Broken> {
        let mut statement = self.0.prepare(statement)?;
        let columns = statement.column_count();
        let mut rows =
            statement.query(rusqlite::params_from_iter(values.into_iter().map(bound)))?;
        let mut read = Vec::new();
        while let Some(row) = rows.next()? {
            let values = (0..columns).map(|column| Ok(value(row.get(column)?)));
            read.push(values.collect::<Result<_, Broken>>()?);
        }
        Ok(read)
    }

    fn atomically(&self, work: &mut dyn FnMut() -> Result<(), Broken>) -> Result<(), Broken> {
        self.0.execute_batch("BEGIN")?;
        let done = work();
        let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
        self.0.execute_batch(end)?;
        done
    }

    fn id(bytes: &Body) -> Option<[u8; 32]> {
        bytes.0.as_slice().try_into().ok()
    }
}

fn bound(value: Value<Body>) -> ToSqlOutput<'static> {
    ToSqlOutput::Owned(match value {
        Value::Null => Sql::Null,
        Value::Integer(number) => Sql::Real(number as f64),
        Value::Text(text) => Sql::Text(text),
        Value::Id(bytes) => Sql::Blob(bytes.to_vec()),
        Value::Bytes(body) => Sql::Blob(body.0),
    })
}

fn value(value: Sql) -> Value<Body> {
    match value {
        Sql::Null => Value::Null,
        Sql::Integer(number) => Value::Integer(number.try_into().unwrap()),
        Sql::Real(number) => Value::Integer(number as u64),
        Sql::Text(text) => Value::Text(text),
        Sql::Blob(bytes) => Value::Bytes(Body(bytes)),
    }
}
