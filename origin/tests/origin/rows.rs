//! Jobs over rows of a service's own, with the library's tables and none of the shop's.

use oncegate_core::lifecycle::{SettlementStatus, Status};
use oncegate_origin::id::Id;
use oncegate_origin::job::{Rows, Run, Settings, run};
use oncegate_origin::ledger::Failure;
use oncegate_origin::lifecycle::StatusColumn;
use oncegate_origin::sql::{Database, Dialect, Sql, Statements};

use crate::fixture::on_database;

/// Mails that are to be sent. One of them may be in the way.
struct Mails {
    fails: Option<&'static str>,
}

struct Mail {
    id: String,
    status: SettlementStatus,
}

impl<DB: Dialect> Rows<DB> for Mails {
    type Row = Mail;

    const TASK: Id<'static> = Id::literal("mails");

    const STATUS: StatusColumn = StatusColumn {
        name: "mail",
        compare_and_set: Sql::same("UPDATE mails SET status = ? WHERE id = ? AND status = ?"),
        read: Sql {
            mysql: "SELECT status FROM mails WHERE id = ? FOR UPDATE",
            postgres: "SELECT status FROM mails WHERE id = ? FOR UPDATE",
            sqlite: "SELECT status FROM mails WHERE id = ?",
        },
    };

    async fn open(&self, reader: &mut DB::Connection) -> Result<Vec<Mail>, sqlx::Error> {
        let sql = "SELECT id, status FROM mails WHERE status < 2 ORDER BY id LIMIT 2";
        let rows = reader.all(sql, &[]).await?;
        let mail = |row: &oncegate_origin::sql::Row<DB>| {
            let status = SettlementStatus::from_code(row.get("status")?).expect("a status");
            let id = row.get("id")?;
            Ok(Mail { id, status })
        };
        rows.iter().map(mail).collect()
    }

    fn id<'r>(&self, row: &'r Mail) -> &'r str {
        &row.id
    }

    fn status(&self, row: &Mail) -> SettlementStatus {
        row.status
    }

    async fn work(
        &self,
        connection: &mut DB::Connection,
        row: &Mail,
        run: Id<'_>,
    ) -> Result<(), Failure> {
        let sql = "INSERT INTO sent (id, run) VALUES (?, ?)";
        connection.run(sql, &[(&row.id).into(), run.into()]).await?;
        match self.fails == Some(&row.id) {
            true => Err(Failure::NotExecuted("no such address".into())),
            false => Ok(()),
        }
    }
}

#[tokio::test]
async fn a_job_that_breaks_off_is_gone_on_with_and_does_the_work_of_each_row_once() {
    on_database!(|fixture| {
        let books = &fixture.books;
        let mails = "CREATE TABLE mails (id VARCHAR(64) PRIMARY KEY, status BIGINT NOT NULL)";
        books.run(mails).await;
        let sent = "CREATE TABLE sent (id VARCHAR(64) PRIMARY KEY, run VARCHAR(64) NOT NULL)";
        books.run(sent).await;
        for number in 0..5 {
            let mail = format!("INSERT INTO mails (id, status) VALUES ('m{number}', 0)");
            books.run(&mail).await;
        }
        let database = Database::<DB>::open(&books.url()).await.unwrap();
        database.migrate_beside().await.unwrap();
        let work_off = async |fails| run(&database, &Mails { fails }, Settings::default()).await;
        let failure = work_off(Some("m2")).await.unwrap_err();
        assert!(failure.to_string().contains("no such address"), "{failure}");
        let sent = "SELECT count(*) FROM sent";
        assert_eq!(books.number(sent).await, 2);
        let settling = "SELECT count(*) FROM mails WHERE status = 1";
        assert_eq!(books.number(settling).await, 1);
        assert_eq!(work_off(None).await.unwrap(), Run::Settled(3));
        assert_eq!(books.number(sent).await, 5);
        let runs = "SELECT count(DISTINCT run) FROM sent";
        assert_eq!(books.number(runs).await, 2);
        assert_eq!(work_off(None).await.unwrap(), Run::Settled(0));
        let broken_off = "SELECT count(*) FROM job_runs WHERE ended_at IS NULL";
        assert_eq!(books.number(broken_off).await, 1);
    });
}
