package rialto

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	transactionv1 "github.com/rialto-im/rialto/sdk/go/gen/transaction/v1"
)

// The webhook answers requests that are signed with its secret, and no others. The signature of one is that of docs/operating/webhooks.md.
func TestTransactionChecks(t *testing.T) {
	asked := 0
	decide := func(_ context.Context, _ *transactionv1.TransactionCheck) (Decision, error) {
		asked++
		return RollBack, nil
	}
	now := time.Unix(1700000000, 0)
	const body, signature = `{"users":["1","2"]}`, "v1=18abb489d636940ccdba9d5e6fa2c3d7d4efeadfc4bb56efa3d571f94b2de528"
	for what, c := range map[string]struct {
		body, stamp, signature string
		now                    time.Time
		status                 int
		answer                 string
	}{
		"signed":             {body, "1700000000", signature, now, http.StatusOK, `{"decision":"roll_back"}`},
		"five minutes later": {body, "1700000000", signature, now.Add(5 * time.Minute), http.StatusOK, `{"decision":"roll_back"}`},
		"too late":           {body, "1700000000", signature, now.Add(5*time.Minute + time.Second), http.StatusForbidden, ""},
		"another body":       {`{"users":["1","3"]}`, "1700000000", signature, now, http.StatusForbidden, ""},
		"another time":       {body, "1700000001", signature, now, http.StatusForbidden, ""},
		"not signed":         {body, "1700000000", "", now, http.StatusForbidden, ""},
		"no time":            {body, "", signature, now, http.StatusForbidden, ""},
	} {
		asked = 0
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(c.body))
		r.Header.Set("Rialto-Timestamp", c.stamp)
		r.Header.Set("Rialto-Signature", c.signature)
		(&checks{"0123456789abcdef", decide, func() time.Time { return c.now }}).ServeHTTP(w, r)
		if w.Code != c.status || c.answer != "" && strings.TrimSpace(w.Body.String()) != c.answer || asked != map[bool]int{true: 1}[c.status == http.StatusOK] {
			t.Errorf("%s: answered with %d %s after %d questions, want %d %s", what, w.Code, w.Body, asked, c.status, c.answer)
		}
	}
}

func TestTransactionsNeedAnAddressAndAKey(t *testing.T) {
	for _, c := range []TransactionsConfig{{URL: "chat.example.com", Key: "rk_x"}, {URL: "https://chat.example.com"}} {
		if _, err := NewTransactions(c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}
