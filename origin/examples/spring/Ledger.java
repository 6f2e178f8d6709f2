// A ledger for Spring: what docs/origin.md asks for, over JdbcTemplate. PaymentController.java shows how it is used; the tables are in
// docs/origins/README.md. Written for Spring Framework 5.3 or newer and Java 17.

import java.util.List;
import java.util.function.Supplier;
import org.springframework.dao.PessimisticLockingFailureException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Service;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * Makes an effect happen once per key.
 *
 * <p>Invariant: the effect and the row of its key are committed together or not at all. That only one of several attempts gets through
 * comes from the primary key: the claim is inserted first, and whoever inserts the same waits for the first one's end.
 */
@Service
public class Ledger {
  /** MySQL and MariaDB. For PostgreSQL, end it with {@code ON CONFLICT DO NOTHING}. How many rows it reports is of no use: do not look. */
  private static final String CLAIM =
      "INSERT INTO ledger (op_key, slot, fingerprint, outcome, claimed_at) VALUES (?, '', ?, 'claimed', ?)"
          + " ON DUPLICATE KEY UPDATE op_key = op_key";

  private static final String STRONGEST =
      "SELECT outcome, fingerprint, status, body FROM ledger WHERE op_key = ? AND outcome <> 'claimed'"
          + " ORDER BY outcome = 'refused', fingerprint <> ? LIMIT 1";

  private static final String SETTLE =
      "UPDATE ledger SET slot = ?, outcome = ?, status = ?, body = ? WHERE op_key = ? AND slot = '' AND outcome = 'claimed'";

  private final JdbcTemplate database;
  private final TransactionTemplate transaction;

  public Ledger(JdbcTemplate database, PlatformTransactionManager manager) {
    this.database = database;
    this.transaction = new TransactionTemplate(manager);
    // A snapshot that is older than the wait for the claim would not show the row that was waited for.
    this.transaction.setIsolationLevel(TransactionDefinition.ISOLATION_READ_COMMITTED);
    this.transaction.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
  }

  /** Who asks for what, as the gate signed it. */
  public record Call(String key, String fingerprint, boolean generated) {}

  /** What is told, and stored to be told again. {@code recorded} is the fingerprint of the row, where it is another one. */
  public record Answer(int status, String outcome, String body, String recorded) {
    public static Answer executed(int status, String body) {
      return new Answer(status, "executed", body, null);
    }
  }

  /** The business says no: what was done is undone, and the answer stays. */
  public static class Refused extends RuntimeException {
    private final int status;

    public Refused(int status, String body) {
      super(body);
      this.status = status;
    }
  }

  /** An attempt: the row's answer if one stands in its way (L2, L5), else the effect and its row (L3, L4). */
  public Answer once(Call call, Supplier<Answer> effect) {
    return holding(call, (tx, row) -> {
      if (row != null && !(call.generated() && !row.speaksFor(call))) return row.tell(call);
      Object before = tx.createSavepoint();
      try {
        return settle(call, effect.get());
      } catch (Refused no) {
        tx.rollbackToSavepoint(before);
        return settle(call, new Answer(no.status, "refused", no.getMessage(), null));
      }
    });
  }

  /** What became of the key (L6). Without a row: unknown, because an attempt may still be on its way. */
  public Answer probe(Call call) {
    Row row = strongest(call);
    return row != null && row.speaksFor(call) ? row.tell(call) : new Answer(200, "unknown", "{}", null);
  }

  /** From now on the key has no effect (L6). If it comes too late, it hears what an attempt would. */
  public Answer cancel(Call call) {
    return holding(call, (tx, row) -> row != null && row.speaksFor(call)
        ? row.tell(call)
        : settle(call, new Answer(410, "cancelled", "{}", null)));
  }

  private interface Act {
    Answer run(TransactionStatus transaction, Row row);
  }

  private Answer holding(Call call, Act act) {
    try {
      return transaction.execute(tx -> {
        database.update(CLAIM, call.key(), call.fingerprint(), System.currentTimeMillis());
        Answer answer = act.run(tx, strongest(call));
        // If another row was the answer, the claim must not stay.
        database.update("DELETE FROM ledger WHERE op_key = ? AND outcome = 'claimed'", call.key());
        return answer;
      });
    } catch (PessimisticLockingFailureException held) {
      // The wait for another attempt is over, or a deadlock was resolved: this one did nothing, and the gate asks again.
      return new Answer(409, "in_progress", "{}", null);
    }
  }

  private Answer settle(Call call, Answer answer) {
    // A generated key may have several refusals (another card for the same order), so each has a slot of its own.
    String slot = answer.outcome().equals("refused") ? call.fingerprint() : "";
    database.update(SETTLE, slot, answer.outcome(), answer.status(), answer.body(), call.key());
    return answer;
  }

  private Row strongest(Call call) {
    List<Row> rows = database.query(
        STRONGEST,
        (result, number) -> new Row(
            result.getString("outcome"), result.getString("fingerprint"), result.getInt("status"), result.getString("body")),
        call.key(), call.fingerprint());
    return rows.isEmpty() ? null : rows.get(0);
  }

  private record Row(String outcome, String fingerprint, int status, String body) {
    /** A refusal of another request is no answer to a question about this one. */
    boolean speaksFor(Call call) {
      return !outcome.equals("refused") || fingerprint.equals(call.fingerprint());
    }

    Answer tell(Call call) {
      return outcome.equals("cancelled") || fingerprint.equals(call.fingerprint())
          ? new Answer(status, outcome, body, null)
          : new Answer(422, outcome, "{\"error\":\"this key was used for another payment\"}", fingerprint);
    }
  }
}
