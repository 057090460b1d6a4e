package inbox

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// CreateFolder makes a folder, after the others.
func (s *Service) CreateFolder(ctx context.Context, u id.User, r *chatv1.CreateFolderRequest) (*chatv1.Folder, error) {
	if err := s.checkFolderContents(ctx, u, r.Conversations); err != nil {
		return nil, err
	}
	made := &chatv1.Folder{Id: uint64(s.deps.Clock.Now().UnixMilli())}
	err := s.changeFolders(ctx, u, func(list *chatv1.ListFoldersResponse) (bool, error) {
		if len(list.Folders) >= maxFolders {
			return false, errs.New(errs.Exhausted, "too_many_folders", "a user has at most 20 folders; delete one first")
		}
		for _, f := range list.Folders {
			made.Id = max(made.Id, f.Id+1) // a new id, also where the clock was set back
		}
		if err := rename(list, made, r.Name); err != nil {
			return false, err
		}
		list.Folders = append(list.Folders, made)
		return true, fill(made, r.Conversations, nil)
	})
	return made, err
}

// UpdateFolder renames a folder, and adds and removes conversations.
func (s *Service) UpdateFolder(ctx context.Context, u id.User, r *chatv1.UpdateFolderRequest) (now *chatv1.Folder, err error) {
	if err := s.checkFolderContents(ctx, u, r.Add); err != nil {
		return nil, err
	}
	err = s.changeFolders(ctx, u, func(list *chatv1.ListFoldersResponse) (bool, error) {
		i := findFolder(list, r.Id)
		if i < 0 {
			return false, errNoFolder
		}
		now = list.Folders[i]
		before := proto.CloneOf(now)
		if r.Name != nil {
			if err := rename(list, now, *r.Name); err != nil {
				return false, err
			}
		}
		err := fill(now, r.Add, r.Remove)
		return !proto.Equal(before, now), err
	})
	return now, err
}

// DeleteFolder deletes a folder. One that does not exist is deleted already.
func (s *Service) DeleteFolder(ctx context.Context, u id.User, folder uint64) error {
	return s.changeFolders(ctx, u, func(list *chatv1.ListFoldersResponse) (bool, error) {
		i := findFolder(list, folder)
		if i < 0 {
			return false, nil
		}
		list.Folders = slices.Delete(list.Folders, i, i+1)
		return true, nil
	})
}

// OrderFolders sets the order of the folders. Another device may have made some that this one does not name: they come last.
func (s *Service) OrderFolders(ctx context.Context, u id.User, ids []uint64) (now *chatv1.ListFoldersResponse, err error) {
	err = s.changeFolders(ctx, u, func(list *chatv1.ListFoldersResponse) (bool, error) {
		now = list
		before := slices.Clone(list.Folders)
		place := func(f *chatv1.Folder) int {
			if i := slices.Index(ids, f.Id); i >= 0 {
				return i
			}
			return len(ids)
		}
		slices.SortStableFunc(list.Folders, func(a, b *chatv1.Folder) int { return place(a) - place(b) })
		return !slices.Equal(before, list.Folders), nil
	})
	return now, err
}

// checkFolderContents fails if the user was never in one of the conversations.
func (s *Service) checkFolderContents(ctx context.Context, u id.User, list []uint64) error {
	if len(list) == 0 {
		return nil
	}
	conversations := make([]id.Conversation, len(list))
	for i, c := range list {
		conversations[i] = id.Conversation(c)
	}
	slices.Sort(conversations)
	conversations = slices.Compact(conversations)
	found, err := s.deps.Conversations.MembershipsIn(ctx, u, conversations)
	if err == nil && len(found) < len(conversations) {
		err = errs.New(errs.NotFound, "no_conversation", "one of these conversations does not exist, or you were never in it")
	}
	return err
}

// rename gives a folder a name that no other of the list has.
func rename(list *chatv1.ListFoldersResponse, f *chatv1.Folder, name string) error {
	name = strings.TrimSpace(name)
	if utf8.RuneCountInString(name) > maxFolderName || !message.IsName(name) {
		return errs.New(errs.Invalid, "bad_folder", "a folder's name has 1 to 32 characters in one line, at least one visible character, and no control, text-direction or invisible characters")
	}
	if slices.ContainsFunc(list.Folders, func(other *chatv1.Folder) bool { return other.Id != f.Id && other.Name == name }) {
		return errs.New(errs.Conflict, "folder_exists", "you have a folder of this name; choose another name")
	}
	f.Name = name
	return nil
}

// fill adds conversations to a folder and removes others.
func fill(f *chatv1.Folder, add, remove []uint64) error {
	f.Conversations = slices.DeleteFunc(append(f.Conversations, add...), func(c uint64) bool { return slices.Contains(remove, c) })
	slices.Sort(f.Conversations)
	f.Conversations = slices.Compact(f.Conversations)
	if len(f.Conversations) > maxFolderSize {
		return errs.New(errs.Exhausted, "folder_full", "a folder has at most 200 conversations; remove some first")
	}
	return nil
}
