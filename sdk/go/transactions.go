package rialto

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	transactionv1 "github.com/rialto-im/rialto/sdk/go/gen/transaction/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/transaction/v1/transactionv1connect"
	"google.golang.org/protobuf/encoding/protojson"
)

// TransactionsConfig says where message transactions are made.
type TransactionsConfig struct {
	// URL of the deployment, as https://chat.example.com.
	URL string
	// Key is an API key; rialto admin key create makes one. It belongs on servers.
	Key string
	// HTTP makes the calls; by default with a timeout of 30 s.
	HTTP *http.Client
}

// NewTransactions makes a client of message transactions for a business server: it prepares messages, and commits them or rolls them back. It opens no
// connection, and is safe for concurrent use.
func NewTransactions(c TransactionsConfig) (transactionv1connect.MessageTransactionServiceClient, error) {
	c.URL = strings.TrimRight(c.URL, "/")
	if err := checkKeyed("TransactionsConfig", c.URL, c.Key); err != nil {
		return nil, err
	}
	if c.HTTP == nil {
		c.HTTP = &http.Client{Timeout: 30 * time.Second}
	}
	return transactionv1connect.NewMessageTransactionServiceClient(c.HTTP, c.URL, withKey(c.Key)), nil
}

// Decision of a business server about a transaction.
type Decision string

// The decisions. With Unknown the server is asked again.
const (
	Commit   Decision = "commit"
	RollBack Decision = "roll_back"
	Unknown  Decision = "unknown"
)

const (
	maxCheckBody = 64 << 10
	maxCheckAge  = 5 * time.Minute
)

// checks is the handler of TransactionChecks.
type checks struct {
	secret string
	decide func(context.Context, *transactionv1.TransactionCheck) (Decision, error)
	now    func() time.Time
}

// TransactionChecks is the webhook that SetTransactionWebhook names. It refuses requests that are not signed with the secret, and answers the others with what
// decide says of a transaction. If decide fails, the server asks again.
func TransactionChecks(secret string, decide func(ctx context.Context, check *transactionv1.TransactionCheck) (Decision, error)) http.Handler {
	return &checks{secret, decide, time.Now}
}

// ServeHTTP implements http.Handler.
func (c *checks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCheckBody))
	if err != nil || !signedBy(c.secret, r.Header, body, c.now()) {
		http.Error(w, "the request is not signed with the secret of this webhook", http.StatusForbidden)
		return
	}
	check := &transactionv1.TransactionCheck{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(body, check); err != nil {
		http.Error(w, "the body is not a TransactionCheck", http.StatusBadRequest)
		return
	}
	decision, err := c.decide(r.Context(), check)
	if err != nil {
		http.Error(w, "the decision is not known at the moment", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]Decision{"decision": decision}) // if the answer is lost, the server asks again
}

// signedBy reports whether a request of the deployment has the signature of a secret, and is not older than 5 minutes.
func signedBy(secret string, h http.Header, body []byte, now time.Time) bool {
	stamp := h.Get("Rialto-Timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > maxCheckAge {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	return hmac.Equal([]byte("v1="+hex.EncodeToString(mac.Sum(nil))), []byte(h.Get("Rialto-Signature")))
}
