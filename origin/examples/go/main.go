// A ledger origin in Go: what docs/origin.md asks for, over database/sql and PostgreSQL.
//
// POST /payments {"order","cents"} takes a payment. Start it with PORT, DATABASE_URL and ONCEGATE_SIGNING_SECRETS (what the gate
// has as SIGNING_SECRETS). The tables are in docs/origins/README.md.
//
// Invariant: a payment and the row of its key are committed together or not at all. That only one of several attempts gets through
// comes from the primary key: the claim is inserted first, and whoever inserts the same waits for the first one's end.
package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/lib/pq"
)

const (
	clockTolerance = 5 * time.Minute
	maxBody        = 1 << 20
)

var (
	secrets   = readSecrets(os.Getenv("ONCEGATE_SIGNING_SECRETS"))
	signature = regexp.MustCompile(`^t=(\d{1,16}), kid=([^,]+), v1=([0-9a-f]{64})$`)
	signed    = []string{"Idempotency-Key", "Oncegate-Attempt", "Oncegate-Operation", "Oncegate-Key-Kind", "Oncegate-Fingerprint"}
	// errHeld: another attempt holds this key, and the wait for its end is over.
	errHeld = errors.New("another attempt holds the key")
)

// refusal is an error that is an answer: the business says no.
type refusal string

func (r refusal) Error() string { return string(r) }

type call struct {
	key, fingerprint string
	generated        bool
}

// answer is what is told, and stored to be told again. recorded is the row's fingerprint, where it is another one.
type answer struct {
	status                  int
	outcome, body, recorded string
}

type act func(context.Context, *sql.Tx, call, []byte) (answer, error)

func readSecrets(text string) map[string]string {
	found := map[string]string{}
	for _, entry := range strings.Split(text, ",") {
		if name, secret, ok := strings.Cut(strings.TrimSpace(entry), "="); ok {
			found[name] = secret
		}
	}
	return found
}

// isSigned tells whether the call comes from the gate (L1).
func isSigned(r *http.Request) bool {
	part := signature.FindStringSubmatch(r.Header.Get("Oncegate-Signature"))
	if part == nil || len(r.Header.Values("Oncegate-Signature")) > 1 {
		return false
	}
	t, _ := strconv.ParseInt(part[1], 10, 64)
	secret, known := secrets[part[2]]
	if age := time.Since(time.UnixMilli(t)); !known || age > clockTolerance || age < -clockTolerance {
		return false
	}
	lines := []string{"oncegate-signature-v1", part[1], r.Method, r.RequestURI}
	for _, name := range signed {
		if len(r.Header.Values(name)) > 1 {
			return false
		}
		lines = append(lines, r.Header.Get(name))
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(strings.Join(lines, "\n")))
	given, _ := hex.DecodeString(part[3])
	return hmac.Equal(mac.Sum(nil), given)
}

// attempt takes the key, then answers from its row, or does the effect and keeps what it came to (L2 to L5).
func attempt(ctx context.Context, tx *sql.Tx, c call, body []byte) (answer, error) {
	if found, err := claim(ctx, tx, c); err != nil || found != nil {
		return deref(found), err
	}
	if _, err := tx.ExecContext(ctx, "SAVEPOINT effect"); err != nil {
		return answer{}, err
	}
	result, err := pay(ctx, tx, body)
	var no refusal
	if errors.As(err, &no) {
		text, _ := json.Marshal(map[string]string{"error": no.Error()})
		if _, err := tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT effect"); err != nil {
			return answer{}, err
		}
		return settle(ctx, tx, c, answer{status: 402, outcome: "refused", body: string(text)})
	}
	if err != nil {
		return answer{}, err
	}
	return settle(ctx, tx, c, answer{status: 201, outcome: "executed", body: result})
}

// probe tells what became of the key (L6). Without a row: unknown, because an attempt may still be on its way.
func probe(ctx context.Context, tx *sql.Tx, c call, _ []byte) (answer, error) {
	found, err := strongest(ctx, tx, c)
	if err == nil && found.speaks(c) {
		return found.tell(c), nil
	}
	return answer{status: 200, outcome: "unknown", body: "{}"}, err
}

// cancel makes sure that the key has no effect from now on (L6). If it comes too late, it hears what an attempt would.
func cancel(ctx context.Context, tx *sql.Tx, c call, _ []byte) (answer, error) {
	if _, err := claim(ctx, tx, c); err != nil {
		return answer{}, err
	}
	found, err := strongest(ctx, tx, c)
	if err != nil || found.speaks(c) {
		return found.tell(c), err
	}
	return settle(ctx, tx, c, answer{status: 410, outcome: "cancelled", body: "{}"})
}

// claim inserts the row that only one attempt can insert, waiting for whoever holds it; it gives the answer of the row in the way.
func claim(ctx context.Context, tx *sql.Tx, c call) (*answer, error) {
	_, err := tx.ExecContext(ctx, `INSERT INTO ledger (op_key, slot, fingerprint, outcome, claimed_at)
		VALUES ($1, '', $2, 'claimed', $3) ON CONFLICT DO NOTHING`, c.key, c.fingerprint, time.Now().UnixMilli())
	var failure *pq.Error
	if errors.As(err, &failure) && failure.Code == "55P03" { // lock_not_available
		return nil, errHeld
	}
	if err != nil {
		return nil, err
	}
	found, err := strongest(ctx, tx, c)
	if err != nil || found == nil || (c.generated && !found.speaks(c)) {
		return nil, err // Free, or another card for the same order.
	}
	told := found.tell(c)
	return &told, nil
}

