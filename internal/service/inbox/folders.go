package inbox

import (
	"context"
	"database/sql"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// Limits of a user's folders, all of which each device holds.
const (
	maxFolders    = 20
	maxFolderSize = 200
	maxFolderName = 32 // characters
)

var errNoFolder = errs.New(errs.NotFound, "no_folder", "you have no such folder; it may have been deleted on another device")

// ListFolders returns a user's folders, in their order.
func (s *Service) ListFolders(ctx context.Context, u id.User) (*chatv1.ListFoldersResponse, error) {
	rows, err := s.deps.DB.ReadYourWrites(ctx).QueryContext(ctx, `SELECT list FROM folders WHERE owner = $1`, int64(u))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := &chatv1.ListFoldersResponse{}
	for rows.Next() {
		var raw []byte
		if err := rows.Scan(&raw); err != nil {
			return nil, err
		}
		if err := proto.Unmarshal(raw, list); err != nil {
			return nil, err
		}
	}
	return list, rows.Err()
}

// changeFolders changes a user's folders, and notifies the user's devices if change returns true. A change sees the result of the one
// before, also of one on another node: it locks the user's row.
func (s *Service) changeFolders(ctx context.Context, u id.User, change func(list *chatv1.ListFoldersResponse) (bool, error)) error {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		var raw []byte
		if err := tx.QueryRowContext(ctx, `INSERT INTO folders (owner) VALUES ($1) ON CONFLICT (owner) DO UPDATE SET owner = $1 RETURNING list`, int64(u)).Scan(&raw); err != nil {
			return err
		}
		list := &chatv1.ListFoldersResponse{}
		if err := proto.Unmarshal(raw, list); err != nil {
			return err
		}
		if changed, err := change(list); err != nil || !changed {
			return err
		}
		raw, err := proto.Marshal(list)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE folders SET list = $2 WHERE owner = $1`, int64(u), raw); err != nil {
			return err
		}
		return s.putEvent(ctx, tx, u, message.FieldFolders, &chatv1.FoldersChange{})
	})
	if err == nil {
		s.deps.Outbox.Wake()
	}
	return err
}

// findFolder returns a folder's place in a list, or -1.
func findFolder(list *chatv1.ListFoldersResponse, folder uint64) int {
	return slices.IndexFunc(list.Folders, func(f *chatv1.Folder) bool { return f.Id == folder })
}
