// A controller over the ledger. `spring.datasource.hikari.connection-init-sql=SET innodb_lock_wait_timeout = 5` (PostgreSQL:
// `SET lock_timeout = '5s'`) makes a duplicate wait for the first attempt for five seconds at most.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.function.Function;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;

/** Takes payments, and tells the gate what became of them. */
@RestController
public class PaymentController {
  private final Ledger ledger;
  private final JdbcTemplate database;
  private final ObjectMapper json = new ObjectMapper();

  public PaymentController(Ledger ledger, JdbcTemplate database) {
    this.ledger = ledger;
    this.database = database;
  }

  /** The body is read inside the effect: what is wrong with it is a refusal like any other, and stays (L2). */
  @PostMapping("/payments")
  public ResponseEntity<String> pay(
      @RequestHeader("Idempotency-Key") String key,
      @RequestHeader("Oncegate-Fingerprint") String fingerprint,
      @RequestHeader("Oncegate-Key-Kind") String kind,
      @RequestBody(required = false) String body) {
    return answer(key, fingerprint, kind, call -> ledger.once(call, () -> charge(body)));
  }

  @PostMapping("/.oncegate/ledger/probe")
  public ResponseEntity<String> probe(
      @RequestHeader("Idempotency-Key") String key,
      @RequestHeader("Oncegate-Fingerprint") String fingerprint,
      @RequestHeader("Oncegate-Key-Kind") String kind) {
    return answer(key, fingerprint, kind, ledger::probe);
  }

  @PostMapping("/.oncegate/ledger/cancel")
  public ResponseEntity<String> cancel(
      @RequestHeader("Idempotency-Key") String key,
      @RequestHeader("Oncegate-Fingerprint") String fingerprint,
      @RequestHeader("Oncegate-Key-Kind") String kind) {
    return answer(key, fingerprint, kind, ledger::cancel);
  }

  /** The effect: what your service does already, over connections of this transaction and nothing else. */
  private Ledger.Answer charge(String body) {
    JsonNode payment = parse(body);
    if (!payment.path("order").isTextual() || !payment.path("cents").isIntegralNumber()) {
      throw new Ledger.Refused(402, "{\"error\":\"write an order and its cents\"}");
    }
    String order = payment.get("order").textValue();
    long cents = payment.get("cents").longValue();
    database.update("INSERT INTO payments (order_no, cents) VALUES (?, ?)", order, cents);
    if (cents > 100_000) throw new Ledger.Refused(402, "{\"error\":\"declined\"}");
    return Ledger.Answer.executed(201, json.createObjectNode().put("paid", order).toString());
  }

  private JsonNode parse(String body) {
    try {
      return json.readTree(body == null ? "null" : body);
    } catch (java.io.IOException malformed) {
      return json.nullNode();
    }
  }

  private static ResponseEntity<String> answer(
      String key, String fingerprint, String kind, Function<Ledger.Call, Ledger.Answer> act) {
    Ledger.Answer answer = act.apply(new Ledger.Call(key, fingerprint, kind.equals("generated")));
    ResponseEntity.BodyBuilder told =
        ResponseEntity.status(answer.status()).contentType(MediaType.APPLICATION_JSON).header("Idempotency-Outcome", answer.outcome());
    if (answer.recorded() != null) told.header("Oncegate-Fingerprint", answer.recorded());
    return told.body(answer.body());
  }
}
