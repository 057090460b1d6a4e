package terminal

import (
	"context"
	"errors"
	"slices"
	"strings"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// folders lists the user's folders, or changes one: it adds the open chat, removes it, deletes the folder, or moves it by one place.
func (s *screen) folders(ctx context.Context, rest string) error {
	word, name, _ := strings.Cut(rest, " ")
	name = strings.TrimSpace(name)
	switch {
	case rest == "":
		return s.listFolders(ctx)
	case name == "" || !slices.Contains([]string{"add", "remove", "delete", "up", "down"}, word):
		return errorf("write /folders, or /folders with add, remove, delete, up or down and a NAME")
	case word == "up" || word == "down":
		return s.moveFolder(ctx, name, word == "up")
	case word == "delete":
		f, err := s.folderNamed(ctx, name)
		if err == nil {
			_, err = call(ctx, s.client.Chat().DeleteFolder, &chatv1.DeleteFolderRequest{Id: f.Id})
		}
		return s.done(err)
	}
	c, err := s.current()
	if err != nil {
		return err
	}
	chat := []uint64{c.Id}
	f, err := s.folderNamed(ctx, name)
	switch {
	case errors.Is(err, errNoFolder) && word == "add":
		_, err = call(ctx, s.client.Chat().CreateFolder, &chatv1.CreateFolderRequest{Name: name, Conversations: chat})
	case err != nil:
	case word == "add":
		_, err = call(ctx, s.client.Chat().UpdateFolder, &chatv1.UpdateFolderRequest{Id: f.Id, Add: chat})
	default:
		_, err = call(ctx, s.client.Chat().UpdateFolder, &chatv1.UpdateFolderRequest{Id: f.Id, Remove: chat})
	}
	return s.done(err)
}

// moveFolder exchanges a folder with the one above or below it. The first and the last stay.
func (s *screen) moveFolder(ctx context.Context, name string, up bool) error {
	r, err := call(ctx, s.client.Chat().ListFolders, &chatv1.ListFoldersRequest{})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(r.Folders, func(f *chatv1.Folder) bool { return f.Name == name })
	if i < 0 {
		return errNoFolder
	}
	ids := make([]uint64, len(r.Folders))
	for n, f := range r.Folders {
		ids[n] = f.Id
	}
	if exchange(ids, i, up) {
		if _, err := call(ctx, s.client.Chat().OrderFolders, &chatv1.OrderFoldersRequest{Ids: ids}); err != nil {
			return err
		}
	}
	return s.listFolders(ctx)
}

// exchange exchanges an id with the one above or below it, if there is one.
func exchange(ids []uint64, i int, up bool) bool {
	to := i + 1
	if up {
		to = i - 1
	}
	if to < 0 || to >= len(ids) {
		return false
	}
	ids[i], ids[to] = ids[to], ids[i]
	return true
}

var errNoFolder = errorf("you have no such folder; /folders lists them")

func (s *screen) folderNamed(ctx context.Context, name string) (*chatv1.Folder, error) {
	r, err := call(ctx, s.client.Chat().ListFolders, &chatv1.ListFoldersRequest{})
	if err != nil {
		return nil, err
	}
	for _, f := range r.Folders {
		if f.Name == name {
			return f, nil
		}
	}
	return nil, errNoFolder
}

func (s *screen) listFolders(ctx context.Context) error {
	r, err := call(ctx, s.client.Chat().ListFolders, &chatv1.ListFoldersRequest{})
	if err != nil {
		return err
	}
	if len(r.Folders) == 0 {
		s.say("There are no folders. /folders add NAME puts the open chat into a new one.")
	}
	for _, f := range r.Folders {
		s.say("  %s  %s: /chats %s", plain(f.Name), counted(len(f.Conversations), "chat"), plain(f.Name))
	}
	return nil
}
