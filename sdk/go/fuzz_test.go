package rialto

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	transactionv1 "github.com/rialto-im/rialto/sdk/go/gen/transaction/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// FuzzTransactionChecks: no request without the secret's signature is asked about, and of the signed ones each that is a TransactionCheck.
func FuzzTransactionChecks(f *testing.F) {
	const secret = "0123456789abcdef"
	f.Add(`{"transaction":"7"}`, "1700000000", "")
	f.Add(`{"users":["1","2"]}`, "1700000000", "v1=18abb489d636940ccdba9d5e6fa2c3d7d4efeadfc4bb56efa3d571f94b2de528")
	f.Add(strings.Repeat("[", 20_000), "1700000299", "v1=")
	f.Add("\xff", "-9223372036854775808", "v1=\x00")
	f.Add("null", "9223372036854775807", "")
	f.Fuzz(func(t *testing.T, body, stamp, signature string) {
		now := time.Unix(1_700_000_000, 0)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(stamp + "." + body))
		right := "v1=" + hex.EncodeToString(mac.Sum(nil))
		seconds, err := strconv.ParseInt(stamp, 10, 64)
		recent := err == nil && seconds >= now.Unix()-300 && seconds <= now.Unix()+300
		for _, signed := range []string{signature, right} {
			asked := 0
			by := &checks{secret, func(context.Context, *transactionv1.TransactionCheck) (Decision, error) {
				asked++
				return Commit, nil
			}, func() time.Time { return now }}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
			r.Header["Rialto-Timestamp"], r.Header["Rialto-Signature"] = []string{stamp}, []string{signed}
			w := httptest.NewRecorder()
			by.ServeHTTP(w, r)
			want := http.StatusOK
			if signed != right || !recent || len(body) > maxCheckBody {
				want = http.StatusForbidden
			} else if (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(body), &transactionv1.TransactionCheck{}) != nil {
				want = http.StatusBadRequest
			}
			if w.Code != want || (asked == 1) != (want == http.StatusOK) {
				t.Errorf("%q at %q, signed %q: answered with %d after %d questions, want %d", body, stamp, signed, w.Code, asked, want)
			}
		}
	})
}