type row struct {
	outcome, fingerprint, body string
	status                     int
}

// strongest reads the row that counts: executed or cancelled, then the refusal of this request, then any refusal.
func strongest(ctx context.Context, tx *sql.Tx, c call) (*row, error) {
	var found row
	err := tx.QueryRowContext(ctx, `SELECT outcome, fingerprint, body, status FROM ledger
		WHERE op_key = $1 AND outcome <> 'claimed'
		ORDER BY outcome = 'refused', fingerprint <> $2 LIMIT 1`, c.key, c.fingerprint).
		Scan(&found.outcome, &found.fingerprint, &found.body, &found.status)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &found, err
}

// speaks: a refusal of another request is no answer to a question about this one.
func (r *row) speaks(c call) bool {
	return r != nil && (r.outcome != "refused" || r.fingerprint == c.fingerprint)
}

func (r *row) tell(c call) answer {
	switch {
	case r == nil:
		return answer{}
	case r.outcome == "cancelled" || r.fingerprint == c.fingerprint:
		return answer{status: r.status, outcome: r.outcome, body: r.body}
	default:
		return answer{422, r.outcome, `{"error":"this key was used for another payment"}`, r.fingerprint}
	}
}

// settle turns the claim into what became of it. A generated key may have several refusals, so each has a slot of its own.
func settle(ctx context.Context, tx *sql.Tx, c call, a answer) (answer, error) {
	slot := ""
	if a.outcome == "refused" {
		slot = c.fingerprint
	}
	_, err := tx.ExecContext(ctx, `UPDATE ledger SET slot = $1, outcome = $2, status = $3, body = $4
		WHERE op_key = $5 AND slot = '' AND outcome = 'claimed'`, slot, a.outcome, a.status, a.body, c.key)
	return a, err
}

// pay is the effect: what your service does already, through this transaction and nothing else.
func pay(ctx context.Context, tx *sql.Tx, body []byte) (string, error) {
	var payment struct {
		Order *string `json:"order"`
		Cents *int64  `json:"cents"`
	}
	if err := json.Unmarshal(body, &payment); err != nil || payment.Order == nil || payment.Cents == nil {
		return "", refusal("write an order and its cents")
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO payments (order_no, cents) VALUES ($1, $2)", *payment.Order, *payment.Cents)
	if err == nil && *payment.Cents > 100_000 {
		err = refusal("declined")
	}
	text, _ := json.Marshal(map[string]string{"paid": *payment.Order})
	return string(text), err
}

// serve runs do in one transaction and tells what it came to.
func serve(db *sql.DB, do act) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || !isSigned(r) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		a, err := decide(r.Context(), db, callOf(r.Header), body, do)
		switch {
		case errors.Is(err, errHeld):
			tell(w, answer{status: 409, outcome: "in_progress", body: "{}"})
		case err != nil:
			// Nobody says what became of the operation: the gate asks again.
			log.Print(err)
			w.WriteHeader(http.StatusInternalServerError)
		default:
			tell(w, a)
		}
	}
}

func decide(ctx context.Context, db *sql.DB, c call, body []byte, do act) (answer, error) {
	tx, err := db.BeginTx(ctx, nil) // READ COMMITTED
	if err != nil {
		return answer{}, err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "SET LOCAL lock_timeout = '5s'"); err != nil {
		return answer{}, err
	}
	a, err := do(ctx, tx, c, body)
	if err != nil {
		return answer{}, err
	}
	// A claim that was not settled (the answer came from another row) must not stay.
	if _, err := tx.ExecContext(ctx, "DELETE FROM ledger WHERE op_key = $1 AND outcome = 'claimed'", c.key); err != nil {
		return answer{}, err
	}
	return a, tx.Commit()
}

func callOf(h http.Header) call {
	return call{h.Get("Idempotency-Key"), h.Get("Oncegate-Fingerprint"), h.Get("Oncegate-Key-Kind") == "generated"}
}

func tell(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Idempotency-Outcome", a.outcome)
	if a.recorded != "" {
		w.Header().Set("Oncegate-Fingerprint", a.recorded)
	}
	w.WriteHeader(a.status)
	io.WriteString(w, a.body)
}

func deref(a *answer) answer {
	if a == nil {
		return answer{}
	}
	return *a
}

func main() {
	db, err := sql.Open("postgres", os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/payments", serve(db, attempt))
	mux.HandleFunc("/.oncegate/ledger/probe", serve(db, probe))
	mux.HandleFunc("/.oncegate/ledger/cancel", serve(db, cancel))
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		log.Fatal(err)
	}
	log.SetFlags(0)
	os.Stdout.WriteString("http://" + listener.Addr().String() + "\n")
	log.Fatal(http.Serve(listener, mux))
}
