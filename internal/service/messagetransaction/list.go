package messagetransaction

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/job"
	transactionv1 "github.com/rialto-im/rialto/sdk/go/gen/transaction/v1"
)

const (
	defaultPage = 50
	maxPage     = 100
	pageBytes   = 1 << 20
)

// GetMessageTransaction returns a transaction by its id or its reference.
func (s *Service) GetMessageTransaction(ctx context.Context, by id.Caller, r *transactionv1.GetMessageTransactionRequest) (*transactionv1.MessageTransaction, error) {
	var t *transaction
	var err error
	if r.Id != 0 {
		t, err = getOf(ctx, s.deps.DB.Read(), by.Key, r.Id)
	} else {
		t, err = byReference(ctx, s.deps.DB.Read(), by.Key, r.Reference)
	}
	if err != nil {
		return nil, err
	}
	return s.answer(ctx, t)
}

// ListMessageTransactions returns a page of the transactions of a key in a state.
func (s *Service) ListMessageTransactions(ctx context.Context, by id.Caller, r *transactionv1.ListMessageTransactionsRequest) (*transactionv1.ListMessageTransactionsResponse, error) {
	if r.Limit > maxPage {
		return nil, errs.New(errs.Invalid, "bad_limit", "limit is at most 100")
	}
	if r.State == 0 || transactionv1.MessageTransactionState_name[int32(r.State)] == "" {
		return nil, errs.New(errs.Invalid, "bad_transaction", "give a state of transactions")
	}
	limit := int(cmp.Or(r.Limit, defaultPage))
	list, err := collect(s.deps.DB.Read().QueryContext(ctx, `SELECT `+columns+` FROM message_transactions WHERE state = $1 AND key_name = $2 AND id > $3 ORDER BY id LIMIT $4`, int64(r.State), by.Key, int64(r.After), limit+1))
	if err != nil {
		return nil, err
	}
	res := &transactionv1.ListMessageTransactionsResponse{}
	used := 0
	for _, t := range list {
		if len(res.Transactions) == limit || used > pageBytes {
			res.More = true
			break
		}
		v, size, err := view(ctx, s.deps.DB.Read(), t)
		if err != nil {
			return nil, err
		}
		res.Transactions = append(res.Transactions, v)
		used += size
	}
	return res, nil
}

func collect(rows *sql.Rows, err error) (list []*transaction, _ error) {
	return sqldb.Collect(rows, err, scan)
}

// Info is what operators see of a transaction.
type Info struct {
	*transactionv1.MessageTransaction
	// Key is the name of the API key, and Job the id of the latest job of the transaction.
	Key string
	Job int64
}

const statePrefix = "MESSAGE_TRANSACTION_STATE_"

// NameOf returns the name of a state for operators, such as rolled_back.
func NameOf(s State) string { return strings.ToLower(strings.TrimPrefix(s.String(), statePrefix)) }

// StateOf returns the state of a name; 0: there is none.
func StateOf(name string) State {
	return State(transactionv1.MessageTransactionState_value[statePrefix+strings.ToUpper(name)])
}

// List returns the newest transactions in a state with an id below another one, at most limit. 0 is below none.
func (s *Service) List(ctx context.Context, state State, below uint64, limit int) (infos []Info, err error) {
	list, err := collect(s.deps.DB.Read().QueryContext(ctx, `SELECT `+columns+` FROM message_transactions WHERE state = $1 AND id < $2 ORDER BY id DESC LIMIT $3`,
		int64(state), int64(min(below-1, 1<<63-2))+1, limit))
	for _, t := range list {
		v, _, failure := view(ctx, s.deps.DB.Read(), t)
		if failure != nil {
			return nil, failure
		}
		infos = append(infos, Info{v, t.key, t.job})
	}
	return infos, err
}

// Show returns a transaction.
func (s *Service) Show(ctx context.Context, transaction uint64) (Info, error) {
	t, err := get(ctx, s.deps.DB.Read(), transaction)
	if err != nil {
		return Info{}, err
	}
	v, err := s.answer(ctx, t)
	return Info{v, t.key, t.job}, err
}

var (
	errNotFailed = errors.New("only a transaction that failed, or was committed and is not sent, can be retried")
	// ErrTrimmed is the error of Retry for what cannot be sent any more.
	ErrTrimmed = errors.New("the contents of this failed transaction were deleted, because its API key has too many newer ones; prepare another one for the messages that were refused")
)

// Retry makes the messages of a transaction that are not sent be sent again, and records that. If its job is a dead letter, that one runs again, so that it does not remain one.
func (s *Service) Retry(ctx context.Context, transaction uint64, record auditlog.Recorder) error {
	t, err := get(ctx, s.deps.DB.Read(), transaction)
	switch {
	case err != nil:
		return err
	case t.state != failed && t.state != committed:
		return errNotFailed
	case t.trimmed():
		return ErrTrimmed
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if err := reopen(ctx, tx, transaction); err != nil {
			return err
		}
		return record.Record(ctx, tx, auditlog.Entry{Action: "transaction.retry", Subject: fmt.Sprint("transaction ", transaction, " of ", t.key), Before: NameOf(t.state), After: NameOf(committed)})
	})
	if err != nil {
		return err
	}
	if s.deps.Jobs.Retry(ctx, t.job, nil) == nil {
		return nil
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error { // it is no dead letter yet, or was deleted
		inserted, err := s.deps.Jobs.InsertTx(ctx, tx, sendArgs{transaction}, job.Options{Queue: Queue})
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE message_transactions SET job = $2 WHERE id = $1`, int64(transaction), inserted.ID)
		return err
	})
	if err == nil {
		s.deps.Jobs.Wake()
	}
	return err
}
