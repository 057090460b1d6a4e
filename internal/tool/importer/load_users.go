package importer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/rialto-im/rialto/internal/tool/apiclient"
	"github.com/rialto-im/rialto/internal/tool/interchangefile"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// loadUsers creates the users. All are asked for again after an interruption, since their ids are needed; that changes nothing.
func (l *loader) loadUsers(ctx context.Context) error {
	step := l.Printer.Step("users")
	defer step.End()
	var batch []*interchangefile.User
	n := int64(0)
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		request := &operationv1.ImportUsersRequest{}
		for _, u := range batch {
			request.Users = append(request.Users, &operationv1.InterchangeUser{ExternalId: l.external(u.ID), Handle: u.Handle, DisplayName: u.Name, Bio: u.Bio, Settings: u.Settings.ToProto()})
		}
		results, err := l.Server.importUsers(ctx, request)
		if err != nil {
			return err
		}
		for i, r := range results.Results {
			u := batch[i]
			if r.User == 0 && r.Reason == "bad_name" { // a name that this server does not accept must not cost the user's messages
				if r, err = l.importNameless(ctx, u); err != nil {
					return err
				}
			}
			if n++; r.User != 0 {
				l.users[u.ID] = r.User
			}
			if n <= l.at.Users {
				continue // counted before
			}
			if l.at.Users = n; r.User == 0 {
				l.skip("user", u.ID, r.Reason, r.Message)
				continue
			}
			l.at.Report.Imported.Users++
			if err := l.avatar(ctx, u, r.User); err != nil {
				return err
			}
		}
		batch = batch[:0]
		step.At(float64(n)/float64(max(l.reader.Manifest.Counts.Users, 1)), fmt.Sprintf("%d of %d", n, l.reader.Manifest.Counts.Users))
		return l.save()
	}
	err := l.reader.Users(func(u *interchangefile.User) error {
		if batch = append(batch, u); len(batch) < usersAtOnce {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

func (l *loader) importNameless(ctx context.Context, u *interchangefile.User) (*operationv1.ImportedUser, error) {
	a, err := l.Server.importUsers(ctx, &operationv1.ImportUsersRequest{Users: []*operationv1.InterchangeUser{{ExternalId: l.external(u.ID), Handle: u.Handle}}})
	if err != nil {
		return nil, err
	}
	l.at.Report.Altered["user: name"]++
	return a.Results[0], nil
}

func (l *loader) avatar(ctx context.Context, u *interchangefile.User, user uint64) error {
	if u.Avatar == "" {
		return nil
	}
	_, err := l.upload(ctx, user, u.Avatar, "avatar", true)
	if reason := refusal(err); reason != nil {
		l.skip("file", u.Avatar, reason.Reason, reason.Message)
		return nil
	}
	return err
}

// uploadedFile is a file that a user has uploaded.
type uploadedFile struct {
	owner uint64
	path  string
}

// maxUploaded bounds the uploads that a load remembers. With more it forgets them, and uploads files again.
const maxUploaded = 100_000

// upload uploads a file as one of a user, once for all messages of the user that have it. A picture of a user is uploaded by itself.
func (l *loader) upload(ctx context.Context, owner uint64, path, name string, avatar bool) (uint64, error) {
	key := uploadedFile{owner, path}
	if n, ok := l.uploaded[key]; ok && !avatar {
		return n, nil
	}
	n, err := l.uploadAgain(ctx, owner, path, name, avatar)
	if err != nil || avatar {
		return n, err
	}
	if len(l.uploaded) >= maxUploaded {
		clear(l.uploaded)
	}
	l.uploaded[key] = n
	return n, nil
}

// uploadAgain uploads a file, whether or not the user has uploaded it before.
func (l *loader) uploadAgain(ctx context.Context, owner uint64, path, name string, avatar bool) (uint64, error) {
	f, size, err := l.reader.OpenFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, &apiclient.Error{Reason: "no_file", Message: "the file is missing in the directory"}
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if name == "" {
		name = filepath.Base(path)
	}
	return l.Server.upload(ctx, &operationv1.ImportFileRequest{Owner: owner, Name: name, Size: uint64(size)}, f, avatar)
}
