// Package exporter exports all data of a running deployment in the interchange format. It is a client of InterchangeService.
//
// An export is resumable: after each page it stores its position in a file of the directory. Unlike a backup, an export is no snapshot: data that is written
// meanwhile is in the export only if its page comes later.
package exporter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/progress"
	"github.com/rialto-im/rialto/internal/tool/importer"
	"github.com/rialto-im/rialto/internal/tool/interchangefile"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// Options of Run.
type Options struct {
	Dir     string
	Server  *importer.Server
	Printer *progress.Printer
	// Progressed is called after each page, for tests; nil: nothing. An error ends the export.
	Progressed func() error
}

const (
	stateFile = "export-state.json"
	idsFile   = "export-ids.jsonl"
	source    = "rialto"
	// knownMessages bounds the ids of messages in memory; those of others are asked for.
	knownMessages = 100_000
)

// state is where an export is.
type state struct {
	Server   string                   `json:"server"`
	Position interchangefile.Position `json:"position"`
	IDs      int64                    `json:"ids_size"`
	Videos   cursor                   `json:"videos"`
	Posts    cursor                   `json:"posts"`
	Comments cursor                   `json:"comments"`
	Likes    cursor                   `json:"likes"`
	Threads  bool                     `json:"threads"`
	After    uint64                   `json:"after"` // the last conversation that is complete
	Done     int64                    `json:"done"`  // conversations
	Total    int64                    `json:"total"`
	// Of the present conversation.
	Conversation *interchangefile.Conversation `json:"conversation"`
	Seq          uint64                        `json:"seq"`
	Ordinal      int64                         `json:"ordinal"`
	LastMs       int64                         `json:"last_ms"`
}

// exporter is an export in progress.
type export struct {
	Options
	at    state
	to    *interchangefile.Appender
	users map[uint64]string
	names map[uint64]string // of conversations that are no threads
	ids   *os.File
	keys  map[uint64]string // of messages of the present conversation that were imported
	// videos are the keys of those that are exported. Posts and comments name no others.
	videos map[uint64]string
	step   *progress.Step
}

// Run exports everything, and returns the manifest. After an error, a later call continues.
func Run(ctx context.Context, o Options) (_ *interchangefile.Manifest, err error) {
	x := &export{Options: o, users: map[uint64]string{}, names: map[uint64]string{}, keys: map[uint64]string{}, videos: map[uint64]string{}}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	if err := x.readState(); err != nil {
		return nil, err
	}
	if x.to, err = interchangefile.Append(o.Dir, x.at.Position); err != nil {
		return nil, err
	}
	if err := x.openIDs(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.ids.Close()) }()
	if err := x.exportUsers(ctx); err != nil {
		return nil, err
	}
	if err := x.exportRelations(ctx); err != nil {
		return nil, err
	}
	for _, section := range []func(context.Context) error{x.exportVideos, x.exportPosts, x.exportComments, x.exportLikes} {
		if err := section(ctx); err != nil {
			return nil, err
		}
	}
	x.step = x.Printer.Step("conversations")
	defer x.step.End()
	for {
		if err := x.exportConversations(ctx); err != nil {
			return nil, err
		}
		if x.at.Threads {
			break
		}
		x.at.Threads, x.at.After = true, 0
	}
	m, err := x.to.Close(source, time.Now())
	if err != nil {
		return nil, err
	}
	return m, removeState(o.Dir)
}

// removeState removes what an export needs to continue, with what one that was killed has left of it.
func removeState(dir string) error {
	list, err := os.ReadDir(dir)
	for _, e := range list {
		if name := e.Name(); name == stateFile || name == idsFile || strings.HasPrefix(name, stateFile+".new-") {
			err = errors.Join(err, os.Remove(filepath.Join(dir, name)))
		}
	}
	return err
}

