// Package userdata has the interface by which each service exports and erases a user's data: the service names its tables with data of users, lists what
// they have of one user, and deletes it. A service that adds a table names it in its Tables, or in the list of tables without data of users. A test
// compares both lists with the database.
//
// It may use sqldb. It has no state.
package userdata

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Step is the result of a call of EraseUser.
type Step struct {
	// Next is where the next call continues. It is stored between the calls.
	Next string
	// Done: the participant has nothing more of the user.
	Done bool
	// Erased is how many things this call erased: rows, messages or files.
	Erased int64
}

// Participant erases what a service has of users, and exports it.
type Participant interface {
	// Name of the participant in reports. It is stored, and must not change.
	Name() string
	// EraseUser erases a bounded part of what there is of a user: after the first call, the part at which the one before ended. A call may be repeated, also after a
	// crash in the middle of it, and then erases what is left. The user's sessions have ended before.
	EraseUser(ctx context.Context, u id.User, from string) (Step, error)
	// ExportUser writes what the user may read of it. It checks each thing as a read by the user does.
	ExportUser(ctx context.Context, u id.User, to Writer) error
	// UserTables are the SQL tables that it covers.
	UserTables() []string
}

// Writer writes an export.
type Writer interface {
	// Record writes a record of a kind, which encoding/json encodes. The records of a kind follow each other.
	Record(kind string, record any) error
	// File copies a file of the user from the blob store.
	File(ctx context.Context, name, blob string) error
}

// JSON is a record, or a value in one, that is JSON already.
type JSON []byte

// MarshalJSON returns the text.
func (j JSON) MarshalJSON() ([]byte, error) { return j, nil }

// Proto returns a decoder of a column with a message of protobuf, for Table.Decode.
func Proto[M any, P interface {
	*M
	proto.Message
}]() func([]byte) (any, error) {
	return func(raw []byte) (any, error) {
		m := P(new(M))
		if err := proto.Unmarshal(raw, m); err != nil {
			return nil, err
		}
		text, err := protojson.Marshal(m)
		return JSON(text), err
	}
}
