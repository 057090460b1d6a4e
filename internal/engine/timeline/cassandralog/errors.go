package cassandralog

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// errStore returns the error for callers if the store did not answer or the outcome is unknown. A retry is harmless.
func errStore(cause error) error {
	if e := (*errs.Error)(nil); errors.As(cause, &e) && e.Kind == errs.Unavailable { // classified already
		return cause
	}
	return unknownOutcome(cause)
}

// unknownOutcome is the error of a write that may be stored.
func unknownOutcome(cause error) error {
	return &errs.Error{Kind: errs.Unavailable, Reason: "storage", Message: "the server cannot reach its database; try again", Retry: time.Second, Cause: cause}
}

// permanentCodes are the codes of requests that Cassandra refuses however often they are repeated: faults of this program or of its settings.
var permanentCodes = []int{gocql.ErrCodeProtocol, gocql.ErrCodeCredentials, gocql.ErrCodeFunctionFailure, gocql.ErrCodeSyntax, gocql.ErrCodeUnauthorized,
	gocql.ErrCodeInvalid, gocql.ErrCodeConfig, gocql.ErrCodeAlreadyExists}

// permanentErrors are those that the driver returns before it sends a request.
var permanentErrors = []error{gocql.ErrFrameTooBig, gocql.ErrUnsupported, gocql.ErrTooManyStmts, gocql.ErrUseStmt}

// noColumn begins the message of Cassandra about a statement with a column that Freeze or Retire has renamed.
const noColumn = "Undefined column name "

// classify returns the error of a statement for callers: Unavailable, unless a retry would fail too, the row does not exist, or the caller has gone.
// Each statement passes here, whether it reads or writes; the cause remains in the chain.
func classify(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, gocql.ErrNotFound) {
		return err
	}
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	var refused gocql.RequestError
	if errors.As(err, &refused) && refused.Code() == gocql.ErrCodeInvalid && strings.HasPrefix(refused.Message(), noColumn) {
		return errors.Join(timeline.ErrMoving, err)
	}
	if errors.As(err, &refused) && slices.Contains(permanentCodes, refused.Code()) {
		return err
	}
	if slices.ContainsFunc(permanentErrors, func(permanent error) bool { return errors.Is(err, permanent) }) {
		return err
	}
	return errStore(err)
}