func (x *export) readState() error {
	x.at = state{Server: x.Server.URL()}
	b, err := os.ReadFile(filepath.Join(x.Dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, &x.at); err != nil {
		return fmt.Errorf("%s: %w", stateFile, err)
	}
	if x.at.Server != x.Server.URL() {
		return fmt.Errorf("%s is of an export from %s; choose another directory", stateFile, x.at.Server)
	}
	return nil
}

// save writes where the export is, once what it has is durable.
func (x *export) save() (err error) {
	if x.at.Position, err = x.to.Position(); err != nil {
		return err
	}
	if err := x.ids.Sync(); err != nil {
		return err
	}
	if err := interchangefile.WriteJSON(filepath.Join(x.Dir, stateFile), &x.at); err != nil {
		return err
	}
	if x.Progressed != nil {
		return x.Progressed()
	}
	return nil
}

// exportedID is a line of the file with the ids of conversations and videos.
type exportedID struct {
	Conversation uint64 `json:"conversation,omitempty"`
	Video        uint64 `json:"video,omitempty"`
	ID           string `json:"id"`
}

// openIDs reads how conversations and videos are called that an earlier run has exported.
func (x *export) openIDs() (err error) {
	if x.ids, err = os.OpenFile(filepath.Join(x.Dir, idsFile), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	if err := x.ids.Truncate(x.at.IDs); err != nil {
		return err
	}
	for lines := interchangefile.NewLines(idsFile, x.ids); ; {
		var c exportedID
		if err := lines.Decode(&c); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if c.Video != 0 {
			x.videos[c.Video] = c.ID
			continue
		}
		x.names[c.Conversation] = c.ID
	}
	_, err = x.ids.Seek(x.at.IDs, io.SeekStart)
	return err
}

// exportUsers writes all users. A run that continues does so again, since it needs their names.
func (x *export) exportUsers(ctx context.Context) error {
	step := x.Printer.Step("users")
	defer step.End()
	total := uint64(1)
	for after := uint64(0); ; {
		page, err := x.Server.ExportUsers(ctx, &operationv1.ExportUsersRequest{After: after})
		if err != nil {
			return err
		}
		if after == 0 {
			total = max(page.Total, 1)
		}
		if len(page.Users) == 0 {
			return nil
		}
		for _, u := range page.Users {
			after = u.User
			name := u.ExternalId
			if name == "" {
				name = local(u.User)
			}
			x.users[u.User] = name
			out := interchangefile.User{ID: name, Handle: u.Handle, Name: u.DisplayName, Bio: u.Bio, Settings: interchangefile.SettingsFromProto(u.Settings)}
			if u.Avatar != 0 {
				if out.Avatar, err = x.file(ctx, u.Avatar); err != nil {
					return err
				}
			}
			if err := x.to.User(out); err != nil {
				return err
			}
		}
		step.At(float64(len(x.users))/float64(total), fmt.Sprintf("%d of %d", len(x.users), total))
	}
}

// local is the id of what this server has made.
func local(n uint64) string { return "rialto:" + strconv.FormatUint(n, 10) }

func (x *export) user(n uint64) string {
	if n == 0 {
		return ""
	}
	if name, ok := x.users[n]; ok {
		return name
	}
	return local(n) // registered since
}

// file copies a file, and returns its path; "" if there is none any more.
func (x *export) file(ctx context.Context, upload uint64) (path string, err error) {
	if upload == 0 {
		return "", nil
	}
	err = x.Server.ExportFile(ctx, upload, func(r io.Reader) (err error) {
		path, err = x.to.StoreFile(r)
		return err
	})
	if importer.IsRefused(err) {
		return "", x.to.Skip("file", "upload "+strconv.FormatUint(upload, 10), err.Error())
	}
	return path, err
}

func (x *export) exportConversations(ctx context.Context) error {
	for {
		page, err := x.Server.ExportConversations(ctx, &operationv1.ExportConversationsRequest{After: x.at.After, Threads: x.at.Threads})
		if err != nil {
			return err
		}
		x.at.Total = max(x.at.Total, x.at.Done+int64(page.Total))
		for _, c := range page.Conversations {
			if err := x.conversation(ctx, c); err != nil {
				return fmt.Errorf("conversation %d: %w", c.Conversation, err)
			}
			x.at.After, x.at.Conversation, x.at.Seq, x.at.Ordinal, x.at.LastMs = c.Conversation, nil, 0, 0, 0
			x.at.Done++
			if err := x.save(); err != nil {
				return err
			}
			x.step.At(float64(x.at.Done)/float64(max(x.at.Total, 1)), fmt.Sprintf("%d of %d", x.at.Done, x.at.Total))
		}
		if len(page.Conversations) == 0 {
			return nil
		}
	}
}

func (x *export) conversation(ctx context.Context, c *operationv1.InterchangeConversation) error {
	if c.LastSeq == 0 {
		return nil // its creation was interrupted
	}
	clear(x.keys)
	for {
		page, err := x.Server.ExportEntries(ctx, &operationv1.ExportEntriesRequest{Conversation: c.Conversation, After: x.at.Seq})
		if err != nil {
			return err
		}
		for _, e := range page.Entries {
			if err := x.entry(ctx, c, e); err != nil {
				return err
			}
		}
		if x.at.Seq = page.Next; !page.More {
			break
		}
		if err := x.save(); err != nil {
			return err
		}
	}
	if x.at.Conversation == nil {
		return x.to.Skip("conversation", local(c.Conversation), "its first entry cannot be read")
	}
	if !x.at.Threads {
		if err := x.remember(c.Conversation, x.at.Conversation.ID); err != nil {
			return err
		}
	}
	return x.to.Conversation(x.at.Conversation)
}

func (x *export) remember(n uint64, id string) error {
	x.names[n] = id
	return x.writeID(exportedID{Conversation: n, ID: id})
}

func (x *export) writeID(line exportedID) error {
	b, err := json.Marshal(line)
	if err != nil {
		return err
	}
	written, err := x.ids.Write(append(b, '\n'))
	x.at.IDs += int64(written)
	return err
}

// entry writes an entry. The first one describes the conversation.
func (x *export) entry(ctx context.Context, c *operationv1.InterchangeConversation, e *operationv1.ExportedEntry) error {
	x.at.LastMs = max(x.at.LastMs, e.TimeMs) // if the clock stepped back, times stay in order
	if control := e.Content.GetControl(); control.GetAction() == chatv1.Control_ACTION_CREATED {
		return x.created(ctx, c, e.TimeMs, control)
	}
	if x.at.Conversation == nil {
		return x.to.Skip("message", local(c.Conversation), "its conversation cannot be read")
	}
	out := &interchangefile.Entry{Conversation: x.at.Conversation.ID, TimeMs: x.at.LastMs, Sender: x.user(e.Sender)}
	ok, err := out.FromProto(e.Content, interchangefile.Names{User: x.user,
		Message: func(seq uint64) (string, error) { return x.message(ctx, c.Conversation, seq) },
		File:    func(upload uint64) (string, error) { return x.file(ctx, upload) }})
	if err != nil {
		return err
	}
	if !ok {
		return x.to.Skip("message", fmt.Sprintf("%s: %d", local(c.Conversation), e.Seq), "the format has no such kind")
	}
	if out.IsMessage() {
		out.ID = messageID(c.Conversation, e)
		if len(x.keys) < knownMessages {
			x.keys[e.Seq] = out.ID
		}
	} else {
		x.at.Ordinal++
		out.ID = "rialto:change:" + strconv.FormatInt(x.at.Ordinal, 10)
	}
	return x.to.Entry(x.at.Conversation, out)
}

// messageID is the id of a message in an export: that of an import, or one that no other message has.
func messageID(conversation uint64, e *operationv1.ExportedEntry) string {
	if id := e.GetContent().GetExternalId(); id != "" && e.Content.Bridge == "" { // those of two bridges may be the same
		return id
	}
	return fmt.Sprintf("%s:%d", local(conversation), e.Seq)
}

// message returns the id of a message by its seq.
func (x *export) message(ctx context.Context, conversation, seq uint64) (string, error) {
	if id, ok := x.keys[seq]; ok {
		return id, nil
	}
	page, err := x.Server.ExportEntries(ctx, &operationv1.ExportEntriesRequest{Conversation: conversation, After: seq - 1, Limit: 1})
	if err != nil {
		return "", err
	}
	if len(page.Entries) == 0 || page.Entries[0].Seq != seq {
		return fmt.Sprintf("%s:%d", local(conversation), seq), nil // it has expired
	}
	return messageID(conversation, page.Entries[0]), nil
}

// created describes a conversation by its first entry.
func (x *export) created(ctx context.Context, c *operationv1.InterchangeConversation, ms int64, control *chatv1.Control) error {
	out := &interchangefile.Conversation{ID: c.Key, Kind: interchangefile.Group, Title: control.Text, Owner: x.user(control.Actor), CreatedMs: ms}
	for _, u := range control.Users {
		if u != control.Actor || c.Direct && len(control.Users) == 1 {
			out.Members = append(out.Members, x.user(u))
		}
	}
	slices.Sort(out.Members)
	if out.ID == "" {
		out.ID = local(c.Conversation)
	}
	switch {
	case c.Parent != 0:
		parent, ok := x.names[c.Parent]
		if !ok {
			return x.to.Skip("conversation", local(c.Conversation), "the conversation of the thread is not exported")
		}
		root, err := x.message(ctx, c.Parent, c.RootSeq)
		if err != nil {
			return err
		}
		out.Kind, out.ID, out.Parent, out.Root = interchangefile.Thread, "thread:"+parent+":"+root, parent, root
	case c.Direct:
		out.Kind, out.ID = interchangefile.Direct, interchangefile.DirectID(append([]string{out.Owner}, out.Members...))
	default:
		if out.JoinPolicy = interchangefile.PolicyOf(control.JoinPolicy); c.Channel {
			out.Kind = interchangefile.Channel
		}
	}
	x.at.Conversation = out
	return nil
}
